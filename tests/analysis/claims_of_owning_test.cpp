// Verdicts on owning and renting, from the user's figures.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

// Owning and renting: what a result carries is reported, and what it cannot carry is in the command.
TEST(Claims, OfTheUsersOwnFiguresNameTheCommand) {
  auto runs = runs_of("resnet50", "cpu", "fp32", 16, 100);
  EXPECT_THAT(part_of(answer_to("local-vs-cloud", {runs}), "yours").reason,
              HasSubstr("epochbench claims made.json --purchase USD --lifetime YEARS --electricity USD_PER_KWH --power WATTS "
                        "--cloud PRICE"));
  for (auto& run : runs) {
    run.energy = Energy{EnergySource::rapl, 1.0, {}, {}, 210.0, {}};
    run.cost = Cost{0.34, 0.01, 0.1, "user"};
  }
  const ClaimAnswer answer = answer_to("local-vs-cloud", {runs});
  EXPECT_EQ(answer.verdict, Verdict::not_testable) << "an example decides nothing";
  EXPECT_EQ(part_of(answer, "yours").verdict, Verdict::not_testable);
  EXPECT_EQ(part_of(answer, "yours").reason,
            "needs the user's own figures, which no result carries, beside 210 W (measured: rapl), 0.34 USD per hour (of the "
            "result: given with --price) of resnet50/cpu/fp32/b16: epochbench claims made.json --purchase USD --lifetime YEARS "
            "--electricity USD_PER_KWH");
  const ClaimAnswer alone = answer_to("local-vs-cloud", std::vector<NamedResult>{});
  EXPECT_THAT(part_of(alone, "yours").reason, HasSubstr("epochbench claims --purchase USD"));
  const ClaimAnswer& example = part_of(alone, "example");
  EXPECT_NEAR(*example.measured, 199000 / 60.0 / (21.957642 - 6.5 * 0.13), 1e-6) << "USD per month over USD per hour";
  EXPECT_EQ(example.verdict, Verdict::reproduced);
  EXPECT_EQ(example.sources.size(), 5u);
}

ClaimAnswer at_prices(const std::string& id, const RentOrBuy& prices, const std::vector<NamedResult>& results = {}) {
  for (const Claim& claim : embedded_claims().claims)
    if (claim.id == id) return judge(std::vector{claim}, results, {.plans = {}, .prices = prices}).front();
  throw std::invalid_argument(id);
}

// 2,400 USD over 4 years are 50 USD per month, and an hour of work 0.1 USD; the cloud's hour costs what is given.
RentOrBuy prices(double cloud_usd_per_hour) {
  RentOrBuy question;
  question.local = {.purchase_usd = 2400, .lifetime_years = 4, .power_watts = 500, .usd_per_kwh = 0.2, .idle_watts = {}};
  question.cloud.usd_per_hour = cloud_usd_per_hour;
  return question;
}

TEST(Claims, PricesDecideBetweenOwningAndRenting) {
  const ClaimAnswer both = at_prices("local-vs-cloud", prices(0.6));
  EXPECT_EQ(both.verdict, Verdict::reproduced);
  EXPECT_NEAR(*both.measured, 100, 1e-9) << "50 USD per month over 0.5 USD per hour";
  EXPECT_EQ(both.evidence, EvidenceClass::planned);
  EXPECT_THAT(both.conditions, HasSubstr("2400 USD over 4 years, 500 W, 0.2 USD per kWh, against 0.6 USD per hour"));
  const ClaimAnswer never = at_prices("local-vs-cloud", prices(0.15));
  EXPECT_EQ(never.verdict, Verdict::not_reproduced);
  EXPECT_THAT(never.reason, HasSubstr("the cloud is always cheaper"));
}

TEST(Claims, PricesDecideWhetherTheCloudPays) {
  EXPECT_NEAR(*at_prices("cloud-cost-effective", prices(0.6)).measured, 100, 1e-9);
  EXPECT_EQ(at_prices("cloud-cost-effective", prices(0.6)).verdict, Verdict::reproduced);
  EXPECT_NEAR(*at_prices("cloud-cost-effective", prices(0.15)).measured, 730, 1e-9) << "cheaper at any hours";
  RentOrBuy free = prices(0.6);
  free.local.purchase_usd = 0;
  EXPECT_EQ(at_prices("cloud-cost-effective", free).verdict, Verdict::not_reproduced);
  EXPECT_NEAR(*at_prices("cloud-idle", prices(0.6)).measured, 0.6 * 730 / 50, 1e-9);
  EXPECT_EQ(at_prices("cloud-idle", prices(0.6)).verdict, Verdict::reproduced);
  EXPECT_EQ(at_prices("cloud-idle", prices(0.05)).verdict, Verdict::not_reproduced);
  EXPECT_FALSE(at_prices("cloud-idle", free).measured) << "nothing over nothing";
}

TEST(Claims, WhatIsMissingOfThePricesIsNamed) {
  RentOrBuy some = prices(0.6);
  some.local.power_watts.reset();
  some.local.lifetime_years.reset();
  const ClaimAnswer answer = at_prices("local-vs-cloud", some);
  EXPECT_EQ(answer.verdict, Verdict::not_testable);
  EXPECT_EQ(answer.reason, "not known: lifetime (--lifetime), power draw (no meter of the whole machine; --power)");
  auto runs = runs_of("resnet50", "cpu", "fp32", 16, 100);
  for (auto& run : runs) run.energy = Energy{EnergySource::rapl, 1.0, {}, {}, 500.0, {}};
  some.local.lifetime_years = 4;
  EXPECT_NEAR(*at_prices("local-vs-cloud", some, {result_of({runs})}).measured, 100, 1e-6) << "by the result's meter";
}

}  // namespace
}  // namespace epochbench
