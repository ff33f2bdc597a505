// Prices, costs and parity: pure functions over results.
#include "src/analysis/cost/cost.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/cost/price_share.h"
#include "src/analysis/parity.h"
#include "src/base/errors.h"
#include "src/result/price_source.h"
#include "src/session/prices.h"
#include "support/made_settings.h"

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
  const Cost cost = cost_of(timing_of(1800, 7200), {0.5, "user"});
  EXPECT_DOUBLE_EQ(*cost.usd_per_epoch, 0.25);
  EXPECT_DOUBLE_EQ(*cost.usd_total, 1.0);
  EXPECT_DOUBLE_EQ(*cost.usd_per_hour, 0.5);
  EXPECT_EQ(cost.price_source, "user");
}

TEST(ParseDay, TakesDaysOfTheCalendarAlone) {
  ASSERT_TRUE(parse_day("2026-01-19"));
  EXPECT_EQ(days_between(*parse_day("2026-01-19"), *parse_day("2026-11-21")), 306);
  EXPECT_EQ(days_between(*parse_day("2024-02-28"), *parse_day("2024-03-01")), 2) << "a leap year";
  EXPECT_EQ(days_between(*parse_day("2026-01-02"), *parse_day("2026-01-01")), -1);
  for (const char* text :
       {"", "2026-1-19", "2026-02-29", "2026-13-01", "2026-00-10", "2026-01-19T00", "20x6-01-19", "2026/01/19"})
    EXPECT_FALSE(parse_day(text)) << text;
}

TEST(PriceAge, IsShownForPricesOlderThan180Days) {
  const CatalogPrice price{"aws", "p5", "us-east-1", 55, 192, "H100", 8, "s", "2026-01-19"};
  const Day that_day = *parse_day(price.as_of);
  EXPECT_EQ(age_note(price.as_of, that_day + std::chrono::days(180)), "");
  EXPECT_EQ(age_note(price.as_of, that_day + std::chrono::days(181)), "181 days old");
  EXPECT_EQ(age_note(price.as_of, that_day - std::chrono::days(1)), "");
  EXPECT_EQ(describe(price, "price for 8 GPUs, 1 used", true, that_day + std::chrono::days(200)),
            "catalog: aws p5 us-east-1 2026-01-19, price for 8 GPUs, 1 used, 200 days old");
}

TEST(PriceAge, StandsInTheSourceOfARunsPrice) {
  const CatalogPrice& row = embedded_prices().prices.at(0);
  const Day that_day = *parse_day(row.as_of);
  const auto source = [&](int days) {
    const Prices prices({"cpu=" + row.instance, {}}, {row.vcpus}, that_day + std::chrono::days(days));
    return *prices.cost({}, timing_of(1, 1))->price_source;
  };
  EXPECT_THAT(source(180), testing::Not(HasSubstr("days old")));
  EXPECT_THAT(source(365), HasSubstr(row.as_of + ", 365 days old"));
  EXPECT_EQ(Prices({"cpu=0.5", {}}, {2}, that_day + std::chrono::days(365)).cost({}, timing_of(1, 1))->price_source, "user");
}

TEST(Prices, OfTheUserAndOfTheCatalog) {
  const CatalogPrice& row = *find_price(embedded_prices().prices, "g5.xlarge");
  const Prices prices({"cpu=0.34,cuda:1=" + row.provider + "/" + row.instance + ",cuda=2", {}}, {row.vcpus});
  EXPECT_DOUBLE_EQ(*prices.cost({}, timing_of(3600, 0))->usd_per_epoch, 0.34);
  EXPECT_DOUBLE_EQ(*prices.cost(cuda_device(0), timing_of(3600, 0))->usd_per_epoch, 2);
  const Cost other = *prices.cost(cuda_device(1), timing_of(3600, 0));
  EXPECT_DOUBLE_EQ(*other.usd_per_hour, row.usd_per_hour);
  EXPECT_THAT(*other.price_source,
              testing::AllOf(HasSubstr("catalog: " + row.provider + " " + row.instance + " " + row.region + " " + row.as_of),
                             HasSubstr("not the machine that was measured")));
}

const CatalogPrice kEightCpus{"aws", "c8", "us-east-1", 0.8, 8, "", 0, "s", "2026-01-19"};
const CatalogPrice kEightGpus{"aws", "p5", "us-east-1", 56, 192, "H100", 8, "s", "2026-01-19"};

TEST(PriceShare, IsAllOfTheMachineItself) {
  for (const std::optional<PriceScaling> scaling : {std::optional<PriceScaling>(), std::optional(PriceScaling::per_vcpu)}) {
    const PriceShare share = share_of(kEightCpus, {8, 0}, scaling);
    EXPECT_EQ(share.factor, 1);
    EXPECT_EQ(share.text, "");
    EXPECT_FALSE(share.scaling);
  }
}

TEST(PriceShare, IsStatedForAMachineOfAnotherSize) {
  const PriceShare by_cpu = share_of(kEightCpus, {2, 0}, PriceScaling::per_vcpu);
  EXPECT_DOUBLE_EQ(by_cpu.factor, 0.25);
  EXPECT_EQ(by_cpu.text, "hypothetical price for 8 vCPUs, 2 used");
  const PriceShare by_gpu = share_of(kEightGpus, {192, 1}, PriceScaling::per_gpu);
  EXPECT_DOUBLE_EQ(by_gpu.factor, 0.125);
  EXPECT_EQ(by_gpu.text, "hypothetical price for 8 GPUs, 1 used");
  const PriceShare whole = share_of(kEightGpus, {16, 1}, PriceScaling::whole);
  EXPECT_EQ(whole.factor, 1);
  EXPECT_EQ(whole.text, "whole price for 192 vCPUs and 8 GPUs, 16 and 1 used");
}

TEST(PriceShare, IsRefusedWithoutAWord) {
  const auto failure = [](const CatalogPrice& price, UsedMachine used, std::optional<PriceScaling> scaling) -> std::string {
    try {
      share_of(price, used, scaling);
    } catch (const CallError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(failure(kEightCpus, {2, 0}, {}),
              testing::AllOf(HasSubstr("c8 has 8 vCPUs, and 2 vCPUs are used"), HasSubstr("--price-scaling per-vcpu")));
  EXPECT_THAT(failure(kEightCpus, {16, 0}, {}), HasSubstr("16 vCPUs are used"));
  EXPECT_THAT(failure(kEightGpus, {192, 1}, {}), HasSubstr("--price-scaling per-gpu"));
  EXPECT_THAT(failure(kEightGpus, {192, 0}, {}), HasSubstr("--price-scaling per-vcpu")) << "a CPU that has GPUs beside it";
  EXPECT_THAT(failure(kEightCpus, {2, 0}, PriceScaling::per_gpu), HasSubstr("no meaning"));
  EXPECT_THAT(failure(kEightCpus, {8, 1}, PriceScaling::whole), HasSubstr("has no GPU"));
}

// Two cores without SMT are a quarter of an instance of eight vCPUs without it, and half of one whose vCPUs share cores.
TEST(PriceShare, CountsCoresWhereBothSidesKnowThem) {
  CatalogPrice own_cores = kEightCpus, shared_cores = kEightCpus;
  own_cores.cores = 8;
  shared_cores.cores = 4;
  const UsedMachine two_cores{2, 0, 2};
  EXPECT_DOUBLE_EQ(share_of(own_cores, two_cores, PriceScaling::per_core).factor, 0.25);
  EXPECT_DOUBLE_EQ(share_of(own_cores, two_cores, PriceScaling::per_vcpu).factor, 0.25) << "a vCPU is a core on both sides";
  const PriceShare half = share_of(shared_cores, two_cores, PriceScaling::per_core);
  EXPECT_DOUBLE_EQ(half.factor, 0.5);
  EXPECT_EQ(half.text, "hypothetical price for 4 cores, 2 used");
  const auto failure = [](const CatalogPrice& price, const UsedMachine& used,
                          std::optional<PriceScaling> scaling) -> std::string {
    try {
      share_of(price, used, scaling);
    } catch (const CallError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(failure(shared_cores, two_cores, PriceScaling::per_vcpu),
              testing::AllOf(HasSubstr("8 vCPUs on 4 cores, and 2 vCPUs on 2 cores are used"),
                             HasSubstr("use --price-scaling per-core")));
  EXPECT_THAT(failure(shared_cores, {8, 0, 8}, {}), HasSubstr("--price-scaling per-core"))
      << "as many vCPUs, and twice the cores";
  EXPECT_THAT(failure(kEightCpus, two_cores, PriceScaling::per_core), HasSubstr("the cores of c8 are not known"));
  EXPECT_THAT(failure(shared_cores, {2, 0}, PriceScaling::per_core), HasSubstr("the cores of this machine are not known"));
}

TEST(PriceSource, OfAShareIsHypotheticalAndNamesTheWhole) {
  const std::string whole = "catalog: aws p5 us-east-1 2026-01-19, whole price for 192 vCPUs and 8 GPUs, 16 and 1 used";
  for (const std::string& source : {std::string("user"), whole, std::string("price for nothing"), std::string("")}) {
    EXPECT_FALSE(whole_over_share(source)) << source;
    EXPECT_EQ(price_text(source, 1), source_text(source));
  }
  for (const std::string& source : {"c, " + share_text("16 cores", 2), std::string("c, price for 16 cores, 2 used")}) {
    EXPECT_THAT(whole_over_share(source), testing::Optional(8.)) << source;
    EXPECT_EQ(price_text(source, 0.10264),
              "c, hypothetical price for 16 cores, 2 used; rented only whole, for $0.821 per hour");
  }
}

TEST(PriceCatalog, KnowsTheCoresOfCpuInstances) {
  EXPECT_EQ(find_price(embedded_prices().prices, "c7a.4xlarge")->cores, 16);
  EXPECT_EQ(find_price(embedded_prices().prices, "c7i.4xlarge")->cores, 8) << "its vCPUs share cores";
  EXPECT_EQ(find_price(embedded_prices().prices, "g5.xlarge")->cores, 0) << "not known";
}

TEST(Prices, WithoutACaseAreNamed) {
  const Prices prices({"cpu=0.34,cuda=0.5,cuda:1=0.7", {}});
  EXPECT_EQ(prices.without_case(std::vector{parse_device("cuda:0")}), (std::vector<std::string>{"cpu", "cuda:1"}));
  EXPECT_EQ(prices.without_case(std::vector{parse_device("cpu")}), (std::vector<std::string>{"cuda", "cuda:1"}));
}

TEST(Prices, OfAnInstanceAreThoseOfItsSize) {
  EXPECT_THROW(Prices({"cpu=c7i.2xlarge", {}}, {2}), CallError);
  EXPECT_NO_THROW(Prices({"cpu=c7i.2xlarge", {}}, {8}));
  const Cost cost = *Prices({"cpu=c7i.2xlarge", PriceScaling::per_vcpu}, {2}).cost({}, timing_of(3600, 7200));
  EXPECT_DOUBLE_EQ(*cost.usd_per_epoch, 0.357 / 4);
  EXPECT_DOUBLE_EQ(*cost.usd_total, 0.357 / 2);
  EXPECT_EQ(cost.price_scaling, PriceScaling::per_vcpu);
  EXPECT_THAT(*cost.price_source, HasSubstr("hypothetical price for 8 vCPUs, 2 used"));
}

TEST(Prices, OfEightGpusAreThoseOfEightRanks) {
  const Prices prices({"cuda=p5.48xlarge", {}}, {192});
  EXPECT_DOUBLE_EQ(prices.hourly(cuda_device(0), 8)->usd_per_hour, 55.04);
  EXPECT_THROW(prices.hourly(cuda_device(0), 1), CallError);
  EXPECT_DOUBLE_EQ(Prices({"cuda=p5.48xlarge", PriceScaling::per_gpu}, {192}).hourly(cuda_device(0), 2)->usd_per_hour, 13.76);
  EXPECT_THROW(Prices({"cuda=p5.48xlarge", {}}, {191}), CallError);
  EXPECT_THROW(Prices({"cuda=c7i.2xlarge", {}}, {8}), CallError) << "it has no GPU";
}

// A machine that its firmware names is paid for as a whole, however much of it this program may use.
TEST(Prices, OfTheMachineItselfNeedNoScaling) {
  const Prices prices({"", {}}, {2, find_price(embedded_prices().prices, "p5.48xlarge")});
  const Cost cost = *prices.cost(cuda_device(0), timing_of(3600, 3600));
  EXPECT_DOUBLE_EQ(*cost.usd_per_epoch, 55.04);
  EXPECT_THAT(*cost.price_source, HasSubstr("whole price for 192 vCPUs and 8 GPUs, 2 and 1 used"));
}

NamedResult priced(const std::string& source, std::optional<PriceScaling> scaling, BackendKind backend = BackendKind::cpu) {
  NamedResult named{"r.json", {}};
  named.result.context.date = "2026-01-20T00:00:00Z";
  named.result.context.cpu.threads_available = 2;
  Run& run = named.result.runs.emplace_back();
  run.device.backend = backend;
  run.timing = timing_of(3600, 7200);
  run.cost = Cost{0.357, 0.357, 0.714, source, {}, scaling};
  return named;
}

TEST(Reprice, HoldsStoredPricesToTheSameRule) {
  const std::string source = "catalog: aws c7i.2xlarge us-east-1 2026-01-19, not the machine that was measured";
  NamedResult whole = priced(source, {});
  EXPECT_THROW(reprice(whole, {}), CallError);
  EXPECT_EQ(whole.result.runs[0].cost->usd_per_epoch, 0.357) << "left as it was";
  reprice(whole, {"", PriceScaling::per_vcpu});
  EXPECT_DOUBLE_EQ(*whole.result.runs[0].cost->usd_per_epoch, 0.357 / 4);
  EXPECT_EQ(whole.result.runs[0].cost->price_source,
            "catalog: aws c7i.2xlarge us-east-1 2026-01-19, hypothetical price for 8 vCPUs, 2 used, not the machine that was "
            "measured");
  reprice(whole, {});
  EXPECT_DOUBLE_EQ(*whole.result.runs[0].cost->usd_per_epoch, 0.357 / 4) << "its share is stated";
  reprice(whole, {"", PriceScaling::whole});
  EXPECT_DOUBLE_EQ(*whole.result.runs[0].cost->usd_per_epoch, 0.357) << "the share of the share is undone";

  for (const char* other : {"user", "catalog: aws c99 us-east-1 2026-01-19", "catalog: "}) {
    NamedResult kept = priced(other, {});
    EXPECT_NO_THROW(reprice(kept, {})) << other;
    EXPECT_EQ(kept.result.runs[0].cost->usd_per_epoch, 0.357) << other;
  }
}

TEST(Reprice, TakesAnotherPrice) {
  NamedResult named = priced("user", {}, BackendKind::cuda);
  named.result.runs[0].settings["device"] = std::string("cuda:1");
  reprice(named, {"cpu=1,cuda=2,cuda:1=3", {}});
  EXPECT_DOUBLE_EQ(*named.result.runs[0].cost->usd_per_epoch, 3);
  named.result.runs[0].settings["device"] = std::string("cuda:what");
  reprice(named, {"cuda=2", {}});
  EXPECT_DOUBLE_EQ(*named.result.runs[0].cost->usd_per_epoch, 2);
  reprice(named, {"cpu=1", {}});
  EXPECT_DOUBLE_EQ(*named.result.runs[0].cost->usd_per_epoch, 2) << "of the CPU alone";
}

TEST(Reprice, TakesPytorchOnAGpuForTheGpu) {
  NamedResult named = priced("user", {}, BackendKind::pytorch);
  named.result.runs[0].device.threads.reset();
  reprice(named, {"cpu=1,cuda=2", {}});
  EXPECT_DOUBLE_EQ(*named.result.runs[0].cost->usd_per_epoch, 2);
  named.result.runs[0].device.threads = 2;
  reprice(named, {"cpu=1,cuda=2", {}});
  EXPECT_DOUBLE_EQ(*named.result.runs[0].cost->usd_per_epoch, 1);
}

TEST(Prices, RefusesWhatIsNoPrice) {
  for (const char* text :
       {"cpu", "cpu=", "=1", "cpu=0", "cpu=-1", "cpu=nan", "cpu=1e9", "cpu=cheap", "tpu=1", "cpu=1,", "cpu=1,,cuda=2", "0.34"})
    EXPECT_THROW(Prices({text, {}}), CallError) << text;
}

TEST(PriceCatalog, NamesItsSourcesAndDates) {
  const auto& catalog = embedded_prices();
  EXPECT_FALSE(catalog.note.empty());
  std::set<std::string> providers;
  for (const CatalogPrice& price : catalog.prices) {
    providers.insert(price.provider);
    EXPECT_THAT(price.as_of, testing::MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]")) << price.instance;
    EXPECT_THAT(price.source, HasSubstr("https://")) << price.instance;
    EXPECT_GT(price.vcpus, 0) << price.instance;
    EXPECT_EQ(price.gpu_model.empty(), price.gpu_count == 0) << price.instance;
    EXPECT_EQ(find_price(catalog.prices, price.provider + "/" + price.instance), &price);
  }
  EXPECT_THAT(providers, testing::ElementsAre("aws", "azure", "gcp"));
}

TEST(PriceCatalog, RefusesAPriceOfNothing) {
  EXPECT_THROW(parse_prices(R"({"note": "", "prices": [{"provider": "a", "instance": "b", "region": "c", "usd_per_hour": 0,
      "currency": "USD", "vcpus": 1, "gpus": null, "source": "s", "as_of": "2026-01-01"}]})",
                            "prices"),
               FormatError);
}

TEST(PriceCatalog, RefusesAnotherCurrencyAndNoDay) {
  const auto failure = [](const std::string& currency, const std::string& as_of) -> std::string {
    try {
      parse_prices(
          R"({"note": "", "prices": [{"provider": "a", "instance": "b", "region": "c", "usd_per_hour": 1, "currency": ")" +
              currency + R"(", "vcpus": 1, "gpus": null, "source": "s", "as_of": ")" + as_of + "\"}]}",
          "prices");
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(failure("USD", "2026-01-01"), "");
  EXPECT_THAT(failure("EUR", "2026-01-01"),
              testing::AllOf(HasSubstr("prices[0].currency"), HasSubstr("'EUR'"), HasSubstr("USD")));
  EXPECT_THAT(failure("USD", "last week"), HasSubstr("prices[0].as_of"));
}

TEST(PriceOfMachine, OnlyWhereTheFirmwareNamesTheInstance) {
  const std::vector<CatalogPrice> catalog{{"aws", "c7i.4xlarge", "us-east-1", 0.7, 16, "", 0, "s", "2026-01-01"}};
  EXPECT_EQ(price_of_machine(catalog, "Amazon EC2", "c7i.4xlarge"), &catalog[0]);
  EXPECT_EQ(price_of_machine(catalog, "Amazon EC2", "c7i.8xlarge"), nullptr);
  EXPECT_EQ(price_of_machine(catalog, "Google", "Google Compute Engine"), nullptr);
  EXPECT_EQ(price_of_machine(catalog, "", ""), nullptr);
  EXPECT_EQ(describe(catalog[0], "", true, *parse_day("2026-01-01")), "catalog: aws c7i.4xlarge us-east-1 2026-01-01");
}

Run training(const std::string& name, std::vector<double> losses, BackendKind backend = BackendKind::cpu,
             Precision precision = Precision::fp32) {
  Run run;
  rename(run, name);
  run.workload.mode = Mode::train;
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
  std::vector<epochbench::Run> runs{training("m/cuda/fp32/b8", {1.0, 2.0}, BackendKind::cuda),
                                    training("m/cpu/fp32/b8/threads=1", {1.0, 2.0}), training("m/cpu/fp32/b8", {1.0, 1.0})};
  fill_parity(runs);
  EXPECT_EQ(runs[0].quality->parity_with, "m/cpu/fp32/b8");
  EXPECT_DOUBLE_EQ(*runs[0].quality->parity_max_relative_difference, 1.0);
  EXPECT_EQ(runs[1].quality->parity_with, "m/cpu/fp32/b8");
  EXPECT_FALSE(runs[2].quality->parity_with) << "the reference itself";
}

TEST(Parity, IsNotThatOfPyTorchWhichBeginsWithOtherWeights) {
  std::vector<epochbench::Run> runs{training("m/cpu/fp32/b8", {1.0, 1.0}),
                                    training("m/pytorch/fp32/b8", {1.0, 2.0}, BackendKind::pytorch)};
  fill_parity(runs);
  EXPECT_FALSE(runs[1].quality->parity_with || runs[1].quality->parity_max_relative_difference);
}

TEST(Parity, ComparesWhatIsLeftOutWithTheRunThatHasAll) {
  std::vector<epochbench::Run> runs{
      training("m/cpu/fp32/b8/without=fusion", {1.0, 2.0}), training("m/cpu/fp32/b8/gemm=portable/threads=1", {1.0, 2.0}),
      training("m/cpu/fp32/b8", {1.0, 1.0}), training("m/cpu/fp32/b8/threads=1/without=winograd", {1.0, 2.0})};
  fill_parity(runs);
  for (const std::size_t i : {0, 1, 3}) EXPECT_EQ(runs[i].quality->parity_with, "m/cpu/fp32/b8");
  EXPECT_FALSE(runs[2].quality->parity_with);
}

// A run of whole epochs begins epoch 1 after its warm-up, where a run of steps stays in epoch 0: other batches from there on.
TEST(Parity, LooksAtLossesOfTheSameBatchesAlone) {
  const auto difference = [](EpochKind kind, int warmup, EpochKind reference_kind, int reference_warmup) {
    std::vector<epochbench::Run> runs{training("m/cuda/fp32/b8", {1.0, 1.0, 1.5}, BackendKind::cuda),
                                      training("m/cpu/fp32/b8", {1.0, 1.0, 1.0})};
    for (auto& run : runs) run.timing = Timing{};
    runs[0].timing->epoch_kind = kind;
    runs[0].timing->warmup_steps = warmup;
    runs[1].timing->epoch_kind = reference_kind;
    runs[1].timing->warmup_steps = reference_warmup;
    fill_parity(runs);
    EXPECT_EQ(runs[0].quality->parity_with.has_value(), runs[0].quality->parity_max_relative_difference.has_value());
    return runs[0].quality->parity_max_relative_difference;
  };
  EXPECT_EQ(difference(EpochKind::projected, 2, EpochKind::projected, 0), 0.5);
  EXPECT_EQ(difference(EpochKind::measured, 2, EpochKind::measured, 2), 0.5);
  EXPECT_EQ(difference(EpochKind::measured, 2, EpochKind::projected, 2), 0.0);
  EXPECT_EQ(difference(EpochKind::projected, 2, EpochKind::measured, 2), 0.0);
  EXPECT_EQ(difference(EpochKind::measured, 3, EpochKind::measured, 2), 0.0);
  EXPECT_EQ(difference(EpochKind::measured, 0, EpochKind::projected, 2), std::nullopt);
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
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.workload.mode = Mode::forward; }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { rename(run, "m/cpu/fp32/b8/order=sequential/threads=1"); }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.repetition = 1; }));
  EXPECT_TRUE(partnerless([](epochbench::Run& run) { run.status = RunStatus::failed; }));
}

}  // namespace
}  // namespace epochbench
