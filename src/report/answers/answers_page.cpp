#include "src/report/answers/answers_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/analysis/input/input_pipeline.h"
#include "src/analysis/sweep/curves.h"
#include "src/analysis/sweep/rank_scaling.h"
#include "src/base/cpu_name.h"
#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

using Lines = std::vector<std::string>;

// A page: a head of two lines; for each section its question, its answers, a line on what is left out, and how to read them; at
// the end the reasons why something was not measured.
constexpr std::size_t kPageLines = 60, kHeadLines = 2, kReasons = 4;
// Longer text ends in dots; the JSON has all of it.
constexpr std::size_t kAnswerLines = 4, kReasonLines = 2;

std::string machine_text(const Result& result) {
  std::string text = short_cpu_name(result.context.cpu.model);
  for (const GpuInfo& gpu : result.context.gpus) text += ", " + gpu.name;
  return text;
}

// What failed or was skipped, by reason: "12 runs: no GPU is usable here".
std::vector<std::string> not_measured(const Result& result) {
  Reasons reasons;
  for (const Run& run : result.runs)
    if (run.status != RunStatus::ok) add_reason(reasons, run.message.value_or(name(run.status)), run.name);
  return runs_by_reason(reasons);
}

Lines cut(Lines lines, std::size_t most) {
  const std::string dots = " ...";
  const std::size_t columns = std::min(kTextColumns, output_columns());
  most = (most * kTextColumns + columns - 1) / columns;  // narrow lines hold less
  if (lines.size() <= most) return lines;
  lines.resize(most);
  std::string& last = lines.back();
  while (display_width(last) + dots.size() > columns && last.rfind(' ') != std::string::npos) last.erase(last.rfind(' '));
  last += dots;
  return lines;
}

// Each text on separate lines, indented below its question.
std::vector<Lines> blocks(const std::vector<std::string>& texts, std::size_t max_lines) {
  std::vector<Lines> all;
  for (const std::string& text : texts) all.push_back(cut(wrapped_lines("   ", "     ", text), max_lines));
  return all;
}

std::string head_line(const Result& result) {
  return cut(wrapped_lines("Answers: ", "", machine_text(result) + ", " + result.context.date.substr(0, 10)), 1).front();
}

Lines read_lines(const AnswerSection& section) { return wrapped_lines("   note: ", "     ", section.read); }

// The number of answers for each section, assigned in turn until every section has all of its own or `lines` are used up.
std::vector<std::size_t> shares(const std::vector<std::vector<Lines>>& answers, std::size_t lines) {
  std::vector<std::size_t> given(answers.size(), 0);
  std::vector<bool> full(answers.size(), false);
  while (std::find(full.begin(), full.end(), false) != full.end())
    for (std::size_t i = 0; i < answers.size(); ++i) {
      full[i] = full[i] || given[i] == answers[i].size() || answers[i][given[i]].size() > lines;
      if (full[i]) continue;
      lines -= answers[i][given[i]].size();
      ++given[i];
    }
  return given;
}

// The first blocks, and how many more there are.
void add_blocks(std::string& text, const std::vector<Lines>& blocks, std::size_t shown, const std::string& more) {
  for (std::size_t i = 0; i < shown; ++i)
    for (const std::string& line : blocks[i]) text += line + "\n";
  if (shown < blocks.size()) text += "   and " + std::to_string(blocks.size() - shown) + " more" + more + "\n";
}

constexpr std::size_t kMinCurvePoints = 3;  // fewer batches are not a curve

std::string input_text(const InputRow& row) {
  std::string text = row.input.cache == Cache::decoded ? "decoded data"
                     : row.input.loader_threads == 0
                         ? "no loader thread"
                         : counted(static_cast<std::size_t>(row.input.loader_threads), "loader thread", "loader threads");
  if (row.input.loader_threads > 0 && !row.input.prefetch) text += " without prefetching";
  if (!row.utilization) return text + ": utilization not known";
  return text + ": busy " + format_percent(*row.utilization) + " of the time, " +
         (std::isfinite(row.of_decoded.value) ? format_percent(row.of_decoded.value) + " of the rate from decoded data"
                                              : "rate beside decoded data not known");
}

AnswerSection batch_section(const Result& result) {
  AnswerSection section{"Up to which batch does throughput rise?", {}, ""};
  section.read = "flat from: the smallest batch within 5 % of the best, with the batches that may be it at 95 %";
  for (const Curve& curve : curves_of(result, Axis::batch)) {
    if (curve.points.size() < kMinCurvePoints) continue;
    const CurveBest best = best_of(curve);
    const CurveFlattening flat = flattening_of(curve);
    const bool loaded = std::ranges::any_of(curve.points, [](const CurvePoint& point) { return any_disturbed(point.runs); });
    std::string line = curve.name + load_mark(loaded) + ": ";
    line += best.value && best.rate
                ? "best at batch " + std::to_string(*best.value) + " with " + format_rate(*best.rate) + " samples/s"
                : "no best (" + best.reason.value_or("not known") + ")";
    if (flat.value) line += ", flat from batch " + std::to_string(*flat.value);
    if (flat.range) line += " (" + std::to_string(flat.range->first) + " to " + std::to_string(flat.range->second) + ")";
    if (flat.reason) line += "; " + *flat.reason;
    if (best.indistinguishable && best.reason) line += "; " + *best.reason;
    section.answers.push_back(line);
  }
  section.answered = !section.answers.empty();
  if (!section.answered)
    section.answers.push_back("no answer: nothing ran at " + std::to_string(kMinCurvePoints) + " batches or more");
  return section;
}

// For results in which ranks shared batches; otherwise it has no answers.
AnswerSection ranks_section(const Result& result) {
  AnswerSection section{"What does it cost that several processes share a batch?", {}, ""};
  section.read = "exposed: what a step takes beyond computing; efficiency: samples/s of one rank over those of a rank alone";
  for (const Axis axis : {Axis::ranks, Axis::ranks_weak})
    for (const Curve& curve : curves_of(result, axis)) {
      if (curve.points.size() < 2) continue;
      const std::string kind = axis == Axis::ranks ? "batch of one size, " : "batch of one size per rank, ";
      for (std::string& line : rank_sentences(rank_scaling_of(curve, axis), kind + curve.name))
        section.answers.push_back(std::move(line));
    }
  if (!section.answers.empty()) return section;
  for (const Run& run : result.runs)
    if (const std::string line = rank_remark(run); !line.empty()) section.answers.push_back(line.substr(0, line.size() - 1));
  return section;
}

AnswerSection input_section(const Result& result) {
  AnswerSection section{"Is the input fast enough?", {}, ""};
  section.read = "busy under " + format_percent(kStarvedBelow) + " of the time: fix the input before anything else; above " +
                 format_percent(kWellFedAbove) + ": well fed";
  for (const InputGroup& group : input_groups(result)) {
    std::string line = group.workload + load_mark(std::ranges::any_of(group.rows, &InputRow::loaded));
    if (group.threads) line += ", " + counted(static_cast<std::size_t>(*group.threads), "thread", "threads");
    if (group.best && group.worst)
      line += ": " + input_text(group.rows[*group.worst]) + "; " + input_text(group.rows[*group.best]) + "; so " +
              ratio_text(group.gain) + " the samples/s";
    else
      line += ": it is unknown which runs waited most and least";
    section.answers.push_back(line);
  }
  section.answered = !section.answers.empty();
  if (!section.answered) section.answers.emplace_back("no answer: no workload ran with different inputs on real data");
  return section;
}

}  // namespace

std::vector<AnswerSection> answer_sections(const NamedResult& named) {
  const std::vector<Run>& runs = named.result.runs;
  const Speedup speedup = speedup_of({named}, SpeedupOf::same_batch), to_quality = speedup_of({named}, SpeedupOf::to_quality);
  std::vector<AnswerSection> sections{speed_section(runs, speedup, to_quality),
                                      utilization_section(runs),
                                      precision_section(runs, speedup, to_quality),
                                      cost_section(runs, speedup),
                                      batch_section(named.result),
                                      input_section(named.result)};
  for (AnswerSection& section :
       std::array{parts_section(speedup, to_quality), threads_section(speedup, to_quality), ranks_section(named.result)})
    if (!section.answers.empty()) sections.push_back(std::move(section));
  for (AnswerSection& section : sections) replace_all(section.read, " RESULT", " " + shell_word(named.path));
  return sections;
}

std::string answers_page(const NamedResult& named) {
  std::vector<AnswerSection> sections = answer_sections(named);
  const std::string in_full = "epochbench answers " + shell_word(named.path) + " --json";
  std::string unanswered;
  for (const AnswerSection& section : sections)
    if (!section.answered) append(unanswered, section.question, " ");
  std::erase_if(sections, [](const AnswerSection& section) { return !section.answered; });
  const Lines left = unanswered.empty() ? Lines{} : wrapped_lines("Not answered: ", "  ", unanswered + " Why: " + in_full);
  const std::vector<Lines> missing = blocks(not_measured(named.result), kReasonLines);
  const std::size_t reasons = std::min(missing.size(), kReasons);
  const bool loaded = std::ranges::any_of(sections, [](const AnswerSection& section) {
    return std::ranges::any_of(section.answers, [](const std::string& text) { return text.find(kLoadMark) != text.npos; });
  });
  std::size_t used =
      kHeadLines + loaded + left.size() + (missing.empty() ? 0 : 2);  // that something is missing, and how much more
  for (std::size_t i = 0; i < reasons; ++i) used += missing[i].size();
  std::vector<std::vector<Lines>> answers;
  for (const AnswerSection& section : sections) {
    answers.push_back(blocks(section.answers, kAnswerLines));
    used += 2 + read_lines(section).size();
  }
  const std::vector<std::size_t> shown = shares(answers, kPageLines - used);
  std::string text = head_line(named.result) + "\n" + (loaded ? load_note() + "\n" : "") + "\n";
  for (std::size_t i = 0; i < sections.size(); ++i) {
    text += std::to_string(i + 1) + ". " + sections[i].question + "\n";
    add_blocks(text, answers[i], shown[i], " (" + in_full + ")");
    for (const std::string& line : read_lines(sections[i])) text += line + "\n";
  }
  for (const std::string& line : left) text += line + "\n";
  if (missing.empty()) return text;
  text += "Not measured\n";
  add_blocks(text, missing, reasons, " reasons");
  return text;
}

Json answers_json(const NamedResult& named) {
  Json json{{"machine", machine_text(named.result)}, {"date", named.result.context.date}, {"sections", Json::array()}};
  for (const AnswerSection& section : answer_sections(named))
    json["sections"].push_back(
        {{"question", section.question}, {"answered", section.answered}, {"answers", section.answers}, {"read", section.read}});
  json["not_measured"] = not_measured(named.result);
  return json;
}

}  // namespace epochbench
