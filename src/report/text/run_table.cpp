// The table printed after a run, with a row per case or per run, and the ratios of its pairs.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/fairness.h"
#include "src/analysis/speedup/headline.h"
#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

std::string latency_cell(const Repetitions& runs) {
  using Part = std::pair<const char*, const Figure*>;
  std::string text;
  for (const auto& [title, figure] : {Part("p50 ", &kMedianLatency), Part("p99 ", &kLatency99), Part("worst ", &kWorstLatency)})
    if (const std::string value = cell(runs, *figure); !value.empty()) append(text, title + value);
  return "latency " + text;
}

std::string quality_cell(const Repetitions& runs) {
  if (runs.front()->latency) return latency_cell(runs);
  for (const Figure* figure : {&kTestAccuracy, &kTestLoss, &kFinalLoss})
    if (const std::string value = cell(runs, *figure); !value.empty()) return figure->short_title + (" " + value);
  return "";
}

// "±0.35 %"; "" for few steps.
std::string within_run(const Run& run) {
  const auto spread = kStepSpread.value(run);
  return spread ? "±" + significant(*spread * 100, 2) + " %" : "";
}

std::string step_cell(const Repetitions& runs) {
  std::string text = cell(runs, kStepTime);
  if (runs.size() == 1) append(text, within_run(*runs.front()), " ");
  return text;
}

std::string energy_cell(const Repetitions& runs) {
  const KnownPart energy = known_energy(runs);
  std::string text = energy.part;
  append(text, cell(energy.joules_per_epoch, kEnergy.unit.text), " ");
  return text;
}

// How to get an interval, once for the table; "" if every row has one.
std::string advice(const SpreadColumn& spread, const std::string& table) {
  const std::string advice = "five repetitions give a 95 % interval (--repetitions 5)\n";
  if (spread.has(Spread::none))
    return (table.find("±") != std::string::npos ? "±: within this run; " : "single runs have no interval; ") + advice;
  return spread.has(Spread::range) ? "range: from the slowest to the fastest repetition; " + advice : "";
}

std::string table_of(const std::vector<RunGroup>& rows) {
  if (rows.empty()) return "";
  const bool repeat = std::ranges::any_of(rows, [](const RunGroup& row) { return row.runs.size() > 1; });
  // Latencies and the quality reached are what the user asked for; otherwise the terminal may be too narrow for them.
  const bool sought = std::ranges::any_of(
      rows, [](const RunGroup& row) { return row.first().latency || row.first().settings.contains("until"); });
  SpreadColumn spread;
  for (const RunGroup& row : rows) spread.add(summarize(row.runs, kThroughput));
  const auto title = [](const char* marks, const Figure& figure) { return std::string(marks) + figure.short_title; };
  Table table({repeat ? "case" : "run", ">n", title(repeat ? "--->" : ">", kStepTime), title(">", kThroughput),
               ">" + spread.title(), title("->", kEpochTime), "--", title("->", kCost), title("--->", kEnergy),
               sought ? "result" : "---result", title("---->", kPeakShare)});
  for (const RunGroup& row : rows) {
    const bool loaded = any_loaded(row.runs);
    table.add({row.name + load_mark(loaded), repeat ? std::to_string(row.runs.size()) : "", step_cell(row.runs),
               cell(row.runs, kThroughput), spread.cell(summarize(row.runs, kThroughput), kThroughput.unit.text),
               in_doubt(loaded, cell(row.runs, kEpochTime)), row.first().timing->epoch_kind,
               in_doubt(loaded, cell(row.runs, kCost)), energy_cell(row.runs), quality_cell(row.runs),
               cell(row.runs, kPeakShare)});
  }
  const std::string text = below_load_note(table.to_string());
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
  const std::string quality = quality_cell({&run}), spread = within_run(run);
  return run.name + ": " + format_seconds(run.timing->step_seconds_median) + " per step" +
         (spread.empty() ? "" : " (" + spread + " within this run)") + ", " + format_rate(run.throughput->samples_per_second) +
         " samples/s" + (quality.empty() ? "" : ", " + quality);
}

}  // namespace epochbench
