// Verdicts on claims about several CNNs, from constructed results.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/analysis/claims/claims.h"
#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

// The slowest ratio of these CNNs decides, forward and training, and a model that is missing is named.
TEST(Claims, FiveCnnsAreJudgedInBothModes) {
  const auto answer = [](double nasnet_large, bool training_of_all) {
    std::vector<std::vector<epochbench::Run>> parts;
    for (const char* model : {"mobilenet-v2", "nasnet-mobile", "resnet50", "resnet152", "nasnet-large"})
      for (const Mode mode : {Mode::forward, Mode::train})
        for (const char* backend : {"cpu", "cuda"}) {
          const bool large = std::string(model) == "nasnet-large";
          if (large && !training_of_all && mode == Mode::train) continue;
          parts.push_back(runs_of(model, backend, "fp32", 4,
                                  std::string(backend) == "cpu" ? 10
                                  : large                       ? 10 * nasnet_large
                                                                : 50));
          for (auto& run : parts.back()) run.workload.mode = mode;
        }
    return answer_to("azure-186-804", std::move(parts));
  };
  EXPECT_EQ(answer(4, true).verdict, Verdict::reproduced);
  EXPECT_EQ(answer(4, true).parts.size(), 11u) << "five in two modes, one published";
  EXPECT_EQ(answer(2, true).verdict, Verdict::not_reproduced);
  EXPECT_EQ(part_of(answer(4, false), "training/nasnet-large").verdict, Verdict::not_testable);
}

// The forward pass counts at batch 1 alone.
TEST(Claims, EfficientNetIsJudgedByItsLatencyAndItsTraining) {
  const auto answer = [](std::int64_t batch, double forward) {
    std::vector<std::vector<epochbench::Run>> parts{runs_of("efficientnet-b2", "cpu", "fp32", 16, 10),
                                                    runs_of("efficientnet-b2", "cuda", "fp32", 16, 30)};
    for (const auto& [backend, rate] : {std::pair{"cpu", 20.0}, std::pair{"cuda", 20 * forward}}) {
      parts.push_back(runs_of("efficientnet-b2", backend, "fp32", batch, rate));
      for (auto& run : parts.back()) run.workload.mode = Mode::forward;
    }
    return answer_to("deci-3x", std::move(parts));
  };
  EXPECT_EQ(answer(1, 3).verdict, Verdict::reproduced);
  EXPECT_EQ(answer(1, 2).verdict, Verdict::not_reproduced);
  EXPECT_EQ(part_of(answer(8, 2), "forward").verdict, Verdict::not_testable);
  EXPECT_EQ(answer(8, 2).verdict, Verdict::reproduced);  // by the training, which names the rest
}

}  // namespace
}  // namespace epochbench
