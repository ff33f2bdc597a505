// The answers of `plan --on` and `rent`.
#include <algorithm>

#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/choices.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/conclusions.h"
#include "src/report/text/text_parts.h"
#include "src/result/evidence.h"

namespace epochbench {
namespace {

// The first paragraph, which says whose choice the precisions are.
std::string heading(const std::vector<Prediction>& predictions) {
  const bool fastest = std::ranges::any_of(predictions, &Prediction::fastest_precision);
  return wrapped("", "",
                 std::string("Predicted, not measured") +
                     (fastest ? "; each device in its fastest precision (--precision sets one)" : "") +
                     ": expected step time, its 80 % interval, and a roofline lower bound (≥) from the rated figures of the "
                     "catalog (epochbench list devices --catalog)");
}

constexpr const char* kReading =
    "program: whose steps were measured, as most people run them; tuned: expected of programs tuned by the GPU's maker or the "
    "model's authors, so two expectations compare programs, and the ratio of a GPU to a CPU does, too. error: median of "
    "|expected / measured - 1| over measured steps of devices that the model was not fitted on. Input, "
    "evaluation and set-up are not counted. Memory includes the workspace of a GPU's libraries, but not the driver";

std::string bound_text(const ExpectedTime& step) {
  return step.bound + std::string(", ") + format_percent(step.bound_share) + " of it";
}
std::string bound_text(const Prediction& prediction) {
  if (prediction.expected) return bound_text(*prediction.expected);
  return prediction.step ? std::string("≥: ") + prediction.step->bound() : "";
}

// "64", "64 in 8 parts", "64, checkpoint blocks".
std::string batch_text(const PlannedWork& work) {
  return format_count(work.batch) + (work.parts > 1 ? " in " + format_count(work.parts) + " parts" : "") +
         (work.checkpoint != Checkpoint::none ? std::string(", checkpoint ") + name(work.checkpoint) : "");
}

// "resnet50, fp32, batch 64"; empty if rows differ in it.
std::string shared_work(const std::vector<Prediction>& predictions) {
  const auto text_of = [](const Prediction& each) {
    return each.work.model + ", " + name(each.work.precision) + ", batch " + batch_text(each.work);
  };
  const std::string first = text_of(predictions.front());
  return std::ranges::all_of(predictions, [&](const Prediction& each) { return text_of(each) == first; }) ? first : "";
}

// The column is hidden on narrow terminals unless it distinguishes rows.
std::string batch_heading(const std::vector<Prediction>& predictions) {
  const auto divided = [](const Prediction& each) { return each.work.parts > 1 || each.work.checkpoint != Checkpoint::none; };
  return std::ranges::any_of(predictions, divided) ? ">batch" : "->batch";
}

// Likewise, for precisions.
std::string precision_heading(const std::vector<Prediction>& predictions) {
  const Precision first = predictions.front().work.precision;
  const auto other = [&](const Prediction& each) { return each.work.precision != first; };
  return std::ranges::any_of(predictions, other) ? "precision" : "-precision";
}

// "5.50 of 8.00 GiB".
std::string memory_text(const Prediction& prediction) {
  std::string needs = format_bytes(prediction.work.memory_bytes);
  const std::string has = format_bytes(prediction.device_memory_bytes), unit = has.substr(has.rfind(' '));
  if (needs.ends_with(unit)) needs.resize(needs.size() - unit.size());
  return needs + " of " + has;
}

std::string largest_text(const std::optional<std::int64_t>& batch) {
  return !batch ? "-" : *batch > 0 ? format_count(*batch) : "none";
}

std::string program_text(const Prediction& prediction) { return prediction.expected ? prediction.expected->program : "-"; }

std::string samples_text(const Prediction& prediction) {
  const std::optional<double> rate = expected_rate(prediction);
  return rate ? format_rate(*rate) : "-";
}

std::string usd_per_hour_text(double usd) { return "$" + three_digits(usd); }

// Its own, where it was left out of the fit; no step of another device says how far off its time is.
std::string error_text(const Prediction& prediction) {
  if (!prediction.expected) return "-";
  const auto& error = prediction.expected->device_error;
  return error ? format_percent(error->median) : "unknown";
}

template <class Format>
std::string expected_text(const std::optional<PredictedAmount>& amount, const Format& format) {
  return amount && amount->expected ? format(*amount->expected) : "-";
}
template <class Format>
std::string tuned_text(const std::optional<PredictedAmount>& amount, const Format& format) {
  return amount && amount->tuned ? format(*amount->tuned) : "-";
}
template <class Format>
std::string interval_text(const std::optional<PredictedAmount>& amount, const Format& format) {
  return amount && amount->low && amount->high ? format(*amount->low) + " to " + format(*amount->high) : "-";
}
// "$0.579*": of an old price.
std::string cost_text(const std::optional<PredictedCost>& cost) {
  if (!cost || !cost->usd || !cost->usd->expected) return "-";
  return predicted_usd_text(*cost->usd->expected) + (cost->price_age.empty() ? "" : "*");
}
// "$0.417–$0.673": shorter, so that a narrow terminal has room for the device.
std::string usd_interval_text(const std::optional<PredictedAmount>& amount) {
  return amount && amount->low && amount->high ? predicted_usd_text(*amount->low) + "–" + predicted_usd_text(*amount->high)
                                               : "-";
}
template <class Format>
std::string at_least_text(const std::optional<PredictedAmount>& amount, const Format& format) {
  return amount ? format(amount->at_least) : "-";
}

std::string steps_table(const std::vector<Prediction>& predictions) {
  // What all rows share is printed above the table, so that a narrow terminal shows more columns.
  const std::string shared = shared_work(predictions);
  const auto cell = [&](std::string text) { return shared.empty() ? std::move(text) : ""; };
  View view = {
      "", columns("device|-model|" + precision_heading(predictions) + "|" + batch_heading(predictions) +
                  "|->memory ≥|>step|80 %|>tuned|-->error|fits|->largest batch ≤|->step ≥|>samples/s|--program|-bound by")};
  for (const Prediction& each : predictions) {
    const std::optional<PredictedAmount> step = amount_of_step(each);
    view.rows.push_back({without_maker(each.name), cell(each.work.model), cell(name(each.work.precision)),
                         cell(batch_text(each.work)), memory_text(each), expected_text(step, format_seconds),
                         interval_text(step, format_seconds), tuned_text(step, format_seconds), error_text(each),
                         each.fits ? "yes" : "no", largest_text(each.largest_batch), at_least_text(step, format_seconds),
                         samples_text(each), program_text(each), bound_text(each)});
  }
  return (shared.empty() ? "" : shared + "\n") + terminal_table(view);
}

std::string epochs_table(const std::vector<Prediction>& predictions) {
  const std::string shared = shared_work(predictions);
  const auto cell = [&](std::string text) { return shared.empty() ? std::move(text) : ""; };
  View view = {"", columns("instance|-device|-model|" + precision_heading(predictions) + "|" + batch_heading(predictions) +
                           "|>hours|-hours, 80 %|->tuned|->hours ≥|>error|->per hour|>cost|cost, 80 %|->cost ≥|"
                           "--program|-bound by|--price")};
  for (const Prediction& each : predictions) {
    const std::optional<PredictedAmount> usd = each.cost ? each.cost->usd : std::nullopt;
    view.rows.push_back(
        {each.cost ? each.cost->instance : each.name, each.device, cell(each.work.model), cell(name(each.work.precision)),
         cell(batch_text(each.work)), expected_text(each.hours, three_digits), interval_text(each.hours, three_digits),
         tuned_text(each.hours, three_digits), at_least_text(each.hours, three_digits), error_text(each),
         each.cost ? usd_per_hour_text(each.cost->usd_per_hour) : "-", cost_text(each.cost), usd_interval_text(usd),
         at_least_text(usd, predicted_usd_text), program_text(each), bound_text(each), each.cost ? each.cost->price : ""});
  }
  return (shared.empty() ? "" : shared + "\n") + terminal_table(view);
}

std::string fit_text(const ExpectedTime& time) {
  return "fitted on " + time.evidence + ": median error " + format_percent(time.error.median) + " on " +
         counted(static_cast<std::size_t>(time.error.pairs), "step", "steps") + " (leave-one-device-out)";
}

void add_fit_lines(std::vector<std::string>& lines, const Prediction& prediction) {
  for (const auto* time : {&prediction.expected, &prediction.tuned}) {
    if (!*time) continue;
    lines.push_back(fit_text(**time));
    if (const std::string weak = weak_sources_text(**time); !weak.empty()) lines.push_back(weak);
  }
}

// Names the devices whose own error is unknown.
std::vector<std::string> unknown_error_lines(const std::vector<Prediction>& predictions) {
  std::vector<std::string> names;
  for (const Prediction& each : predictions)
    if (each.expected && !each.expected->device_error && !contains(names, each.device)) names.push_back(each.device);
  if (names.empty()) return {};
  std::ranges::replace(names, std::string("cpu"), std::string("this CPU"));
  return {"the fit has no measured step on " + joined(names) + ": the intervals there are those of other devices"};
}

// A hint if launches limit the time.
std::vector<std::string> launches_lines(const std::vector<Prediction>& predictions) {
  const auto count = std::ranges::count_if(predictions, [](const Prediction& each) {
    return each.expected && each.expected->bound == std::string_view(name(Demand::launches));
  });
  if (count == 0) return {};
  return {std::to_string(count) + " of " + counted(predictions.size(), "row", "rows") + (count == 1 ? " is" : " are") +
          " bound by launches: a larger --batch costs less per sample"};
}

// What the marks of costs mean.
std::vector<std::string> old_prices_lines(const std::vector<Prediction>& predictions) {
  Reasons ages;
  for (const Prediction& each : predictions)
    if (each.cost && !each.cost->price_age.empty() && !contains(ages[each.cost->price_age].subjects, each.cost->instance))
      add_reason(ages, each.cost->price_age, each.cost->instance);
  std::vector<std::string> lines;
  for (const std::string& line : price_age_lines(ages)) lines.push_back("* " + line);
  return lines;
}

std::string conclusion_text(const std::vector<Prediction>& predictions) {
  std::string text;
  for (const std::string& line : conclusions(predictions)) text += wrapped("", "", line);
  return text;
}

bool of_epochs(const Prediction& prediction) { return prediction.cost || !prediction.cost_reason.empty(); }

std::string epoch_text(const EpochsAsked& asked, const PlannedWork& work) {
  Workload epoch;
  epoch.dataset = asked.dataset;
  epoch.samples_per_epoch = asked.samples;
  epoch.tokens_per_sample = work.tokens_per_sample;
  return epochs_text({&epoch});
}

// "3 epochs of SQuAD, 87,599 sequences of 384 tokens".
std::string asked_text(const EpochsAsked& asked, const PlannedWork& work) {
  return counted(static_cast<std::size_t>(asked.epochs), "epoch", "epochs") + " of " + epoch_text(asked, work);
}

// Once for all rows, or for each model if they differ.
std::vector<std::string> asked_lines(const std::vector<Prediction>& predictions) {
  std::vector<std::string> texts, with_models;
  for (const Prediction& each : predictions) {
    if (!each.asked) continue;
    texts.push_back(asked_text(*each.asked, each.work));
    with_models.push_back(each.work.model + ": " + texts.back());
  }
  texts = without_repeats(std::move(texts));
  return texts.size() > 1 ? without_repeats(std::move(with_models)) : texts;
}

// "hours_at_least", "hours_expected", "hours_low", "hours_high": null if not known.
void add_amount(Json& json, const std::string& key, const std::optional<PredictedAmount>& amount) {
  json[key + "_at_least"] = amount ? finite_or_null(amount->at_least) : Json(nullptr);
  json[key + "_expected"] = amount ? json_of(amount->expected) : Json(nullptr);
  json[key + "_low"] = amount ? json_of(amount->low) : Json(nullptr);
  json[key + "_high"] = amount ? json_of(amount->high) : Json(nullptr);
  json[key + "_tuned"] = amount ? json_of(amount->tuned) : Json(nullptr);
}

Json error_json(const LeftOutError& error) { return {{"median", error.median}, {"pairs", error.pairs}}; }

void add_expectation(Json& json, const Prediction& each) {
  json["expected_reason"] = text_or_null(each.step ? each.expected_reason : each.reason);
  json["error"] = each.expected ? error_json(each.expected->error) : Json(nullptr);
  json["device_error"] =
      each.expected && each.expected->device_error ? error_json(*each.expected->device_error) : Json(nullptr);
  json["program"] = each.expected ? Json(each.expected->program) : Json(nullptr);
  json["tuned_program"] = each.tuned ? Json(each.tuned->program) : Json(nullptr);
  json["tuned_weak_sources"] = each.tuned ? Json(each.tuned->weak_sources) : Json(nullptr);
  json["fitted_on"] = each.expected ? Json(each.expected->evidence) : Json(nullptr);
  json["bound"] = each.expected ? Json(each.expected->bound) : each.step ? Json(each.step->bound()) : Json(nullptr);
  json["bound_share"] = each.expected ? Json(each.expected->bound_share)
                        : each.step   ? Json(each.step->bound_share())
                                      : Json(nullptr);
}

Json prediction_json(const Prediction& each) {
  const PlannedWork& work = each.work;
  Json json = {{"evidence", name(EvidenceClass::predicted)},
               {"device", each.device},
               {"name", each.name},
               {"model", work.model},
               {"precision", name(work.precision)},
               {"mode", name(work.mode)},
               {"batch", work.batch},
               {"accumulate", work.parts},
               {"checkpoint", name(work.checkpoint)},
               {"tokens_per_sample", json_of(work.tokens_per_sample)},
               {"memory_bytes_at_least", work.memory_bytes},
               {"device_memory_bytes", each.device_memory_bytes},
               {"fits", each.fits},
               {"largest_batch_at_most", json_of(each.largest_batch)},
               {"step_seconds_reason", text_or_null(each.reason)}};
  add_amount(json, "step_seconds", amount_of_step(each));
  const std::string rate = kThroughput.key;
  json[rate + "_at_most"] = each.step ? finite_or_null(static_cast<double>(work.batch) / each.step->seconds) : Json(nullptr);
  json[rate + "_expected"] = json_of(expected_rate(each));
  add_expectation(json, each);
  json["notes"] = each.notes;
  if (!of_epochs(each)) return json;
  json["epoch"] = each.asked ? Json(epoch_text(*each.asked, each.work)) : Json(nullptr);
  add_amount(json, "hours", each.hours);
  json["instance"] = each.cost ? Json(each.cost->instance) : Json(nullptr);
  json["instance_gpus"] = each.cost ? Json(each.cost->gpus) : Json(nullptr);
  json["usd_per_hour"] = each.cost ? Json(each.cost->usd_per_hour) : Json(nullptr);
  json["price_source"] = each.cost ? Json(each.cost->price) : Json(nullptr);
  add_amount(json, "usd", each.cost ? each.cost->usd : std::nullopt);
  json["usd_reason"] = text_or_null(each.cost_reason.empty() ? each.reason : each.cost_reason);
  return json;
}

std::string notes_with_reading(std::vector<std::string> lines, bool verbose) {
  lines.emplace_back(kReading);
  std::vector<std::string> paragraphs;
  for (const std::string& line : without_repeats(std::move(lines))) paragraphs.push_back(wrapped("", "", line));
  return notes_below(paragraphs, verbose);
}

}  // namespace

std::string predictions_text(const std::vector<Prediction>& predictions, bool verbose) {
  const bool epochs = std::ranges::any_of(predictions, of_epochs);
  std::string text = heading(predictions) + "\n" + (epochs ? epochs_table(predictions) : steps_table(predictions));
  if (epochs) text += conclusion_text(predictions);
  std::vector<std::string> lines = asked_lines(predictions);
  for (std::string& line : old_prices_lines(predictions)) lines.push_back(std::move(line));
  for (std::string& line : unknown_error_lines(predictions)) lines.push_back(std::move(line));
  if (epochs)
    for (std::string& line : launches_lines(predictions)) lines.push_back(std::move(line));
  for (const Prediction& each : predictions) {
    if (!each.reason.empty()) lines.push_back(each.name + ": " + each.reason);
    if (!each.expected_reason.empty()) lines.push_back(each.name + ": " + each.expected_reason);
    add_fit_lines(lines, each);
    if (!each.cost_reason.empty()) lines.push_back(each.cost_reason);
    lines.insert(lines.end(), each.notes.begin(), each.notes.end());
  }
  return text + notes_with_reading(std::move(lines), verbose);
}

Json predictions_json(const std::vector<Prediction>& predictions) {
  return {{"evidence", name(EvidenceClass::predicted)},
          {"conclusions", conclusions(predictions)},
          {"predictions", json_list(predictions, prediction_json)}};
}

namespace {

bool same_batch(const std::vector<Prediction>& predictions) {
  return std::ranges::all_of(predictions,
                             [&](const Prediction& each) { return each.work.batch == predictions.front().work.batch; });
}

std::string rental_question(const Rentals& rentals) {
  if (rentals.predictions.empty()) return "";
  const PlannedWork& work = rentals.predictions.front().work;
  std::string text = work.model + ", batch " + (same_batch(rentals.predictions) ? format_count(work.batch) : "as in its row");
  return text + ", " + asked_text(rentals.asked, work) + "; one GPU of an instance is used, and all of it is paid for";
}

std::string rentals_table(const Rentals& rentals) {
  const bool of_instances = !same_batch(rentals.predictions);
  View view = {"", columns("instance|device|--GPUs|precision|>batch|>hours|-hours, 80 %|>cost|cost, 80 %|->tuned|->error|"
                           "evidence|->per hour|--program|-bound by|--price")};
  for (const Prediction& each : rentals.predictions) {
    const PredictedCost& cost = *each.cost;
    const std::string gpus = cost.gpus > 1 ? "1 of " + std::to_string(cost.gpus) : "";
    view.rows.push_back({cost.instance, each.device, gpus, name(each.work.precision), of_instances ? batch_text(each.work) : "",
                         expected_text(each.hours, three_digits), interval_text(each.hours, three_digits), cost_text(each.cost),
                         usd_interval_text(cost.usd), tuned_text(cost.usd, predicted_usd_text), error_text(each),
                         name(EvidenceClass::predicted), usd_per_hour_text(cost.usd_per_hour), program_text(each),
                         bound_text(each), cost.price});
  }
  return terminal_table(view);
}

std::string expected_or_at_least_text(const PredictedAmount& usd) {
  return usd.expected ? format_usd(*usd.expected) : "≥ " + format_usd(usd.at_least);
}

std::string left_out_text(const Rentals& rentals) {
  std::string text;
  if (!rentals.too_expensive.empty()) {
    const PredictedCost& least = *rentals.too_expensive.front().cost;
    text += counted(rentals.too_expensive.size(), "instance is", "instances are") + " expected to cost more than " +
            format_usd(*rentals.max_usd) + "; the cheapest: " + least.instance + ", " + expected_or_at_least_text(*least.usd) +
            "\n";
  }
  Reasons bounded;
  for (const Prediction& each : rentals.bounded)
    add_reason(bounded, each.expected_reason, each.cost->instance + " (" + expected_or_at_least_text(*each.cost->usd) + ")");
  for (const auto& [reason, instances] : bounded) text += wrapped("", "", joined(instances) + ": " + reason);
  for (const std::string& reason : rentals.unpriced) text += wrapped("", "", reason);
  if (!rentals.unfit.empty()) text += wrapped("", "", "at this batch the model does not fit into " + joined(rentals.unfit));
  return text;
}

}  // namespace

std::string rentals_text(const Rentals& rentals, bool verbose) {
  std::string text = heading(rentals.predictions);
  if (rentals.predictions.empty()) return text + "no instance matches\n" + left_out_text(rentals);
  text += wrapped("", "", rental_question(rentals)) + "\n" + rentals_table(rentals) + conclusion_text(rentals.predictions) +
          left_out_text(rentals);
  std::vector<std::string> lines = old_prices_lines(rentals.predictions);
  for (std::string& line : unknown_error_lines(rentals.predictions)) lines.push_back(std::move(line));
  for (std::string& line : launches_lines(rentals.predictions)) lines.push_back(std::move(line));
  for (const Prediction& each : rentals.predictions) {
    add_fit_lines(lines, each);
    lines.insert(lines.end(), each.notes.begin(), each.notes.end());
  }
  return text + notes_with_reading(std::move(lines), verbose);
}

Json rentals_json(const Rentals& rentals) {
  return {{"evidence", name(EvidenceClass::predicted)},
          {"epochs", rentals.asked.epochs},
          {"samples_per_epoch", rentals.asked.samples},
          {"max_usd", json_of(rentals.max_usd)},
          {"conclusions", conclusions(rentals.predictions)},
          {"too_expensive", rentals.too_expensive.size()},
          {"cheapest_too_expensive",
           rentals.too_expensive.empty() ? Json(nullptr) : prediction_json(rentals.too_expensive.front())},
          {"bounded", json_list(rentals.bounded, prediction_json)},
          {"unfit", rentals.unfit},
          {"unpriced", rentals.unpriced},
          {"predictions", json_list(rentals.predictions, prediction_json)}};
}

}  // namespace epochbench
