// How long a step is expected to take: its demands at rated figures, times how far above them such work was measured.
// Predictions with an interval and an error, never measurements. bench/time_model.json has the factors, which time_fit.h makes
// from results/ and bench/throughputs.json; docs/predictions.md explains both.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/analysis/predict/roofline.h"

namespace epochbench {

// What a step demands. Products, convolutions and memory: seconds at the rated peak and bandwidth; energy: FLOP per watt of the
// board's power limit, which holds clocks down; launches: nodes, since the host starts each.
enum class Demand : std::uint8_t { products, convolutions, memory, energy, launches };
inline constexpr std::size_t kDemands = 5;
constexpr auto texts_of(Demand) { return std::array{"products", "convolutions", "memory", "energy", "launches"}; }
using Demands = std::array<double, kDemands>;  // by Demand

// `target` must have the precision.
Demands demands_of(std::span<const NodeDemand> nodes, const PredictionTarget& target, Precision precision);

struct LeftOutError {
  double median = 0;  // of |expected / measured - 1|, with the device left out of the fit
  int pairs = 0;      // of a model, batch and precision with a device
};

// For one kind of device. The factors of products, convolutions and memory are ratios of at least 1, so that no expectation is
// below the roofline; energy: joules per FLOP; launches: seconds per node.
struct TimeFactors {
  Demands factors{};
  double low = 1, high = 1;  // 80 % of measured steps take between expected * low and expected * high
  double within = 0;         // the share of measured steps inside such an interval made without their device
  LeftOutError error;
  std::map<std::string, LeftOutError> devices;  // by id of the catalog
  std::string evidence;                         // "178 published pairs of 24 GPUs"
};
struct TimeModel {
  TimeFactors gpu, cpu;
  const TimeFactors& of(const CatalogDevice& device) const { return device.is_gpu ? gpu : cpu; }
};

// `source` names the text in messages. Errors: FormatError.
TimeModel parse_time_model(std::string_view text, const std::string& source);
const TimeModel& embedded_time_model();

// Seconds of a step. On a GPU launches run ahead of computing, so the slower of the two counts; on a CPU they add up.
double expected_seconds(const Demands& demands, const Demands& factors, bool is_gpu);

struct ExpectedTime {
  double seconds = 0;                        // of a step; at least the roofline's
  double low_seconds = 0, high_seconds = 0;  // 80 % interval; low is at least the roofline's
  const char* bound = "compute";             // compute | bandwidth | launches: what takes the largest share of it
  double bound_share = 0;                    // of the seconds; with energy, which limits computing, part of compute
  LeftOutError error;                        // of all devices of its kind
  std::optional<LeftOutError> device_error;  // of this device, if it is among them
  std::string evidence;                      // what the model was fitted on
};

// Empty, with the reason, if no measurement says how fast such work is: forward passes, recurrent layers, AMX.
struct Expectation {
  std::optional<ExpectedTime> time;
  std::string reason;
};
Expectation expected_time(const TimeModel& model, std::span<const NodeDemand> nodes, const PredictionTarget& target,
                          Precision precision, std::string_view mode);

}  // namespace epochbench
