#include "src/analysis/predict/prediction.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "src/analysis/cost/price_share.h"
#include "src/base/clock.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr double kMinCapability = 7.5;  // what this program's CUDA backend needs

PredictedAmount times(const PredictedAmount& amount, double factor) {
  const auto scaled = [&](const std::optional<double>& each) { return each ? std::optional(*each * factor) : std::nullopt; };
  return {amount.at_least * factor, scaled(amount.expected), scaled(amount.low), scaled(amount.high), scaled(amount.tuned)};
}

// The first year of the GPUs that the time model was fitted on; 0: none is in the catalog.
int first_year_fitted(const DeviceCatalog& catalog) {
  int year = 0;
  for (const CatalogDevice& device : catalog.devices)
    if (embedded_time_model().gpu.devices.contains(device.id)) year = year == 0 ? device.year : std::min(year, device.year);
  return year;
}

PredictedCost cost_on(const CatalogPrice& price, const std::optional<PredictedAmount>& hours, Day day) {
  const PriceShare share = share_of(price, {price.vcpus, std::min(price.gpu_count, 1), price.cores},
                                    price.gpu_count > 1 ? std::optional(PriceScaling::whole) : std::nullopt);
  PredictedCost cost;
  // Several providers of a price file may rent the same GPU.
  cost.instance = (price.list == "price file" ? price.provider + "/" : "") + price.instance + (price.is_spot ? " spot" : "");
  cost.usd_per_hour = price.usd_per_hour * share.factor;
  cost.gpus = price.gpu_count;
  cost.price = describe(price, share.text, true, day);
  cost.price_age = age_note(price.as_of, day);
  if (hours) cost.usd = times(*hours, cost.usd_per_hour);
  return cost;
}

bool is_priced(const DeviceCatalog& catalog, const PredictionTarget& target, const CatalogPrice& price) {
  if (target.price) return &price == target.price;
  if (target.instance) return price.instance == target.instance->name;
  return price.gpu_count > 0 && device_of_price(catalog, price) == target.device;
}

std::vector<std::string> notes_of_device(const DeviceCatalog& catalog, const PredictionTarget& target) {
  const CatalogDevice& device = *target.device;
  if (device.id == "cpu")
    return {"cpu: this machine's, " + device.name + ", by peaks measured for this answer instead of rated figures"};
  if (device.is_arm)
    return {device.name +
            ": this program has no kernels for Arm; the figures are those of another program with the same graph"};
  std::vector<std::string> notes;
  const auto capability = device.facts.find("compute_capability");
  if (device.is_gpu && capability != device.facts.end() && capability->second.value.value_or(0) < kMinCapability)
    notes.push_back(
        device.name +
        ": this program needs compute capability 7.5 or later; the figures are those of another program with the same graph");
  if (device.is_gpu && device.year < first_year_fitted(catalog))
    notes.push_back(device.name + ": older than every GPU that the model was fitted on, which the interval does not cover");
  return notes;
}

// What results/ has of this model on this device, beside the prediction.
std::vector<std::string> measured_notes(const CatalogDevice& device, const PlannedWork& work) {
  std::vector<std::string> notes;
  for (const OwnStep& own : embedded_time_model().own)
    if (own.device == device.id && own.model == work.model && own.precision == work.precision && work.mode == Mode::train)
      notes.push_back(device.name + ", " + own.model + " in " + name(own.precision) + ": measured with " + own.program + ", " +
                      format_rate(static_cast<double>(own.batch) / own.seconds) + " samples/s at batch " +
                      std::to_string(own.batch) + " (" + own.file + "), which the fit leaves out");
  return notes;
}

std::vector<std::string> notes_of(const DeviceCatalog& catalog, const PredictionTarget& target, const PlannedWork& work) {
  std::vector<std::string> notes = measured_notes(*target.device, work);
  for (std::string& note : notes_of_device(catalog, target)) notes.push_back(std::move(note));
  if (!target.choice.empty()) notes.insert(notes.begin(), target.choice);
  return notes;
}

// Whether most FLOPs are of convolutions: the tuned programs that were measured are of such models, but for two.
bool convolves(std::span<const NodeDemand> nodes) {
  double all = 0, convolutions = 0;
  for (const NodeDemand& node : nodes) {
    all += node.flops;
    if (node.work_class == WorkClass::convolution || node.work_class == WorkClass::depthwise) convolutions += node.flops;
  }
  return 2 * convolutions > all;
}

Prediction without_cost(const DeviceCatalog& catalog, const PredictionQuestion& question) {
  const PlannedWork& work = question.work;
  const RatedLimits limits = limits_of(question.target, work.precision);
  Prediction prediction;
  prediction.device = question.target.device->id;
  prediction.name = question.target.name();
  prediction.work = {work.model, work.precision,         work.mode,  work.batch,     work.memory_bytes,
                     {},         work.tokens_per_sample, work.parts, work.checkpoint};
  prediction.device_memory_bytes = limits.memory_bytes;
  prediction.fits = work.memory_bytes <= limits.memory_bytes;
  prediction.largest_batch = question.largest_batch;
  prediction.notes = notes_of(catalog, question.target, work);
  prediction.asked = question.epochs;
  if (!limits.flops_per_second)
    prediction.reason = std::string(name(work.precision)) + ": " + limits.reason;
  else if (!prediction.fits)
    prediction.reason = "does not fit into the memory";
  else
    prediction.step = time_bound(work.nodes, limits);
  if (!prediction.step) return prediction;
  const auto expected_by = [&](const TimeFactors& kind) {
    return expected_time(kind, work.nodes, question.target, work.precision, work.mode);
  };
  const TimeModel& model = embedded_time_model();
  const bool is_gpu = question.target.device->is_gpu;
  Expectation expectation = expected_by(is_gpu ? model.gpu : model.cpu);
  prediction.expected = std::move(expectation.time);
  prediction.expected_reason = std::move(expectation.reason);
  if (is_gpu && convolves(work.nodes)) prediction.tuned = expected_by(model.tuned_gpu).time;
  if (question.epochs) {
    const double steps = static_cast<double>(question.epochs->samples) / static_cast<double>(work.batch);
    prediction.hours =
        times(*amount_of_step(prediction), static_cast<double>(question.epochs->epochs) * steps / kSecondsPerHour);
  }
  return prediction;
}

}  // namespace

std::optional<PredictedAmount> amount_of_step(const Prediction& prediction) {
  if (!prediction.step) return std::nullopt;
  const auto of = [](const std::optional<ExpectedTime>& time, double ExpectedTime::*seconds) {
    return time ? std::optional(*time.*seconds) : std::nullopt;
  };
  const auto& [expected, tuned] = std::tie(prediction.expected, prediction.tuned);
  return PredictedAmount{prediction.step->seconds, of(expected, &ExpectedTime::seconds),
                         of(expected, &ExpectedTime::low_seconds), of(expected, &ExpectedTime::high_seconds),
                         of(tuned, &ExpectedTime::seconds)};
}

std::optional<double> expected_rate(const Prediction& prediction) {
  if (!prediction.expected || !(prediction.expected->seconds > 0)) return std::nullopt;
  return static_cast<double>(prediction.work.batch) / prediction.expected->seconds;
}

std::string weak_sources_text(const ExpectedTime& time) {
  if (time.weak_sources.empty()) return "";
  return time.program + ": steps of a source that was left out of the fit are seldom in the interval of the others: " +
         joined(time.weak_sources);
}

std::optional<double> max_rate(const Prediction& prediction) {
  if (!prediction.step || !(prediction.step->seconds > 0)) return std::nullopt;
  return static_cast<double>(prediction.work.batch) / prediction.step->seconds;
}

bool is_faster(const Prediction& a, const Prediction& b) {
  const auto rank = [](const Prediction& each) {
    return std::tuple(expected_rate(each), max_rate(each), each.fits ? 0 : -each.work.memory_bytes);
  };
  return rank(a) > rank(b);
}

std::vector<Prediction> predict(const DeviceCatalog& catalog, std::span<const CatalogPrice> prices,
                                const PredictionQuestion& question, Day day) {
  Prediction prediction = without_cost(catalog, question);
  if (!question.epochs) return {prediction};
  std::vector<Prediction> priced;
  for (const CatalogPrice& price : prices)
    if (is_priced(catalog, question.target, price)) {
      priced.push_back(prediction);
      priced.back().cost = cost_on(price, prediction.hours, day);
    }
  if (!priced.empty()) return priced;
  prediction.cost_reason = "no price is known for " + prediction.name + " (epochbench list prices)";
  return {prediction};
}

void sort_by_cost(std::vector<Prediction>& predictions) {
  std::ranges::stable_sort(predictions, {}, [](const Prediction& each) {
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    const auto of = [](const std::optional<PredictedAmount>& amount) {
      return amount ? amount->expected.value_or(amount->at_least) : kUnknown;
    };
    return std::tuple(each.hours && !each.hours->expected, each.cost ? of(each.cost->usd) : kUnknown, of(each.hours));
  });
}

}  // namespace epochbench
