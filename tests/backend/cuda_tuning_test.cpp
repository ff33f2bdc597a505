// What is timed while models of real size are compiled, in which order and how long that takes, on a fake device that only
// keeps the time: engines of fake libraries build at once, or take as long to be compiled as those of cuDNN on an H200.
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "src/backend/cuda/cuda_backend.h"
#include "src/workload/workload.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;
using ::testing::HasSubstr;

struct Compiled {
  std::map<std::string, std::int64_t> algorithms;
  double seconds = 0;                  // by the device's clock
  std::optional<double> first_fusion;  // when the first engine was compiled
  std::optional<double> blind_seconds;
  std::int64_t plans = 0;  // built
};

class Tunes : public ::testing::Test {
 protected:
  ~Tunes() override { std::remove(file_.c_str()); }

  Compiled compile(const char* model, std::int64_t batch, Precision precision, double seconds, std::size_t cores = 16,
                   bool stored = false) {
    const auto device = std::make_shared<FakeDevice>();
    device->skip_work();
    test::FakeLibrariesOptions options{.seconds = {1.2e-3, 1e-3, 1.1e-3, 2e-3, 1e-3, 3e-3, 4e-3, 1.3e-3},
                                       .compile_seconds = 1.5};
    std::shared_ptr<FakeLibraries> libraries;
    const auto backend = make_cuda_backend(
        device, [&] { return libraries = std::make_shared<FakeLibraries>(*device, options); }, {},
        {.file = stored ? file_ : "",
         .seconds_per_program = seconds,
         .clock = [device] { return device->seconds(); },
         .run_at_once = [=](const Jobs& jobs,
                            const std::function<bool()>& goes_on) { device->run_at_once(jobs, goes_on, cores); }});
    CaseSpec spec;
    spec.model = find_model(model);
    spec.batch = batch;
    WorkloadSpec workload = workload_spec(spec);
    workload.config.dropout = 0;
    const auto executable = backend->compile(make_program(workload, *backend, {Entry::train}, precision));
    return {executable->chosen_algorithms(), device->seconds(), libraries->compiled_at(),
            executable->blind_seconds(Entry::train), libraries->plans()};
  }

  std::string file_ = ::testing::TempDir() + "cuda_tuning_test-" + std::to_string(getpid()) + ".json";
};

struct Sized {
  const char* model;
  std::int64_t batch;
};
constexpr Sized kResNet{"resnet50", 32}, kBert{"bert-base", 32};

TEST_F(Tunes, TimesEveryLayerWithin10SecondsBeforeAnyFusion) {
  for (const auto& [model, batch] : {kResNet, kBert})
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      SCOPED_TRACE(std::string(model) + " " + name(precision));
      const Compiled first_pass = compile(model, batch, precision, 1e-3);
      EXPECT_LT(first_pass.seconds, 10);
      EXPECT_FALSE(first_pass.first_fusion);
      for (const auto& [text, nodes] : first_pass.algorithms) {
        EXPECT_THAT(text, HasSubstr("[fastest of ")) << "an engine or a product";
        const bool fusible = text.find("_norm") < text.find(":") || text.find("_gelu") < text.find(":");
        EXPECT_TRUE(text.find("[first of") == std::string::npos || fusible) << text;
      }
      const bool half = precision == Precision::bf16;
      EXPECT_EQ(*first_pass.blind_seconds > 0, half);
      const Compiled both = compile(model, batch, precision, kTuningSeconds);
      EXPECT_EQ(both.first_fusion.has_value(), half);
      EXPECT_LE(*both.blind_seconds, *first_pass.blind_seconds * 0.9);
      EXPECT_LT(both.first_fusion.value_or(0), 10);
      EXPECT_LT(both.seconds, kTuningSeconds + 2);  // the last engine
    }
}

TEST_F(Tunes, LeavesNothingBlindOn16Cores) {
  for (const auto& [model, batch] : {kResNet, kBert}) {
    SCOPED_TRACE(model);
    const Compiled first = compile(model, batch, Precision::bf16, kTuningSeconds, 16, true);
    EXPECT_EQ(first.blind_seconds, 0);
    EXPECT_LT(first.seconds, kTuningSeconds + 2);  // the last engines
    const Compiled stored = compile(model, batch, Precision::bf16, kTuningSeconds, 16, true);
    EXPECT_EQ(stored.blind_seconds, 0);
    EXPECT_LT(stored.seconds, first.seconds / 1.5);  // what was chosen is compiled at once, too
  }
}

TEST_F(Tunes, KnowsNothingBlindIfNothingIsTimed) {
  EXPECT_EQ(compile("lenet5", 32, Precision::fp32, 0).blind_seconds, std::nullopt);
}

TEST_F(Tunes, GoesOnWithWhatIsLeftInTheNextProcess) {
  std::vector<Compiled> calls;
  for (int call = 0; call < 8; ++call)
    calls.push_back(compile(kResNet.model, kResNet.batch, Precision::bf16, kTuningSeconds, 4, true));
  const auto untimed = [](const Compiled& compiled) {
    std::int64_t count = 0;
    for (const auto& [text, nodes] : compiled.algorithms)
      if (text.find("first of") != std::string::npos) count += nodes;
    return count;
  };
  EXPECT_GT(untimed(calls.front()), untimed(calls[1]));
  EXPECT_EQ(untimed(calls.back()), 0);
  EXPECT_GT(*calls.front().blind_seconds, 0);
  EXPECT_EQ(*calls.back().blind_seconds, 0);
  for (const auto& [text, nodes] : calls.back().algorithms) EXPECT_THAT(text, HasSubstr("[stored: fastest of ")) << nodes;
}

}  // namespace
}  // namespace epochbench
