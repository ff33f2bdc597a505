// The table printed after a run, with a row per case or per run, and the ratios of its pairs.
#include <algorithm>
#include <cmath>
#include <map>

#include "src/analysis/fairness.h"
#include "src/analysis/speedup/headline.h"
#include "src/base/text.h"
#include "src/report/text/case_columns.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// How to get an interval, or within what it holds, once for the table; "" without rows.
std::string advice(const SpreadColumn& spread, const std::string& table) {
  const std::string advice = "five repetitions give a 95 % interval (--repetitions 5)\n";
  if (spread.has(Spread::none))
    return (table.find("±") != std::string::npos ? "±: within this run; " : "single runs have no interval; ") + advice;
  if (spread.has(Spread::range)) return "range: from the slowest to the fastest repetition; " + advice;
  return spread.has(Spread::ci95) ? "95 % interval: over processes of this session; another day may differ by more\n" : "";
}

std::string table_of(const std::vector<RunGroup>& rows) {
  if (rows.empty()) return "";
  const bool repeat = std::ranges::any_of(rows, [](const RunGroup& row) { return row.runs.size() > 1; });
  SpreadColumn spread;
  const auto head = [&](const RunGroup& row) {
    spread.add(summarize(row.runs, kThroughput));
    const bool loaded = any_disturbed(row.runs);
    return std::vector<Cell>{{row.name + load_mark(loaded), "", {}, loaded}, repeat ? std::to_string(row.runs.size()) : ""};
  };
  const std::string text = terminal_table(cases_view(kInTerminal, rows, repeat ? "case|>n" : "run|>n", head));
  return text + advice(spread, text);
}

// What the epochs of the table are.
std::string epochs_line(const std::vector<RunGroup>& rows) {
  std::vector<const Workload*> works;
  for (const RunGroup& row : rows)
    for (const Run* run : row.runs) works.push_back(&run->workload);
  return works.empty() ? "" : "epoch: " + epochs_text(works) + "\n";
}

bool is_shown(const Run& run) { return run.status == RunStatus::ok && run.timing && run.throughput; }

std::vector<RunGroup> rows_of(const Result& result, TableRows rows) {
  if (rows == TableRows::cases) return measured_cases(result.runs);
  std::vector<RunGroup> list;
  const bool repeat = std::ranges::any_of(result.runs, [](const Run& run) { return run.repetition > 0; });
  for (const Run& run : result.runs)
    if (is_shown(run)) list.push_back({repeat ? run.name + " #" + std::to_string(run.repetition) : run.name, {&run}});
  return list;
}

// "637 ms per step"; where the mean, from which samples/s follow, is far above that, "637 ms per step in the median, 997 ms in
// the mean".
std::string step_text(const Timing& timing) {
  constexpr double kApart = 1.1;
  const double mean = timing.steps_total_seconds / static_cast<double>(timing.steps()), median = timing.step_seconds_median;
  const std::string text = format_seconds(median) + " per step";
  return mean <= kApart * median ? text : text + " in the median, " + format_seconds(mean) + " in the mean";
}

// "resnet20 b32 cpu: bf16 is 1.90x fp32 (95 % interval 1.85 to 1.95)", "resnet20/cpu/fp32/b128: complete is 1.28x without
// winograd".
std::string ratio_line(const SpeedupPair& pair) {
  auto [subject, contender, baseline, several] = pair_text(pair);
  if (at_own_best(pair)) subject += ", each at its best";
  if (const std::string reason = why_unusable(pair); !reason.empty())
    return subject + ": no ratio of " + contender + " to " + baseline + ": " + reason;
  return subject + ": " + contender + (several ? " are " : " is ") + format_times(pair.ratio.value) + " " + baseline +
         (pair.ratio.ci95 ? " (95 % interval " + range_text(*pair.ratio.ci95) + ")" : "") +
         load_mark(has_warning(pair, WarningCode::foreign_load));
}

}  // namespace

std::string summary(const Result& result, TableRows rows) {
  std::string others;
  Reasons skipped;
  for (const Run& run : result.runs)
    if (run.status == RunStatus::skipped)
      add_reason(skipped, run.message.value_or("no reason is known"), run.name);
    else if (!is_shown(run))
      others += one_line(run) + "\n";
  for (const auto& [reason, names] : skipped) others += "skipped: " + cases_text(names) + "\n  " + reason + "\n";
  const std::vector<RunGroup> shown = rows_of(result, rows);
  return table_of(shown) + epochs_line(shown) + others;
}

std::vector<std::string> ratio_lines(const Result& result) {
  constexpr std::size_t kMaxRatios = 8;  // of each kind
  std::map<Compares, std::size_t> found;
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const SpeedupPair& pair : speedup_of({{"", result}}, SpeedupOf::same_batch).pairs) {
    if ((has_warning(pair, WarningCode::handicap) && pair.compares != Compares::parts) || !std::isfinite(pair.ratio.value))
      continue;
    if (++found[pair.compares] <= kMaxRatios)
      lines.push_back(ratio_line(pair));
    else
      ++more;
  }
  if (more > 0) lines.push_back("and " + std::to_string(more) + " more (epochbench speedup RESULT)");
  return lines;
}

std::string ratios_text(const Result& result) {
  std::string text;
  for (const std::string& line : ratio_lines(result)) text += "  " + line + "\n";
  return text.empty() ? "" : "ratios of samples/s:\n" + text;
}

std::string one_line(const Run& run) {
  if (!is_shown(run)) return run.name + ": " + describe(run.status, run.message);
  const std::string result = result_text({&run}), spread = spread_within_run_text(run);
  return run.name + ": " + step_text(*run.timing) + (spread.empty() ? "" : " (" + spread + " within this run)") + ", " +
         cell(kThroughput.value(run), kThroughput.unit.text) + " samples/s" + (result.empty() ? "" : ", " + result);
}

}  // namespace epochbench
