#include "src/worker/conversation.h"

#include <csignal>

#include <sys/resource.h>

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/machine/cgroup.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

constexpr int kKilledCode = 128;

// The worker may be another build of epochbench, or not epochbench at all.
void require_understood(const Json& sent, const Json& understood) {
  const Json defaults = case_to_json(CaseSpec{});
  for (const auto& [key, value] : defaults.items())
    if (!understood.contains(key) && sent.at(key) != value)
      throw CaseEnded{RunStatus::failed, "it does not know '" + key + "', which this case asks for"};
}

void require_equal(const char* what, std::optional<std::int64_t> theirs, std::int64_t ours) {
  if (theirs.value_or(ours) != ours)
    throw CaseEnded{RunStatus::failed, "it has " + std::to_string(*theirs) + ' ' + what + ", and the case has " +
                                           std::to_string(ours) + ": not the same workload"};
}

// The reference has one thread, whatever the case asks for.
void require_threads(const CaseSpec& spec, const Device& device) {
  const int asked = *spec.threads, granted = device.threads.value_or(asked);
  if (granted > asked) require_equal("threads", granted, asked);
  if (granted == asked || spec.has_default_threads) return;
  throw CaseEnded{RunStatus::failed, "threads_missing: OpenMP granted " + std::to_string(granted) + " of the " +
                                         std::to_string(asked) +
                                         " threads that --threads names; a limit on processes (ulimit -u, pids.max) or another "
                                         "library of OpenMP (LD_PRELOAD) can be the cause; lift it, or ask for " +
                                         std::to_string(granted)};
}

}  // namespace

std::optional<CaseEnded> failure_of(const std::function<void()>& act) {
  try {
    act();
    return std::nullopt;
  } catch (const CaseEnded& ended) {
    return ended;
  } catch (const ProtocolError& error) {
    return CaseEnded{RunStatus::failed, std::string("the case's process broke the protocol: ") + error.what()};
  } catch (const Json::exception& error) {
    return CaseEnded{RunStatus::failed, std::string("the case's process sent a message with wrong fields: ") + error.what()};
  } catch (const std::exception& error) {
    return CaseEnded{RunStatus::failed, error_text(error)};
  }
}

Conversation::Conversation(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits,
                           const std::function<bool()>& interrupted)
    : interrupted_(interrupted),
      called_(command.called),
      launches_(limits.grace_seconds > 0),
      oom_kills_(oom_kill_count()),
      limits_(limits),
      process_(command, settings, limits) {}

std::string Conversation::next_line() {
  std::string line;
  switch (process_.receive(line, interrupted_)) {
    case CaseProcess::Received::line:
      return line;
    case CaseProcess::Received::ended:
      throw ended_by(process_.wait());
    case CaseProcess::Received::interrupted:
      // An interrupt from the terminal also reaches a launcher, which ends its ranks and cleans up; a second signal would hurry
      // it.
      process_.kill(limits_.grace_seconds);
      throw CaseEnded{RunStatus::interrupted, "interrupted"};
    case CaseProcess::Received::hung:
      process_.kill();
      throw CaseEnded{RunStatus::failed, std::string("hung: ") + called_ + " neither answered nor used the CPU for " +
                                             short_number(limits_.hung_seconds) + " s, and was killed"};
  }
  return line;
}

// The next one that is not about progress.
Json Conversation::next_message() {
  while (true) {
    std::string line = next_line();
    while (launches_ && !line.starts_with('{')) line = next_line();  // MPICH's launcher also writes how a rank ended
    Json message = parse_message(line, "event");
    if (message["event"] != "progress") return message;
    const auto progress = from_message<StepProgress>(message);
    if (progress_) progress_(progress);
  }
}

Json Conversation::ask(const Json& command, const char* answer) {
  process_.send(command.dump());  // if the process is gone, reading its answer fails, with the reason
  Json message = next_message();
  note_memory();
  const auto event = message["event"].get<std::string>();
  if (event == "error") {
    const auto status = from_name<RunStatus>(message.value("status", ""));
    if (status != RunStatus::failed && status != RunStatus::out_of_memory && status != RunStatus::diverged)
      throw ProtocolError("an error with an unknown status");
    throw CaseEnded{*status, message.value("message", ""), true};
  }
  if (event != answer) throw ProtocolError("the answer " + visible(event) + " instead of " + answer);
  return message;
}

Ready Conversation::prepare(const CaseSpec& spec, const std::optional<Workload>& workload) {
  Json sent = case_to_json(spec);
  if (workload) {
    sent["samples_per_epoch"] = workload->samples_per_epoch;
    sent["optimizer"] = workload->optimizer;
    sent["parameters"] = workload->parameters;
    if (workload->tokens_per_sample) sent["tokens"] = *workload->tokens_per_sample;
  }
  Json command = {{"protocol", kProtocolVersion}, {"command", "prepare"}, {"case", sent}};
  if (progress_) command["progress_seconds"] = 1.0;
  const Json answer = ask(command, "ready");
  require_version(answer);
  auto ready = from_message<Ready>(answer);
  require_understood(sent, answer.at("case"));
  if (workload) require_equal("parameters", ready.parameters, workload->parameters);
  if (spec.device.kind == DeviceKind::cpu && spec.threads.value_or(0) > 0) require_threads(spec, ready.device);
  if (spec.device.kind == DeviceKind::cpu) ready.device.name = cpu_info().model;
  return ready;
}

void Conversation::await_exit() {
  const ProcessEnd end = process_.wait();
  if (end.signal != 0 || end.exit_code != 0) throw ended_by(end);
}

CaseEnded Conversation::ended_by(const ProcessEnd& end) const {
  if (interrupted_ && interrupted_()) return {RunStatus::interrupted, "interrupted"};
  if (end.overdue)
    return {RunStatus::failed, called_ + std::string(" gave its last answer, did not end within ") +
                                   short_number(limits_.exit_seconds) + " s, and was killed"};
  if (end.signal == SIGKILL && killed_for_memory())
    return {RunStatus::out_of_memory, std::string("the kernel killed ") + called_ +
                                          " because memory ran out: reduce --batch or the model, or lift the limit"};
  std::string message = called_ + (" " + to_string(end));
  if (rlimit cpu{};
      (end.signal == SIGKILL || end.signal == SIGXCPU) && getrlimit(RLIMIT_CPU, &cpu) == 0 && cpu.rlim_cur != RLIM_INFINITY)
    message += ", as by the limit of " + std::to_string(cpu.rlim_cur) + " s of CPU time; lift it (ulimit -t unlimited)";
  // Like a shell, a launcher reports a killed rank with a code above 128; 255 is an error of its own.
  if (const int signal = end.exit_code - kKilledCode; launches_ && signal > 0 && signal < NSIG)
    message += ": a rank " + to_string(ProcessEnd{.signal = signal});
  if (const std::string said = process_.last_errors(); !said.empty())
    message += "; it said: " + said + thread_limit_remedy(said);
  return {RunStatus::failed, message};
}

bool Conversation::killed_for_memory() const {
  const auto now = oom_kill_count();
  if (oom_kills_ && now) return *now > *oom_kills_;
  return near_limit_;
}

// If the kernel does not count its kills, how full the group was at the last answer decides.
void Conversation::note_memory() {
  constexpr double kNearLimit = 0.8;
  if (oom_kills_) return;
  const auto group = cgroup_memory();
  near_limit_ =
      group && static_cast<double>(group->available_bytes) < (1 - kNearLimit) * static_cast<double>(group->limit_bytes);
}

}  // namespace epochbench
