#include "src/worker/protocol.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "src/base/json_fields.h"

namespace epochbench {
namespace {

using nlohmann::json;

template <class T>
T get(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw ProtocolError(std::string("a message without ") + key);
  try {
    return found->get<T>();
  } catch (const json::exception&) {
    throw ProtocolError(std::string("a message with a wrong ") + key);
  }
}

template <class T>
std::optional<T> get_optional(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return get<T>(object, key);
}

template <class T>
json nullable(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

template <class T>
T from_fields(const json& object, const char* where) try {
  const Json ordered = object;
  return read_fields<T>(JsonFields(ordered, where));
} catch (const FormatError& error) {
  throw ProtocolError(std::string("a message with a wrong ") + error.what());
}

}  // namespace

std::string printable(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = c == '\n' || c == '\t' ? ' ' : '?';
  return text;
}

json parse_message(const std::string& line, const char* kind) {
  json message = json::parse(line, nullptr, false);
  if (!message.is_object() || !message.contains(kind) || !message[kind].is_string())
    throw ProtocolError("not a message of the protocol: \"" + printable(line.substr(0, 60)) + "\"");
  return message;
}

std::string message_name(const json& message, const char* kind) { return get<std::string>(message, kind); }

void require_version(const json& message) {
  const auto version = get<std::int64_t>(message, "protocol");
  if (version != kProtocolVersion)
    throw ProtocolError("version " + std::to_string(version) + " of the protocol instead of " +
                        std::to_string(kProtocolVersion) + "; both sides must come from one build");
}

json to_json(const BuildInfo& build) {
  return {{"version", build.version},
          {"git_sha", nullable(build.git_sha)},
          {"git_dirty", nullable(build.git_dirty)},
          {"build_type", build.build_type},
          {"compiler", build.compiler}};
}

BuildInfo build_from_json(const json& object) {
  return {get<std::string>(object, "version"), get_optional<std::string>(object, "git_sha"),
          get_optional<bool>(object, "git_dirty"), get<std::string>(object, "build_type"),
          get<std::string>(object, "compiler")};
}

CaseSpec case_from_message(const json& object) try { return case_from_json(object); } catch (const FormatError& error) {
  throw ProtocolError(error.what());
}

json to_json(const Device& device) { return json_of(device); }
Device device_from_json(const json& object) { return from_fields<Device>(object, "device"); }

json to_json(const std::optional<Input>& input) { return input ? json(json_of(*input)) : json(nullptr); }
std::optional<Input> input_from_json(const json& object) {
  return object.is_null() ? std::nullopt : std::optional(from_fields<Input>(object, "input"));
}

json to_json(const StepBlock& block) {
  return {{"seconds", block.step_seconds},
          {"loss", block.loss},
          {"samples", block.samples},
          {"data_wait_seconds", block.data_wait_seconds},
          {"idle_seconds", block.idle_seconds},
          {"harness_seconds", block.harness_seconds},
          {"wall_seconds", block.wall_seconds},
          {"page_faults", block.usage.page_faults},
          {"own_cpu_seconds", block.usage.own_cpu_seconds},
          {"busy_cpu_seconds", nullable(block.usage.busy_cpu_seconds)}};
}

StepBlock block_from_json(const json& object) {
  StepBlock block;
  block.step_seconds = get<std::vector<double>>(object, "seconds");
  block.loss = get<std::vector<double>>(object, "loss");
  block.samples = get<std::int64_t>(object, "samples");
  block.data_wait_seconds = get<double>(object, "data_wait_seconds");
  block.idle_seconds = get<double>(object, "idle_seconds");
  block.harness_seconds = get<double>(object, "harness_seconds");
  block.wall_seconds = get<double>(object, "wall_seconds");
  block.usage.page_faults = get<std::int64_t>(object, "page_faults");
  block.usage.own_cpu_seconds = get<double>(object, "own_cpu_seconds");
  block.usage.busy_cpu_seconds = get_optional<double>(object, "busy_cpu_seconds");
  return block;
}

json latencies_to_json(const std::vector<double>& seconds) { return {{"seconds", seconds}}; }

std::vector<double> latencies_from_json(const json& object) { return get<std::vector<double>>(object, "seconds"); }

json to_json(const Evaluation& evaluation) {
  return {{"samples", evaluation.samples}, {"accuracy", evaluation.accuracy}, {"loss", evaluation.loss}};
}

// A loss that is no number travels as null.
Evaluation evaluation_from_json(const json& object) {
  return {get<std::int64_t>(object, "samples"), get<double>(object, "accuracy"),
          get_optional<double>(object, "loss").value_or(std::numeric_limits<double>::quiet_NaN())};
}

json to_json(const StepProfile& profile) {
  json list = json::array();
  for (const NodeTime& node : profile.nodes)
    list.push_back({{"name", node.name},
                    {"op", name(node.op)},
                    {"implementation", node.implementation},
                    {"seconds", node.seconds},
                    {"flops", node.flops},
                    {"bytes", node.bytes}});
  return {{"passes", profile.passes}, {"nodes", list}};
}

Profile profile_from_json(const json& object) {
  Profile profile;
  profile.passes = get<int>(object, "passes");
  const json list = get<json>(object, "nodes");
  if (!list.is_array()) throw ProtocolError("nodes that are no list");
  for (const json& entry : list) {
    ProfileNode& node = profile.nodes.emplace_back();
    node.name = get<std::string>(entry, "name");
    node.op = get<std::string>(entry, "op");
    node.implementation = get<std::string>(entry, "implementation");
    node.seconds = get<double>(entry, "seconds");
    node.flops = get<double>(entry, "flops");
    node.bytes = get<double>(entry, "bytes");
  }
  return profile;
}

json to_json(const Peaks& peaks) {
  return {{"fp32_flops_per_second", nullable(peaks.fp32_flops_per_second)},
          {"bf16_flops_per_second", nullable(peaks.bf16_flops_per_second)},
          {"memory_bandwidth_bytes_per_second", nullable(peaks.memory_bandwidth_bytes_per_second)},
          {"fp32_instruction", nullable(peaks.fp32_instruction)},
          {"bf16_instruction", nullable(peaks.bf16_instruction)},
          {"threads", peaks.threads}};
}

Peaks peaks_from_json(const json& object) {
  return {get_optional<double>(object, "fp32_flops_per_second"),
          get_optional<double>(object, "bf16_flops_per_second"),
          get_optional<double>(object, "memory_bandwidth_bytes_per_second"),
          get_optional<std::string>(object, "fp32_instruction"),
          get_optional<std::string>(object, "bf16_instruction"),
          get<int>(object, "threads")};
}

json measured_to_json(const GpuInfo& gpu) {
  json peaks = json::object();
  for (const auto& [precision, peak] : gpu.peak_flops_per_second) peaks[precision] = nullable(peak);
  return {{"peak_flops_per_second", peaks},
          {"memory_bandwidth_bytes_per_second", nullable(gpu.memory_bandwidth_bytes_per_second)},
          {"host_to_device_bytes_per_second", nullable(gpu.host_to_device_bytes_per_second)}};
}

void read_measured(GpuInfo& gpu, const json& object) {
  const json peaks = get<json>(object, "peak_flops_per_second");
  for (const auto& [precision, peak] : peaks.items())
    gpu.peak_flops_per_second[precision] = peak.is_number() ? std::optional(peak.get<double>()) : std::nullopt;
  gpu.memory_bandwidth_bytes_per_second = get_optional<double>(object, "memory_bandwidth_bytes_per_second");
  gpu.host_to_device_bytes_per_second = get_optional<double>(object, "host_to_device_bytes_per_second");
}

std::optional<RunStatus> status_from_name(std::string_view text) {
  // Those that a case's process may report of itself.
  if (text == "failed") return RunStatus::failed;
  if (text == "out_of_memory") return RunStatus::out_of_memory;
  if (text == "diverged") return RunStatus::diverged;
  return std::nullopt;
}

void LineBuffer::append(const char* data, std::size_t size) {
  pending_.append(data, size);
  if (pending_.size() > kLongestLine && pending_.find('\n') == std::string::npos) throw ProtocolError("a line without an end");
}

std::optional<std::string> LineBuffer::pop() {
  const std::size_t end = pending_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

}  // namespace epochbench
