// Does what the parent asks, answers, and turns whatever goes wrong into a status.
#include "src/worker/case_server.h"

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <malloc.h>
#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include "src/base/inherited.h"
#include "src/case/suite.h"
#include "src/machine/environment.h"
#include "src/machine/peaks.h"
#include "src/machine/topology.h"
#include "src/worker/channel.h"
#include "src/worker/progress_reporter.h"
#include "src/worker/protocol.h"
#include "src/worker/runner.h"

namespace epochbench {
namespace {

// What the threads of a step are: how many, on which CPUs, and whether they are bound. OpenMP may grant fewer than it is asked
// for.
void count_threads(Device& device) {
  std::vector<int> cpus(static_cast<std::size_t>(*device.threads), -1);
  int granted = 1;
#pragma omp parallel num_threads(*device.threads)
  {
    restore_float_rounding();  // a library that is loaded late may have changed it
    if (omp_get_thread_num() == 0) granted = omp_get_num_threads();
    cpus[static_cast<std::size_t>(omp_get_thread_num())] = sched_getcpu();
  }
  std::erase(cpus, -1);
  std::ranges::sort(cpus);
  cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  device.threads = granted;
  device.cpus = std::move(cpus);
  device.pinned = threads_are_pinned();
}

// OpenMP binds this thread to the first core before main, and every thread inherits that. While a case is prepared the
// thread may run wherever the parent may, so that the loader's threads do not share the core of the first worker.
class WidenedAffinity {
 public:
  WidenedAffinity() {
    cpu_set_t wide;
    known_ = sched_getaffinity(0, sizeof before_, &before_) == 0;
    if (known_ && sched_getaffinity(getppid(), sizeof wide, &wide) == 0) sched_setaffinity(0, sizeof wide, &wide);
  }
  ~WidenedAffinity() {
    if (known_) sched_setaffinity(0, sizeof before_, &before_);
  }
  WidenedAffinity(const WidenedAffinity&) = delete;
  WidenedAffinity& operator=(const WidenedAffinity&) = delete;

 private:
  cpu_set_t before_{};
  bool known_ = false;
};

class Server {
 public:
  Server(Channel& channel, const CaseServices& services) : channel_(channel), services_(services) {}

  // Answers commands until `finish` (true) or until the parent is gone (false).
  bool serve() {
    while (const auto line = next_line()) {
      const Json message = parse_message(*line, "command");
      const auto command = message["command"].get<std::string>();
      const Json reply = reported_answer(command, message);
      if (answers() && !channel_.send(reply.dump() + "\n")) return false;
      if (command == "finish" || command == "calibrate" || command == "calibrate_gpu") return true;
    }
    return false;
  }

 private:
  Communicator* communicator() const { return services_.ranks ? &services_.ranks->communicator : nullptr; }
  bool answers() const { return !services_.ranks || communicator()->rank() == 0; }

  std::optional<std::string> next_line() {
    if (!services_.ranks) return channel_.receive();
    if (answers()) {
      auto line = channel_.receive();
      services_.ranks->send(line.value_or(""));
      return line;
    }
    std::string line = services_.ranks->receive();
    return line.empty() ? std::nullopt : std::optional(std::move(line));
  }

  Json reported_answer(const std::string& command, const Json& message) {
    if (command == "prepare" && message.contains("progress_seconds") && answers())
      reporter_.emplace(from_message<double>(message, "progress_seconds"),
                        [this](const StepProgress& progress) { channel_.send(answer_of("progress", progress).dump() + "\n"); });
    if (!reporter_) return answer(command, message);
    const bool steps = command == "warm_up" || command == "step" || command == "latency";
    const ProgressReporter::Answer reported(*reporter_, steps && runner_
                                                            ? [runner = runner_.get()] { return runner->steps_done(); }
                                                            : std::function<std::int64_t()>());
    return answer(command, message);
  }

  Json answer(const std::string& command, const Json& message) {
    if (command == "hello") return hello(message);
    if (command == "prepare") return prepare(message);
    if (command == "calibrate") return calibrate(message);
    if (command == "calibrate_gpu") return calibrate_gpu(message);
    if (command == "burst") return burst(message);
    if (!runner_) throw ProtocolError("command " + command + " before prepare");
    if (command == "begin_epoch") {
      runner_->begin_epoch(from_message<std::uint64_t>(message, "epoch"));
      return {{"event", "epoch"}};
    }
    if (command == "warm_up") return take_steps(steps(message), false);
    if (command == "step") return take_steps(steps(message), true);
    if (command == "latency") return latencies(runner_->latencies(steps(message)));
    if (command == "evaluate" && !answers()) return {};  // rank 0 evaluates, with its own running statistics
    if (command == "evaluate") return answer_of("evaluation", runner_->evaluate(case_.labels_per_sample));
    if (command == "finish") return finish(message.value("profile", false));
    throw ProtocolError("unknown command " + command);
  }

  Json take_steps(std::int64_t count, bool timed) {
    if (!services_.ranks) return answer_of("steps", timed ? runner_->steps(count) : runner_->warm_up(count));
    communicator()->barrier();  // all begin at once
    const Traffic before = communicator()->traffic();
    StepBlock block = timed ? runner_->steps(count) : runner_->warm_up(count);
    if (timed) {
      timed_steps_ += count;
      step_seconds_ += std::accumulate(block.step_seconds.begin(), block.step_seconds.end(), 0.0);
      const Traffic& now = communicator()->traffic();
      traffic_ += {now.seconds - before.seconds, now.rounds - before.rounds, now.bus_bytes - before.bus_bytes};
    }
    block.usage.own_cpu_seconds = sum(gathered(block.usage.own_cpu_seconds));
    return answer_of("steps", block);
  }

  std::vector<double> gathered(double own) const {  // by rank
    std::vector<double> all(static_cast<std::size_t>(communicator()->size()));
    communicator()->all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(&own, 1)));
    return all;
  }
  static double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

  // Ranks of different builds may run different programs, with sums of different sizes.
  void require_one_build() const {
    const BuildInfo build = build_info();
    std::array<char, 128> own{};
    (build.version + " " + build.git_sha.value_or("") + " " + case_.fingerprint).copy(own.data(), own.size() - 1);
    std::vector<char> all(own.size() * static_cast<std::size_t>(communicator()->size()));
    communicator()->all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(own)));
    for (std::size_t i = 0; i < all.size(); i += own.size())
      if (!std::equal(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(i)))
        throw std::runtime_error(
            "the ranks are of different builds, or read different data; install one build on all machines");
  }

  // The rate of sums of the mean size in a step. GPUs exchange by other means than the communicator's.
  std::optional<double> rate_alone() const {
    if (traffic_.rounds <= 0 || case_.executable->asynchronous()) return std::nullopt;
    const double size = communicator()->size(), sent = traffic_.bus_bytes / traffic_.rounds;  // bytes n (size - 1) / size
    return services_.ranks->sum_rate(static_cast<std::size_t>(sent * size / (size - 1) / sizeof(float)));
  }

  Ranks ranks() const {
    const auto steps = static_cast<double>(std::max<std::int64_t>(timed_steps_, 1));
    return {communicator()->size(),  gathered(step_seconds_ / steps), gathered(traffic_.seconds / steps),
            traffic_.rounds / steps, traffic_.bus_bytes / steps,      rate_alone()};
  }

  static Json latencies(const StepBlock& block) {
    return {{"event", "latencies"}, {"seconds", block.step_seconds}, {"stopped", block.stopped.size()}};
  }

  static std::int64_t steps(const Json& message) { return from_message<std::int64_t>(message, "steps"); }

  static Json hello(const Json& message) {
    Json reply = answer_of("hello", build_info());
    reply["protocol"] = kProtocolVersion;
    const auto suite = own_suite_text(message.value("suite", ""));
    reply["suite"] = suite ? Json::parse(*suite) : Json();  // not as text, whose line breaks a message would make visible
    return reply;
  }

  Json prepare(const Json& message) {
    require_version(message);
    const auto spec = from_message<CaseSpec>(message, "case");
    {
      const WidenedAffinity widened;
      case_ = services_.prepare(spec);
    }
    if (services_.ranks) require_one_build();
    device_bytes_compiled_ = case_.executable->device_bytes().value_or(0);
    if (case_.device.threads) {
      count_threads(case_.device);
      if (services_.ranks) case_.device.threads = static_cast<int>(std::ranges::min(gathered(*case_.device.threads)));
    }
    runner_ = std::make_unique<Runner>(*case_.executable, *case_.batches, case_.entry, steady_seconds, read_usage,
                                       case_.after_step, case_.learning_rate);
    Ready ready;
    ready.device = case_.device;
    ready.input = case_.input;
    if (!case_.fingerprint.empty()) ready.fingerprint = case_.fingerprint;
    ready.data_seconds = case_.data_seconds;
    ready.compile_seconds = case_.compile_seconds;
    ready.planned_bytes = case_.planned_bytes;
    ready.samples_per_epoch = case_.samples_per_epoch;
    ready.steps_per_epoch = case_.batches->steps_per_epoch();
    ready.evaluates = case_.evaluates;
    ready.metric = case_.metric;
    ready.asynchronous = case_.executable->asynchronous();
    ready.library_dropout_masks = case_.executable->library_dropout_masks();
    Json reply = answer_of("ready", ready);
    reply["protocol"] = kProtocolVersion;
    reply["case"] = case_to_json(spec);
    return reply;
  }

  Json finish(bool profile) {
    CaseResult result{
        peak_bytes(), huge_page_bytes(), {}, {}, {}};  // before case_.finish(), which only leaves something behind
    try {
      if (case_.finish) case_.finish();
    } catch (const std::runtime_error& failure) {  // DataError: a full disk must not cost what was measured
      result.unwritten = failure.what();
    }
    if (case_.skipped_steps) result.skipped_steps = case_.skipped_steps();
    if (case_.left_out) result.left_out_images = case_.left_out();
    if (services_.ranks) {
      result.ranks = ranks();
      result.peak_bytes = static_cast<std::int64_t>(sum(gathered(static_cast<double>(*result.peak_bytes))));
    }
    if (const auto seconds = case_.decoding ? case_.decoding() : std::nullopt) {
      result.decode_cpu_seconds = seconds->cpu;
      result.decode_wall_seconds = seconds->wall;
    }
    if (profile) result.profile = runner_->profile();
    return answer_of("result", result);
  }

  static Json calibrate(const Json& message) {
    require_version(message);
    return answer_of("peaks", measure_cpu(from_message<int>(message, "threads")));
  }

  Json calibrate_gpu(const Json& message) const {
    require_version(message);
    return answer_of("gpu", services_.measure_gpu(from_message<int>(message, "index")));
  }

  // Short enough to take turns with steps.
  static Json burst(const Json& message) {
    require_version(message);
    const double seconds = std::clamp(from_message<double>(message, "seconds"), 0.0, 1.0);
    const int threads = from_message<int>(message, "threads");
    const auto peak = peak_burst(from_message<Precision>(message, "precision"), threads, seconds);
    return {{"event", "burst"}, {"flops_per_second", json_of(peak)}};
  }

  // For a device with its own memory, the larger of its use after compiling and its use now, but not below 0 if another process
  // freed some; empty if the device, or for a CPU the kernel, does not say.
  std::optional<std::int64_t> peak_bytes() const {
    if (const auto device = case_.executable->device_bytes())
      return std::max({*device, device_bytes_compiled_, std::int64_t{0}});
    if (case_.executable->asynchronous()) return std::nullopt;
    const auto peak = peak_resident_bytes();
    return peak && case_.resident_before_bytes ? std::optional(*peak - *case_.resident_before_bytes) : std::nullopt;
  }

  Channel& channel_;
  const CaseServices& services_;
  PreparedCase case_;
  std::int64_t device_bytes_compiled_ = 0, timed_steps_ = 0;
  double step_seconds_ = 0;  // of the timed steps
  Traffic traffic_;          // likewise
  std::unique_ptr<Runner> runner_;
  std::optional<ProgressReporter> reporter_;  // reads the runner
};

// Keeps freed memory, so that allocating it again between steps causes no page faults.
void keep_freed_memory() {
#ifdef M_TRIM_THRESHOLD
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 16 << 20);         // the heap grows in steps of this
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that glibc accepts; smaller blocks come from the heap
#endif
}

// Messages are one line, whatever was thrown.
std::string error_message(const char* status, std::string message) {
  constexpr std::size_t kLongest = 700;  // shorter than what a launcher passes on in one piece
  if (message.size() > kLongest) message.resize(kLongest);
  std::replace(message.begin(), message.end(), '\n', ' ');
  const Json answer = {{"event", "error"}, {"status", status}, {"message", message}};
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// If all ranks fail alike, rank 0 reports first; if the others only wait in vain for one that failed, that one does.
[[noreturn]] void report_of_rank(const Channel& channel, int rank, const std::string& error) {
  if (rank > 0) usleep(300'000);
  channel.send(error);
  while (true) pause();
}

}  // namespace

int serve_case(int in_fd, int out_fd, const CaseServices& services) {
  std::signal(SIGINT, SIG_IGN);   // the parent decides what an interrupt means
  std::signal(SIGPIPE, SIG_IGN);  // write reports that the parent is gone
  restore_float_rounding();
  keep_freed_memory();
  Channel channel(in_fd, out_fd);

  // Memory to report with when there is none left; written to, so that it is really allocated.
  constexpr std::size_t kReserve = 256 << 10;
  auto reserve = std::make_unique<char[]>(kReserve);
  std::memset(reserve.get(), 1, kReserve);

  std::string error;
  const int rank = services.ranks ? services.ranks->communicator.rank() : 0;
  const auto error_line = [who = rank > 0 ? "rank " + std::to_string(rank) + ": " : ""](
                              const char* status, const std::string& what) { return error_message(status, who + what); };
  Server server(channel, services);
  try {
    return server.serve() ? 0 : 1;
  } catch (const OutOfMemory& failure) {
    reserve.reset();
    error = error_line("out_of_memory", failure.what());
  } catch (const std::bad_alloc&) {
    reserve.reset();
    error = error_line("out_of_memory", "an allocation failed; " + std::to_string(available_memory_bytes() >> 20) +
                                            " MiB are available: reduce --batch or the model, or lift the memory limit");
  } catch (const Diverged& failure) {
    error = error_line("diverged", failure.what());
  } catch (const ProtocolError& failure) {
    error = error_line("failed", std::string("the case's process was called wrongly: ") + failure.what());
  } catch (const std::exception& failure) {
    error = error_line("failed", error_text(failure));
  } catch (...) {
    error = error_line("failed", "an exception of an unknown kind");
  }
  // Reported before the case is torn down: a destructor that crashes or hangs must not hide the reason.
  if (services.ranks) report_of_rank(channel, rank, error);
  channel.send(error);
  return 1;
}

}  // namespace epochbench
