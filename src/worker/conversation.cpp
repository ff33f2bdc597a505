#include "src/worker/conversation.h"

#include <csignal>

#include <nlohmann/json.hpp>

#include "src/base/numbers.h"
#include "src/machine/cgroup.h"
#include "src/worker/protocol.h"

namespace epochbench {

using nlohmann::json;

std::optional<CaseEnded> failure_of(const std::function<void()>& act) {
  try {
    act();
    return std::nullopt;
  } catch (const CaseEnded& ended) {
    return ended;
  } catch (const ProtocolError& error) {
    return CaseEnded{RunStatus::failed, std::string("the case's process sent ") + error.what()};
  } catch (const json::exception& error) {
    return CaseEnded{RunStatus::failed, std::string("the case's process sent a message with wrong fields: ") + error.what()};
  } catch (const std::exception& error) {
    return CaseEnded{RunStatus::failed, error.what()};
  }
}

Conversation::Conversation(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits,
                           const std::function<bool()>& interrupted)
    : interrupted_(interrupted), oom_kills_(oom_kill_count()), limits_(limits), process_(command, settings, limits) {}

json Conversation::ask(const json& command, const char* answer) {
  process_.send(command.dump());  // that the process is gone is found when its answer is missing, with the reason
  std::string line;
  switch (process_.receive(line, interrupted_)) {
    case CaseProcess::Received::line:
      break;
    case CaseProcess::Received::ended:
      throw ended_by(process_.wait());
    case CaseProcess::Received::interrupted:
      process_.kill();
      throw CaseEnded{RunStatus::interrupted, "interrupted"};
    case CaseProcess::Received::hung:
      process_.kill();
      throw CaseEnded{RunStatus::failed, "hung: the case's process neither answered nor used the CPU for " +
                                             short_number(limits_.hung_seconds) + " s, and was killed"};
  }
  note_memory();
  json message = parse_message(line, "event");
  const std::string event = message_name(message, "event");
  if (event == "error") {
    const auto status = status_from_name(message.value("status", ""));
    if (!status) throw ProtocolError("an error with an unknown status");
    throw CaseEnded{*status, message.value("message", ""), true};
  }
  if (event != answer) throw ProtocolError("the answer " + printable(event) + " instead of " + answer);
  return message;
}

void Conversation::await_exit() {
  const CaseProcess::End end = process_.wait();
  if (end.signal != 0 || end.exit_code != 0) throw ended_by(end);
}

CaseEnded Conversation::ended_by(const CaseProcess::End& end) const {
  if (interrupted_ && interrupted_()) return {RunStatus::interrupted, "interrupted"};
  if (end.overdue)
    return {RunStatus::failed, "the case's process gave its last answer, did not end within " +
                                   short_number(limits_.exit_seconds) + " s, and was killed"};
  if (end.signal == SIGKILL && killed_for_memory())
    return {RunStatus::out_of_memory,
            "the kernel killed the case's process because memory ran out: reduce --batch or the model, or lift the limit"};
  return {RunStatus::failed, "the case's process " + to_string(end)};
}

bool Conversation::killed_for_memory() const {
  const auto now = oom_kill_count();
  if (oom_kills_ && now) return *now > *oom_kills_;
  return near_limit_;
}

// Where the kernel does not count its kills, how full the group was at the last answer decides.
void Conversation::note_memory() {
  constexpr double kNearLimit = 0.8;
  if (oom_kills_) return;
  const auto group = cgroup_memory();
  near_limit_ =
      group && static_cast<double>(group->available_bytes) < (1 - kNearLimit) * static_cast<double>(group->limit_bytes);
}

}  // namespace epochbench
