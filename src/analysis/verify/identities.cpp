#include "src/analysis/verify/identities.h"

#include <algorithm>
#include <functional>
#include <map>

#include "src/analysis/series.h"
#include "src/analysis/verify/run_identities.h"

namespace epochbench {
namespace {

// Ratios of two measured series differ from step to step by far more than this, from 0.07 % in three steps.
constexpr double kMaxCopySpread = 1e-5;
constexpr std::size_t kMinCopySteps = 3;

class Findings {
 public:
  explicit Findings(const Result& result) : result_(result) {}

  void add(const Run& run, const char* key, const std::string& text) {
    if (!text.empty()) list_.push_back({static_cast<std::size_t>(&run - result_.runs.data()), key, text});
  }

  std::vector<Contradiction> take() {
    std::ranges::stable_sort(list_, {}, &Contradiction::place);
    return std::move(list_);
  }

 private:
  const Result& result_;
  std::vector<Contradiction> list_;
};

bool is_ok(const Run& run) { return run.status == RunStatus::ok; }

void check_copies(const RunGroup& group, Findings& findings) {
  for (std::size_t i = 0; i < group.runs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Run &run = *group.runs[i], &earlier = *group.runs[j];
      if (!run.timing || !earlier.timing || !is_multiple(run.timing->step_seconds, earlier.timing->step_seconds)) continue;
      findings.add(run, "step_seconds",
                   "its steps are those of repetition " + std::to_string(earlier.repetition) + ", or a multiple");
      break;
    }
}

// Also runs that are not ok have a number.
void check_gaps(const std::vector<const Run*>& runs, Findings& findings) {
  std::vector<int> numbers;
  for (const Run* run : runs) numbers.push_back(run->repetition);
  std::ranges::sort(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (const int expected = static_cast<int>(i); numbers[i] != expected) {
      const std::string text = numbers[i] < expected ? "repetition " + std::to_string(numbers[i]) + " occurs twice"
                                                     : "repetition " + std::to_string(expected) + " is missing";
      for (const Run* run : runs)
        if (is_ok(*run)) findings.add(*run, kRepetitionNumbers, text);
      return;
    }
}

void check_same_work(const Result& result, Findings& findings) {
  std::map<std::string, const Run*> first;
  for (const Run& run : result.runs) {
    if (!is_ok(run) || run.workload.fingerprint.empty()) continue;
    const Workload& mine = run.workload;
    const Workload& other = first.try_emplace(mine.fingerprint, &run).first->second->workload;
    if (mine.parameters != other.parameters || mine.train_flops_per_sample != other.train_flops_per_sample)
      findings.add(run, "fingerprint", "it has the fingerprint of " + other.model + " and other parameters or FLOPs");
  }
}

}  // namespace

bool is_multiple(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size() || a.size() < kMinCopySteps || !(b.front() > 0)) return false;
  if (std::ranges::adjacent_find(b, std::not_equal_to()) == b.end()) return false;  // of a clock as coarse as its steps
  const double first = a.front() / b.front();
  return std::ranges::equal(a, b, [&](double x, double y) { return std::abs(x - first * y) <= kMaxCopySpread * x; });
}

std::vector<Contradiction> contradictions_in(const Result& result, const KnownFacts& facts) {
  Findings findings(result);
  const CheckedResult checked{result, facts, CpuPeaks(result)};
  for (const Run& run : result.runs)
    if (is_ok(run))
      for (const RunIdentity& each : run_identities()) findings.add(run, each.key, each.why(run, checked));
  for (const RunGroup& group : runs_by_name(result.runs, is_ok)) check_copies(group, findings);
  for (const RunGroup& group : runs_by_name(result.runs)) check_gaps(group.runs, findings);
  check_same_work(result, findings);
  return findings.take();
}

}  // namespace epochbench
