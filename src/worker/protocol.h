// What a case's process and its parent say to each other: JSON objects, one a line, over a socket or a pair of pipes.
//
// The parent speaks first and gets exactly one answer to each command; only `hello`, `prepare`, `calibrate` and `burst` carry
// the version. Blocks of steps are independent of each other, so two processes may take turns, also of two builds: a key that
// one does not know is passed over, and `ready` repeats the case as it was understood, so that the other sees it.
//
//   hello {protocol}             hello {protocol, version, git_sha, git_dirty, build_type, compiler}: of the process itself,
//                                       whatever version was asked with
//   prepare {protocol, case}     ready {protocol, case, fingerprint, device, input, compile_seconds, planned_bytes,
//                                       samples_per_epoch, steps_per_epoch, evaluates, metric, asynchronous,
//                                       library_dropout_masks}
//   begin_epoch {epoch}          epoch {}
//   warm_up {steps}              steps {seconds[], loss[], samples, data_wait_seconds, idle_seconds, harness_seconds,
//   step {steps}                        wall_seconds, page_faults, own_cpu_seconds, busy_cpu_seconds}
//   evaluate {}                  evaluation {samples, accuracy, loss}
//   latency {steps}              latencies {seconds[]}
//   finish {profile}             result {peak_bytes, huge_page_bytes, skipped_steps, profile {passes, nodes[]}}, and the
//                                       process ends; the profile (null unless asked for) comes after everything else,
//                                       as it trains on
//   calibrate {protocol, threads}   peaks {fp32_flops_per_second, bf16_flops_per_second, memory_bandwidth_bytes_per_second,
//                                         fp32_instruction, bf16_instruction, threads}
//   calibrate_gpu {protocol, index} gpu {peak_flops_per_second{}, memory_bandwidth_bytes_per_second,
//                                       host_to_device_bytes_per_second}
//   burst {protocol, precision, threads, seconds}   burst {flops_per_second}: the peak in fp32 or bf16 for that long, null
//                                       where the CPU lacks it; needs no case, and the process goes on
//   anything                     error {status, message}, and the process ends
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "src/case/case_option.h"
#include "src/machine/peaks.h"
#include "src/result/turns.h"
#include "src/worker/runner.h"

namespace epochbench {

inline constexpr int kProtocolVersion = 1;

class ProtocolError : public std::runtime_error {  // the other side does not keep to the above
 public:
  using std::runtime_error::runtime_error;
};

// Errors of all that read: ProtocolError with what is missing or wrong.
nlohmann::json parse_message(const std::string& line, const char* kind);  // an object with a string `kind`
std::string message_name(const nlohmann::json& message, const char* kind);
void require_version(const nlohmann::json& message);

// Text of unknown origin as one line of ASCII.
std::string printable(std::string text);

nlohmann::json to_json(const BuildInfo& build);
BuildInfo build_from_json(const nlohmann::json& json);
CaseSpec case_from_message(const nlohmann::json& json);  // the inverse of case_to_json (src/case/case_option.h)
nlohmann::json to_json(const Device& device);
Device device_from_json(const nlohmann::json& json);
nlohmann::json to_json(const std::optional<Input>& input);
std::optional<Input> input_from_json(const nlohmann::json& json);
nlohmann::json to_json(const StepBlock& block);
StepBlock block_from_json(const nlohmann::json& json);
nlohmann::json latencies_to_json(const std::vector<double>& seconds);
std::vector<double> latencies_from_json(const nlohmann::json& json);
nlohmann::json to_json(const Evaluation& evaluation);
Evaluation evaluation_from_json(const nlohmann::json& json);
nlohmann::json to_json(const StepProfile& profile);
Profile profile_from_json(const nlohmann::json& json);  // passes and nodes alone, without limits
nlohmann::json to_json(const Peaks& peaks);
Peaks peaks_from_json(const nlohmann::json& json);
nlohmann::json measured_to_json(const GpuInfo& gpu);  // what is measured, alone
void read_measured(GpuInfo& gpu, const nlohmann::json& json);
std::optional<RunStatus> status_from_name(std::string_view text);

// Cuts a stream of bytes into lines.
class LineBuffer {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 22;  // a block of steps at its fullest needs 200 KB
  void append(const char* data, std::size_t size);                   // ProtocolError beyond the longest line
  std::optional<std::string> pop();

 private:
  std::string pending_;
};

}  // namespace epochbench
