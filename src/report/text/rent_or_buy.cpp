#include "src/report/text/rent_or_buy.h"

#include <algorithm>
#include <array>

#include "src/base/table.h"
#include "src/base/units.h"
#include "src/report/text/summary.h"

namespace epochbench {
namespace {

// Familiar hours of work per month: an hour per day, a working week, half of all hours, all of them.
constexpr std::array kHours{30.0, 80.0, 160.0, 365.0, kHoursAMonth};

using Align = Table::Align;

// "$0.357 (0.350 to 0.364)"; "-" where it is not known.
std::string usd(const Figure& figure) {
  if (!figure.value) return "-";
  std::string text = format_usd(*figure.value);
  if (figure.ci95) text += " (" + significant(figure.ci95->first, 3) + " to " + significant(figure.ci95->second, 3) + ")";
  return text;
}
std::string hours(double value) { return significant(value, 3) + " h"; }
std::string watts(double value) { return significant(value, 3) + " W"; }

// Each reason once, with what it keeps from being known.
class Reasons {
 public:
  void add(const std::string& what, const Figure& figure) {
    if (figure.value) return;
    auto known = std::find_if(list_.begin(), list_.end(), [&](const auto& entry) { return entry.second == figure.reason; });
    if (known == list_.end()) {
      list_.emplace_back(what, figure.reason);
    } else if (("," + known->first + ",").find("," + what + ",") == std::string::npos) {
      known->first += "," + what;
    }
  }
  std::string text() const {
    std::string text;
    for (const auto& [what, reason] : list_) text += what + ": " + reason + "\n";
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::string>> list_;
};

std::string runs_text(const std::vector<RunCost>& runs, Reasons& reasons) {
  Table table({{"run"},
               {"epoch", Align::right},
               {""},
               {"local/epoch", Align::right},
               {"cloud/epoch", Align::right},
               {"break-even per month", Align::right}});
  for (const RunCost& run : runs) {
    const Figure& even = run.break_even_hours_per_month;
    table.add({run.repetitions > 1 ? run.name + ", mean of " + std::to_string(run.repetitions) : run.name,
               run.epoch_seconds.value ? format_seconds(*run.epoch_seconds.value) : "-", run.epoch_kind,
               usd(run.local_usd_per_epoch), usd(run.cloud_usd_per_epoch), even.value ? hours(*even.value) : "-"});
    reasons.add("epoch", run.epoch_seconds);
    reasons.add("local/epoch", run.local_usd_per_epoch);
    reasons.add("cloud/epoch", run.cloud_usd_per_epoch);
    reasons.add("break-even", even);
    if (!run.interval_reason.empty()) reasons.add("interval", {std::nullopt, run.interval_reason});
  }
  std::string text = table.to_string();
  for (const RunCost& run : runs)
    if (run.quality)
      text += time_to_quality(run.quality->time) + ": local " + usd(run.quality->local_usd) + ", cloud " +
              usd(run.quality->cloud_usd) + "\n";
  return text;
}

std::vector<double> months_of(const RentOrBuy& question) {
  std::vector<double> list(kHours.begin(), kHours.end());
  const Figure even = break_even_hours(question.local, question.cloud);
  if (even.value) list.push_back(*even.value);
  std::sort(list.begin(), list.end());
  return list;
}

std::string months_text(const RentOrBuy& question, Reasons& reasons) {
  const Figure even = break_even_hours(question.local, question.cloud);
  Table table({{"work per month", Align::right}, {"local", Align::right}, {"cloud", Align::right}, {""}});
  for (const double at : months_of(question)) {
    const Figure local = local_usd_per_month(question.local, at), cloud = cloud_usd_per_month(question.cloud, at);
    table.add({hours(at), usd(local), usd(cloud), even.value && *even.value == at ? "break-even" : ""});
    reasons.add("local", local);
    reasons.add("cloud", cloud);
  }
  reasons.add("break-even", even);
  return table.to_string();
}

std::string sourced(const std::string& text, const std::string& source) {
  return source.empty() ? text : text + " (" + source + ")";
}

std::string local_text(const LocalMachine& local, const std::string& power_source, const std::string& idle_source) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (local.purchase_usd && local.lifetime_years)
    add(format_usd(*local.purchase_usd) + " over " + significant(*local.lifetime_years, 3) + " years");
  if (local.power_watts) add(sourced(watts(*local.power_watts) + " at work", power_source));
  add(local.idle_watts ? sourced(watts(*local.idle_watts) + " idle", idle_source)
                       : "idle hours without electricity (--idle; not known, so local costs at least that)");
  if (local.usd_per_kwh) add(format_usd(*local.usd_per_kwh) + " per kWh");
  return text;
}

std::string cloud_text(const CloudMachine& cloud, const std::string& source) {
  if (!cloud.usd_per_hour) return "";
  return "cloud: " + sourced(format_usd(*cloud.usd_per_hour) + " per hour", source) + ", " +
         (cloud.speed == 1 ? std::string("taken to be as fast as the local machine (--cloud-speed)")
                           : significant(cloud.speed, 3) + " times as fast as the local machine") +
         ", paid for while it works\n";
}

// What differs from run to run once each, with nothing said twice.
std::string assumptions_text(const RentOrBuyAnswer& answer) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  };
  if (answer.runs.empty()) {
    add("local: " + local_text(answer.question.local, "given", "given") + "\n");
    add(cloud_text(answer.question.cloud, answer.question.cloud_source));
  }
  for (const RunCost& run : answer.runs) add("local: " + local_text(run.local, run.power_source, run.idle_source) + "\n");
  for (const RunCost& run : answer.runs) add(cloud_text(run.cloud, run.cloud_source));
  if (!answer.runs.empty())
    add("local works " + format_percent(answer.question.utilization) + " of the month's 730 hours " +
        (answer.utilization_given ? "(given)" : "(taken; --utilization says less)") + ", and is the machine of the result\n");
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

void put(Json& object, const std::string& key, const Figure& figure) {
  object[key] = figure.value ? Json(*figure.value) : Json(nullptr);
  object[key + "_reason"] = figure.value ? Json(nullptr) : Json(figure.reason);
}

void put_with_interval(Json& object, const std::string& key, const Figure& figure) {
  put(object, key, figure);
  object[key + "_ci95"] = figure.ci95 ? Json{figure.ci95->first, figure.ci95->second} : Json(nullptr);
}

Json maybe(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json maybe(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json run_json(const RunCost& run) {
  Json json{{"name", run.name}, {"repetitions", run.repetitions}, {"epoch_kind", maybe(run.epoch_kind)}};
  put_with_interval(json, "epoch_seconds", run.epoch_seconds);
  json["power_watts"] = maybe(run.local.power_watts);
  json["power_source"] = maybe(run.power_source);
  json["idle_watts"] = maybe(run.local.idle_watts);
  json["idle_source"] = maybe(run.idle_source);
  json["cloud_usd_per_hour"] = maybe(run.cloud.usd_per_hour);
  json["cloud_source"] = maybe(run.cloud_source);
  put_with_interval(json, "local_usd_per_epoch", run.local_usd_per_epoch);
  put_with_interval(json, "cloud_usd_per_epoch", run.cloud_usd_per_epoch);
  json["interval_reason"] = maybe(run.interval_reason);
  put(json, "break_even_hours_per_month", run.break_even_hours_per_month);
  json["quality"] = nullptr;
  if (run.quality) {
    const TimeToQuality& time = run.quality->time;
    Json quality{{"metric", time.metric}, {"reached", time.reached}, {"seconds", time.seconds}};
    put(quality, "local_usd", run.quality->local_usd);
    put(quality, "cloud_usd", run.quality->cloud_usd);
    json["quality"] = std::move(quality);
  }
  return json;
}

}  // namespace

std::string rent_or_buy_text(const RentOrBuyAnswer& answer) {
  Reasons reasons;
  std::string text = "local against cloud" + (answer.measured_on.empty() ? "" : ", measured on " + answer.measured_on) + "\n\n";
  text += answer.runs.empty() ? months_text(answer.question, reasons) : runs_text(answer.runs, reasons);
  const std::string why = reasons.text();
  text += (why.empty() ? "" : "\n" + why) + "\n" + assumptions_text(answer);
  return text +
         "read: with fewer hours of work per month than break-even, renting is cheaper; with more, owning; storage, traffic,\n"
         "discounts, cooling, space and labor are on neither side; in brackets the 95 % interval over repetitions\n";
}

Json rent_or_buy_json(const RentOrBuyAnswer& answer) {
  const RentOrBuy& question = answer.question;
  Json json;
  json["assumptions"] = {{"purchase_usd", maybe(question.local.purchase_usd)},
                         {"lifetime_years", maybe(question.local.lifetime_years)},
                         {"power_watts", maybe(question.local.power_watts)},
                         {"idle_watts", maybe(question.local.idle_watts)},
                         {"usd_per_kwh", maybe(question.local.usd_per_kwh)},
                         {"utilisation", question.utilization},
                         {"hours_per_month", kHoursAMonth},
                         {"cloud_usd_per_hour", maybe(question.cloud.usd_per_hour)},
                         {"cloud_source", maybe(question.cloud_source)},
                         {"cloud_speed", question.cloud.speed}};
  json["measured_on"] = maybe(answer.measured_on);
  json["runs"] = Json::array();
  for (const RunCost& run : answer.runs) json["runs"].push_back(run_json(run));
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
