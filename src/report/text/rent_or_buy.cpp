// The answer of `cost`.
#include <algorithm>
#include <array>

#include "src/base/json_fields.h"
#include "src/base/text.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

// Familiar hours of work per month: an hour per day, a working week, half of all hours, all of them.
constexpr std::array kHours{30.0, 80.0, 160.0, 365.0, kHoursAMonth};

// "$0.357 ($0.350 to $0.364)", "$0.357 (range $0.33 to $0.37)"; "-" if not known.
std::string usd(const Amount& amount) {
  if (!amount.value) return "-";
  return format_usd(*amount.value) + (amount.ci95    ? " (" + range_text(*amount.ci95, format_usd) + ")"
                                      : amount.range ? " (range " + range_text(*amount.range, format_usd) + ")"
                                                     : "");
}
std::string hours(double value) { return format_rate(value) + " h"; }
std::string watts(double value) { return format_rate(value) + " W"; }

void add_gap(Reasons& gaps, const std::string& what, const Amount& amount) {
  if (!amount.value) add_reason(gaps, amount.reason, what);
}

// Each reason once, with the amounts that are not known because of it, and of how many of the rows: "cloud/epoch of 3 of 7
// runs".
std::string gaps_text(const Reasons& gaps, std::ptrdiff_t rows) {
  std::string text;
  for (const auto& [reason, what] : gaps) {
    const auto in_rows = [&](const std::string& amount) {
      const auto count = std::ranges::count(what, amount);
      return amount + (count < rows ? " of " + std::to_string(count) + " of " + std::to_string(rows) + " runs" : "");
    };
    text += wrapped("", "  ", joined(without_repeats(what), in_rows) + ": " + reason);
  }
  return text.empty() ? "" : "\n" + text;
}

// Empty if it reads as the others do.
std::string first_epoch(const RunCost& run) {
  if (!run.first_epoch_seconds.value || !run.epoch_seconds.value) return "";
  const std::string first = format_seconds(*run.first_epoch_seconds.value);
  return first == format_seconds(*run.epoch_seconds.value) ? "" : first;
}

std::string runs_text(const std::vector<RunCost>& runs, Reasons& gaps) {
  View table{"", columns("run|->epoch|-|->first epoch|>local/epoch|>cloud/epoch|>break-even per month")};
  for (const RunCost& run : runs) {
    const Amount& even = run.break_even_hours_per_month;
    table.rows.push_back(
        {(run.repetitions > 1 ? run.name + ", " + std::to_string(run.repetitions) + " repetitions" : run.name) +
             load_mark(run.loaded),
         Cell{run.epoch_seconds.value ? format_seconds(*run.epoch_seconds.value) : "-", "", {}, run.loaded},
         name(run.epoch_kind), Cell{first_epoch(run), "", {}, run.loaded},
         Cell{usd(run.local_usd_per_epoch), "", {}, run.loaded}, Cell{usd(run.cloud_usd_per_epoch), "", {}, run.loaded},
         even.value ? hours(*even.value) : "-"});
    add_gap(gaps, "epoch", run.epoch_seconds);
    add_gap(gaps, "local/epoch", run.local_usd_per_epoch);
    add_gap(gaps, "cloud/epoch", run.cloud_usd_per_epoch);
    add_gap(gaps, "break-even", even);
    if (!run.interval_reason.empty()) add_reason(gaps, run.interval_reason, "interval");
  }
  std::vector<const Workload*> works;
  for (const RunCost& run : runs) works.push_back(&run.workload);
  std::string text = terminal_table(table) + wrapped("", "  ", "epoch: " + epochs_text(works));
  for (const RunCost& run : runs)
    if (run.quality)
      text += wrapped("", "  ",
                      time_to_quality(run.quality->time) + ": local " + usd(run.quality->local_usd) + ", cloud " +
                          usd(run.quality->cloud_usd) +
                          (run.quality->time.first_use_seconds ? "; with first use local " + usd(run.quality->local_first_usd) +
                                                                     ", cloud " + usd(run.quality->cloud_first_usd)
                                                               : ""));
  return text;
}

std::vector<double> months_of(const RentOrBuy& question) {
  std::vector<double> list(kHours.begin(), kHours.end());
  const Amount even = break_even_hours(question.local, question.cloud);
  if (even.value) list.push_back(*even.value);
  std::sort(list.begin(), list.end());
  return list;
}

std::string months_text(const RentOrBuy& question, Reasons& gaps) {
  const Amount even = break_even_hours(question.local, question.cloud);
  View table{"", columns(">work per month|>local|>cloud|")};
  for (const double at : months_of(question)) {
    const Amount local = local_usd_per_month(question.local, at), cloud = cloud_usd_per_month(question.cloud, at);
    table.rows.push_back({hours(at), usd(local), usd(cloud), even.value && *even.value == at ? "break-even" : ""});
    add_gap(gaps, "local", local);
    add_gap(gaps, "cloud", cloud);
  }
  add_gap(gaps, "break-even", even);
  return terminal_table(table);
}

std::string sourced(const std::string& text, const std::string& source) {
  return source.empty() ? text : text + " (" + source + ")";
}

std::string local_text(const LocalMachine& local, const std::string& power_source, const std::string& idle_source) {
  std::string text;
  if (local.purchase_usd && local.lifetime_years)
    append(text, format_usd(*local.purchase_usd) + " over " + three_digits(*local.lifetime_years) + " years");
  if (local.power_watts) append(text, sourced(watts(*local.power_watts) + " at work", power_source));
  append(text, local.idle_watts ? sourced(watts(*local.idle_watts) + " idle", idle_source)
                                : "idle hours without electricity (--idle; not known, so local costs at least that)");
  if (local.usd_per_kwh) append(text, format_usd(*local.usd_per_kwh) + " per kWh");
  return wrapped("", "  ", "local: " + text);
}

std::string cloud_text(const CloudMachine& cloud, const std::string& source) {
  if (!cloud.usd_per_hour) return "";
  return wrapped("", "  ",
                 "cloud: " + sourced(format_usd(*cloud.usd_per_hour) + " per hour", source == kGivenPrice ? "given" : source) +
                     ", " +
                     (cloud.speed == 1 ? std::string("assumed to be as fast as the local machine (--cloud-speed)")
                                       : significant(cloud.speed, 3) + " times as fast as the local machine") +
                     ", paid for while it works");
}

// What differs between runs, without repeats.
std::string assumptions_text(const RentOrBuyAnswer& answer) {
  std::vector<std::string> lines;
  if (answer.runs.empty())
    return local_text(answer.question.local, "given", "given") +
           cloud_text(answer.question.cloud, answer.question.cloud_source);
  for (const RunCost& run : answer.runs) lines.push_back(local_text(run.local, run.power_source, run.idle_source));
  for (const RunCost& run : answer.runs) lines.push_back(cloud_text(run.cloud, run.cloud_source));
  lines.push_back(wrapped(
      "", "  ",
      "local works " + format_percent(answer.question.utilization) + " of the month's 730 hours " +
          (answer.utilization_given ? "(given)" : "(assumed, where owning costs least per epoch; set with --utilization)") +
          ", and is the machine of the result"));
  return joined(without_repeats(std::move(lines)), "");
}

void put(Json& object, const std::string& key, const Amount& amount) {
  object[key] = json_of(amount.value);
  object[key + "_reason"] = amount.value ? Json(nullptr) : Json(amount.reason);
}

void put_with_interval(Json& object, const std::string& key, const Amount& amount) {
  put(object, key, amount);
  object[key + "_ci95"] = json_of(amount.ci95);
  object[key + "_range"] = json_of(amount.range);
}

Json run_json(const RunCost& run) {
  Json json{{"name", run.name},
            {"repetitions", run.repetitions},
            {"epoch_kind", name(run.epoch_kind)},
            {"epoch", epochs_text({&run.workload})}};
  put_with_interval(json, "epoch_seconds", run.epoch_seconds);
  json["power_watts"] = json_of(run.local.power_watts);
  json["power_source"] = text_or_null(run.power_source);
  json["idle_watts"] = json_of(run.local.idle_watts);
  json["idle_source"] = text_or_null(run.idle_source);
  json["cloud_usd_per_hour"] = json_of(run.cloud.usd_per_hour);
  json["cloud_source"] = text_or_null(run.cloud_source);
  put_with_interval(json, "local_usd_per_epoch", run.local_usd_per_epoch);
  put_with_interval(json, "cloud_usd_per_epoch", run.cloud_usd_per_epoch);
  put(json, "first_epoch_seconds", run.first_epoch_seconds);
  put(json, "local_first_epoch_usd", run.local_first_epoch_usd);
  put(json, "cloud_first_epoch_usd", run.cloud_first_epoch_usd);
  json["interval_reason"] = text_or_null(run.interval_reason);
  put(json, "break_even_hours_per_month", run.break_even_hours_per_month);
  json["quality"] = nullptr;
  if (run.quality) {
    const TimeToQuality& time = run.quality->time;
    Json quality{
        {"metric", json_of(time.metric)}, {"reached", json_of(time.reached)}, {"seconds", json_of(time.seconds.value)}};
    put(quality, "local_usd", run.quality->local_usd);
    put(quality, "cloud_usd", run.quality->cloud_usd);
    put(quality, "local_first_usd", run.quality->local_first_usd);
    put(quality, "cloud_first_usd", run.quality->cloud_first_usd);
    json["quality"] = std::move(quality);
  }
  return json;
}

}  // namespace

std::string rent_or_buy_text(const RentOrBuyAnswer& answer) {
  Reasons gaps;
  std::string text = "local against cloud" + (answer.measured_on.empty() ? "" : ", measured on " + answer.measured_on) + "\n\n";
  text += answer.runs.empty() ? months_text(answer.question, gaps) : runs_text(answer.runs, gaps);
  return text + gaps_text(gaps, std::ssize(answer.runs)) + "\n" + assumptions_text(answer) +
         wrapped("", "  ",
                 "With fewer hours of work per month than break-even, renting is cheaper; with more, owning is. Neither side "
                 "includes storage, traffic, discounts, cooling, space or labor." +
                     std::string(answer.runs.empty() ? ""
                                                     : " First epoch: with compiling and one evaluation, at the same rates. In "
                                                       "brackets: the 95 % interval over repetitions, or "
                                                       "their range"));
}

Json rent_or_buy_json(const RentOrBuyAnswer& answer) {
  const RentOrBuy& question = answer.question;
  Json json;
  json["assumptions"] = {{"purchase_usd", json_of(question.local.purchase_usd)},
                         {"lifetime_years", json_of(question.local.lifetime_years)},
                         {"power_watts", json_of(question.local.power_watts)},
                         {"idle_watts", json_of(question.local.idle_watts)},
                         {"usd_per_kwh", json_of(question.local.usd_per_kwh)},
                         {"utilisation", question.utilization},
                         {"hours_per_month", kHoursAMonth},
                         {"cloud_usd_per_hour", json_of(question.cloud.usd_per_hour)},
                         {"cloud_source", text_or_null(question.cloud_source)},
                         {"cloud_speed", question.cloud.speed}};
  json["measured_on"] = text_or_null(answer.measured_on);
  json["runs"] = json_list(answer.runs, run_json);
  json["months"] = Json::array();
  if (!answer.runs.empty()) return json;
  for (const double at : months_of(question)) {
    Json month{{"hours", at}};
    put(month, "local_usd", local_usd_per_month(question.local, at));
    put(month, "cloud_usd", cloud_usd_per_month(question.cloud, at));
    json["months"].push_back(std::move(month));
  }
  put(json, "break_even_hours_per_month", break_even_hours(question.local, question.cloud));
  return json;
}

}  // namespace epochbench
