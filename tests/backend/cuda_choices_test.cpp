// Whole models by every algorithm of their nodes: with a fake cuBLASLt that has epilogues or refuses them, and with algorithms
// that are the fastest or not, on a fake device.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kernels/cuda/libraries/cublas_product.h"
#include "src/backend/cuda/cuda_backend.h"
#include "src/workload/workload.h"
#include "tests/support/cuda_fake_cublas.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/made_workload.h"
#include "tests/support/print.h"
#include "tests/support/roundoff.h"
#include "tests/support/trainer.h"

namespace epochbench {
namespace {

using test::fake_cublas;
using test::FakeAlgorithm;
using test::FakeDevice;
using test::FakeLibraries;
using test::FakeLibrariesOptions;
using test::Trainer;
using test::Training;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// Products by cuBLASLt's own code over the fake cuBLASLt; the rest as FakeLibraries.
class FakeCublasLibraries final : public cuda::Libraries {
 public:
  explicit FakeCublasLibraries(FakeDevice& device, FakeLibrariesOptions options) : others_(device, std::move(options)) {}
  cuda::LibraryVersions versions() const override { return others_.versions(); }
  std::unique_ptr<cuda::Algorithms<cuda::Product>> product(const cuda::ProductSpec& spec,
                                                           const cuda::ProductOperands& operands) override {
    return products_.product(spec, operands);
  }
  std::unique_ptr<cuda::Algorithms<cuda::GeluProduct>> gelu_product(const cuda::GeluProductSpec& spec) override {
    return others_.gelu_product(spec);
  }
  std::unique_ptr<cuda::Algorithms<cuda::Convolution>> convolution(const cuda::ConvolutionSpec& spec) override {
    return others_.convolution(spec);
  }
  std::unique_ptr<cuda::Algorithms<cuda::AttentionForward>> attention_forward(const cuda::AttentionSpec& spec) override {
    return others_.attention_forward(spec);
  }
  std::unique_ptr<cuda::Algorithms<cuda::AttentionBackward>> attention_backward(const cuda::AttentionSpec& spec) override {
    return others_.attention_backward(spec);
  }

 private:
  cuda::CublasProducts products_;
  FakeLibraries others_;
};

struct Fakes {
  explicit Fakes(ChoiceOptions choices = {}, FakeLibrariesOptions options = {}, BackendOptions of_backend = {}) {
    choices.clock = [device = device] { return device->seconds(); };
    backend = make_cuda_backend(
        device, [device = device, options] { return std::make_shared<FakeCublasLibraries>(*device, options); }, of_backend,
        std::move(choices));
  }
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  std::unique_ptr<Backend> backend;
};

bool is_bert(const Training& training) { return training.model.starts_with("bert"); }

Entry shown(const Training& training) { return is_bert(training) ? Entry::evaluate : Entry::train; }

constexpr double kEnough = 1e6;  // seconds for timing

class CudaAlgorithms : public ::testing::Test {
 protected:
  CudaAlgorithms() { fake_cublas() = {}; }
  ~CudaAlgorithms() override {
    if (!file_.empty()) std::remove(file_.c_str());
    EXPECT_EQ(fake_cublas().handles, 0);
  }

  std::vector<double> losses(const Training& training, const ChoiceOptions& choices = {},
                             const FakeLibrariesOptions& options = {}) {
    Fakes fakes(choices, options);
    Trainer trainer(training, *fakes.backend);
    std::vector<double> losses = trainer.losses(3);
    implementations_.clear();
    for (const NodeTime& node : trainer.executable().profile(shown(training), 1)) implementations_.insert(node.implementation);
    return losses;
  }

  std::set<std::string> implementations_;  // of the last losses()
  std::string file_;
};

std::vector<Training> trainings() {
  std::vector<Training> all;
  for (const Precision precision : kPrecisions)
    for (const char* model : {"mlp:width=24", "lenet5"}) all.push_back({model, 8, "synthetic", precision});
  all.push_back({test::kSmallBert, 1, "synthetic", Precision::bf16, 0});  // a library's masks would be others
  return all;
}

// The same operands, and sums in double: what differs is where a sum is rounded, if at all. What follows of that for later
// steps is derived in cuda_backend_test.cpp.
void expect_same_losses(const std::vector<double>& actual, const std::vector<double>& expected, double eps = 0) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i] / expected[i], 1, 1e-5 + (i == 0 ? eps : std::sqrt(eps) / 4)) << "step " << i;
}

double roundoff_of_stores(Precision precision) {  // 0 for floats
  return precision == Precision::tf32 ? 0 : test::roundoff_beyond_floats(precision);
}

TEST_F(CudaAlgorithms, ACublasWithoutEpiloguesTrainsAlike) {
  for (const Training& training : trainings()) {
    SCOPED_TRACE(training.model + " " + name(training.precision));
    fake_cublas() = {};
    const std::vector<double> with = losses(training);
    EXPECT_THAT(implementations_, Each(Not(HasSubstr("+ cuda bias_add"))));

    fake_cublas().knows_bias_gradient = false;
    const std::vector<double> without_gradient = losses(training);
    if (!is_bert(training)) {
      EXPECT_THAT(implementations_,
                  Contains(AllOf(HasSubstr("cublasLt"),
                                 HasSubstr("+ cuda bias_add_grad (cublasLt epilogue: cuBLASLt has no algorithm for"))));
    }
    expect_same_losses(without_gradient, with, roundoff_of_stores(training.precision) / 16);

    fake_cublas().knows_bias = fake_cublas().knows_relu = false;
    const std::vector<double> without_any = losses(training);
    EXPECT_THAT(implementations_, Contains(HasSubstr("+ cuda bias_add (cublasLt epilogue: ")));
    if (training.model == "lenet5") {
      EXPECT_THAT(implementations_, Contains(HasSubstr("+ cuda bias_add + cuda relu")));
    }
    expect_same_losses(without_any, with,
                       roundoff_of_stores(training.precision));  // in 16 bits a bias is added to a rounded sum
  }
}

TEST_F(CudaAlgorithms, TheFasterOneToSumABiasGradientIsTaken) {
  const Training training{"mlp:width=24", 6};
  ChoiceOptions choices{.seconds_per_program = kEnough};
  fake_cublas().algorithms = {FakeAlgorithm{.id = 1, .seconds = 2e-3}, FakeAlgorithm{.id = 2, .seconds = 1e-3}};
  const std::vector<double> by_epilogue = losses(training, choices);
  EXPECT_THAT(implementations_, Contains("cublasLt 128x64 stages 0 algorithm 2 [fastest of 2] [fastest of 2]"));
  EXPECT_THAT(implementations_, Each(Not(HasSubstr("+ cuda bias_add"))));

  for (FakeAlgorithm& algorithm : fake_cublas().algorithms) algorithm.epilogue_seconds = 1;
  const std::vector<double> by_kernels = losses(training, choices);
  EXPECT_THAT(implementations_,
              Contains("cublasLt 128x64 stages 0 algorithm 2 [fastest of 2] + cuda bias_add_grad [fastest of 2]"));
  EXPECT_THAT(implementations_, Contains(HasSubstr("+ cuda bias_add + cuda relu [fastest of 2]")));
  expect_same_losses(by_kernels, by_epilogue);
}

// In 16 bits another rounding is not a matter of speed.
TEST_F(CudaAlgorithms, OneThatRoundsMoreIsNotTakenForItsSpeed) {
  for (FakeAlgorithm& algorithm : fake_cublas().algorithms) algorithm.epilogue_seconds = 1;
  losses({"mlp:width=24", 6, "synthetic", Precision::bf16}, {.seconds_per_program = kEnough});
  EXPECT_THAT(implementations_, Contains(HasSubstr("+ cuda bias_add_grad [fastest of 2]")));
  EXPECT_THAT(implementations_, Each(Not(HasSubstr("cuda bias_add "))));
}

TEST_F(CudaAlgorithms, ConvolutionsAndAttentionAreComparedWithOurOwn) {
  const ChoiceOptions choices{.seconds_per_program = kEnough};
  for (const Training& training : {Training{"lenet5", 2}, Training{test::kSmallBert, 1, "synthetic", Precision::bf16, 0}}) {
    SCOPED_TRACE(training.model);
    const bool text = is_bert(training);
    const std::string library = text ? "fake attention" : "fake convolution", own = text ? "attention_softmax + " : "im2col + ";
    const std::vector<double> by_library = losses(training, choices, {.seconds = {4e-3, 1e-5}});
    EXPECT_THAT(implementations_, Contains(AllOf(HasSubstr(library), HasSubstr("[fastest of 2]"))));
    EXPECT_THAT(implementations_, Each(Not(HasSubstr(own))));
    const std::vector<double> by_own = losses(training, choices, {.seconds = {0.4, 0.5}});
    EXPECT_THAT(implementations_, Contains(HasSubstr(own)));
    EXPECT_THAT(implementations_, Each(Not(HasSubstr(library))));
    expect_same_losses(by_own, by_library, text ? 0x1p-8 : 0);
  }
}

// The sums are of numbers that are not rounded yet.
TEST_F(CudaAlgorithms, AConvolutionSumsForItsNormWhereThatIsFaster) {
  const ChoiceOptions choices{.seconds_per_program = 1e4};
  const Training training{"resnet20", 1, "synthetic", Precision::bf16};
  const std::vector<double> summed = losses(training, choices);
  EXPECT_THAT(implementations_, Contains(HasSubstr("with sums + cuda batch_norm_relu of its sums [fastest of 2]")));
  EXPECT_THAT(implementations_, Contains(HasSubstr("with sums + cuda batch_norm_relu_grad of its sums [fastest of 2]")));
  const std::vector<double> apart = losses(training, choices, {.sums_seconds = 1});
  EXPECT_THAT(implementations_, Contains(HasSubstr("fake convolution [fastest of 2] + cuda batch_norm_relu [fastest of 2]")));
  EXPECT_THAT(implementations_, Each(Not(HasSubstr("with sums"))));
  const std::vector<double> refused = losses(training, choices, {.convolution_sums = false});
  EXPECT_THAT(implementations_, Contains(HasSubstr("(cuDNN with sums: as the test requests)")));
  expect_same_losses(summed, apart, 0x1p-8);
  EXPECT_EQ(refused, apart);
}

// As a convolution with a group per channel, whose weight is transposed. Of NASNets some have other padding at the end, which
// stays ours.
TEST_F(CudaAlgorithms, ADepthwiseConvolutionIsTheLibrarysWhereThatIsFaster) {
  const ChoiceOptions choices{.seconds_per_program = 1e4};
  for (const char* model : {"mobilenet-v2:width-multiplier=25,height=48,width=40,classes=20",
                            "nasnet-mobile:filters=4,cells=2,height=75,width=43,classes=10"}) {
    SCOPED_TRACE(model);
    const Training training{model, 2, "synthetic", Precision::fp32, 0};
    // Less than nothing, so that with the transposed weight it takes less than the kernel.
    const std::vector<double> by_library = losses(training, choices, {.depthwise_seconds = -1.5 * FakeDevice::kSecondsOfWork});
    for (const char* pass : {"depthwise_conv2d [", "depthwise_conv2d_grad_input [", "depthwise_conv2d_grad_weight ["})
      EXPECT_THAT(implementations_, Each(Not(HasSubstr(pass))));
    EXPECT_THAT(implementations_, Contains("cuda transpose + fake depthwise convolution [fastest of 2]"));
    EXPECT_EQ(implementations_.contains("cuda depthwise_conv2d"), std::string(model).starts_with("nasnet"));
    const std::vector<double> by_kernels = losses(training, choices, {.depthwise_seconds = 1});
    for (const char* pass : {"", "_grad_input", "_grad_weight"})
      EXPECT_THAT(implementations_, Contains("cuda depthwise_conv2d" + std::string(pass) + " [fastest of 2]"));
    EXPECT_THAT(implementations_, Each(Not(HasSubstr("fake depthwise"))));
    EXPECT_NEAR(by_library[0] / by_kernels[0], 1, 1e-5);  // the first steps are chaotic
  }
}

// It needs no copy of the windows, in any pass or precision. What is left of mobilenet-v2 is the first layer, 3x3.
TEST_F(CudaAlgorithms, AWindowOfOneAtStrideOneIsAProduct) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    Fakes fakes({}, {.seconds = {0.1}});
    Trainer trainer({test::kSmallMobileNet, 2, "synthetic", precision, 0}, *fakes.backend);
    std::int64_t products = 0, others = 0;
    for (const auto& [text, count] : trainer.executable().chosen_algorithms())
      if (text.starts_with("conv2d"))
        (text.find(": cublasLt 128x64 stages 0 algorithm") != std::string::npos ? products : others) += count;
    EXPECT_GT(products, 100) << name(precision);
    EXPECT_LE(others, 3) << name(precision);
  }
}

// cuDNN has engines that transform without saying so, which would change what fp32 means.
TEST_F(CudaAlgorithms, AnEngineThatIsFasterThanItsMultiplicationsIsRefusedInFp32) {
  const auto chosen = [](Precision precision, double rate) {
    Fakes fakes({.seconds_per_program = kEnough}, {.seconds = {1e-6, 1e-5}});
    fakes.device->set_fp32_flops_per_second(rate);
    Trainer trainer({"lenet5", 2, "synthetic", precision}, *fakes.backend);
    std::string all;
    for (const auto& [text, count] : trainer.executable().chosen_algorithms())
      if (text.starts_with("conv2d_bias")) all += text + "\n";
    return all;
  };
  const std::string allowed = chosen(Precision::fp32, 1e12);
  EXPECT_THAT(allowed, HasSubstr("fake convolution [fastest of 2]"));
  EXPECT_THAT(allowed, Not(HasSubstr("does not sum directly")));
  // 0.47 and 0.96 MFLOP take 9 and 19 us.
  EXPECT_THAT(chosen(Precision::fp32, 5e10), AllOf(HasSubstr("fake 0 takes 1.00 µs, and its multiplications take at least"),
                                                   HasSubstr("does not sum directly")));
  EXPECT_THAT(chosen(Precision::tf32, 5e10), Not(HasSubstr("does not sum directly")));
}

// The plan of both does not round what is between them.
TEST_F(CudaAlgorithms, AProductIncludesItsGeluWhereThatIsFaster) {
  const ChoiceOptions choices{.seconds_per_program = kEnough};
  const Training training{test::kSmallBert, 1, "synthetic", Precision::bf16, 0};
  const std::vector<double> joined = losses(training, choices);
  EXPECT_THAT(implementations_, Contains("fake product with gelu [fastest of 3]"));
  EXPECT_THAT(implementations_, Each(Not(HasSubstr("cuda gelu"))));
  const std::vector<double> apart = losses(training, choices, {.gelu_seconds = 1});
  EXPECT_THAT(implementations_, Contains(HasSubstr("+ cuda gelu [fastest of 3]")));
  EXPECT_THAT(implementations_, Each(Not(HasSubstr("with gelu"))));
  const std::vector<double> refused = losses(training, choices, {.gelu = false});
  EXPECT_THAT(implementations_, Contains(HasSubstr("(cuDNN with gelu: as the test requests)")));
  expect_same_losses(joined, apart, roundoff_of_stores(training.precision));
  EXPECT_EQ(refused, apart);
}

// In float that is a matter of speed. In 16 bits, where the sum that the gradient reads is rounded once more, it is for a
// library that has neither. The erf form, and the tanh form.
TEST_F(CudaAlgorithms, BiasAndGeluAreOneKernelWithoutAnEpilogueOrAnEngine) {
  const ChoiceOptions choices{.seconds_per_program = kEnough};
  const FakeLibrariesOptions no_engine{.gelu = false};
  for (const char* model : {"vit-s-16:layers=1,units=32,heads=2,patch=8,height=16,width=16,classes=10",
                            "gpt2:layers=1,units=32,heads=2,sequence=8,vocabulary=64"})
    for (const Precision precision : {Precision::tf32, Precision::bf16}) {
      SCOPED_TRACE(std::string(model) + " " + name(precision));
      const Training training{model, 2, "synthetic", precision, 0};
      fake_cublas() = {};
      const std::vector<double> by_epilogue = losses(training, choices, no_engine);
      EXPECT_THAT(implementations_, Contains(HasSubstr("+ cuda gelu ")));
      EXPECT_THAT(implementations_, Each(Not(HasSubstr("bias_gelu"))));
      fake_cublas().algorithms.front().epilogue_seconds = 1;
      const std::vector<double> by_speed = losses(training, choices, no_engine);
      EXPECT_THAT(implementations_, Contains(HasSubstr(precision == Precision::tf32 ? "+ cuda bias_gelu " : "+ cuda gelu ")));
      fake_cublas().knows_bias = false;
      const std::vector<double> without = losses(training, choices, no_engine);
      EXPECT_THAT(implementations_, Contains(HasSubstr("+ cuda bias_gelu ")));
      EXPECT_THAT(implementations_, Each(Not(HasSubstr("+ cuda gelu "))));
      expect_same_losses(by_speed, by_epilogue, roundoff_of_stores(precision));
      expect_same_losses(without, by_epilogue, roundoff_of_stores(precision));
    }
}

TEST_F(CudaAlgorithms, AnotherRunTimesNothingAndTrainsAlike) {
  file_ = ::testing::TempDir() + "cuda_choices_test-" + std::to_string(getpid()) + ".json";
  const ChoiceOptions choices{.file = file_, .seconds_per_program = kEnough};
  fake_cublas().algorithms = {FakeAlgorithm{.id = 1, .seconds = 2e-3}, FakeAlgorithm{.id = 2, .seconds = 1e-3}};
  for (const Training& training :
       {Training{"lenet5", 2, "synthetic", Precision::bf16}, Training{test::kSmallBert, 1, "synthetic", Precision::bf16, 0}}) {
    SCOPED_TRACE(training.model);
    const FakeLibrariesOptions options{.seconds = {4e-3, 1e-3}};
    const std::vector<double> first = losses(training, choices, options);
    EXPECT_THAT(implementations_, Contains(HasSubstr(" [fastest of 2]")));
    const int questions = fake_cublas().questions;
    const std::vector<double> second = losses(training, choices, options);
    EXPECT_EQ(fake_cublas().questions, questions);  // neither timed nor searched
    EXPECT_EQ(second, first);
    EXPECT_THAT(implementations_, Contains(HasSubstr(" [stored: fastest of 2]")));
    EXPECT_THAT(implementations_, Each(Not(HasSubstr(" [fastest"))));
  }
}

TEST_F(CudaAlgorithms, ARunWithoutTimeForTimingTakesWhatIsStoredAndStoresNothing) {
  file_ = ::testing::TempDir() + "cuda_choices_untimed-" + std::to_string(getpid()) + ".json";
  fake_cublas().algorithms = {FakeAlgorithm{.id = 1, .seconds = 2e-3}, FakeAlgorithm{.id = 2, .seconds = 1e-3}};
  const Training training{"mlp:width=24", 6};
  losses(training, {.file = file_});
  EXPECT_THAT(implementations_, Contains("cublasLt 128x64 stages 0 algorithm 1 [first of 2] [first of 2]"));
  losses(training, {.file = file_, .seconds_per_program = kEnough});
  losses(training, {.file = file_});
  EXPECT_THAT(implementations_, Contains(HasSubstr("algorithm 2 [stored: fastest of 2]")));
}

// As many runs as the device does on compiling without timing.
TEST_F(CudaAlgorithms, AnotherCompilationRunsEachNodeOnlyOnTrial) {
  file_ = ::testing::TempDir() + "cuda_choices_test-" + std::to_string(getpid()) + ".json";
  const Training training{"lenet5", 2};
  const auto compile = [&](const ChoiceOptions& choices) {
    Fakes fakes(choices);
    Trainer trainer(training, *fakes.backend);
    return fakes.device->counts().work;
  };
  const std::int64_t untimed = compile({}), timed = compile({.file = file_, .seconds_per_program = kEnough});
  EXPECT_GT(timed, 2 * untimed);  // without time each algorithm that is taken runs twice
  // Each node is tried once, and once more where equal problems are not.
  EXPECT_LE(compile({.file = file_, .seconds_per_program = kEnough}), untimed);
}

TEST_F(CudaAlgorithms, AStepAllocatesNothingAndChoosesNothing) {
  Fakes fakes({.seconds_per_program = kEnough}, {.seconds = {2e-3, 1e-3}});
  Trainer trainer({"lenet5", 2, "synthetic", Precision::fp16}, *fakes.backend);
  trainer.losses(1);
  const FakeDevice::Counts before = fakes.device->counts();
  const int questions = fake_cublas().questions, products = fake_cublas().products;
  for (int i = 0; i < 10; ++i) trainer.executable().run(Entry::train);
  EXPECT_EQ(fakes.device->counts().allocations, before.allocations);
  EXPECT_EQ(fakes.device->counts().waits_of_host, before.waits_of_host);
  EXPECT_EQ(fake_cublas().questions, questions);
  EXPECT_EQ(fake_cublas().products, products);  // captured
  trainer.executable().synchronize();
}

}  // namespace
}  // namespace epochbench
