// The protocol between a case's process and its parent: JSON objects, one per line, over a socket or a pair of pipes.
//
// The parent speaks first and gets exactly one answer to each command, after any number of `progress` if `prepare` asked for
// them; only `hello`, `prepare`, `calibrate` and `burst` carry
// the version. Blocks of steps are independent of each other, so two processes may take turns, even if they are of two builds:
// unknown keys are ignored, and `ready` repeats the case as it was understood, so that the other side sees it.
//
//   hello {protocol, suite}      hello {protocol, version, git_sha, git_dirty, build_type, compiler, suite}: of the process
//                                       itself, whatever version was asked with; the text of its own suite of that name
//   prepare {protocol, case,     ready {protocol, case, fingerprint, device, input, data_seconds, compile_seconds,
//       progress_seconds}               planned_bytes, samples_per_epoch, steps_per_epoch, evaluates, metric, asynchronous,
//                                       library_dropout_masks}
//   anything                     progress {steps, step_seconds}: once per progress_seconds until the answer, the steps of the
//                                       command that are done, and what one of them took
//   begin_epoch {epoch}          epoch {}
//   warm_up {steps}              steps {seconds[], loss[], samples, data_wait_seconds, idle_seconds, harness_seconds,
//   step {steps}                        wall_seconds, page_faults, own_cpu_seconds, busy_cpu_seconds}
//   evaluate {}                  evaluation {samples, accuracy, loss}
//   latency {steps}              latencies {seconds[], stopped}: those that were stopped by a signal are counted and left out
//   finish {profile}             result {peak_bytes, huge_page_bytes, skipped_steps, left_out_images, decode_cpu_seconds,
//                                       decode_wall_seconds, ranks {}, profile {passes, nodes[]}}, and the process ends; the
//                                       profile (null unless asked for) comes after everything else, as it trains on
//   calibrate {protocol, threads}   peaks {peak_flops_per_second{}, memory_bandwidth_bytes_per_second, peak_instruction{},
//                                         peak_threads, peak_bursts_flops_per_second{}, peak_foreign_cpu_cores}
//   calibrate_gpu {protocol, index} gpu {peak_flops_per_second{}, memory_bandwidth_bytes_per_second,
//                                       host_to_device_bytes_per_second}
//   burst {protocol, precision, threads, seconds}   burst {flops_per_second}: the peak for that long, null
//                                       where the CPU lacks it; needs no case, and the process goes on
//   anything                     error {status, message}, and the process ends
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "src/base/json_fields.h"
#include "src/case/case_option.h"
#include "src/result/result_json.h"
#include "src/worker/step_block.h"

namespace epochbench {

inline constexpr int kProtocolVersion = 1;

class ProtocolError : public std::runtime_error {  // the other side violates the protocol
 public:
  using std::runtime_error::runtime_error;
};

template <>
struct JsonConversion<CaseSpec> {
  static Json write(const CaseSpec& spec) { return case_to_json(spec); }
  static CaseSpec read(const Json& value, const std::string&) { return case_from_json(value); }
};

// What a process reports about the case that it has prepared. `parameters`: from a worker that builds its own model.
struct Ready {
  Device device;  // of a CPU, Conversation replaces the name by that of this machine
  std::optional<Input> input;
  std::optional<std::string> fingerprint;
  std::optional<double> data_seconds, compile_seconds;  // to open the data set; to build and compile the program
  std::optional<std::int64_t> planned_bytes, parameters;
  std::int64_t samples_per_epoch = 0, steps_per_epoch = 0;
  bool evaluates = false, asynchronous = false, library_dropout_masks = false;
  EvalMetric metric = EvalMetric::accuracy;
};

void fields(auto& visit, Is<Ready> auto& ready) {
  VISIT(ready, fingerprint, device, input, data_seconds, compile_seconds, planned_bytes, parameters);
  visit("samples_per_epoch", ready.samples_per_epoch, {.addition = true});
  visit("steps_per_epoch", ready.steps_per_epoch, {.addition = true});
  visit("metric", ready.metric, {.addition = true});
  VISIT(ready, evaluates, asynchronous, library_dropout_masks);
}

// How far the answer to a command is. step_seconds: on average; empty before the first step.
struct StepProgress {
  std::int64_t steps = 0;
  std::optional<double> step_seconds;
};

void fields(auto& visit, Is<StepProgress> auto& progress) { VISIT(progress, steps, step_seconds); }

// Its last answer.
struct CaseResult {
  std::optional<std::int64_t> peak_bytes, huge_page_bytes, skipped_steps, left_out_images;
  std::optional<Profile> profile;                                           // only passes and nodes, without limits
  std::optional<Ranks> ranks = {};                                          // empty for a single process
  std::optional<std::string> unwritten = {};                                // why the weights or the trace are in no file
  std::optional<double> decode_cpu_seconds = {}, decode_wall_seconds = {};  // as Input has them
};

void fields(auto& visit, Is<CaseResult> auto& result) {
  VISIT(result, peak_bytes, huge_page_bytes, skipped_steps, left_out_images, decode_cpu_seconds, decode_wall_seconds, profile);
  visit("ranks", result.ranks, {.omitted_if_empty = true});
  visit("unwritten", result.unwritten, {.omitted_if_empty = true});
}

void fields(auto& visit, Is<StepBlock> auto& block) {
  visit("seconds", block.step_seconds);
  visit("stopped", block.stopped, {.omitted_if_empty = true});
  VISIT(block, loss, samples, data_wait_seconds, idle_seconds, wall_seconds);
  visit("harness_seconds", block.harness_seconds, {.any_sign = true});
  VISIT(block.usage, page_faults, own_cpu_seconds);
  visit("busy_cpu_seconds", block.usage.busy_cpu_seconds, {.any_sign = true});
}

void fields(auto& visit, Is<Evaluation> auto& evaluation) { VISIT(evaluation, samples, accuracy, loss); }

void fields(auto& visit, Is<BuildInfo> auto& build) { build_fields(visit, build, "version"); }

// Errors of all readers: ProtocolError that says what is missing or wrong.
Json parse_message(const std::string& line, const char* kind);  // an object with a string `kind`: "command" or "event"
void require_version(const Json& message);

// Turns a FormatError about what is missing or wrong in a message into a ProtocolError.
auto checked(const auto& read) {
  try {
    return read();
  } catch (const FormatError& error) {
    throw ProtocolError(std::string("a wrong message: ") + error.what());
  }
}
template <class T>
T from_message(const Json& message) {
  return checked([&] { return read_value<T>(message, "message"); });
}
template <class T>
T from_message(const Json& message, const char* key) {
  return checked([&] { return JsonFields(message, "message").get<T>(key); });
}

// An answer: the event and the fields of a struct.
template <class T>
Json answer_of(const char* event, const T& value) {
  FieldWriter writer;
  writer.object["event"] = event;
  fields(writer, value);
  return std::move(writer.object);
}

// Cuts a stream of bytes into lines.
class LineBuffer {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 22;  // the largest block of steps needs 3 MB
  void append(const char* data, std::size_t size);                   // ProtocolError beyond the longest line
  std::optional<std::string> pop();

 private:
  std::string pending_;
};

}  // namespace epochbench
