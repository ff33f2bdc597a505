// Expected times: what they are made of, that they respect the roofline, and that the stored model is what its inputs make.
#include "src/analysis/predict/expected_time.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/measured_steps.h"
#include "src/base/files.h"
#include "src/base/numbers.h"
#include "src/session/predicting.h"
#include "src/session/prices.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

const std::string kRoot = REPOSITORY;

PredictionTarget catalog_target(const std::string& name) {
  return find_target(embedded_devices(), embedded_prices().prices, name);
}

Prediction prediction(const std::string& device, const std::string& model, std::int64_t batch, Precision precision,
                      Mode mode = Mode::train) {
  CaseSpec spec;
  spec.model = find_model(model);
  spec.batch = batch;
  spec.precision = precision;
  spec.mode = mode;
  return predictions_of({{device}, {spec}, false, {}, {}, false}).front();
}

TEST(ExpectedTime, SumsWhatAStepDemands) {
  const std::vector<NodeDemand> nodes{{65e12, 320e9, false, WorkClass::product},
                                      {65e12, 0, false, WorkClass::convolution},
                                      {130e12, 0, false, WorkClass::depthwise},
                                      {0, 640e9, false, WorkClass::pass}};
  const Demands demands = demands_of(nodes, catalog_target("t4"), Precision::fp16);
  EXPECT_THAT(demands, testing::ElementsAre(1, 3, 3, 260e12 / 70, 4));
  const Demands factors{2, 1.5, 3, 70e-12 / 260, 10};
  EXPECT_DOUBLE_EQ(expected_seconds(demands, factors, false), 2 + 4.5 + 9 + 1 + 40);
  EXPECT_DOUBLE_EQ(expected_seconds(demands, factors, true), 40);
  EXPECT_DOUBLE_EQ(expected_seconds(demands, {2, 1.5, 3, 0, 1}, true), 2 + 4.5 + 9);
}

TEST(ExpectedTime, NeverBeatsTheRooflineAndSaysWhatBoundsIt) {
  int known = 0;
  for (const char* model : {"resnet50", "bert-base", "mobilenet-v2"})
    for (const Precision precision : {Precision::fp32, Precision::fp16}) {
      CaseSpec spec;
      spec.model = find_model(model);
      spec.batch = 256;
      spec.precision = precision;
      for (const Prediction& each : predictions_of({{"all"}, {spec}, false, {}, {}, false})) {
        if (!each.expected) continue;
        ++known;
        const ExpectedTime& time = *each.expected;
        const std::string where = each.name + " " + model;
        EXPECT_GE(time.low_seconds, each.step->seconds) << where;
        EXPECT_GE(time.seconds, time.low_seconds) << where;
        EXPECT_GT(time.high_seconds, time.low_seconds) << where;
        EXPECT_THAT(time.bound,
                    testing::AnyOf(testing::StrEq("compute"), testing::StrEq("bandwidth"), testing::StrEq("launches")));
        EXPECT_TRUE(time.bound_share > 0.3 && time.bound_share <= 1) << where << " " << time.bound_share;
        EXPECT_GT(time.error.median, 0) << where;
      }
    }
  EXPECT_GE(known, 100) << "of the devices of the catalog, three models and two precisions";
}

TEST(ExpectedTime, SmallStepsOfGpusAreBoundByLaunches) {
  EXPECT_STREQ(prediction("a100-40gb", "resnet18", 8, Precision::fp16).expected->bound, "launches");
  const Prediction unknown = prediction("h100-sxm", "mlp", 64, Precision::fp32);
  EXPECT_FALSE(unknown.expected) << "no step of an H100 that waits for launches was measured";
  EXPECT_TRUE(unknown.step);
  EXPECT_THAT(unknown.expected_reason, HasSubstr("waits for launches"));
  EXPECT_STREQ(prediction("a100-80gb", "bert-large", 64, Precision::fp16).expected->bound, "compute");
  EXPECT_STREQ(prediction("t4", "mobilenet-v2", 256, Precision::fp16).expected->bound, "bandwidth");
}

TEST(ExpectedTime, KnowsTheErrorOfADeviceThatWasLeftOut) {
  const Prediction known = prediction("rtx-3090", "resnet50", 64, Precision::fp16);
  EXPECT_EQ(known.expected->device_error->pairs, 6);
  EXPECT_FALSE(prediction("l4", "resnet50", 64, Precision::fp16).expected->device_error);
}

TEST(ExpectedTime, SaysWhyThereIsNone) {
  EXPECT_THAT(prediction("t4", "lstm", 8, Precision::fp32).expected_reason, HasSubstr("recurrent"));
  EXPECT_THAT(prediction("t4", "resnet50", 8, Precision::fp32, Mode::forward).expected_reason, HasSubstr("forward"));
  const CpuInstance two{"two cores", 2, 1, 32};
  const PredictionTarget amx{catalog_target("c8i.4xlarge").device, &two, nullptr};
  const std::vector<NodeDemand> product{{1e9, 1e6, false, WorkClass::product}};
  const TimeFactors& cpus = embedded_time_model().cpu;
  EXPECT_THAT(expected_time(cpus, product, amx, Precision::bf16, Mode::train).reason, HasSubstr("AMX"));
  EXPECT_TRUE(expected_time(cpus, product, amx, Precision::fp32, Mode::train).time);
  const Prediction many = prediction("c8a.4xlarge", "resnet50", 8, Precision::bf16);
  EXPECT_FALSE(many.expected);
  EXPECT_TRUE(many.step) << "the bound";
  EXPECT_THAT(many.expected_reason, HasSubstr("at most 2 cores"));
  EXPECT_TRUE(prediction("c2d-highmem-4", "resnet50", 8, Precision::fp32).expected) << "two cores";
}

TEST(ExpectedTime, OfTokensIsThatOfTheirSamples) {
  CaseSpec spec;
  spec.model = find_model("gpt2");
  spec.batch = 8;
  const Prediction one = predictions_of({{"rtx-4090"}, {spec}, false, {}, 1024'000}).front();
  EXPECT_EQ(one.asked->samples, 1000);
  EXPECT_DOUBLE_EQ(one.hours->expected.value(), 1000 / 8.0 * one.expected->seconds / 3600);
  spec.model = find_model("resnet50");
  EXPECT_THROW(predictions_of({{"rtx-4090"}, {spec}, false, {}, 1000}), CallError);
}

TEST(Rentals, TakeTheFastestPrecisionOfEachInstanceAtTheWholePrice) {
  RentalQuestion question;
  CaseSpec spec;
  spec.model = find_model("bert-base");
  spec.batch = 256;
  question.request.cases.push_back(spec);
  question.request.fastest_of = {Precision::bf16, Precision::fp16, Precision::fp32};
  question.request.epochs = 3;
  const Rentals all = rentals_of(question);
  double last = 0;
  for (const Prediction& each : all.predictions) {
    EXPECT_GE(each.cost->usd->expected.value(), last);
    last = *each.cost->usd->expected;
  }
  EXPECT_EQ(all.predictions.size() + all.bounded.size() + all.unfit.size(), embedded_prices().prices.size());
  for (const Prediction& each : all.predictions)
    EXPECT_TRUE(each.cost->gpus > 0 || each.cost->instance == "c2d-highmem-4") << each.cost->instance;
  const auto eight =
      std::ranges::find_if(all.predictions, [](const auto& each) { return each.cost->instance == "p5.48xlarge"; });
  EXPECT_DOUBLE_EQ(eight->cost->usd_per_hour, 55.04);
  EXPECT_EQ(eight->cost->gpus, 8);
  question.max_usd = all.predictions[3].cost->usd->expected;
  const Rentals few = rentals_of(question);
  EXPECT_EQ(few.predictions.size(), 4u);
  EXPECT_EQ(few.too_expensive.size() + few.bounded.size(), embedded_prices().prices.size() - 4 - few.unfit.size());
}

// Steps made of known factors, with one of ten three times as slow. Ratios within 0.05 count as near (time_fit.h).
TEST(TimeFit, FindsTheFactorsDespiteOutliers) {
  const Demands truth{1.4, 1.2, 2.5, 1e-12, 2e-4};
  std::vector<MeasuredStep> steps;
  for (int i = 0; i < 60; ++i) {
    const auto of = [&](int stride, double scale) { return scale * (1 + (i * stride) % 11); };
    MeasuredStep step;
    step.device = "device " + std::to_string(i % 6);
    step.source = "source " + std::to_string(i % 4);
    step.demands = {of(3, 0.01), of(5, 0.01), of(7, 0.01), of(2, 1e10), i % 3 == 0 ? 4000.0 : 50.0};
    step.seconds = expected_seconds(step.demands, truth, true) * (i % 10 == 7 ? 3 : 1);
    step.bound_seconds = step.demands[0] + step.demands[1];
    steps.push_back(step);
  }
  const Demands found = fit_factors(steps, true);
  for (std::size_t i = 0; i < kDemands; ++i) EXPECT_NEAR(found[i] / truth[i], 1, 0.05) << texts_of(Demand{})[i];
  const FittedFactors fitted = fit_with_left_out(steps, true, "made", "a program");
  EXPECT_LT(fitted.kind.error.median, 0.05);
  EXPECT_EQ(fitted.kind.devices.size(), 6u);
  EXPECT_EQ(fitted.kind.sources.size(), 4u);
  EXPECT_GE(fitted.kind.within, 0.8);
  EXPECT_GE(fitted.kind.within_sources, 0.75);
}

// Where launches limit some steps of five of six devices, the sixth says nothing of its own.
TEST(TimeFit, LeavesOutWhatWaitsForLaunchesOnADeviceWithoutSuchSteps) {
  std::vector<MeasuredStep> steps;
  for (int i = 0; i < 24; ++i) {
    MeasuredStep step;
    step.device = i == 0 ? "alone" : "device " + std::to_string(i % 4);
    step.source = "source " + std::to_string(i % 3);
    step.demands = {i % 5 == 0 ? 0.001 : 0.1 * (1 + i % 7), 0, 0, 0, 100};
    step.seconds = std::max(2 * step.demands[0], 100 * 2e-4);
    steps.push_back(step);
  }
  const FittedFactors fitted = fit_with_left_out(steps, true, "made", "a program");
  EXPECT_FALSE(fitted.by_device[0].predicted);
  EXPECT_TRUE(fitted.by_device[1].predicted);
  EXPECT_EQ(fitted.kind.devices.at("alone").pairs, 0);
  EXPECT_EQ(fitted.kind.devices.at("alone").launched, 1);
}

class StoredModel : public testing::Test {
 protected:
  static std::vector<MeasuredStep> published(bool tuned) {
    return bench::published_steps(kRoot + "/bench/throughputs.json", tuned);
  }
  static const bench::FittedTimes& fitted() {
    static const bench::FittedTimes times = bench::fit_times(
        published(false), published(true), bench::own_steps(kRoot + "/results"), bench::own_gpu_steps(kRoot + "/results"));
    return times;
  }
};

void expect_same(const TimeFactors& stored, const TimeFactors& fitted) {
  for (std::size_t i = 0; i < kDemands; ++i)
    EXPECT_NEAR(stored.factors[i], fitted.factors[i], 1e-3 * fitted.factors[i]) << texts_of(Demand{})[i];
  EXPECT_NEAR(stored.error.median, fitted.error.median, 1e-3);
  EXPECT_NEAR(stored.within, fitted.within, 1e-9);
  EXPECT_NEAR(stored.low, fitted.low, 1e-3);
  EXPECT_NEAR(stored.high, fitted.high, 1e-3);
  EXPECT_EQ(stored.evidence, fitted.evidence);
  EXPECT_EQ(stored.program, fitted.program);
  EXPECT_EQ(stored.max_cores, fitted.max_cores);
  EXPECT_NEAR(stored.within_sources, fitted.within_sources, 1e-9);
  for (const auto& [source, share] : fitted.sources)
    EXPECT_NEAR(stored.sources.at(source).within, share.within, 1e-9) << source;
  for (const auto& [device, error] : fitted.devices) {
    EXPECT_EQ(stored.devices.at(device).pairs, error.pairs) << device;
    EXPECT_EQ(stored.devices.at(device).launched, error.launched) << device;
    EXPECT_NEAR(stored.devices.at(device).median, error.median, 2e-3) << device;
  }
}

TEST_F(StoredModel, IsWhatItsInputsMake) {
  expect_same(embedded_time_model().gpu, fitted().gpu.kind);
  expect_same(embedded_time_model().tuned_gpu, fitted().tuned_gpu.kind);
  expect_same(embedded_time_model().cpu, fitted().cpu.kind);
  EXPECT_EQ(embedded_time_model().own.size(), fitted().own.size());
  const Json stored = parse_json(read_text_file(kRoot + "/bench/time_model.json"), "bench/time_model.json");
  EXPECT_EQ(stored["inputs"], bench::time_model_json(fitted(), kRoot)["inputs"]) << "make it again with epochbench_fit";
}

// The evidence that docs/predictions.md states.
TEST_F(StoredModel, PredictsDevicesThatWereLeftOut) {
  const TimeFactors &gpu = fitted().gpu.kind, &cpu = fitted().cpu.kind;
  EXPECT_GE(gpu.error.pairs, 30);
  EXPECT_GE(gpu.devices.size(), 20u);
  EXPECT_LE(gpu.error.median, 0.20);
  EXPECT_GE(gpu.within, 0.8);
  const TimeFactors& tuned = fitted().tuned_gpu.kind;
  double pairs = 0, within = 0;
  for (const TimeFactors* kind : {&gpu, &tuned, &cpu})
    for (const auto& [source, share] : kind->sources) {
      pairs += share.pairs;
      within += share.pairs * share.within;
    }
  EXPECT_GE(within / pairs, 0.75) << "of the steps of sources that were left out";
  EXPECT_EQ(cpu.devices.size(), 3u);
  EXPECT_GE(cpu.within, 0.8);
  const std::string document = read_text_file(kRoot + "/docs/predictions.md");
  for (const TimeFactors* kind : {&gpu, &tuned, &cpu}) {
    EXPECT_THAT(document, HasSubstr(kind->evidence));
    for (const auto& [source, share] : kind->sources)
      EXPECT_THAT(document,
                  HasSubstr("| " + source + " | " + std::to_string(share.pairs) + " | " + format_percent(share.within)));
    EXPECT_THAT(document, HasSubstr(format_percent(kind->error.median)));
    EXPECT_THAT(document, HasSubstr(format_percent(kind->within)));
  }
  for (const auto& [device, error] : cpu.devices)
    EXPECT_THAT(document,
                HasSubstr("| " + device + " | " + std::to_string(error.pairs) + " | " + format_percent(error.median)));
}

// No published step and none of ours is faster than its bound, so the roofline is one.
TEST_F(StoredModel, RestsOnStepsThatTheRooflineBounds) {
  for (const bool tuned : {false, true})
    for (const MeasuredStep& step : published(tuned))
      EXPECT_GE(step.seconds, step.bound_seconds) << step.device << " " << step.model;
}

}  // namespace
}  // namespace epochbench
