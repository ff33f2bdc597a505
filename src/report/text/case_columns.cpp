#include "src/report/text/case_columns.h"

#include <algorithm>
#include <utility>

#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

using CellOf = std::function<Cell(const RunGroup&)>;

struct CaseColumn {
  unsigned tables;  // that have it
  std::string title;
  std::string marks;
  const Figure* figure;  // by whose value a page sorts; null: by the text
  CellOf cell;
};

CaseColumn column(unsigned tables, const Figure& figure, const char* marks = "", CellOf cell_of = {}) {
  if (!cell_of) cell_of = [&figure](const RunGroup& group) { return Cell{cell(group.runs, figure)}; };
  return {tables, figure.short_title, marks, &figure, std::move(cell_of)};
}

CaseColumn column(unsigned tables, const std::string& title, const char* marks, CellOf cell_of) {
  return {tables, title, marks, nullptr, std::move(cell_of)};
}

Cell step_cell(const RunGroup& group) {
  std::string text = cell(group.runs, kStepTime);
  if (group.runs.size() == 1) append(text, spread_within_run_text(group.first()), " ");
  return {text};
}

// "64.0 to 256 (range)".
Cell spread_cell(const RunGroup& group) {
  const auto rate = summarize(group.runs, kThroughput);
  if (!rate || rate->spread == Spread::none) return {};
  return {range_text(rate->interval, kThroughput.unit.text) + (rate->spread == Spread::range ? " (range)" : "")};
}

// Below the rate its spread and the number of repetitions: "11.7 to 14.6, n=5", "range 6.2 to 7.9, n=3", "n=1".
Cell rate_cell(const RunGroup& group) {
  const auto rate = summarize(group.runs, kThroughput);
  std::string below = ends_text(rate, kThroughput.unit.text);
  append(below, "n=" + std::to_string(group.runs.size()));
  return {cell(rate, kThroughput.unit.text), below};
}

std::string epoch_kind(const RunGroup& group) { return group.first().timing ? name(group.first().timing->epoch_kind) : ""; }

Cell epoch_cell(const RunGroup& group) { return {cell(group.runs, kEpochTime), epoch_kind(group)}; }

// "1 min 40 s projected".
Cell epoch_with_kind(const RunGroup& group) {
  std::string text = cell(group.runs, kEpochTime);
  if (!text.empty() && std::ranges::any_of(group.runs, [](const Run* run) { return has_projected_epochs(*run); }))
    text += " projected";
  return {text};
}

Cell energy_cell(const RunGroup& group) {
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

Cell latency_cell(const RunGroup& group) {
  const std::string slowest = cell(group.runs, kLatency99);
  return {cell(group.runs, kMedianLatency), slowest.empty() ? "" : "p99 " + slowest};
}

// Empty if quiet, so that the column appears only if it matters.
Cell noticed_load(const RunGroup& group) { return {any_loaded(group.runs) ? cell(group.runs, kForeignCores) : ""}; }

// By which a page sorts.
std::optional<double> value(const RunGroup& group, const Figure& figure) {
  return member_of(&figure == &kEnergy ? known_energy(group.runs).joules_per_epoch : summarize(group.runs, figure),
                   &GroupEstimate::value);
}

// Which columns are needed depends on the cases.
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
               return Cell{spread.cell(summarize(group.runs, kThroughput), kThroughput.unit.text)};
             }),
      column(kInMarkdown, "95 % interval", "", spread_cell),
      column(kInTerminal, kEpochTime, "->"),
      column(kInTerminal, "", "--", [](const RunGroup& group) { return Cell{epoch_kind(group)}; }),
      column(kInMarkdown, kEpochTime, "", epoch_with_kind),
      column(kInPage, kEpochTime, "", epoch_cell),
      column(kInMarkdown, kMedianLatency),
      column(kInPage, kMedianLatency, "", latency_cell),
      column(kInMarkdown, kLatency99),
      column(kInTerminal | kInPage, kEpochCost, "->"),
      column(kInMarkdown, kEpochCostInUsd),
      column(kInTerminal | kInMarkdown, kFirstEpochCost, "-->",
             [](const RunGroup& group) { return Cell{first_epoch_cost(group.runs)}; }),
      column(kInTerminal | kInMarkdown, kWholeEpochCost, "-->"),
      column(kInTerminal | kInMarkdown | kInPage, kEnergy, "--->", energy_cell),
      column(kInMarkdown | kInPage, kPeakMemory),
      column(kInMarkdown, kTestAccuracy),
      column(kInMarkdown, kTestLoss),
      column(kInMarkdown, kFinalLoss),
      column(kInTerminal, "result", sought ? "" : "---", [](const RunGroup& group) { return Cell{result_text(group.runs)}; }),
      column(kInPage, "quality", "", [](const RunGroup& group) { return Cell{quality_text(group.runs)}; }),
      column(kInTerminal | kInMarkdown | kInPage, kPeakShare, "---->"),
      column(kInPage, figure("data_wait_fraction")),
      column(kInMarkdown, kForeignCores, "", noticed_load),
      column(kInPage, kForeignCores),
  };
  std::erase_if(columns, [&](const CaseColumn& column) { return (column.tables & table) == 0; });
  return columns;
}

}  // namespace

View cases_view(unsigned table, const std::vector<RunGroup>& cases, const char* first, const CaseHead& head) {
  View view = {"Runs", columns(first)};
  const std::vector<CaseColumn> figures = case_columns(table, cases);
  for (const CaseColumn& column : figures)
    view.columns.push_back({column.title, column.figure ? ColumnKind::number : ColumnKind::text, column.marks});
  for (const RunGroup& group : cases) {
    std::vector<Cell> row = head(group);
    const bool doubted = row.front().in_doubt;
    row.front().in_doubt = false;
    for (const CaseColumn& column : figures) {
      Cell cell = column.cell(group);
      if (column.figure && table == kInPage) cell.value = value(group, *column.figure);
      cell.in_doubt = doubted && (column.figure == &kEpochTime || column.figure == &kEpochCost);
      row.push_back(std::move(cell));
    }
    view.rows.push_back(std::move(row));
  }
  return view;
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
