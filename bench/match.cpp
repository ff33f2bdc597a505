#include "bench/match.h"

#include <array>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include <unistd.h>

#include "bench/buffer.h"
#include "bench/match_table.h"
#include "bench/work.h"
#include "src/machine/peaks.h"
#include "src/machine/topology.h"

namespace epochbench::bench {
namespace {

constexpr std::int64_t kTriadBytes = 128 << 20;  // an array, beyond the caches
constexpr int kTriadPasses = 4;

template <typename Real>
struct Operands {  // c, a, b of a product, or y, x, weight of a convolution
  explicit Operands(const Work& work) : first(work.elements[0], 1), second(work.elements[1], 2), third(work.elements[2], 3) {
    result = std::array{&first, &second, &third}[work.result];
  }
  Buffer<Real> first, second, third;
  Buffer<Real>* result;
};

template <typename Real>
std::size_t workspace_bytes(const Work& work, const cpu::Kernels<Real>& kernels, int threads) {
  if (work.gemm) return kernels.gemm_workspace_bytes(*work.gemm, threads);
  switch (work.pass) {
    case Pass::forward:
      return kernels.conv2d_workspace_bytes(work.conv2d, threads);
    case Pass::grad_input:
      return kernels.conv2d_grad_input_workspace_bytes(work.conv2d, threads);
    case Pass::grad_weight:
      return kernels.conv2d_grad_weight_workspace_bytes(work.conv2d, threads);
  }
  return 0;
}

template <typename Real>
void run_ours(const Work& work, Operands<Real>& o, const cpu::Kernels<Real>& kernels, void* workspace, int threads) {
  Real *first = o.first.data(), *second = o.second.data(), *third = o.third.data();
  if (work.gemm) return kernels.gemm(first, second, third, *work.gemm, {}, workspace, threads);
  switch (work.pass) {
    case Pass::forward:
      return kernels.conv2d(first, second, third, work.conv2d, {}, workspace, threads);
    case Pass::grad_input:
      return kernels.conv2d_grad_input(second, first, third, work.conv2d, workspace, threads);
    case Pass::grad_weight:
      return kernels.conv2d_grad_weight(third, first, second, work.conv2d, workspace, threads);
  }
}

template <typename Real>
std::unique_ptr<PeerCall> prepare(const NamedPeer& peer, const Work& work, Operands<Real>& o) {
  constexpr Element element = sizeof(Real) == sizeof(float) ? Element::f32 : Element::bf16;
  return work.gemm ? peer.peer->gemm(o.first.data(), o.second.data(), o.third.data(), *work.gemm, element)
                   : peer.peer->conv2d(o.first.data(), o.second.data(), o.third.data(), work.conv2d, work.pass, element);
}

// Sums of n products whose order differs may differ by n roundings each, and be rounded once more where they are stored.
template <typename Real>
double tolerance(const Work& work) {
  const double sum = work.flops / 2 / static_cast<double>(work.elements[work.result]);
  return 2 * (FLT_EPSILON * sum + (sizeof(Real) == sizeof(float) ? FLT_EPSILON : 0x1p-8));
}

// That the peer was asked for the same work: the difference of the results, over ours, both as Euclidean norms.
template <typename Real>
void expect_same(const std::vector<Real>& ours, Buffer<Real>& theirs, const Work& work, const std::string& peer) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double x = to_float(ours[i]), d = to_float(theirs.data()[i]) - x;
    difference += d * d;
    norm += x * x;
  }
  const double relative = std::sqrt(difference / norm);
  if (!(relative <= tolerance<Real>(work)))
    throw std::runtime_error(work.name + ": the result of " + peer + " differs from ours by " + std::to_string(relative) +
                             " of its norm");
}

template <typename Real>
double peak_burst(int threads, double seconds) {
  return sizeof(Real) == sizeof(float) ? fp32_peak_burst(threads, seconds) : bf16_peak_burst(threads, seconds).value();
}

// Turns of `work`: the contestants' calls in their order (an empty figure for a peer that has no such work), then the bursts.
template <typename Real>
Played play(const Work& work, const cpu::Kernels<Real>& kernels, const MatchOptions& options) {
  Operands<Real> operands(work);
  Played played;
  played.work = work;
  for (const std::int64_t n : work.elements) played.bytes += static_cast<double>(n) * sizeof(Real);

  auto workspace = Buffer<float>::workspace(workspace_bytes(work, kernels, options.threads));
  std::vector<std::function<void()>> calls;
  std::vector<std::size_t> places;  // of calls in played.seconds
  const auto enter = [&](std::size_t place, std::function<void()> call) {
    calls.push_back(std::move(call));
    places.push_back(place);
  };
  enter(0, [&] { run_ours(work, operands, kernels, workspace.data(), options.threads); });
  calls.front()();
  const std::vector<Real> ours(operands.result->data(), operands.result->data() + operands.result->size());

  std::vector<std::unique_ptr<PeerCall>> prepared;
  for (std::size_t i = 0; i < options.peers.size(); ++i) {
    prepared.push_back(prepare(options.peers[i], work, operands));
    if (!prepared.back()) continue;
    std::fill_n(operands.result->data(), operands.result->size(), Real{});
    prepared.back()->run();
    prepared.back()->finish();
    expect_same(ours, *operands.result, work, options.peers[i].name);
    enter(1 + i, [call = prepared.back().get()] { call->run(); });
  }
  std::vector<std::function<double()>> bursts{[&] { return peak_burst<Real>(options.threads, options.contest.turn_seconds); }};
  auto workspace_of_one = Buffer<float>::workspace(options.scaling ? workspace_bytes(work, kernels, 1) : 0);
  if (options.scaling) {
    enter(1 + options.peers.size(), [&] { run_ours(work, operands, kernels, workspace_of_one.data(), 1); });
    bursts.emplace_back([&] { return peak_burst<Real>(1, options.contest.turn_seconds); });
  }

  Turns turns = take_turns(calls, bursts, options.contest);
  played.seconds.resize(1 + options.peers.size() + (options.scaling ? 1 : 0));
  played.cores.resize(played.seconds.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    played.seconds[places[i]] = std::move(turns.call_seconds[i]);
    played.cores[places[i]] = std::move(turns.busy_cores[i]);
  }
  played.peaks = std::move(turns.bursts);
  return played;
}

}  // namespace

template <typename Real>
void run_match(const std::string& path, const cpu::Kernels<Real>& kernels, const MatchOptions& options) {
  std::vector<Work> works;
  for (const Problem& problem : read_problems(path))
    for (Work& work : works_of(problem)) works.push_back(std::move(work));
  if (works.empty()) throw std::runtime_error(path + ": holds no gemm and no conv2d");

  MatchTable table;
  table.contestants = {kernels.isa};
  for (const NamedPeer& peer : options.peers) table.contestants.push_back(peer.name);
  if (options.scaling) table.contestants.push_back(std::string(kernels.isa) + " on one thread");
  table.one_thread_last = options.scaling;
  table.bytes_per_second = triad_burst(options.threads, kTriadBytes, kTriadPasses);
  table.begin(path, sizeof(Real) == sizeof(float) ? "fp32" : "bf16", options.threads, options.contest.rounds);
  for (const Work& work : works) table.add(play(work, kernels, options));
  table.end();
}

template void run_match<float>(const std::string&, const cpu::Kernels<float>&, const MatchOptions&);
template void run_match<Bf16>(const std::string&, const cpu::Kernels<Bf16>&, const MatchOptions&);

void choose_waiting(char** argv, bool spin) {
  if (std::getenv("OMP_WAIT_POLICY")) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  if (spin) setenv("GOMP_SPINCOUNT", kSpinCount, 0);
  setenv("KMP_BLOCKTIME", spin ? "3" : "0", 0);              // milliseconds
  setenv("OPENBLAS_THREAD_TIMEOUT", spin ? "23" : "16", 0);  // 2^23 cycles are 3 ms, 2^16 next to nothing
  execv("/proc/self/exe", argv);
  throw std::runtime_error("this program cannot be started anew with OMP_WAIT_POLICY=passive: set it yourself");
}

}  // namespace epochbench::bench
