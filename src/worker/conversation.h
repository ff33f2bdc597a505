// One conversation with a case's process: each command gets its answer, or the case ends with a status and a reason.
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
  bool told = false;  // by the process itself, as its answer
};

class Conversation {
 public:
  // Starts the process; errors as CaseProcess. `interrupted` is polled while waiting, and must live as long.
  Conversation(const std::string& binary, const EnvironmentSettings& settings, const ProcessLimits& limits,
               const std::function<bool()>& interrupted);

  // Errors: CaseEnded, with the process ended; ProtocolError when the answer is another one, or none of the protocol.
  nlohmann::json ask(const nlohmann::json& command, const char* answer);
  // After the last answer: the process must end by itself, without an error, or CaseEnded is thrown.
  void farewell();

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
