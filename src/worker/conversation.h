// A conversation with a case's process: each command gets its answer, or the case ends with a status and a reason.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "src/result/result.h"
#include "src/worker/case_process.h"
#include "src/worker/protocol.h"

namespace epochbench {

struct CaseEnded {  // thrown: there is no measurement
  RunStatus status;
  std::string message;
  bool by_process = false;  // the process itself said so
};

// Runs `act` and returns what ended the case, whatever was thrown; empty if nothing was.
std::optional<CaseEnded> failure_of(const std::function<void()>& act);

class Conversation {
 public:
  // Starts the process; errors as for CaseProcess. `interrupted` is polled while waiting and must outlive this object.
  Conversation(const WorkerCommand& command, const EnvironmentSettings& settings, const ProcessLimits& limits,
               const std::function<bool()>& interrupted);

  // Called while an answer is awaited; prepare() then asks for it, once per second.
  void set_progress(std::function<void(const StepProgress&)> progress) { progress_ = std::move(progress); }

  // Errors: CaseEnded, with the process ended; ProtocolError for a different answer, or one outside the protocol.
  Json ask(const Json& command, const char* answer);
  // With `workload` the case includes what a worker needs if it does not plan the model itself: samples_per_epoch, optimizer,
  // parameters and, for text, tokens. Errors: those of ask; CaseEnded if the worker ignores a setting that differs from its
  // default, or if its number of parameters or threads differs from the case's.
  Ready prepare(const CaseSpec& spec, const std::optional<Workload>& workload);
  // After the last answer: the process must exit by itself, without an error, or CaseEnded is thrown.
  void await_exit();

 private:
  std::string next_line();
  Json next_message();
  CaseEnded ended_by(const ProcessEnd& end) const;
  bool killed_for_memory() const;
  void note_memory();

  const std::function<bool()>& interrupted_;
  std::function<void(const StepProgress&)> progress_;
  const char* called_;                     // the process, in messages
  const bool launches_;                    // it starts the ranks of the case
  std::optional<std::int64_t> oom_kills_;  // before the start
  bool near_limit_ = false;
  ProcessLimits limits_;
  CaseProcess process_;
};

}  // namespace epochbench
