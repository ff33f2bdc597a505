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
#include <vector>

#include "src/analysis/predict/roofline.h"
#include "src/base/fields.h"

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
  int launched = 0;   // of these, steps on a GPU whose time is that of their launches
};

void fields(auto& visit, Is<LeftOutError> auto& error) {
  visit("median_error", error.median);
  VISIT(error, pairs, launched);
}

// The steps of a source that was left out of the fit.
struct LeftOutShare {
  int pairs = 0;
  double within = 0;  // the share inside the interval made without their source
};

void fields(auto& visit, Is<LeftOutShare> auto& share) { VISIT(share, pairs, within); }

// For one kind of device and of program. The factors of products, convolutions and memory are ratios of at least 1, so that no
// expectation is below the roofline; energy: joules per FLOP; launches: seconds per node.
struct TimeFactors {
  Demands factors{};
  double low = 1, high = 1;   // 80 % of measured steps take between expected * low and expected * high
  double within = 0;          // the share of measured steps inside such an interval made without their device
  double within_sources = 0;  // likewise, without their source
  LeftOutError error;
  std::map<std::string, LeftOutError> devices;  // by id of the catalog
  std::map<std::string, LeftOutShare> sources;  // by setting of bench/throughputs.json, or file of results/
  std::string evidence;                         // "178 published pairs of 24 GPUs"
  std::string program;                          // that took the steps: "PyTorch"
  int max_cores = 0;                            // the most that a step was measured on; 0: of a GPU
};

void fields(auto& visit, Is<TimeFactors> auto& kind) {
  fields(visit, kind.error);
  VISIT(kind, evidence, program, max_cores);
  visit.group("factors", [&](auto& factors) {
    for (std::size_t i = 0; i < kDemands; ++i) factors(texts_of(Demand{})[i], kind.factors[i]);
  });
  VISIT(kind, low, high, within, within_sources, sources, devices);
}

// A training step on a GPU that results/ has: no part of a fit, shown beside its prediction.
struct OwnStep {
  std::string device;   // id of the catalog
  std::string program;  // "epochbench", "pytorch"
  std::string model;
  Precision precision = Precision::fp32;
  std::int64_t batch = 0;
  double seconds = 0;
  std::string file;  // "results/h200-record.json"
};

void fields(auto& visit, Is<OwnStep> auto& step) { VISIT(step, device, program, model, precision, batch, seconds, file); }

// A GPU has two: as most people run it, and tuned by its maker or by the authors of the models.
struct TimeModel {
  TimeFactors gpu, tuned_gpu, cpu;
  std::vector<OwnStep> own;
};

void fields(auto& visit, Is<TimeModel> auto& model) { VISIT(model, gpu, tuned_gpu, cpu, own); }

// `source` names the text in messages. Errors: FormatError.
TimeModel parse_time_model(std::string_view text, const std::string& source);
const TimeModel& embedded_time_model();

// Seconds of a step. On a GPU launches run ahead of computing, so the slower of the two counts; on a CPU they add up.
double expected_seconds(const Demands& demands, const Demands& factors, bool is_gpu);
// Whether the launches of a step on a GPU take longer than all else, so that its time is that of the host and of the program.
bool waits_for_launches(const Demands& demands, const Demands& factors);

struct ExpectedTime {
  double seconds = 0;                        // of a step; at least the roofline's
  double low_seconds = 0, high_seconds = 0;  // 80 % interval; low is at least the roofline's
  const char* bound = "compute";             // compute | bandwidth | launches: what takes the largest share of it
  double bound_share = 0;                    // of the seconds; with energy, which limits computing, part of compute
  LeftOutError error;                        // of all devices of its kind
  std::optional<LeftOutError> device_error;  // of this device, if it is among them
  std::string evidence, program;             // what the model was fitted on, and whose steps these were
  std::vector<std::string> weak_sources;  // of these, such as "timm-2022 (40 %)": left out, most steps are not in the interval
};

// Empty, with the reason, if no measurement says how fast such work is: forward passes, recurrent layers, AMX, more cores of a
// CPU than any step was measured on, and steps that wait for launches on a GPU without such a measured step.
struct Expectation {
  std::optional<ExpectedTime> time;
  std::string reason;
};
Expectation expected_time(const TimeFactors& kind, std::span<const NodeDemand> nodes, const PredictionTarget& target,
                          Precision precision, Mode mode);

}  // namespace epochbench
