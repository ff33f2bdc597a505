// Claims about owning and renting, from the user's figures and what a result's meters and prices add (local_cost.h).
#include <algorithm>

#include "src/analysis/claims/claim_kinds.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr const char *kPurchase = "purchase_usd", *kLifetime = "lifetime_years", *kPower = "power_watts",
                     *kElectricity = "usd_per_kwh", *kCloud = "cloud_usd_per_hour";

Words example_figures() { return {kPurchase, kLifetime, kPower, kElectricity, kCloud}; }

// The run that knows most of what the answer needs, of the first result that has any; without results the user's figures only.
struct Known {
  std::string path;
  RunCost cost;
};

int figures(const RunCost& cost) { return cost.local.power_watts.has_value() + cost.cloud.usd_per_hour.has_value(); }

Known most_known(const Evidence& evidence) {
  const RentOrBuy question = evidence.facts.prices.value_or(RentOrBuy{});
  Known known;
  known.cost.local = question.local;
  known.cost.cloud = question.cloud;
  known.cost.cloud_source = question.cloud_source;
  for (const auto& [path, result] : evidence.results)
    for (RunCost& cost : rent_or_buy(result.runs, question))
      if (known.path.empty() || figures(cost) > figures(known.cost)) known = {path, std::move(cost)};
  return known;
}

// What is missing if the call gave no figures, and the call that gives them.
std::string figures_needed(const Known& known) {
  const RunCost& cost = known.cost;
  std::string carried, command = "epochbench claims";
  if (!known.path.empty()) command += " " + known.path;
  command += " --purchase USD --lifetime YEARS --electricity USD_PER_KWH";
  if (cost.local.power_watts)
    carried += short_number(*cost.local.power_watts, 3) + " W (" + cost.power_source + ")";
  else
    command += " --power WATTS";
  if (cost.cloud.usd_per_hour)
    append(carried, short_number(*cost.cloud.usd_per_hour, 3) + " USD per hour (" + cost.cloud_source + ")");
  else
    command += " --cloud PRICE";
  return "needs the user's own figures, which no result carries" +
         (carried.empty() ? std::string() : ", beside " + carried + " of " + cost.name) + ": " + command;
}

// "2500 USD over 4 years, 350 W, 0.3 USD per kWh, against 1.2 USD per hour (given)". Precondition: all of them are known.
std::string describe(const RunCost& cost) {
  const auto text = [](const std::optional<double>& value) { return short_number(*value, 4); };
  std::string figures = text(cost.local.purchase_usd) + " USD over " + text(cost.local.lifetime_years) + " years, " +
                        text(cost.local.power_watts) + " W, ";
  if (cost.local.idle_watts) figures += text(cost.local.idle_watts) + " W idle, ";
  figures += text(cost.local.usd_per_kwh) + " USD per kWh, against " + text(cost.cloud.usd_per_hour) + " USD per hour";
  if (!cost.cloud_source.empty()) figures += " (" + cost.cloud_source + ")";
  if (cost.cloud.speed != 1) figures += ", " + short_number(cost.cloud.speed, 3) + " times as fast";
  return figures;
}

// An example from published figures, if the call gives none.
RentOrBuy question_of(const std::vector<StatedFigure>& figures) {
  RentOrBuy question;
  const auto figure = [&](const char* of) { return std::ranges::find(figures, of, &StatedFigure::of)->value; };
  question.local.purchase_usd = figure(kPurchase);
  question.local.lifetime_years = figure(kLifetime);
  question.local.power_watts = figure(kPower);
  question.local.usd_per_kwh = figure(kElectricity);
  question.cloud.usd_per_hour = figure(kCloud);
  return question;
}

// The number of hours of work per month up to which renting is cheaper.
double hours_of_renting(const RunCost& cost, const Amount& break_even) {
  if (break_even.value) return *break_even.value;
  const Amount owned = local_usd_per_month(cost.local, kHoursAMonth), rented = cloud_usd_per_month(cost.cloud, kHoursAMonth);
  return *rented.value <= *owned.value ? kHoursAMonth : 0;
}

ClaimAnswer answer_of(const ClaimQuantity& quantity, const RunCost& cost) {
  const Amount hours = break_even_hours(cost.local, cost.cloud), month_of_rest = local_usd_per_month(cost.local, 0);
  if (!month_of_rest.value || !cloud_usd_per_month(cost.cloud, kHoursAMonth).value) return unanswered(quantity, hours.reason);
  ClaimAnswer answer;
  if (quantity.measure == "idle") {
    answer = answered(quantity, certain(*cost.cloud.usd_per_hour * kHoursAMonth / *month_of_rest.value, describe(cost)));
    if (!answer.measured) answer.reason = "owning costs nothing in these figures";
  } else if (quantity.measure == "renting") {
    answer = answered(quantity, certain(hours_of_renting(cost, hours), describe(cost)));
  } else if (hours.value) {
    answer = answered(quantity, certain(*hours.value, describe(cost)));
  } else {
    answer = unanswered(quantity, hours.reason);
    answer.verdict = Verdict::not_reproduced;
    answer.conditions = describe(cost);
  }
  return answer;
}

Answers answer_break_even(const ClaimQuantity& quantity, const Evidence& evidence) {
  const Known known = most_known(evidence);
  if (evidence.facts.prices) return {answer_of(quantity, known.cost)};
  ClaimAnswer own = unanswered(quantity, figures_needed(known));
  if (quantity.figures.empty()) return {own};
  const RentOrBuy question = question_of(quantity.figures);
  RunCost example;
  example.local = question.local;
  example.cloud = question.cloud;
  ClaimAnswer answer = answer_of(quantity, example);
  answer.evidence = EvidenceClass::published;
  answer.counts = false;  // other prices give another verdict
  for (const StatedFigure& figure : quantity.figures)
    answer.sources.push_back({spaced(figure.of) + ": " + figure.source + ", " + figure.date, figure.url});
  append(answer.conditions, "an example by published prices", "; ");
  own.id = "yours";
  answer.id = "example";
  return {own, answer};
}

void check_example(const ClaimQuantity& quantity, const JsonFields& fields) {
  if (quantity.figures.empty()) return;
  Words given;
  for (const StatedFigure& figure : quantity.figures) {
    check_word(fields.path("figures"), figure.of, example_figures());
    given.push_back(figure.of);
  }
  for (const std::string& needed : example_figures())
    if (!contains(given, needed)) throw FormatError(fields.path("figures") + ": an example needs '" + needed + "' too");
}

}  // namespace

ClaimKinds owning_kinds() {
  static constexpr ClaimKind kKinds[] = {
      {.name = "break_even",
       .answers = answer_break_even,
       .measures = "owning renting idle",
       .evidence = EvidenceClass::planned,
       .check = check_example},
  };
  return kKinds;
}

}  // namespace epochbench
