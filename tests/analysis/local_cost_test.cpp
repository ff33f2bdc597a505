// A machine that you own against a rented one: break-even, cost per epoch, and what is said where there is none.
#include "src/analysis/cost/local_cost.h"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/text/answer_text.h"
#include "support/made_settings.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// 36.50 USD per month to own, 0.10 USD of electricity per hour of work, 0.02 of an idle one.
LocalMachine machine() {
  LocalMachine local;
  local.purchase_usd = 876;
  local.lifetime_years = 2;
  local.power_watts = 500;
  local.idle_watts = 100;
  local.usd_per_kwh = 0.2;
  return local;
}

Run epoch_run(const std::string& name, double epoch_seconds, int repetition = 0) {
  Run run;
  rename(run, name);
  run.repetition = repetition;
  run.timing = Timing{};
  run.timing->epoch_seconds = epoch_seconds;
  run.timing->epoch_kind = EpochKind::projected;
  run.timing->wall_seconds = 10 * epoch_seconds;
  return run;
}

TEST(LocalCost, AMonthIsPurchaseWorkAndIdleHours) {
  EXPECT_NEAR(*local_usd_per_month(machine(), 0).value, 36.5 + 0.02 * 730, 1e-9);
  EXPECT_NEAR(*local_usd_per_month(machine(), 100).value, 36.5 + 0.1 * 100 + 0.02 * 630, 1e-9);
  EXPECT_NEAR(*local_usd_per_hour(machine(), 0.5).value, (36.5 + 0.1 * 365 + 0.02 * 365) / 365, 1e-12);
  LocalMachine silent = machine();
  silent.idle_watts.reset();
  EXPECT_NEAR(*local_usd_per_month(silent, 100).value, 36.5 + 10, 1e-9);
  EXPECT_NEAR(*cloud_usd_per_month({0.5, 2}, 100).value, 25, 1e-12) << "half the hours on a machine twice as fast";
}

TEST(LocalCost, AtBreakEvenBothCostTheSame) {
  const CloudMachine cloud{0.5, 1};
  const Amount hours = break_even_hours(machine(), cloud);
  ASSERT_TRUE(hours.value);
  EXPECT_NEAR(*hours.value, (36.5 + 0.02 * 730) / (0.5 - 0.08), 1e-9);
  EXPECT_NEAR(*local_usd_per_month(machine(), *hours.value).value, *cloud_usd_per_month(cloud, *hours.value).value, 1e-9);
  EXPECT_EQ(hours.reason, "");
}

TEST(LocalCost, SaysWhyThereIsNoBreakEven) {
  const auto reason = [](const LocalMachine& local, const CloudMachine& cloud) {
    const Amount hours = break_even_hours(local, cloud);
    EXPECT_FALSE(hours.value);
    return hours.reason;
  };
  EXPECT_THAT(reason(machine(), {0.05, 1}), HasSubstr("an hour of it costs no more than the electricity"));
  EXPECT_THAT(reason(machine(), {0.12, 1}), HasSubstr("even at 730 h per month"));
  EXPECT_THAT(reason(machine(), {0.5, 100}), HasSubstr("the cloud is always cheaper"));
  LocalMachine paid = machine();
  paid.purchase_usd = 0;
  paid.idle_watts = 0;
  EXPECT_THAT(reason(paid, {0.5, 1}), HasSubstr("local is cheaper at any hours"));
  EXPECT_THAT(reason(paid, {0.01, 1}), HasSubstr("electricity alone"));
}

TEST(LocalCost, NamesAllThatIsMissing) {
  EXPECT_THAT(break_even_hours({}, {}).reason, AllOf(HasSubstr("--purchase"), HasSubstr("--lifetime"), HasSubstr("--power"),
                                                     HasSubstr("--electricity"), HasSubstr("--cloud")));
  LocalMachine local = machine();
  local.power_watts.reset();
  EXPECT_EQ(local_usd_per_hour(local, 1).reason, "not known: power draw (no meter of the whole machine; --power)");
  EXPECT_FALSE(local_usd_per_hour(local, 1).value);
}

TEST(LocalCost, RefusesWhatIsNoNumberOfThatKind) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double value : {-1.0, nan, infinity}) {
    LocalMachine local = machine();
    local.power_watts = value;
    EXPECT_THAT(local_usd_per_month(local, 1).reason, HasSubstr("power draw")) << value;
    EXPECT_FALSE(cloud_usd_per_month({value, 1}, 1).value) << value;
    EXPECT_FALSE(cloud_usd_per_month({1, value}, 1).value) << value;
    EXPECT_FALSE(local_usd_per_hour(machine(), value).value) << value;
    EXPECT_FALSE(local_usd_per_month(machine(), value).value) << value;
  }
  EXPECT_FALSE(local_usd_per_hour(machine(), 0).value);
  EXPECT_FALSE(cloud_usd_per_month({0, 1}, 1).value);
  LocalMachine huge = machine();
  huge.purchase_usd = 1e308;
  huge.lifetime_years = 1e-9;
  EXPECT_THAT(local_usd_per_month(huge, 1).reason, HasSubstr("too large"));
  EXPECT_THAT(break_even_hours(huge, {1, 1}).reason, HasSubstr("too large"));
}

TEST(RentOrBuy, AnEpochIsItsShareOfAnHourOfWork) {
  RentOrBuy question{machine(), {0.5, 2}, "user", 0.5};
  const auto costs = rent_or_buy(std::vector{epoch_run("a", 900, 0), epoch_run("b", 60), epoch_run("a", 3600, 1)}, question);
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].name, "a");
  EXPECT_EQ(costs[0].repetitions, 2);
  EXPECT_DOUBLE_EQ(*costs[0].epoch_seconds.value, 1800) << "the geometric mean of the repetitions";
  EXPECT_EQ(costs[0].epoch_seconds.range, std::pair(900.0, 3600.0));
  EXPECT_FALSE(costs[0].epoch_seconds.ci95);
  EXPECT_NEAR(*costs[0].local_usd_per_epoch.value, *local_usd_per_hour(machine(), 0.5).value / 2, 1e-12);
  EXPECT_NEAR(*costs[0].cloud_usd_per_epoch.value, 0.5 / 2 / 2, 1e-12);
  EXPECT_DOUBLE_EQ(*costs[0].break_even_hours_per_month.value, *break_even_hours(machine(), {0.5, 2}).value);
  EXPECT_EQ(costs[0].power_source, "given");
}

// Five epochs around 900 s, whose logarithms have a standard deviation of 0.01 * sqrt(1.25); Student's t of 4 degrees of
// freedom is 2.7764.
TEST(RentOrBuy, OfFiveRepetitionsTheCostOfAnEpochHasAnInterval) {
  std::vector<epochbench::Run> runs;
  const double factor = std::exp(0.01 * std::sqrt(1.25));
  for (const double seconds : {900 / factor, 900 / factor, 900.0, 900 * factor, 900 * factor})
    runs.push_back(epoch_run("a", seconds, static_cast<int>(runs.size())));
  const RentOrBuy question{machine(), {0.5, 2}, "user", 0.5};
  const RunCost cost = rent_or_buy(runs, question)[0];
  const double half = std::exp(2.7764 * 0.01 * std::sqrt(1.25) / std::sqrt(5)), cloud_a_second = 0.25 / 3600;
  ASSERT_TRUE(cost.epoch_seconds.ci95 && cost.cloud_usd_per_epoch.ci95 && cost.local_usd_per_epoch.ci95);
  EXPECT_NEAR(cost.epoch_seconds.ci95->first, 900 / half, 1e-2);
  EXPECT_NEAR(cost.cloud_usd_per_epoch.ci95->first, cloud_a_second * 900 / half, 1e-7);
  EXPECT_NEAR(cost.cloud_usd_per_epoch.ci95->second, cloud_a_second * 900 * half, 1e-7);
  EXPECT_NEAR(cost.local_usd_per_epoch.ci95->second / *cost.local_usd_per_epoch.value, half, 1e-6);
  EXPECT_EQ(cost.interval_reason, "");
  RentOrBuyAnswer answer;
  answer.question = question;
  answer.runs = {cost};
  EXPECT_THAT(rent_or_buy_text(answer), HasSubstr("$0.0625 ($0.0616 to $0.0634)"));
  EXPECT_EQ(rent_or_buy_json(answer)["runs"][0]["cloud_usd_per_epoch_ci95"].size(), 2u);

  runs.pop_back();
  const RunCost few = rent_or_buy(runs, question)[0];
  EXPECT_FALSE(few.cloud_usd_per_epoch.ci95);
  EXPECT_EQ(few.interval_reason, "an interval takes 5 repetitions (--repetitions 5); there are 4");
  answer.runs = {few};
  EXPECT_THAT(rent_or_buy_text(answer), HasSubstr("interval: an interval takes 5 repetitions"));
  EXPECT_TRUE(rent_or_buy_json(answer)["runs"][0]["cloud_usd_per_epoch_ci95"].is_null());
}

TEST(RentOrBuy, TakesPowerAndPriceFromTheRunWhereNoneIsGiven) {
  epochbench::Run run = epoch_run("a", 3600);
  run.energy = Energy{};
  run.energy->source = EnergySource::rapl;
  run.energy->average_watts = 200;
  run.energy->idle_watts = 50;
  run.cost = Cost{0.7, {}, {}, "catalog: aws x"};
  RentOrBuy question;
  question.local.purchase_usd = 876;
  question.local.lifetime_years = 2;
  question.local.usd_per_kwh = 0.2;
  RunCost cost = rent_or_buy(std::span(&run, 1), question)[0];
  EXPECT_EQ(cost.local.power_watts, 200);
  EXPECT_EQ(cost.local.idle_watts, 50);
  EXPECT_EQ(cost.power_source, "measured: rapl");
  EXPECT_EQ(cost.cloud_source, "of the result: catalog: aws x");
  EXPECT_NEAR(*cost.local_usd_per_epoch.value, 36.5 / 730 + 0.04, 1e-12);
  EXPECT_NEAR(*cost.cloud_usd_per_epoch.value, 0.7, 1e-12);
  question.local.power_watts = 300;
  question.cloud.usd_per_hour = 1;
  question.cloud_source = "user";
  cost = rent_or_buy(std::span(&run, 1), question)[0];
  EXPECT_EQ(cost.local.power_watts, 300);
  EXPECT_EQ(cost.power_source, "given");
  EXPECT_EQ(cost.cloud_source, "user");
  run.energy->average_watts = 0;
  question.local.power_watts.reset();
  EXPECT_FALSE(rent_or_buy(std::span(&run, 1), question)[0].local_usd_per_epoch.value) << "a meter that says 0 W knows nothing";
}

TEST(RentOrBuy, TakesNoPriceInAnotherCurrency) {
  epochbench::Run run = epoch_run("a", 3600);
  run.cost = Cost{0.7, 0.7, 7.0, "user", "EUR"};
  RentOrBuy question;
  question.local = machine();
  const RunCost cost = rent_or_buy(std::span(&run, 1), question)[0];
  EXPECT_FALSE(cost.cloud_usd_per_epoch.value);
  EXPECT_THAT(cost.cloud_usd_per_epoch.reason, HasSubstr("--cloud"));
  EXPECT_THAT(cost.cloud_usd_per_epoch.reason, HasSubstr("of the result is in EUR"));
  EXPECT_THAT(cost.break_even_hours_per_month.reason, HasSubstr("EUR"));
  EXPECT_TRUE(cost.local_usd_per_epoch.value);
}

TEST(RentOrBuy, LeavesOutWhatWasNotMeasured) {
  epochbench::Run failed = epoch_run("a", 1), untimed = epoch_run("b", 1), nothing = epoch_run("c", 0);
  failed.status = RunStatus::failed;
  untimed.timing.reset();
  const auto costs = rent_or_buy(std::vector{failed, untimed, nothing}, {machine(), {0.5, 1}, "user", 1});
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_FALSE(costs[0].local_usd_per_epoch.value);
  EXPECT_EQ(costs[0].cloud_usd_per_epoch.reason, "the result has no time of an epoch");
}

TEST(RentOrBuy, ATrainingToAQualityCostsAllOfItsTime) {
  epochbench::Run run = epoch_run("a", 360);
  run.timing->stopped_by = StopReason::until;
  run.quality = Quality{};
  run.quality->eval_metric = EvalMetric::accuracy;
  run.quality->eval_value = 0.97;
  const RunCost cost = rent_or_buy(std::span(&run, 1), {machine(), {0.5, 1}, "user", 1})[0];
  ASSERT_TRUE(cost.quality);
  EXPECT_EQ(cost.quality->time.metric, EvalMetric::accuracy);
  EXPECT_DOUBLE_EQ(*cost.quality->time.seconds.value, 3600);
  EXPECT_NEAR(*cost.quality->cloud_usd.value, 0.5, 1e-12);
  EXPECT_NEAR(*cost.quality->local_usd.value, 36.5 / 730 + 0.1, 1e-12);
}

RentOrBuyAnswer answer_of(const RentOrBuy& question, const std::vector<Run>& runs) {
  return {question, true, "Some CPU, 2026-01-02", rent_or_buy(runs, question)};
}

TEST(RentOrBuyText, StatesEveryAssumption) {
  const std::string text = rent_or_buy_text(answer_of({machine(), {0.5, 2}, "user", 0.25}, {epoch_run("a", 60)}));
  EXPECT_THAT(text,
              AllOf(HasSubstr("Some CPU, 2026-01-02"), HasSubstr("$876.00 over 2.00 years"), HasSubstr("500 W at work (given)"),
                    HasSubstr("100 W idle (given)"), HasSubstr("$0.200 per kWh"),
                    HasSubstr("$0.500 per hour (given), 2.00 times as fast"), HasSubstr("25.0 % of the month's 730 hours")));
  EXPECT_THAT(text, HasSubstr("renting is cheaper"));
}

TEST(RentOrBuyText, TellsEachReasonOnce) {
  RentOrBuy question;
  question.cloud.usd_per_hour = 0.5;
  const std::string text = rent_or_buy_text(answer_of(question, {epoch_run("a", 60), epoch_run("b", 60)}));
  const std::string reason = "local/epoch, break-even: not known: purchase price";
  EXPECT_THAT(text, HasSubstr(reason));
  EXPECT_EQ(text.find(reason), text.rfind(reason)) << text;
  EXPECT_THAT(text, HasSubstr("idle hours without electricity"));
}

TEST(RentOrBuyText, OfHoursAloneMarksTheBreakEven) {
  const std::string text = rent_or_buy_text({{machine(), {0.5, 1}, "user", 1}, false, "", {}});
  EXPECT_THAT(text, AllOf(HasSubstr("122 h"), HasSubstr("break-even"), HasSubstr("730 h"), Not(HasSubstr("epoch"))));
}

TEST(RentOrBuyJson, HasAReasonBesideEveryNull) {
  const RentOrBuy nothing_known;
  const Json json = rent_or_buy_json(answer_of(nothing_known, {epoch_run("a", 60)}));
  EXPECT_TRUE(json["runs"][0]["local_usd_per_epoch"].is_null());
  EXPECT_THAT(json["runs"][0]["local_usd_per_epoch_reason"].get<std::string>(), HasSubstr("--purchase"));
  EXPECT_TRUE(json["runs"][0]["cloud_source"].is_null());
  EXPECT_EQ(json["runs"][0]["epoch_seconds"], 60);
  EXPECT_TRUE(json["runs"][0]["epoch_seconds_reason"].is_null());
  const Json hours = rent_or_buy_json({{machine(), {0.5, 1}, "user", 1}, false, "", {}});
  EXPECT_NEAR(hours["break_even_hours_per_month"].get<double>(), *break_even_hours(machine(), {0.5, 1}).value, 1e-12);
  EXPECT_EQ(hours["months"].size(), 6u);
  EXPECT_TRUE(hours["measured_on"].is_null());
}

}  // namespace
}  // namespace epochbench
