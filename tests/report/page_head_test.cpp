// The first screen of the page: its title, its cards with their spread and doubts, and which chart it shows.
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/analysis/claims/claims.h"
#include "src/report/html/html_page.h"
#include "support/made_curves.h"
#include "support/made_results.h"
#include "support/made_turns_page.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Json head_of(const std::vector<NamedResult>& results, const PageOptions& options = {}) {
  return page_data(results, {}, embedded_claims(), options)["head"];
}

Json card(const Json& head, const std::string& id) {
  for (const Json& one : head["cards"])
    if (one["id"] == id) return one["entries"];
  return nullptr;
}

std::vector<std::string> ids(const Json& head) {
  std::vector<std::string> list;
  for (const Json& one : head["cards"]) list.push_back(one["id"]);
  return list;
}

NamedResult on_the_cpu(int repetitions) {
  return made_result("r.json", "box", {{"cpu", "fp32", 100, 16, "", "resnet50", repetitions}});
}

TEST(PageHead, HasATitleByModelsAndDevices) {
  EXPECT_EQ(head_of({on_the_cpu(1)})["title"], "ResNet-50 on a Some CPU, 8 cores");
  NamedResult named =
      made_result("r.json", "box", {{"cpu", "fp32", 100, 16, "", "resnet50"}, {"cuda", "bf16", 9, 8, "", "bert-base"}});
  named.result.context.cpu.model = "AMD EPYC 9654 96-Core Processor";
  for (epochbench::Run& run : named.result.runs)
    if (run.device.backend == BackendKind::cuda) run.device.name = "NVIDIA H100", run.workload.train_flops_per_sample = 1e12;
  EXPECT_EQ(head_of({named})["title"], "BERT-base and ResNet-50 on an NVIDIA H100 and an AMD EPYC 9654, 8 cores")
      << "by weight";
  named.result.context.cpu.model = "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz";
  EXPECT_THAT(head_of({named})["title"].get<std::string>(), HasSubstr("an Intel Xeon Platinum 8375C, 8 cores"));
  named.result.context.cpu.model = "Intel(R) Xeon(R) CPU @ 2.20GHz (family 6, model 79, stepping 0)";
  EXPECT_THAT(head_of({named})["title"].get<std::string>(), HasSubstr("an Intel Xeon, Broadwell, 8 cores"));
  EXPECT_EQ(head_of({named}, {.title = "Spring <2026>"})["title"], "Spring <2026>");
  EXPECT_EQ(head_of({made_result("r.json", "box", {})})["title"], "No run succeeded");
}

TEST(PageHead, NamesTheLargestModelsOfMany) {
  NamedResult named = made_result("r.json", "box",
                                  {{"cpu", "fp32", 100, 16, "", "resnet50", 1},
                                   {"cpu", "fp32", 100, 16, "", "lenet5", 1},
                                   {"cpu", "fp32", 100, 16, "", "mlp", 1},
                                   {"cpu", "fp32", 100, 16, "", "bert-large", 1}});
  named.result.runs[3].workload.train_flops_per_sample = 1e12;
  EXPECT_EQ(head_of({named})["title"], "BERT-large, ResNet-50 and 2 smaller models on a Some CPU, 8 cores");
}

TEST(PageHead, ShowsSpeedEpochAndCostWithTheirInterval) {
  const Json head = head_of({on_the_cpu(5)});
  EXPECT_THAT(ids(head), ElementsAre("speed", "epoch", "cost"));
  const Json speed = card(head, "speed")[0];
  EXPECT_EQ(speed["subject"], "ResNet-50, CPU fp32, batch 16");
  EXPECT_EQ(speed["text"], "100 samples/s");
  EXPECT_EQ(speed["spread"], "95 % interval 100 to 100, n=5");
  EXPECT_THAT(speed["doubts"], IsEmpty());
  EXPECT_EQ(card(head, "epoch")[0]["subject"], "ResNet-50, CPU fp32, batch 16 (projected: synthetic, 12,800 images)");
  EXPECT_EQ(card(head, "cost")[0]["text"], "$0.0356");
  EXPECT_EQ(head["trust"]["sure"], true);
  EXPECT_EQ(head["lead"], "throughput");
}

TEST(PageHead, ComesWithWhatAnEpochIsAndWhyAShareIsCutOff) {
  NamedResult named = on_the_cpu(2);
  const auto note = [&] { return page_data({named}, {}, embedded_claims())["runs_note"].get<std::string>(); };
  EXPECT_THAT(note(), Not(HasSubstr("Of peak")));
  for (epochbench::Run& run : named.result.runs) {
    run.workload.nominal_dataset = "ImageNet";
    run.efficiency->peak_fraction = 1.5;
    run.device.algorithms = "winograd";
  }
  const Json data = page_data({named}, {}, embedded_claims());
  EXPECT_EQ(data["epochs"], "ImageNet, 12,800 images");
  EXPECT_THAT(note(), AllOf(HasSubstr(" An epoch: ImageNet, 12,800 images."), HasSubstr(" Of peak: "),
                            HasSubstr("Winograd multiplies less than is counted")));
}

TEST(PageHead, HasARangeOfFewAndNeitherOfOne) {
  const Json few = card(head_of({on_the_cpu(3)}), "speed")[0], one = card(head_of({on_the_cpu(1)}), "speed")[0];
  EXPECT_EQ(few["spread"], "range of 3 runs: 100 to 100");
  EXPECT_EQ(one["spread"], "one run, so no interval");
  EXPECT_EQ(head_of({on_the_cpu(1)})["trust"]["sure"], false);
  EXPECT_THAT(head_of({on_the_cpu(1)})["trust"]["lines"].dump(), HasSubstr("One run per case"));
}

TEST(PageHead, MarksWhatIsInDoubtWithItsReason) {
  NamedResult named = on_the_cpu(5);
  named.result.runs[2].interference->foreign_cpu_cores = 1.8;
  const Json data = page_data({named}, {}, embedded_claims());
  EXPECT_EQ(card(data["head"], "speed")[0]["doubts"], Json({"other processes took 1.8 cores"}));
  EXPECT_EQ(card(data["head"], "cost")[0]["doubts"], Json({"other processes took 1.8 cores"}));
  EXPECT_EQ(data["head"]["trust"]["sure"], false);
  EXPECT_THAT(data["head"]["trust"]["lines"].dump(),
              HasSubstr("1 of 1 case in doubt: other processes took 0.15 cores or more in 1 case."));
  named = on_the_cpu(5);
  for (std::size_t i = 0; i < 5; ++i)
    named.result.runs[i].throughput->samples_per_second = 100.0 + 10.0 * static_cast<double>(i);
  EXPECT_THAT(card(head_of({named}), "speed")[0]["doubts"].dump(), HasSubstr("repetitions vary by"));
}

TEST(PageHead, SaysThatNoPriceIsKnown) {
  NamedResult named = on_the_cpu(1);
  named.result.runs[0].cost.reset();
  const Json cost = card(head_of({named}), "cost");
  EXPECT_TRUE(cost.is_array() && cost.empty());
}

TEST(PageHead, ComparesAGpuWithTheCpuAndLeadsWithThat) {
  const Json head =
      head_of({made_result("r.json", "box", {{"cpu", "fp32", 100}, {"cpu", "bf16", 200}, {"cuda", "fp16", 1000}})});
  const Json speedup = card(head, "speedup")[0];
  EXPECT_EQ(speedup["text"], "5.00x");
  EXPECT_EQ(speedup["subject"], "ResNet-50, GPU fp16 over CPU bf16, each at its best, batch 16");
  EXPECT_EQ(speedup["spread"], "95 % interval 5.00 to 5.00, n=5");
  EXPECT_EQ(head["lead"], "speedup");
  EXPECT_EQ(card(head, "speed")[0]["subject"], "ResNet-50, GPU fp16, batch 16") << "the fastest";
}

TEST(PageHead, DoubtsARatioFarFromTheBoundAndShowsNoneThatCannotCarryAnAnswer) {
  NamedResult named = made_result("r.json", "box", {{"cpu", "fp32", 100}, {"cuda", "fp32", 1000}});
  const auto with_bound = [&](double seconds) {
    for (auto& run : named.result.runs)
      if (run.device.backend == BackendKind::cpu) run.efficiency->bound_seconds = seconds;
    return head_of({named});
  };
  EXPECT_THAT(card(with_bound(0.04), "speedup")[0]["doubts"].dump(), HasSubstr("take 4.0 times their lower bound"));
  EXPECT_TRUE(card(with_bound(0.01), "speedup").is_null()) << "16 times";
  EXPECT_EQ(with_bound(0.01)["lead"], "throughput");
}

TEST(PageHead, DoubtsAGpuWhoseAlgorithmsWereNotCompared) {
  NamedResult named = made_result("r.json", "box", {{"cpu", "fp32", 100}, {"cuda", "fp32", 1000}});
  for (auto& run : named.result.runs)
    if (run.device.backend == BackendKind::cuda) run.device.blind_seconds = run.timing->step_seconds_median / 4;
  EXPECT_THAT(card(head_of({named}), "speedup")[0]["doubts"].dump(),
              HasSubstr("25.0 % of a step runs algorithms that were not compared with others"));
}

TEST(PageHead, LeavesOutWhatWasRestrictedOnPurpose) {
  const Json head =
      head_of({made_result("r.json", "box", {{"cpu", "fp32", 100}, {"cpu", "fp32", 120, 16, "/without=fusion"}})});
  EXPECT_EQ(card(head, "speed")[0]["text"], "100 samples/s");
}

TEST(PageHead, QualityIsAMeanOverSeeds) {
  NamedResult named = on_the_cpu(1);
  const epochbench::Run first = named.result.runs[0];
  named.result.runs.clear();
  for (int seed = 0; seed < 5; ++seed) {
    epochbench::Run run = first;
    rename(run, "resnet50/cpu/fp32/b16" + (seed ? "/seed=" + std::to_string(seed) : ""));
    run.workload.seed = static_cast<std::uint64_t>(seed);
    run.workload.dataset = "digits";
    run.quality->eval_metric = EvalMetric::accuracy;
    run.quality->eval_value = 0.90 + 0.01 * seed;
    named.result.runs.push_back(run);
  }
  const Json quality = card(head_of({named}), "quality")[0];
  EXPECT_EQ(quality["text"], "92.0 %");
  EXPECT_THAT(quality["subject"].get<std::string>(), HasSubstr(" (test accuracy)"));
  EXPECT_THAT(quality["spread"].get<std::string>(), HasSubstr(", n=5"));
}

// Ten seeds of a small model say nothing of the large one.
TEST(PageHead, QualityIsLedByTheLargestModel) {
  NamedResult named = on_the_cpu(1);
  const epochbench::Run first = named.result.runs[0];
  named.result.runs.clear();
  for (const auto& [model, flops, seeds] : {std::tuple("lenet5", 1e6, 10), {"resnet50", 1e10, 5}})
    for (int seed = 0; seed < seeds; ++seed) {
      epochbench::Run run = first;
      rename(run, std::string(model) + "/cpu/fp32/b16" + (seed ? "/seed=" + std::to_string(seed) : ""));
      run.workload.model = run.workload.fingerprint = model;
      run.workload.train_flops_per_sample = flops;
      run.workload.seed = static_cast<std::uint64_t>(seed);
      run.workload.dataset = "digits";
      run.quality->eval_metric = EvalMetric::accuracy;
      run.quality->eval_value = 0.9;
      named.result.runs.push_back(run);
    }
  EXPECT_THAT(card(head_of({named}), "quality")[0]["subject"].get<std::string>(), testing::StartsWith("ResNet-50 on digits"));
}

TEST(PageHead, SubjectsNameTheMachineOfSeveral) {
  const NamedResult a = made_result("a.json", "box", {{"cpu", "fp32", 100, 16, "", "resnet50"}}),
                    b = made_result("b.json", "other", {{"cuda", "fp32", 900, 16, "", "resnet50"}});
  const Json data = page_data({a, b}, {}, embedded_claims());
  EXPECT_EQ(card(data["head"], "speed")[0]["subject"], "ResNet-50, GPU fp32, batch 16, on B");
  EXPECT_THAT(card(data["head"], "speedup")[0]["subject"].get<std::string>(), testing::EndsWith(", batch 16, B over A"));
  EXPECT_THAT(data["speedup"]["pairs"][0]["contender"].get<std::string>(), testing::StartsWith("B: resnet50/"));
  EXPECT_THAT(data["tables"]["runs"]["rows"].dump(), AllOf(HasSubstr("A: a.json"), HasSubstr("B: b.json")));
  EXPECT_EQ(card(head_of({a}), "speed")[0]["subject"], "ResNet-50, CPU fp32, batch 16");
}

TEST(PageHead, SweepsLeadWhereNothingElseWasMeasured) {
  NamedResult named = made_result("sweep.json", "box", {});
  for (const int batch : {8, 16, 32}) add(named.result, made_batch("cpu", "fp32", batch, std::vector<double>(5, 80.0 + batch)));
  EXPECT_EQ(head_of({named})["lead"], "sweeps");
}

TEST(PageHead, OfTwoBinariesTheVerdictComesFirst) {
  const Json head = page_data({}, {by_turns("turns.json", 1.05, "2026-01-02T03:04:05Z")}, embedded_claims())["head"];
  EXPECT_EQ(head["title"], "Two builds of epochbench on a CPU");
  EXPECT_EQ(head["lead"], "turns");
  EXPECT_THAT(ids(head), ElementsAre("regression", "change"));
  EXPECT_EQ(card(head, "regression")[0]["finding"], "✗ regression");
  EXPECT_EQ(card(head, "change")[0]["subject"], "mlp/cpu/fp32/b64 (step time, new over baseline)");
  EXPECT_EQ(card(head, "change")[0]["doubts"], Json({"other processes took 0.25 cores"}));
}

}  // namespace
}  // namespace epochbench
