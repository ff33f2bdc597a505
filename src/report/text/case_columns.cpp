#include "src/report/text/case_columns.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

using CellOf = std::function<CaseCell(const RunGroup&)>;

CaseColumn column(unsigned tables, const Figure& figure, const char* marks = "", CellOf cell_of = {}) {
  if (!cell_of) cell_of = [&figure](const RunGroup& group) { return CaseCell{cell(group.runs, figure)}; };
  const bool follows_speed = &figure == &kEpochTime || &figure == &kEpochCost;
  return {tables, figure.short_title, marks, &figure, follows_speed, std::move(cell_of)};
}

CaseColumn column(unsigned tables, const std::string& title, const char* marks, CellOf cell_of) {
  return {tables, title, marks, nullptr, false, std::move(cell_of)};
}

CaseCell step_cell(const RunGroup& group) {
  std::string text = cell(group.runs, kStepTime);
  if (group.runs.size() == 1) append(text, spread_within_run_text(group.first()), " ");
  return {text};
}

// "64.0 to 256 (range)".
CaseCell spread_cell(const RunGroup& group) {
  const auto rate = summarize(group.runs, kThroughput);
  if (!rate || rate->spread == Spread::none) return {};
  return {range_text(rate->interval, kThroughput.unit.text) + (rate->spread == Spread::range ? " (range)" : "")};
}

// Below the rate its spread and the number of repetitions: "11.7 to 14.6, n=5", "range 6.2 to 7.9, n=3", "n=1".
CaseCell rate_cell(const RunGroup& group) {
  const auto rate = summarize(group.runs, kThroughput);
  std::string below = !rate || rate->spread == Spread::none ? "" : range_text(rate->interval, kThroughput.unit.text);
  if (rate && rate->spread == Spread::range) below = "range " + below;
  append(below, "n=" + std::to_string(group.runs.size()));
  return {cell(rate, kThroughput.unit.text), below};
}

std::string epoch_kind(const RunGroup& group) { return group.first().timing ? group.first().timing->epoch_kind : ""; }

CaseCell epoch_cell(const RunGroup& group) { return {cell(group.runs, kEpochTime), epoch_kind(group)}; }

// "1 min 40 s projected".
CaseCell epoch_with_kind(const RunGroup& group) {
  std::string text = cell(group.runs, kEpochTime);
  if (!text.empty() && std::ranges::any_of(group.runs, [](const Run* run) { return has_projected_epochs(*run); }))
    text += " projected";
  return {text};
}

CaseCell energy_cell(const RunGroup& group) {
  const KnownPart energy = known_energy(group.runs);
  std::string text = energy.part;
  append(text, cell(energy.joules_per_epoch, kEnergy.unit.text), " ");
  return {text};
}

std::string quality_text(const Repetitions& runs) {
  for (const Figure* figure : {&kTestAccuracy, &kTestLoss, &kFinalLoss})
    if (const std::string value = cell(runs, *figure); !value.empty()) return figure->short_title + (" " + value);
  return "";
}

CaseCell latency_cell(const RunGroup& group) {
  const std::string slowest = cell(group.runs, kLatency99);
  return {cell(group.runs, kMedianLatency), slowest.empty() ? "" : "p99 " + slowest};
}

// Empty if quiet, so that the column appears only if it matters.
CaseCell noticed_load(const RunGroup& group) { return {any_loaded(group.runs) ? cell(group.runs, kForeignCores) : ""}; }

}  // namespace

std::vector<CaseColumn> case_columns(unsigned table, const std::vector<RunGroup>& cases) {
  const bool repeat = std::ranges::any_of(cases, [](const RunGroup& group) { return group.runs.size() > 1; });
  // Latencies and the quality reached are what the user asked for; otherwise the terminal may be too narrow for them.
  const bool sought = std::ranges::any_of(
      cases, [](const RunGroup& group) { return group.first().latency || group.first().settings.contains("until"); });
  SpreadColumn spread;
  for (const RunGroup& group : cases) spread.add(summarize(group.runs, kThroughput));
  std::vector<CaseColumn> columns = {
      column(kInTerminal, kStepTime, repeat ? "--->" : ">", step_cell),
      column(kInMarkdown | kInPage, kStepTime),
      column(kInTerminal | kInMarkdown, kThroughput, ">"),
      column(kInPage, kThroughput, "", rate_cell),
      column(kInTerminal, spread.title(), ">",
             [spread](const RunGroup& group) {
               return CaseCell{spread.cell(summarize(group.runs, kThroughput), kThroughput.unit.text)};
             }),
      column(kInMarkdown, "95 % interval", "", spread_cell),
      column(kInTerminal, kEpochTime, "->"),
      column(kInTerminal, "", "--", [](const RunGroup& group) { return CaseCell{epoch_kind(group)}; }),
      column(kInMarkdown, kEpochTime, "", epoch_with_kind),
      column(kInPage, kEpochTime, "", epoch_cell),
      column(kInMarkdown, kMedianLatency),
      column(kInPage, kMedianLatency, "", latency_cell),
      column(kInMarkdown, kLatency99),
      column(kInTerminal | kInPage, kEpochCost, "->"),
      column(kInMarkdown, kEpochCostInUsd),
      column(kInTerminal | kInMarkdown | kInPage, kEnergy, "--->", energy_cell),
      column(kInMarkdown | kInPage, kPeakMemory),
      column(kInMarkdown, kTestAccuracy),
      column(kInMarkdown, kTestLoss),
      column(kInMarkdown, kFinalLoss),
      column(kInTerminal, "result", sought ? "" : "---",
             [](const RunGroup& group) { return CaseCell{result_text(group.runs)}; }),
      column(kInPage, "quality", "", [](const RunGroup& group) { return CaseCell{quality_text(group.runs)}; }),
      column(kInTerminal | kInMarkdown | kInPage, kPeakShare, "---->"),
      column(kInPage, figure("data_wait_fraction")),
      column(kInMarkdown, kForeignCores, "", noticed_load),
      column(kInPage, kForeignCores),
  };
  std::erase_if(columns, [&](const CaseColumn& column) { return (column.tables & table) == 0; });
  return columns;
}

std::string result_text(const Repetitions& runs) {
  if (!runs.front()->latency) return quality_text(runs);
  using Part = std::pair<const char*, const Figure*>;
  std::string text;
  for (const auto& [title, figure] : {Part("p50 ", &kMedianLatency), Part("p99 ", &kLatency99), Part("worst ", &kWorstLatency)})
    if (const std::string value = cell(runs, *figure); !value.empty()) append(text, title + value);
  return "latency " + text;
}

std::string spread_within_run_text(const Run& run) {
  const auto spread = kStepSpread.value(run);
  return spread ? "±" + significant(*spread * 100, 2) + " %" : "";
}

}  // namespace epochbench
