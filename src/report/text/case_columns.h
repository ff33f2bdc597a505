// The columns of tables that have a row for each case: one list, from which the terminal, Markdown and the page choose.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/analysis/series.h"

namespace epochbench {

inline constexpr unsigned kInTerminal = 1, kInMarkdown = 2, kInPage = 4;

struct CaseCell {
  std::string text;
  std::string below = {};  // smaller, in the page
};

struct CaseColumn {
  unsigned tables;  // that have it
  std::string title;
  std::string marks;     // of a terminal's column (Table in src/base/text.h)
  const Figure* figure;  // by whose value a page sorts; null: by the text
  bool follows_speed;    // gray if other processes disturbed the runs
  std::function<CaseCell(const RunGroup&)> cell;
};

// Besides the name and the number of repetitions. Whether a column is needed depends on the cases.
std::vector<CaseColumn> case_columns(unsigned table, const std::vector<RunGroup>& cases);

// "accuracy 97.2 %", "test loss 3.12", "loss 2.30"; of runs with latencies "latency p50 1.2 ms, p99 1.4 ms, worst 2.0 ms".
std::string result_text(const Repetitions& runs);
// "±0.35 %": how far the median step may be off, judged by the run's own steps; "" for few steps.
std::string spread_within_run_text(const Run& run);

}  // namespace epochbench
