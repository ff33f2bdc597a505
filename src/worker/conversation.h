// A conversation with a case's process: each command gets its answer, or the case ends with a status and a reason.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "src/result/result.h"
#include "src/worker/case_process.h"

namespace epochbench {

struct CaseEnded {  // thrown: there is no measurement
  RunStatus status;
  std::string message;
  bool by_process = false;  // the process itself said so
};

// Runs `act` and returns what ended the case, whatever was thrown; empty where nothing was.
std::optional<CaseEnded> failure_of(const std::function<void()>& act);

class Conversation {
 public:
  // Starts the process; errors as CaseProcess. `interrupted` is polled while waiting, and must live as long.
  Conversation(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits,
               const std::function<bool()>& interrupted);

  // Errors: CaseEnded, with the process ended; ProtocolError when the answer is another one, or none of the protocol.
  nlohmann::json ask(const nlohmann::json& command, const char* answer);
  // After the last answer: the process must exit by itself, without an error, or CaseEnded is thrown.
  void await_exit();

 private:
  CaseEnded ended_by(const CaseProcess::End& end) const;
  bool killed_for_memory() const;
  void note_memory();

  const std::function<bool()>& interrupted_;
  std::optional<std::int64_t> oom_kills_;  // before the start
  bool near_limit_ = false;
  ProcessLimits limits_;
  CaseProcess process_;
};

}  // namespace epochbench
