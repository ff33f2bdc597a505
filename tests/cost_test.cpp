// Prices, costs and parity: pure functions over results.
#include "src/analysis/cost.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/parity.h"
#include "src/cli/errors.h"
#include "src/cli/prices.h"
#include "src/report/json_text.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

Timing timing_of(double epoch_seconds, double wall_seconds) {
  Timing timing;
  timing.epoch_seconds = epoch_seconds;
  timing.wall_seconds = wall_seconds;
  return timing;
}

TEST(Cost, IsPriceTimesHours) {
  const Cost cost = cost_of(timing_of(1800, 7200), 0.5, "user");
  EXPECT_DOUBLE_EQ(*cost.usd_per_epoch, 0.25);
  EXPECT_DOUBLE_EQ(*cost.usd_total, 1.0);
  EXPECT_DOUBLE_EQ(*cost.usd_per_hour, 0.5);
  EXPECT_EQ(cost.price_source, "user");
}

TEST(Prices, OfTheUserAndOfTheCatalogue) {
  const CataloguePrice& row = embedded_prices().prices.at(0);
  const Prices prices("cpu=0.34,cuda:1=" + row.provider + "/" + row.instance + ",cuda=2");
  EXPECT_DOUBLE_EQ(*prices.cost("cpu", timing_of(3600, 0))->usd_per_epoch, 0.34);
  EXPECT_DOUBLE_EQ(*prices.cost("cuda:0", timing_of(3600, 0))->usd_per_epoch, 2);
  const Cost other = *prices.cost("cuda:1", timing_of(3600, 0));
  EXPECT_DOUBLE_EQ(*other.usd_per_hour, row.usd_per_hour);
  EXPECT_THAT(*other.price_source,
              testing::AllOf(HasSubstr("catalogue: " + row.provider + " " + row.instance + " " + row.region + " " + row.as_of),
                             HasSubstr("not the machine that was measured")));
}

TEST(Prices, RefusesWhatIsNoPrice) {
  for (const char* text :
       {"cpu", "cpu=", "=1", "cpu=0", "cpu=-1", "cpu=nan", "cpu=1e9", "cpu=cheap", "tpu=1", "cpu=1,", "cpu=1,,cuda=2", "0.34"})
    EXPECT_THROW(Prices{text}, CallError) << text;
}

TEST(PriceCatalogue, NamesItsSourcesAndDates) {
  const auto& catalogue = embedded_prices();
  EXPECT_FALSE(catalogue.note.empty());
  std::set<std::string> providers;
  for (const CataloguePrice& price : catalogue.prices) {
    providers.insert(price.provider);
    EXPECT_THAT(price.as_of, testing::MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]")) << price.instance;
    EXPECT_THAT(price.source, HasSubstr("https://")) << price.instance;
    EXPECT_GT(price.vcpus, 0) << price.instance;
    EXPECT_EQ(price.gpu_model.empty(), price.gpu_count == 0) << price.instance;
    EXPECT_EQ(find_price(catalogue.prices, price.provider + "/" + price.instance), &price);
  }
  EXPECT_THAT(providers, testing::ElementsAre("aws", "azure", "gcp"));
}

TEST(PriceCatalogue, RefusesAPriceOfNothing) {
  EXPECT_THROW(parse_prices(R"({"note": "", "prices": [{"provider": "a", "instance": "b", "region": "c", "usd_per_hour": 0,
      "vcpus": 1, "gpus": null, "source": "s", "as_of": "2026-01-01"}]})",
                            "prices"),
               FormatError);
}

TEST(PriceOfMachine, OnlyWhereTheFirmwareNamesTheInstance) {
  const std::vector<CataloguePrice> catalogue{{"aws", "c7i.4xlarge", "us-east-1", 0.7, 16, "", 0, "s", "2026-01-01"}};
  EXPECT_EQ(price_of_machine(catalogue, "Amazon EC2", "c7i.4xlarge"), &catalogue[0]);
  EXPECT_EQ(price_of_machine(catalogue, "Amazon EC2", "c7i.8xlarge"), nullptr);
  EXPECT_EQ(price_of_machine(catalogue, "Google", "Google Compute Engine"), nullptr);
  EXPECT_EQ(price_of_machine(catalogue, "", ""), nullptr);
  EXPECT_EQ(describe(catalogue[0], true), "catalogue: aws c7i.4xlarge us-east-1 2026-01-01");
}

Run training(const std::string& name, std::vector<double> losses, const std::string& backend = "cpu",
             const std::string& precision = "fp32") {
  Run run;
  run.name = name;
  run.workload.mode = "train";
  run.workload.fingerprint = "f";
  run.workload.dataset = "digits";
  run.device.backend = backend;
  run.precision = precision;
  run.quality = Quality{};
  run.quality->loss = std::move(losses);
  return run;
}

TEST(MaxRelativeDifference, LooksAtTheFirstTenLosses) {
  std::vector<double> reference(12, 2.0), losses = reference;
  losses[9] = 2.02;
  losses[10] = 5;
  EXPECT_NEAR(max_relative_difference(losses, reference), 0.01, 1e-12);
  EXPECT_EQ(max_relative_difference({{1.0}}, reference), 0.5);
}

TEST(Parity, ComparesWithTheCpuFp32RunOfTheSameWorkload) {
  std::vector<epochbench::Run> runs{training("m/cuda/fp32/b8", {1.0, 2.0}, "cuda"),
                                    training("m/cpu/fp32/b8/threads=1", {1.0, 2.0}), training("m/cpu/fp32/b8", {1.0, 1.0})};
  fill_parity(runs);
  EXPECT_EQ(runs[0].quality->parity_with, "m/cpu/fp32/b8");
  EXPECT_DOUBLE_EQ(*runs[0].quality->parity_max_relative_difference, 1.0);
  EXPECT_EQ(runs[1].quality->parity_with, "m/cpu/fp32/b8");
  EXPECT_FALSE(runs[2].quality->parity_with) << "the reference itself";
}

TEST(Parity, LeavesAloneWhatHasNoPartner) {
  const auto partnerless = [](auto change) {
    std::vector<epochbench::Run> runs{training("m/cpu/fp32/b8", {1.0}), training("m/cpu/fp32/b8/threads=1", {1.0})};
    change(runs[1]);
    fill_parity(runs);
    return !runs[1].quality->parity_with && !runs[1].quality->parity_max_relative_difference;
  };
  EXPECT_FALSE(partnerless([](epochbench::Run&) {}));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.workload.fingerprint = "g"; }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.workload.seed = 1; }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.workload.dataset = "synthetic"; }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.workload.mode = "forward"; }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.name = "m/cpu/fp32/b8/order=sequential/threads=1"; }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.repetition = 1; }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.status = RunStatus::failed; }));
}

}  // namespace
}  // namespace epochbench
