#include "bench/library_comparison.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "bench/comparison_table.h"
#include "bench/kernel_bench.h"
#include "bench/own_kernels.h"
#include "epochbench/precision.h"
#include "src/machine/peaks.h"
#include "src/machine/topology.h"

namespace epochbench::bench {
namespace {

constexpr std::int64_t kTriadBytes = 128 << 20;  // per array, larger than the caches
constexpr int kTriadPasses = 4;

template <typename Real>
std::unique_ptr<LibraryCall> prepare(const NamedPeer& peer, const Work& work) {
  constexpr Element element = sizeof(Real) == sizeof(float) ? Element::f32 : Element::bf16;
  if (!work.gemm) return peer.peer->conv2d(work.conv2d, work.pass, element, {});
  if (peer.name.ends_with("-plain")) return nullptr;  // the same product as without the variant
  return peer.peer->gemm(*work.gemm, element, {});
}

// Sums of n products in different orders may differ by n roundings each, and be rounded once more where they are stored.
template <typename Real>
double tolerance(const Work& work) {
  const double sum = work.flops / 2 / static_cast<double>(work.elements[work.result]);
  return 2 * (FLT_EPSILON * sum + (sizeof(Real) == sizeof(float) ? FLT_EPSILON : 0x1p-8));
}

// Checks that the peer did the same work, by the Euclidean norm of the results' difference relative to that of ours.
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

// The rounds of `work`: the libraries' calls in their order (an empty figure for one that has no such work), then the bursts.
template <typename Real>
Measured measure(const Work& work, const cpu::Kernels<Real>& kernels, const ComparisonSettings& settings) {
  Operands<Real> operands(work);
  auto workspace = Buffer<float>::workspace(workspace_bytes(work, kernels, settings.threads));
  std::vector<std::function<void()>> calls;
  std::vector<std::size_t> places;  // of calls among the libraries
  const auto enter = [&](std::size_t place, std::function<void()> call) {
    calls.push_back(std::move(call));
    places.push_back(place);
  };
  enter(0, [&] { run_ours(work, operands, kernels, workspace.data(), settings.threads); });
  calls.front()();
  const std::vector<Real> ours(operands.result->data(), operands.result->data() + operands.result->size());

  std::vector<std::unique_ptr<LibraryCall>> prepared;
  std::vector<Buffer<float>> workspaces;
  for (std::size_t i = 0; i < settings.peers.size(); ++i) {
    prepared.push_back(prepare<Real>(settings.peers[i], work));
    if (!prepared.back()) continue;
    workspaces.push_back(Buffer<float>::workspace(prepared.back()->workspace_bytes()));
    prepared.back()->bind(operands.first.data(), operands.second.data(), operands.third.data(), nullptr,
                          workspaces.back().data());
    std::fill_n(operands.result->data(), operands.result->size(), Real{});
    prepared.back()->run();
    prepared.back()->finish();
    expect_same(ours, *operands.result, work, settings.peers[i].name);
    enter(1 + i, [call = prepared.back().get()] { call->run(); });
  }
  CallSettings rounds = settings.calls;
  rounds.order.name = work.name;
  const auto burst = [&](int threads) { return peak_burst(product_precision(kernels), threads, rounds.turn_seconds).value(); };
  std::vector<std::function<double()>> bursts{[&] { return burst(settings.threads); }};
  auto workspace_of_one = Buffer<float>::workspace(settings.scaling ? workspace_bytes(work, kernels, 1) : 0);
  if (settings.scaling) {
    enter(1 + settings.peers.size(), [&] { run_ours(work, operands, kernels, workspace_of_one.data(), 1); });
    bursts.emplace_back([&] { return burst(1); });
  }

  CallTimes times = interleave_calls(calls, bursts, rounds);
  Measured measured;
  measured.seconds.resize(1 + settings.peers.size() + (settings.scaling ? 1 : 0));
  measured.cores.resize(measured.seconds.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    measured.seconds[places[i]] = {std::move(times.call_seconds[i])};
    measured.cores[places[i]] = {std::move(times.busy_cores[i])};
  }
  for (std::vector<double>& burst : times.bursts) measured.peaks.push_back({std::move(burst)});
  return measured;
}

// The processes of a comparison hand their rounds over as lines of JSON, one per work.
std::string to_line(const Measured& measured) {
  return nlohmann::json{{"seconds", measured.seconds}, {"cores", measured.cores}, {"peaks", measured.peaks}}.dump();
}

// Adds the rounds of one more process.
void add_line(Measured& measured, const std::string& line) {
  const nlohmann::json rounds = nlohmann::json::parse(line);
  const auto append = [&](std::vector<Figure>& figures, const char* key) {
    figures.resize(rounds.at(key).size());
    for (std::size_t i = 0; i < figures.size(); ++i)
      for (const nlohmann::json& process : rounds.at(key)[i]) figures[i].push_back(process);
  };
  append(measured.seconds, "seconds");
  append(measured.cores, "cores");
  append(measured.peaks, "peaks");
}

// The lines that a separate process prints for this file. Errors: std::runtime_error if it does not end well.
std::vector<std::string> lines_of_process(const std::vector<std::string>& flags, const std::string& path, int process) {
  std::string command = "exec '" + std::filesystem::read_symlink("/proc/self/exe").string() + "'";
  for (const std::string& flag : flags) command += " '" + flag + "'";
  command += " '--shapes=" + path + "' --processes=1 --lines --process=" + std::to_string(process);
  std::FILE* output = popen(command.c_str(), "r");
  if (!output) throw std::runtime_error("--processes: no process can be started");
  std::string text;
  char bytes[65536];
  for (std::size_t size; (size = std::fread(bytes, 1, sizeof bytes, output)) > 0;) text.append(bytes, size);
  if (pclose(output) != 0) throw std::runtime_error("--processes: process " + std::to_string(process) + " did not end well");
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

template <typename Real>
void compare_libraries(const std::string& path, const cpu::Kernels<Real>& kernels, const ComparisonSettings& settings) {
  std::vector<Work> works;
  for (const Problem& problem : read_problems(path))
    for (Work& work : works_of(problem)) works.push_back(std::move(work));
  if (works.empty()) throw std::runtime_error(path + ": holds no gemm and no conv2d");
  if (settings.lines) {
    for (const Work& work : works) std::puts(to_line(measure(work, kernels, settings)).c_str());
    return;
  }

  ComparisonTable table;
  table.libraries = {kernels.isa};
  for (const NamedPeer& peer : settings.peers) table.libraries.push_back(peer.name);
  if (settings.scaling) table.libraries.push_back(std::string(kernels.isa) + " on one thread");
  table.one_thread_last = settings.scaling;
  table.bytes_per_second = triad_burst(settings.threads, kTriadBytes, kTriadPasses);
  table.begin(path, name(sizeof(Real) == sizeof(float) ? Precision::fp32 : Precision::bf16), settings.threads,
              settings.calls.rounds, settings.processes);
  std::vector<Measured> of_processes(works.size());
  for (int process = 0; settings.processes > 1 && process < settings.processes; ++process) {
    const std::vector<std::string> lines = lines_of_process(settings.flags, path, process);
    for (std::size_t i = 0; i < works.size(); ++i) add_line(of_processes[i], lines.at(i));
    std::fprintf(stderr, "process %d of %d is done\n", process + 1, settings.processes);
  }
  for (std::size_t i = 0; i < works.size(); ++i) {
    Measured measured = settings.processes > 1 ? std::move(of_processes[i]) : measure(works[i], kernels, settings);
    measured.work = works[i];
    for (const std::int64_t n : works[i].elements) measured.bytes += static_cast<double>(n) * sizeof(Real);
    table.add(std::move(measured));
  }
  table.end();
}

template void compare_libraries<float>(const std::string&, const cpu::Kernels<float>&, const ComparisonSettings&);
template void compare_libraries<Bf16>(const std::string&, const cpu::Kernels<Bf16>&, const ComparisonSettings&);

void choose_waiting(char** argv, bool spin) {
  if (std::getenv("OMP_WAIT_POLICY")) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  if (spin) setenv("GOMP_SPINCOUNT", kSpinCount, 0);
  setenv("KMP_BLOCKTIME", spin ? "3" : "0", 0);              // milliseconds
  setenv("OPENBLAS_THREAD_TIMEOUT", spin ? "23" : "16", 0);  // 2^23 cycles are 3 ms, 2^16 next to nothing
  execv("/proc/self/exe", argv);
  throw std::runtime_error("this program cannot be started again with OMP_WAIT_POLICY=passive: set it yourself");
}

}  // namespace epochbench::bench
