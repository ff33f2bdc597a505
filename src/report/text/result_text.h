// Text for people on one result: tables of runs, sweeps, inputs and profiles, and remarks on them. Every text ends with a line
// break unless it is empty or part of a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/time_to_quality.h"
#include "src/result/result.h"

namespace epochbench {

// For runs that are ok, one row per case with its repetitions combined, or one row per run; a line on how to get an interval if
// a row has none; then one line for each run that is not ok, and skipped runs by reason.
enum class TableRows : std::uint8_t { cases, runs };
std::string summary(const Result& result, TableRows rows = TableRows::cases);

// The pairs of speedup_of() without their notes, at most eight of a kind; each line without a line break. ratios_text()
// puts them below a heading, and returns "" if there are none.
std::vector<std::string> ratio_lines(const Result& result);
std::string ratios_text(const Result& result);

// Remarks on the table, one line each; empty if there are none.
std::string remarks(const Result& result);

// Which kernels this build lacks that this CPU could run, without a line break; empty if it lacks none.
std::string kernels_remark(const Context& context);

// "lenet5/cpu/fp32/b64 reached accuracy=0.97 (97.2 %) in 9 of 10 repetitions, after 0.26 s, the median (0.25 s to 0.28 s), 0.02
// s of it evaluation, ...".
std::string time_to_quality(const TimeToQuality& time);

// "194 GFLOP/s † (173 to 194 in 5 bursts), measured with vfmadd (avx512), threads: 2"; "not known". The mark: bursts differ by
// more than a quiet machine's, or other processes took CPU time meanwhile, and a line for all precisions says which; "" if no
// peak has the mark.
std::string cpu_peak_text(const CpuInfo& cpu, Precision precision);
std::string cpu_peak_doubts(const CpuInfo& cpu);

// "resnet20/cpu/fp32/b128: 54.3 ms per step (±0.4 % within this run), 2,360 samples/s", or the status: one line for a log.
std::string one_line(const Run& run);

// Why energy is not known, what it includes besides the run, idle power, throttled steps.
std::string energy_remarks(const Result& result);

// One table per group of runs that differ only in their input, the outcome, and the articles' rule; empty without such groups.
std::string input_text(const Result& result);

// Per case that decodes image files or uses --decode-cost: its rate per thread and the part hidden by the steps. Then, by the
// most costly of a model's, the cores needed by this device and by one that takes `feed` samples per second. Empty without such
// cases.
std::string decoding_text(const Result& result, std::optional<double> feed = {});

// Op classes and the total, then the ten nodes with most to gain, each with its limit and ordered by the time beyond it, or by
// their whole time if limits are not known. Precondition: the run has a profile.
std::string profile_text(const Run& run);

// A sweep: a table of its points, the curves as a plot, and the answers in sentences. Runs that were skipped are left out.
// Precondition: the result has answers.
std::string sweep_text(const Result& result);

}  // namespace epochbench
