// The columns of tables that have a row for each case: one list, from which the terminal, Markdown and the page choose.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/analysis/series.h"
#include "src/report/view.h"

namespace epochbench {

inline constexpr unsigned kInTerminal = 1, kInMarkdown = 2, kInPage = 4;

// The first cells of a case's row: its name, in doubt if other processes disturbed the runs, and what else a table begins with.
using CaseHead = std::function<std::vector<Cell>(const RunGroup&)>;

// A row for each case: `first` and `head` are its columns and cells before those of the figures. The time and the cost of an
// epoch, which follow from the speed, are in doubt with the name.
View cases_view(unsigned table, const std::vector<RunGroup>& cases, const char* first, const CaseHead& head);

// "accuracy 97.2 %", "test loss 3.12", "loss 2.30"; of runs with latencies "latency p50 1.2 ms, p99 1.4 ms, worst 2.0 ms".
std::string result_text(const Repetitions& runs);
// "±0.35 %": how far the median step may be off, judged by the run's own steps; "" for few steps.
std::string spread_within_run_text(const Run& run);

}  // namespace epochbench
