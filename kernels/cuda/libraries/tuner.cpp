#include "kernels/cuda/libraries/tuner.h"

#include <algorithm>
#include <limits>

#include "kernels/cuda/kernels.h"

namespace epochbench::cuda {

std::optional<std::int64_t> Tuner::fastest(Candidates& candidates, std::string& reason) {
  const double begin = clock_(), end = begin + std::min(limits_.seconds_of_one, limits_.seconds_of_all - spent_seconds_);
  std::optional<std::int64_t> best;
  double best_seconds = std::numeric_limits<double>::infinity();
  int timed = 0;
  reason.clear();
  for (std::int64_t index = 0; index < candidates.count() && timed < limits_.candidates; ++index) {
    if (best && clock_() >= end) break;
    try {
      candidates.build(index);
      const double seconds = candidates.seconds(index, best_seconds);
      ++timed;
      const bool better = seconds < best_seconds;
      if (!better || best) candidates.release(better ? *best : index);
      if (!better) continue;
      best = index;
      best_seconds = seconds;
    } catch (const Error& error) {  // of this candidate only; after an unrecoverable device error the next one fails too
      candidates.release(index);
      if (reason.empty()) reason = error.what();
    }
  }
  spent_seconds_ += clock_() - begin;
  if (!best && reason.empty()) reason = "there is none";
  return best;
}

}  // namespace epochbench::cuda
