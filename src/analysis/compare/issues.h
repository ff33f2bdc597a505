// What may have become worse besides time: facts about one case on two sides, each with a stable code. src/report/ writes the
// sentences.
//
// A value that is unknown on either side raises no issue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/case/choices.h"

namespace epochbench {

enum class IssueCode : std::uint8_t {
  not_ok,        // it was ok and is not; reason: the new status and its message
  peak_memory,   // before, after: bytes; limit: the ratio of the two from which it fails
  final_loss,    // before, after: losses of one step; limit: the relative difference that rounding explains
  compile_time,  // before, after: seconds; limit: as for peak_memory
};
constexpr auto texts_of(IssueCode) { return std::array{"not_ok", "peak_memory", "final_loss", "compile_time"}; }

// Whether it fails a comparison, as a regression of time does; the others are only reported.
bool fails(IssueCode code);

struct Issue {
  IssueCode code;
  double before = 0, after = 0, limit = 0;
  std::string reason = {};  // only with not_ok
  std::size_t step = 0;     // only with final_loss: from 1, warm-up included
};

// A rise of memory that matters: the second one of a small process, which rarely takes much less by itself.
struct MemoryRise {
  double ratio, bytes;  // it is at least both
};
inline constexpr MemoryRise kMemoryRises[] = {{1.1, 32e6}, {1.5, 4e6}};
inline constexpr double kCompileTimeRatio = 2;
// A smaller difference may double the time without harm: a busy moment of the machine doubles a compilation of milliseconds.
inline constexpr double kCompileSeconds = 0.1;

// Compares the medians of one number per process on each side. None if a side is empty.
std::optional<Issue> peak_memory_issue(std::vector<double> baseline_bytes, std::vector<double> new_bytes);
std::optional<Issue> compile_time_issue(std::vector<double> baseline_seconds, std::vector<double> new_seconds);

// The relative difference of two losses of the `step`-th step, from 1, that rounding explains. The first kParitySteps steps
// have the bound of parity.h, which then grows with the steps, since each adds rounding of its own, and beyond the hundredth
// tenfold in 50 steps, as trainings that differ only by rounding diverge (docs/validation.md). Losses a quarter apart end
// elsewhere, however long it took.
double explained_loss_difference(std::size_t step, Precision precision);

// Whether two losses of one step of equal trainings differ by more than that. Relative to `scale`, the largest loss of the
// training so far: near 0 a loss has few digits left.
std::optional<Issue> loss_issue(double baseline, double contender, std::size_t step, double scale, Precision precision);

// For whole trainings, with one list of losses per process on each side, warm-up first. Compares the first steps and the last
// one that all have, which is the final loss if all took as many. If the processes of one side differ among themselves, as they
// may on a GPU, that spread counts as rounding.
std::optional<Issue> final_loss_issue(std::span<const std::vector<double>> baseline,
                                      std::span<const std::vector<double>> contender, Precision precision);

}  // namespace epochbench
