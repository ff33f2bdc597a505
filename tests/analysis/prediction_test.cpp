// Predicted bounds: of steps calculated by hand, of prices, and of what was measured.
#include "src/analysis/predict/prediction.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/libraries/libraries.h"
#include "src/analysis/predict/leader.h"
#include "src/result/result_json.h"
#include "src/session/predicting.h"
#include "src/session/prices.h"
#include "src/workload/lower_bound.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

constexpr double kMiB = 1 << 20;

PredictionTarget target(const std::string& name) { return find_target(embedded_devices(), embedded_prices().prices, name); }

CaseSpec case_of(const std::string& model, std::int64_t batch, Precision precision = Precision::fp32) {
  CaseSpec spec;
  spec.model = find_model(model);
  spec.batch = batch;
  spec.precision = precision;
  return spec;
}

TEST(Roofline, SumsTheSlowerOfComputingAndMoving) {
  const RatedLimits limits{100, 400, 10, 0, 1e9, 0, ""};
  const std::vector<NodeDemand> nodes{{1000, 10, false}, {100, 50, false}, {0, 20, false}, {1000, 10, true}};
  const TimeBound least = time_bound(nodes, limits);
  EXPECT_DOUBLE_EQ(least.seconds, 10 + 5 + 2 + 2.5);
  EXPECT_DOUBLE_EQ(least.compute_seconds, 10 + 2.5);
  EXPECT_STREQ(least.bound(), "compute");
  EXPECT_DOUBLE_EQ(least.bound_share(), 12.5 / 19.5);
  EXPECT_DOUBLE_EQ(time_bound({}, limits).bound_share(), 0);
}

TEST(Roofline, LeavesOutWhatMayStayInTheCache) {
  const RatedLimits limits{1e9, 1e9, 10, 30, 1e9, 0, ""};
  EXPECT_DOUBLE_EQ(time_bound(std::vector<NodeDemand>{{0, 60, false}}, limits).seconds, 0);
  EXPECT_DOUBLE_EQ(time_bound(std::vector<NodeDemand>{{0, 100, false}}, limits).seconds, 4);
}

TEST(Roofline, TakesRatedFiguresOfTheWholeDevice) {
  const RatedLimits t4 = limits_of(target("t4"), Precision::fp16);
  EXPECT_DOUBLE_EQ(t4.flops_per_second.value(), 65e12);
  EXPECT_DOUBLE_EQ(t4.bytes_per_second, 320e9);
  EXPECT_DOUBLE_EQ(t4.cache_bytes, 4 * kMiB);
  EXPECT_DOUBLE_EQ(t4.memory_bytes, 16 * 1024 * kMiB);
  EXPECT_DOUBLE_EQ(limits_of(target("t4"), Precision::fp32).winograd_flops_per_second, 4 * 8.1e12);
  EXPECT_DOUBLE_EQ(limits_of(target("h100-sxm"), Precision::fp32).winograd_flops_per_second, 67e12);
  const RatedLimits two_sockets = limits_of(target("c7i.48xlarge"), Precision::bf16);
  EXPECT_DOUBLE_EQ(two_sockets.flops_per_second.value(), 96 * 3.2e9 * 1024);
  EXPECT_DOUBLE_EQ(two_sockets.bytes_per_second, 2 * 307.2e9);
  EXPECT_FALSE(limits_of(target("t4"), Precision::bf16).flops_per_second);
  EXPECT_THAT(limits_of(target("t4"), Precision::bf16).reason, HasSubstr("Turing"));
  EXPECT_THAT(limits_of(target("gtx-1650"), Precision::fp16).reason, HasSubstr("tensor cores"));
  EXPECT_THAT(limits_of(target("c7i.4xlarge"), Precision::fp16).reason, HasSubstr("fp32 or bf16"));
}

// 784 x 8 and 8 x 10, batch 2, forward: two products with their biases, nothing that a cache of 4 MiB would not keep.
TEST(Prediction, OfATinyModelIsWhatTheHandCalculates) {
  const WorkloadSpec workload = workload_spec(case_of("mlp:width=8,depth=1", 2));
  double flops = 0, bytes = 0;
  for (const NodeWork& node : min_work(workload, Mode::forward, Precision::fp32)) {
    flops += node.flops;
    bytes += node.bytes;
    EXPECT_FALSE(node.winograd);
  }
  EXPECT_EQ(flops, 2 * 2 * (784 * 8 + 8 * 10));
  EXPECT_EQ(bytes, 4 * (2 * 784 + 784 * 8 + 8 + 2 * 8 + 2 * 8 + 8 * 10 + 10 + 2 * 10));
  CaseSpec spec = case_of("mlp:width=8,depth=1", 2);
  spec.mode = Mode::forward;
  const std::vector<Prediction> predictions = predictions_of({{"T4"}, {spec}, false, {}, {}});
  ASSERT_EQ(predictions.size(), 1u);
  EXPECT_DOUBLE_EQ(predictions[0].step.value().seconds, flops / 8.1e12);
}

// The plan's own counts, whatever is fused.
TEST(Prediction, CountsTheFlopsOfTheModel) {
  for (const char* model : {"lenet5", "resnet20", "bert-tiny", "lstm"}) {
    const WorkloadSpec workload = workload_spec(case_of(model, 4));
    double flops = 0;
    for (const NodeWork& node : min_work(workload, Mode::train, Precision::fp32)) flops += node.flops;
    EXPECT_DOUBLE_EQ(flops, 4 * count(workload).train_flops_per_sample) << model;
  }
}

TEST(Prediction, IsNeverBelowPeakOrBandwidthAlone) {
  for (const char* device : {"t4", "a100-80gb", "b200", "c7i.24xlarge"})
    for (const char* model : {"resnet50", "bert-base"}) {
      const Prediction one = predictions_of({{device}, {case_of(model, 8)}, false, {}, {}}).front();
      const RatedLimits limits = limits_of(target(device), Precision::fp32);
      double flops = 0, moved = 0;
      for (const NodeWork& node : min_work(workload_spec(case_of(model, 8)), Mode::train, Precision::fp32)) {
        flops += node.flops;
        moved += std::max(0.0, node.bytes - 2 * limits.cache_bytes);
      }
      EXPECT_GE(one.step.value().seconds, flops / limits.winograd_flops_per_second) << device << " " << model;
      EXPECT_GE(one.step.value().seconds, moved / limits.bytes_per_second) << device << " " << model;
    }
}

// On a GPU, what its own planner counts; on a CPU, whose kernels need tens of MiB, none.
TEST(Prediction, MemoryHasTheWorkspaceOfLibraries) {
  EXPECT_EQ(kLibraryProductBytes, cuda::kProductWorkspaceBytes);
  EXPECT_EQ(kLibraryConvolutionBytes, cuda::kConvolutionWorkspaceBytes);
  const auto bytes = [](const char* model, bool on_gpu) {
    return min_memory_bytes(workload_spec(case_of(model, 8)), Mode::train, Precision::fp32, on_gpu);
  };
  EXPECT_EQ(bytes("resnet50", true) - bytes("resnet50", false), 256 << 20);
  EXPECT_EQ(bytes("bert-base", true) - bytes("bert-base", false), 64 << 20);
}

TEST(Prediction, LargestBatchIsTheLastThatFits) {
  const Prediction one = predictions_of({{"rtx-3060"}, {case_of("resnet50", 1)}, true, {}, {}}).front();
  EXPECT_TRUE(one.fits);
  EXPECT_EQ(one.work.batch, one.largest_batch);
  const auto bytes = [](std::int64_t batch) {
    return static_cast<double>(min_memory_bytes(workload_spec(case_of("resnet50", batch)), Mode::train, Precision::fp32, true));
  };
  EXPECT_LE(bytes(one.largest_batch.value()), one.device_memory_bytes);
  EXPECT_GT(bytes(*one.largest_batch + 1), one.device_memory_bytes);
  const Prediction none = predictions_of({{"gtx-1650"}, {case_of("llama-7b", 1)}, true, {}, {}}).front();
  EXPECT_FALSE(none.fits);
  EXPECT_EQ(none.largest_batch, 0);
  EXPECT_FALSE(none.step);
  EXPECT_THAT(none.reason, HasSubstr("does not fit"));
}

TEST(Prediction, OfEpochsHasTheCheapestInstanceFirst) {
  CaseSpec spec = case_of("resnet50", 64);
  spec.epoch_samples = 1000;
  const std::vector<Prediction> all = predictions_of({{"h100-sxm", "T4", "c8g.24xlarge", "rtx-4090"}, {spec}, false, 90, {}});
  double last = 0;
  for (const Prediction& each : all) {
    ASSERT_TRUE(each.hours) << each.name;
    EXPECT_DOUBLE_EQ(each.hours->at_least, 90 * (1000 / 64.0) * each.step->seconds / 3600) << each.name;
    if (each.device == "graviton4") {
      EXPECT_FALSE(each.hours->expected || each.cost->usd->expected) << "of more cores than were measured there is a bound";
      EXPECT_DOUBLE_EQ(each.cost->usd->at_least, each.hours->at_least * each.cost->usd_per_hour);
      continue;
    }
    EXPECT_DOUBLE_EQ(each.hours->expected.value(), 90 * (1000 / 64.0) * each.expected->seconds / 3600) << each.name;
    if (!each.cost) continue;
    EXPECT_DOUBLE_EQ(each.cost->usd->expected.value(), *each.hours->expected * each.cost->usd_per_hour);
    EXPECT_GE(*each.cost->usd->expected, last);
    last = *each.cost->usd->expected;
  }
  EXPECT_EQ(all.back().device, "graviton4");
  const Prediction& unpriced = *std::ranges::find(all, "rtx-4090", &Prediction::device);
  EXPECT_THAT(unpriced.cost_reason, HasSubstr("no price is known"));
  const auto eight =
      std::ranges::find_if(all, [](const Prediction& each) { return each.cost && each.cost->instance == "p5.48xlarge"; });
  ASSERT_NE(eight, all.end());
  EXPECT_DOUBLE_EQ(eight->cost->usd_per_hour, 55.04);
  EXPECT_EQ(eight->cost->gpus, 8);
  EXPECT_THAT(eight->cost->price, HasSubstr("whole price for 192 vCPUs and 8 GPUs"));
}

TEST(Prediction, StatesTheAgeOfAnOldPrice) {
  const PredictionQuestion question{target("g5.xlarge"),
                                    {"m", Precision::fp32, Mode::train, 1, 1, {{1e12, 0, false, WorkClass::product}}},
                                    1,
                                    EpochsAsked{1, 1}};
  const Day day = parse_day("2026-11-25").value();
  EXPECT_THAT(predict(embedded_devices(), embedded_prices().prices, question, day).at(0).cost->price,
              HasSubstr("310 days old"));
}

TEST(Leader, HasTheOthersWhoseIntervalsOverlapAsRivals) {
  const std::vector<RangedFigure> costs{{3, {{2, 4}}}, {}, {1.5, {{1, 2.5}}}, {9, {{8, 10}}}, {2.4, {}}, {2.6, {{2.55, 2.7}}}};
  const Leader cheapest = find_leader(costs, Better::smaller).value();
  EXPECT_EQ(cheapest.place, 2u);
  EXPECT_EQ(cheapest.next, 4u);
  EXPECT_THAT(cheapest.rivals, testing::ElementsAre(4, 0)) << "the best value first; one without an interval is a point";
  const Leader largest = find_leader(costs, Better::bigger).value();
  EXPECT_EQ(largest.place, 3u);
  EXPECT_THAT(largest.rivals, testing::IsEmpty());
  EXPECT_FALSE(find_leader({{}, {1, {}}}, Better::smaller)) << "nothing to compare with";
}

TEST(Prediction, RefusesAPrecisionThatNoneHas) {
  try {
    predictions_of({{"T4", "v100-sxm2-16gb"}, {case_of("mlp", 1, Precision::bf16)}, false, {}, {}});
    FAIL();
  } catch (const CallError& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("bf16"), HasSubstr("T4")));
  }
  const auto some = predictions_of({{"T4", "L4"}, {case_of("mlp", 1, Precision::bf16)}, false, {}, {}});
  EXPECT_THAT(some[0].reason, HasSubstr("bf16"));
  EXPECT_TRUE(some[1].step);
}

TimeBound bound_of(const Workload& workload, const RatedLimits& limits, Precision precision) {
  CaseSpec spec = case_of(workload.model, workload.batch, precision);
  spec.data = workload.dataset;
  const WorkloadSpec described = workload_spec(spec);
  EXPECT_EQ(count(described).train_flops_per_sample, workload.train_flops_per_sample) << workload.model;
  std::vector<NodeDemand> nodes;
  for (const NodeWork& node : min_work(described, workload.mode, precision))
    nodes.push_back({node.flops, node.bytes, node.winograd});
  return time_bound(nodes, limits);
}

// No step of the results in this repository is faster than the bound of the CPU that it ran on, by its cores.
TEST(Prediction, BoundsWhatWasMeasured) {
  struct Measured {
    const char *file, *device;
  };
  int compared = 0;
  for (const Measured& measured : {Measured{"zen4-2cores-quick.json", "c7a.4xlarge"},
                                   {"zen4-2cores-hour.json", "c7a.4xlarge"},
                                   {"zen5-2cores-quick.json", "c8a.4xlarge"},
                                   {"xeon-amx-2cores-quick.json", "c8i.4xlarge"}}) {
    const Result result = read_result(std::string(PUBLISHED_RESULTS) + "/" + measured.file);
    const CpuInstance cores{"its cores", result.context.cpu.threads_available, 1, 24};
    std::set<std::string> seen;
    for (const auto& run : result.runs) {
      if (!run.timing || run.timing->step_seconds.empty() || !seen.insert(run.name).second) continue;
      const RatedLimits limits = limits_of({target(measured.device).device, &cores, nullptr}, run.precision);
      if (!limits.flops_per_second) continue;
      ++compared;
      EXPECT_GE(std::ranges::min(run.timing->step_seconds), bound_of(run.workload, limits, run.precision).seconds)
          << measured.file << " " << run.name;
    }
  }
  EXPECT_GE(compared, 18);
}

}  // namespace
}  // namespace epochbench
