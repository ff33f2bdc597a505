#include "src/backend/cpu/cpu_libraries.h"

#include <algorithm>
#include <limits>

#include <omp.h>

#include "epochbench/backend.h"
#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

// Work is timed in turns until it has taken this long, at least five times and at most this often. The shortest turn counts:
// other processes lengthen turns, and on a shared machine more than half of them.
constexpr double kSecondsPerWork = 0.2;
constexpr std::size_t kMinTurns = 5, kMaxTurns = 51;
// What timing may take in all. ResNet-50 with batch 16 has 100 kinds of work, and takes 20 s on two cores.
constexpr double kSecondsPerProgram = 60;
constexpr double kNoise = 0.01;  // of the shortest of several turns

// "OpenBLAS 0.3.21" of a version with more words.
std::string name_and_number(const std::string& version) {
  const std::size_t name = version.find(' ');
  return version.substr(0, name == std::string::npos ? name : version.find(' ', name + 1));
}

double seconds_of(const HostStep& step) {
  const double begin = steady_seconds();
  step();
  return steady_seconds() - begin;
}

}  // namespace

std::size_t place_of_fastest(const std::vector<double>& seconds) {
  const auto fastest = std::ranges::min_element(seconds);
  return *fastest < seconds[0] * (1 - kNoise) ? static_cast<std::size_t>(fastest - seconds.begin()) : 0;
}

std::vector<std::string> cpu_libraries() {
  std::vector<std::string> names;
  for (const std::string& name : built_libraries()) {
    try {
      names.push_back(name_and_number(load_built_library(name, omp_get_max_threads())->version()));
    } catch (const std::runtime_error& error) {
      names.push_back(name + " (" + error.what() + ")");
    }
  }
  return names;
}

std::string to_text(const LibraryProblem& problem) {
  std::string text;
  const auto add = [&](const char* key, std::int64_t value) { text += std::string(" ") + key + "=" + std::to_string(value); };
  if (problem.gemm) {
    const GemmShape& s = *problem.gemm;
    text = "gemm";
    add("m", s.m), add("n", s.n), add("k", s.k);
    if (s.transpose_a) add("transpose_a", 1);
    if (s.transpose_b) add("transpose_b", 1);
  } else {
    const Conv2dShape& s = problem.conv2d;
    text = problem.pass == Pass::forward      ? "conv2d"
           : problem.pass == Pass::grad_input ? "conv2d grad_input"
                                              : "conv2d grad_weight";
    add("n", s.batch), add("h", s.height), add("w", s.width), add("c", s.channels), add("k", s.out_channels);
    add("r", s.kernel_height), add("s", s.kernel_width);
    if (s.stride > 1) add("stride", s.stride);
    if (s.padding > 0) add("pad", s.padding);
  }
  if (problem.element == Element::bf16) text += " bf16";
  if (problem.epilogue.bias) text += " bias";
  if (problem.epilogue.relu) text += " relu";
  return text;
}

CpuLibraries::CpuLibraries(const std::string& use, int threads) : timed_(use == kFastest), threads_(threads) {
  const std::vector<std::string> built = built_libraries();
  if (built.empty())
    throw DeviceError(
        "this build has no libraries to compare our kernels with; build with EPOCHBENCH_LIBRARIES=ON scripts/run");
  for (const std::string& name : built) {
    if (!timed_ && name != use) continue;
    try {
      libraries_.push_back({"", load_built_library(name, threads)});
    } catch (const std::runtime_error& error) {
      throw DeviceError(error.what());
    }
    libraries_.back().name = name_and_number(libraries_.back().library->version());
  }
}

const std::vector<CpuLibraries::Offer>& CpuLibraries::offers(const LibraryProblem& problem, bool widens) {
  const auto [found, fresh] = offers_.try_emplace(to_text(problem));
  if (!fresh) return found->second;
  omp_set_num_threads(threads_);
  const auto call_of = [&](Library& library, const LibraryEpilogue& epilogue) {
    return problem.gemm ? library.gemm(*problem.gemm, problem.element, epilogue)
                        : library.conv2d(problem.conv2d, problem.pass, problem.element, epilogue);
  };
  for (const Loaded& loaded : libraries_) {
    if (problem.element == Element::bf16 && loaded.library->widens() != widens) continue;
    LibraryEpilogue left;
    std::shared_ptr<LibraryCall> call = call_of(*loaded.library, problem.epilogue);
    if (!call && (problem.epilogue.bias || problem.epilogue.relu)) {
      left = problem.epilogue;
      call = call_of(*loaded.library, {});
    }
    if (call) found->second.push_back({loaded.name, std::move(call), left});
  }
  return found->second;
}

CpuLibraries::Decision CpuLibraries::decide(const std::vector<Candidate>& candidates) {
  if (!timed_) return {candidates.size() - 1, ""};
  if (seconds_ > kSecondsPerProgram) return {0, " [not timed: " + format_seconds(kSecondsPerProgram) + " are used up]"};
  std::vector<double> shortest(candidates.size(), std::numeric_limits<double>::infinity());
  const double begin = steady_seconds();
  for (const Candidate& candidate : candidates) candidate.node.step();  // a first call touches memory and code
  for (std::size_t turn = 0; turn < kMaxTurns; ++turn) {
    if (turn >= kMinTurns && steady_seconds() - begin > kSecondsPerWork) break;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t at = turn % 2 == 0 ? i : candidates.size() - 1 - i;
      shortest[at] = std::min(shortest[at], seconds_of(candidates[at].node.step));
    }
  }
  seconds_ += steady_seconds() - begin;

  std::vector<std::string> texts;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    texts.push_back(candidates[i].kernels + " " + format_seconds(shortest[i]));
  return {place_of_fastest(shortest), " [" + joined(texts) + "]"};
}

CompiledNode CpuLibraries::choose(const std::string& work, std::vector<Candidate> candidates) {
  const auto found = decisions_.find(work);
  const Decision& decision =
      found != decisions_.end() ? found->second : decisions_.emplace(work, decide(candidates)).first->second;
  Candidate& chosen = candidates[decision.chosen];
  chosen.node.chosen = work + ": " + chosen.kernels + decision.how;
  return std::move(chosen.node);
}

}  // namespace epochbench
