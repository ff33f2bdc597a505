#include "src/analysis/predict/expected_time.h"

#include <algorithm>
#include <utility>

#include "epochbench/embedded.h"
#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

// The median per core of what results/*-quick.json measured; a socket of many cores has less for each.
constexpr double kCoreBytesPerSecond = 22e9;

constexpr std::size_t at(Demand demand) { return static_cast<std::size_t>(demand); }

double bandwidth_of(const PredictionTarget& target, const RatedLimits& limits) {
  if (target.device->is_gpu) return limits.bytes_per_second;
  return std::min(limits.bytes_per_second, kCoreBytesPerSecond * target.instance->cores);
}

// AMX tiles do 16 times as much per cycle as vectors in fp32; vectors in bf16 do twice as much.
bool has_tiles(const CatalogDevice& device, Precision precision) {
  constexpr double kOfVectors = 4;  // at most, as measured peaks vary
  if (device.is_gpu || precision != Precision::bf16) return false;
  const auto of = [&](const char* key) { return device.facts.at(key).value.value_or(0); };
  return of("bf16_flop_per_cycle") > kOfVectors * of("fp32_flop_per_cycle");
}

// Seconds of computing and moving, and those of launches.
std::pair<double, double> busy_and_launches(const Demands& demands, const Demands& factors) {
  double busy = 0;
  for (std::size_t i = 0; i < at(Demand::launches); ++i) busy += demands[i] * factors[i];
  return {busy, demands[at(Demand::launches)] * factors[at(Demand::launches)]};
}

// What takes the largest share of the seconds, and how much. On a GPU, launches take none unless they take longer than all
// else.
void set_bound(ExpectedTime& time, const Demands& demands, const Demands& factors, bool is_gpu) {
  const auto part = [&](Demand demand) { return demands[at(demand)] * factors[at(demand)]; };
  const std::array<std::pair<const char*, double>, 3> parts{
      {{"compute", part(Demand::products) + part(Demand::convolutions) + part(Demand::energy)},
       {"bandwidth", part(Demand::memory)},
       {"launches", is_gpu && !waits_for_launches(demands, factors) ? 0 : part(Demand::launches)}}};
  const auto [bound, seconds] =
      *std::ranges::max_element(parts, {}, [](const std::pair<const char*, double>& each) { return each.second; });
  time.bound = bound;
  time.bound_share = time.seconds > 0 ? std::min(1.0, seconds / time.seconds) : 0;
}

}  // namespace

Demands demands_of(std::span<const NodeDemand> nodes, const PredictionTarget& target, Precision precision) {
  const RatedLimits limits = limits_of(target, precision);
  const double bandwidth = bandwidth_of(target, limits);
  const auto watts = target.device->facts.find("watts");
  Demands demands{};
  for (const NodeDemand& node : nodes) {
    const bool convolves = node.work_class == WorkClass::convolution || node.work_class == WorkClass::depthwise;
    demands[at(convolves ? Demand::convolutions : Demand::products)] +=
        node.flops / (node.winograd ? limits.winograd_flops_per_second : limits.flops_per_second.value());
    demands[at(Demand::memory)] += node.bytes / bandwidth;
    if (watts != target.device->facts.end() && watts->second.value)
      demands[at(Demand::energy)] += node.flops / *watts->second.value;
  }
  demands[at(Demand::launches)] = static_cast<double>(nodes.size());
  return demands;
}

TimeModel parse_time_model(std::string_view text, const std::string& source) {
  const auto model = read_value<TimeModel>(parse_json(text, source), source);
  for (const auto& [key, kind] : {std::pair("gpu", &model.gpu), {"tuned_gpu", &model.tuned_gpu}, {"cpu", &model.cpu}})
    for (std::size_t i = 0; i < kDemands; ++i)
      if (kind->factors[i] < (i < at(Demand::energy) ? 1 : 0))
        throw FormatError(source + "." + key + ".factors." + texts_of(Demand{})[i] + ": is too small");
  return model;
}

const TimeModel& embedded_time_model() {
  constexpr const char* kPath = "bench/time_model.json";
  static const TimeModel model = parse_time_model(embedded_file(kPath).value_or(""), kPath);
  return model;
}

double expected_seconds(const Demands& demands, const Demands& factors, bool is_gpu) {
  const auto [busy, launches] = busy_and_launches(demands, factors);
  return is_gpu ? std::max(busy, launches) : busy + launches;
}

bool waits_for_launches(const Demands& demands, const Demands& factors) {
  const auto [busy, launches] = busy_and_launches(demands, factors);
  return launches > busy;
}

Expectation expected_time(const TimeFactors& kind, std::span<const NodeDemand> nodes, const PredictionTarget& target,
                          Precision precision, Mode mode) {
  if (mode != Mode::train)
    return {{}, "expected times are of training steps; nothing was fitted for mode " + std::string(name(mode))};
  if (std::ranges::count(nodes, WorkClass::recurrent, &NodeDemand::work_class) > 0)
    return {{}, "no expected time: no measurement of recurrent layers is among those that the model was fitted on"};
  if (target.instance && target.instance->cores > kind.max_cores)
    return {{},
            "no expected time, only a bound: CPUs were measured on at most " +
                counted(static_cast<std::size_t>(kind.max_cores), "core", "cores") + ", and more may scale in any way"};
  if (has_tiles(*target.device, precision))
    return {{},
            "no expected time: no training in bf16 with AMX is among the steps that the model was fitted on; fp32 has "
            "one, where it fits"};
  const RatedLimits limits = limits_of(target, precision);
  if (!limits.flops_per_second) return {{}, limits.reason};
  const Demands demands = demands_of(nodes, target, precision);
  const auto known = kind.devices.find(target.device->id);
  if (target.device->is_gpu && waits_for_launches(demands, kind.factors) &&
      (known == kind.devices.end() || known->second.launched == 0))
    return {{},
            "no expected time: this step waits for launches, whose time is the host's, and no such step of this GPU is among "
            "those that the model was fitted on; a larger --batch has an expected time"};
  const double least = time_bound(nodes, limits).seconds;
  ExpectedTime time;
  time.seconds = std::max(least, expected_seconds(demands, kind.factors, target.device->is_gpu));
  time.low_seconds = std::max(least, time.seconds * kind.low);
  time.high_seconds = std::max(time.low_seconds, time.seconds * kind.high);
  time.error = kind.error;
  if (known != kind.devices.end()) time.device_error = known->second;
  time.evidence = kind.evidence;
  time.program = kind.program;
  for (const auto& [source, share] : kind.sources)
    if (share.within < 0.5) time.weak_sources.push_back(source + " (" + format_percent(share.within) + ")");
  set_bound(time, demands, kind.factors, target.device->is_gpu);
  return {time, ""};
}

}  // namespace epochbench
