// The optimizers in CUDA: steps computed by hand and against the reference, loss scaling, and the scalars that a step writes.
#include <cfloat>

#include "kernels/cuda/exchange.h"
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

template <typename T>
DeviceBuffer<T> scalar(T value) {
  return on_device<T>({&value, 1});
}

struct Parameter {
  DeviceBuffer<float> weight, state1, state2;
  Tensor gradient;
  double weight_decay;
  Tensor copy = Tensor(0, Element::bf16);  // of as many elements as the weight, or none

  std::int64_t n() const { return gradient.size(); }
};

// Parameters with the tables that the kernels read. The chunks are in random order.
class Model {
 public:
  explicit Model(std::vector<Parameter> parameters) : parameters_(std::move(parameters)), tensors_(0), chunks_(0) {
    std::vector<cuda::OptimizerTensor> tensors;
    std::vector<cuda::Chunk> chunks;
    for (Parameter& p : parameters_) {
      for (std::int64_t first = 0; first < p.n(); first += cuda::kChunkElements)
        chunks.insert(chunks.begin(), {static_cast<std::int32_t>(tensors.size()), first});
      tensors.push_back({p.weight.data(), p.state1.data(), p.state2.data(), p.gradient.data(), p.n(), p.gradient.element(),
                         static_cast<float>(p.weight_decay), p.copy.size() > 0 ? p.copy.data() : nullptr, p.copy.element()});
    }
    tensors_ = on_device<cuda::OptimizerTensor>(tensors);
    chunks_ = on_device<cuda::Chunk>(chunks);
  }
  Model(const Model&) = delete;  // the tables hold pointers to its members
  Model& operator=(const Model&) = delete;

  Parameter& operator[](std::size_t i) { return parameters_[i]; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const cuda::OptimizerTensor* tensors() const { return tensors_.data(); }
  const cuda::Chunk* chunks() const { return chunks_.data(); }
  std::int64_t chunk_count() const { return static_cast<std::int64_t>(chunks_.size()); }

 private:
  std::vector<Parameter> parameters_;
  DeviceBuffer<cuda::OptimizerTensor> tensors_;
  DeviceBuffer<cuda::Chunk> chunks_;
};

// Like a small model: tensors that end within a vector, a part of a chunk and a chunk, one of several chunks, an empty one;
// gradients of every type in one launch, multiplied by `scale`.
std::vector<Parameter> parameters(double scale = 1) {
  struct Size {
    std::int64_t n;
    Element element;
  };
  const std::int64_t chunk = cuda::kChunkElements;
  std::vector<Parameter> result;
  std::uint64_t seed = 1;
  for (const Size& size : {Size{1, Element::f32}, Size{7, Element::bf16}, Size{20011, Element::f16}, Size{0, Element::f32},
                           Size{chunk, Element::bf16}, Size{2 * chunk + 3, Element::f32}, Size{8192, Element::f16}}) {
    const auto floats = [&](double low, double high) { return random_device_floats(size.n, seed++, low, high); };
    result.push_back({floats(-1, 1), floats(-1, 1), floats(0, 1), random_tensor(size.n, size.element, seed++, -scale, scale),
                      result.size() % 2 == 0 ? 0.01 : 0.0,
                      Tensor(result.size() % 3 == 0 ? 0 : size.n, result.size() % 2 == 0 ? Element::bf16 : Element::f16)});
  }
  return result;
}

std::vector<GuardedBuffer<float>> gradients(const Model& model, double scale) {
  std::vector<GuardedBuffer<float>> result;
  for (const Parameter& p : model.parameters()) {
    result.push_back(p.gradient.floats());
    for (float& value : result.back()) value = static_cast<float>(value / scale);
  }
  return result;
}

// Each step adds a few roundings of values up to 4.
void expect_same(const Model& actual, const Model& expected, int steps) {
  const Tolerance tolerance = {2 * kEps * steps, 2 * kEps * steps};
  for (std::size_t i = 0; i < expected.parameters().size(); ++i) {
    const Parameter &a = actual.parameters()[i], &e = expected.parameters()[i];
    expect_close(a.weight, e.weight, tolerance);
    expect_close(a.state1, e.state1, tolerance);
    expect_close(a.state2, e.state2, tolerance);
    EXPECT_TRUE(a.weight.guards_intact() && a.state1.guards_intact() && a.state2.guards_intact());
    EXPECT_TRUE(a.gradient.guards_intact());
  }
}

// Copies are the weights, rounded once.
void expect_copies(const Model& model) {
  for (const Parameter& p : model.parameters()) {
    if (p.copy.size() == 0) continue;
    EXPECT_TRUE(bit_equal(p.copy.floats(), Tensor(p.weight, p.copy.element()).floats()));
    EXPECT_TRUE(p.copy.guards_intact());
  }
}

void expect_untouched(const Model& actual, const Model& before) {
  for (std::size_t i = 0; i < before.parameters().size(); ++i) {
    const Parameter &a = actual.parameters()[i], &b = before.parameters()[i];
    EXPECT_TRUE(bit_equal(a.weight, b.weight) && bit_equal(a.state1, b.state1) && bit_equal(a.state2, b.state2)) << i;
    EXPECT_TRUE(bit_equal(a.copy.floats(), b.copy.floats())) << i;
  }
}

Model one(float weight, float state1, float state2, float gradient, double weight_decay) {
  std::vector<Parameter> parameters;
  parameters.push_back({scalar(weight), scalar(state1), scalar(state2), Tensor({&gradient, 1}, Element::f32), weight_decay});
  return Model(std::move(parameters));
}

// v = 0.5 * 0 + (1 + 0.25 * 2) = 1.5, w = 2 - 0.5 * 1.5 = 1.25;
// v = 0.5 * 1.5 + (-1 + 0.25 * 1.25) = 0.0625, w = 1.25 - 0.5 * 0.0625 = 1.21875.
TEST(CudaSgd, TwoStepsWorkedOutByHand) {
  const DeviceBuffer<float> rate = scalar(0.5f);
  Model model = one(2, 0, 0, 1, 0);
  const auto step = [&] {
    cuda::sgd(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), {0.5, 0.25}, {}, kNoStream);
  };
  step();
  EXPECT_EQ(model[0].state1[0], 1.5f);
  EXPECT_EQ(model[0].weight[0], 1.25f);
  model[0].gradient.write(std::vector<float>{-1});
  step();
  EXPECT_EQ(model[0].state1[0], 0.0625f);
  EXPECT_EQ(model[0].weight[0], 1.21875f);
}

// beta1 0.5, beta2 0.75, epsilon 1, rate 1/8, decay 1/2, w = 2, g = 4 at the first step:
// w = 2 * (1 - 1/16) = 1.875, m = 2, v = 4, corrections 0.5 and 0.25, w -= (0.125 / 0.5) * 2 / (2 / 0.5 + 1) = 0.1 -> 1.775.
// Second, g = 0: w = 1.775 * 15/16 = 1.6640625, m = 1, v = 3, corrections 0.75 and 0.4375,
// w -= (0.125 / 0.75) * 1 / (sqrt(3 / 0.4375) + 1) = 0.0460581 -> 1.6180044.
TEST(CudaAdamw, TwoStepsWorkedOutByHand) {
  const DeviceBuffer<float> rate = scalar(0.125f);
  DeviceBuffer<std::int32_t> steps = scalar(0);
  Model model = one(2, 0, 0, 4, 0.5);
  const auto step = [&] {
    cuda::adamw(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), steps.data(), {0.5, 0.75, 1}, {}, kNoStream);
    cuda::increment(steps.data(), kNoStream);
  };
  step();
  EXPECT_EQ(model[0].state1[0], 2);
  EXPECT_EQ(model[0].state2[0], 4);
  EXPECT_NEAR(model[0].weight[0], 1.775, 2 * kEps);
  EXPECT_EQ(steps[0], 1);
  model[0].gradient.write(std::vector<float>{0});
  step();
  EXPECT_EQ(model[0].state1[0], 1);
  EXPECT_EQ(model[0].state2[0], 3);
  EXPECT_NEAR(model[0].weight[0], 1.6180044, 4e-7);
}

// A zero gradient with zero moments: only epsilon keeps the update from 0 / 0.
TEST(CudaAdamw, ZeroGradientOnlyDecays) {
  const DeviceBuffer<float> rate = scalar(0.5f);
  const DeviceBuffer<std::int32_t> step = scalar(0);
  Model model = one(2, 0, 0, 0, 0.5);
  cuda::adamw(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), step.data(), {0.9, 0.999, 1e-8}, {},
              kNoStream);
  EXPECT_EQ(model[0].weight[0], 1.5f);
}

// Moments and a gradient of 1 stay 1, so with rate 1 a weight of 0 becomes -sqrt(1 - beta2^t) / (1 - beta1^t). Besides both
// corrections (kernels/cuda/optimizer.cu: 4 * 2^-24, and half of that below the root), 6 operations round.
TEST(CudaAdamw, BiasCorrectionsMatchDouble) {
  constexpr double kRounding = 0x1p-24;
  const DeviceBuffer<float> rate = scalar(1.0f);
  struct Betas {
    double beta1, beta2;
  };
  for (const Betas& b : {Betas{0.9, 0.999}, {0.999, 0.9}, {0, 0.999999}, {0.5, 0.95}})
    for (double t = 1; t <= 1 << 24; t = t < 32 ? t + 1 : std::floor(t * 1.37)) {
      const DeviceBuffer<std::int32_t> step = scalar(static_cast<std::int32_t>(t) - 1);
      Model model = one(0, 1, 1, 1, 0);
      cuda::adamw(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), step.data(), {b.beta1, b.beta2, 0}, {},
                  kNoStream);
      const double expected = -std::sqrt(1 - std::pow(b.beta2, t)) / (1 - std::pow(b.beta1, t));
      EXPECT_NEAR(model[0].weight[0] / expected, 1, 12 * kRounding) << b.beta1 << " " << b.beta2 << " at " << t;
    }
}

constexpr int kSteps = 3;

struct Scaling {  // on the device
  DeviceBuffer<float> scale;
  DeviceBuffer<std::int32_t> finite, skipped;

  cuda::LossScale loss_scale() const { return {scale.data(), finite.data(), skipped.data()}; }
};

void reference_sgd(Model& model, float rate, const SgdNumbers& numbers, double scale) {
  const std::vector<GuardedBuffer<float>> g = gradients(model, scale);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const SgdTensor tensor = {model[i].weight.data(), model[i].state1.data(), g[i].data(), model[i].n()};
    reference::sgd(&tensor, 1, &rate, numbers);
  }
}

TEST(CudaSgd, StepsMatchReference) {
  const DeviceBuffer<float> rate = scalar(0.05f);
  const DeviceBuffer<float> clip = scalar(0.3f);
  for (const float scale : {1.0f, 1000.0f})
    for (const SgdNumbers& numbers : {SgdNumbers{0.9, 1e-4}, SgdNumbers{0, 0}, SgdNumbers{0.9, 1e-4, clip.data()}}) {
      const Scaling scaling = {scalar(scale), scalar(1), scalar(0)};
      Model expected(parameters(scale));
      for (int step = 0; step < kSteps; ++step) reference_sgd(expected, rate[0], numbers, scale);
      for_each_order("scale " + std::to_string(scale), [&] {
        Model model(parameters(scale));
        for (int step = 0; step < kSteps; ++step)
          cuda::sgd(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), numbers,
                    scale == 1 ? cuda::LossScale{} : scaling.loss_scale(), kNoStream);
        expect_same(model, expected, kSteps);
      });
    }
}

void reference_adamw(Model& model, float rate, std::int32_t step, const AdamwNumbers& numbers, double scale) {
  const std::vector<GuardedBuffer<float>> g = gradients(model, scale);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const AdamwTensor tensor = {model[i].weight.data(), model[i].state1.data(), model[i].state2.data(), g[i].data(),
                                model[i].n(),           model[i].weight_decay};
    reference::adamw(&tensor, 1, &rate, &step, numbers);
  }
}

// With loss scaling, skipped steps do not count.
TEST(CudaAdamw, StepsMatchReference) {
  const DeviceBuffer<float> rate = scalar(0.01f);
  const DeviceBuffer<float> clip = scalar(0.3f);
  constexpr std::int32_t kSkipped = 7;
  for (const float scale : {1.0f, 1000.0f})
    for (const std::int32_t first : {0, 2000000}) {
      const AdamwNumbers numbers = {0.9, 0.999, 1e-8, first > 0 ? clip.data() : nullptr};
      const Scaling scaling = {scalar(scale), scalar(1), scalar(kSkipped)};
      Model expected(parameters(scale));
      for (std::int32_t step = first; step < first + kSteps; ++step) reference_adamw(expected, rate[0], step, numbers, scale);
      for_each_order("scale " + std::to_string(scale) + " from step " + std::to_string(first), [&] {
        Model model(parameters(scale));
        DeviceBuffer<std::int32_t> step = scalar(scale == 1 ? first : first + kSkipped);
        for (int i = 0; i < kSteps; ++i) {
          cuda::adamw(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), step.data(), numbers,
                      scale == 1 ? cuda::LossScale{} : scaling.loss_scale(), kNoStream);
          cuda::increment(step.data(), kNoStream);
        }
        expect_same(model, expected, kSteps);
        expect_copies(model);
      });
    }
}

// rate * weight_decay far below float's eps at 1 must not be lost: after many steps without a gradient the weight has decayed
// as computed in double.
TEST(CudaAdamw, SmallDecayKeepsItsSize) {
  constexpr int kMany = 2000;
  const DeviceBuffer<float> rate = scalar(1e-3f);
  const DeviceBuffer<std::int32_t> step = scalar(0);
  const double decay = 0.02 * static_cast<double>(rate[0]);  // 2e-5 per step: 1 - 2e-5 as a float errs by up to 0.15 % of it
  Model model = one(1, 0, 0, 0, 0.02);
  for (int i = 0; i < kMany; ++i)
    cuda::adamw(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), step.data(), {0.9, 0.999, 1e-8}, {},
                kNoStream);
  // Each step rounds by at most half of float's eps, and the errors of both signs cancel like a random walk's; margin of 8.
  EXPECT_NEAR(model[0].weight[0], std::pow(1 - decay, kMany), 8 * std::sqrt(kMany) * kEps / 2);
}

TEST(CudaLossScale, NonFiniteGradientsChangeNothing) {
  const DeviceBuffer<float> rate = scalar(0.05f);
  const DeviceBuffer<std::int32_t> step = scalar(3);
  const Scaling scaling = {scalar(8.0f), scalar(0), scalar(1)};
  const Model before(parameters());
  Model model(parameters());
  cuda::sgd(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), {0.9, 1e-4}, scaling.loss_scale(), kNoStream);
  cuda::adamw(model.tensors(), model.chunks(), model.chunk_count(), rate.data(), step.data(), {0.9, 0.999, 1e-8},
              scaling.loss_scale(), kNoStream);
  expect_untouched(model, before);
}

// Sums of squares, which are positive, err by fewer roundings than a thread adds numbers, 128, plus the trees of additions.
TEST(CudaClipFactor, MatchesReferenceAndIsBitEqualInEveryOrder) {
  for (const float scale : {1.0f, 1000.0f}) {
    Model model(parameters(scale));
    const DeviceBuffer<float> loss_scale = scalar(scale);
    double squares = 0;
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
      const GuardedBuffer<float> g = model[i].gradient.floats();
      squares += reference::sum_of_squares(g.data(), Element::f32, model[i].n()) / (static_cast<double>(scale) * scale);
    }
    const double norm = std::sqrt(squares);
    for (const double largest : {norm / 3, norm * 2}) {
      std::vector<float> factors;
      for_each_order("scale " + std::to_string(scale), [&] {
        DeviceBuffer<float> factor(1), workspace = scratch(cuda::clip_workspace_bytes(model.chunk_count()));
        cuda::clip_factor(factor.data(), model.tensors(), model.chunks(), model.chunk_count(),
                          scale == 1 ? nullptr : loss_scale.data(), static_cast<float>(largest), workspace.data(), kNoStream);
        EXPECT_NEAR(factor[0], std::min(1.0, largest / norm), 96 * kEps);
        EXPECT_TRUE(factor.guards_intact() && workspace.guards_intact());
        factors.push_back(factor[0]);
        EXPECT_EQ(factors.front(), factors.back());
      });
    }
  }
}

// As ranks take it, with what the others have of the gradient in between.
TEST(CudaClipFactor, OfSharesIsThatOfTheWhole) {
  Model model(parameters());
  DeviceBuffer<float> whole(1), factor(1), sum(1), workspace = scratch(cuda::clip_workspace_bytes(model.chunk_count()));
  cuda::sum_of_squares(sum.data(), model.tensors(), model.chunks(), model.chunk_count(), workspace.data(), kNoStream);
  const float largest = std::sqrt(sum[0]) / 3;
  cuda::clip_factor(whole.data(), model.tensors(), model.chunks(), model.chunk_count(), nullptr, largest, workspace.data(),
                    kNoStream);
  cuda::clip_factor(factor.data(), sum.data(), largest, kNoStream);
  EXPECT_EQ(factor[0], whole[0]);
  EXPECT_NEAR(factor[0], 1.0 / 3, 96 * kEps);
  cuda::sum_of_squares(sum.data(), model.tensors(), model.chunks(), 0, workspace.data(), kNoStream);  // a rank without a share
  EXPECT_EQ(sum[0], 0);
  EXPECT_TRUE(sum.guards_intact() && factor.guards_intact() && workspace.guards_intact());
}

TEST(CudaClipFactor, LeavesNoFiniteGradientWhereOneIsNot) {
  Model model(parameters());
  for (const float bad : {INFINITY, NAN}) {
    GuardedBuffer<float> values = model[0].gradient.floats();
    values[0] = bad;
    model[0].gradient.write(values);
    DeviceBuffer<float> factor(1), workspace = scratch(cuda::clip_workspace_bytes(model.chunk_count()));
    cuda::clip_factor(factor.data(), model.tensors(), model.chunks(), model.chunk_count(), nullptr, 1, workspace.data(),
                      kNoStream);
    EXPECT_TRUE(std::isnan(factor[0] * bad)) << factor[0];
  }
}

// One non-finite value at each kind of position: first and last element of each tensor, and either side of a chunk boundary.
TEST(CudaAllFinite, FindsOneBadNumberAnywhere) {
  Model model(parameters());
  DeviceBuffer<std::int32_t> finite(1);
  const auto check = [&] {
    finite.poison();
    cuda::all_finite(finite.data(), model.tensors(), model.chunks(), model.chunk_count(), kNoStream);
    return finite[0];
  };
  for_each_order("", [&] {
    EXPECT_EQ(check(), 1);
    const float bad[] = {INFINITY, -INFINITY, NAN};
    int kind = 0;
    for (std::size_t i = 0; i < model.parameters().size(); ++i) {
      const GuardedBuffer<float> good = model[i].gradient.floats();
      const std::int64_t n = model[i].n(), chunk = cuda::kChunkElements;
      for (const std::int64_t at : {std::int64_t{0}, n - 1, n / 2, chunk - 1, chunk, 2 * chunk}) {
        if (at < 0 || at >= n) continue;
        GuardedBuffer<float> values = good;
        values[at] = bad[kind++ % 3];
        model[i].gradient.write(values);
        EXPECT_EQ(check(), 0) << "tensor " << i << " [" << at << "] " << values[at];
      }
      model[i].gradient.write(good);
    }
    EXPECT_EQ(check(), 1);
  });
  EXPECT_TRUE(finite.guards_intact());
}

TEST(CudaAllFinite, LargestNumbersAreFinite) {
  const float largest[] = {FLT_MAX, 0x1.fep127f, 65504};  // fp32, bf16, fp16
  int kind = 0;
  for (Element element : {Element::f32, Element::bf16, Element::f16}) {
    std::vector<Parameter> parameters;
    const std::vector<float> values = {largest[kind], -largest[kind], 0, largest[kind], largest[kind]};
    ++kind;
    parameters.push_back({DeviceBuffer<float>(5), DeviceBuffer<float>(5), DeviceBuffer<float>(5), Tensor(values, element), 0});
    const Model model(std::move(parameters));
    DeviceBuffer<std::int32_t> finite(1);
    cuda::all_finite(finite.data(), model.tensors(), model.chunks(), model.chunk_count(), kNoStream);
    EXPECT_EQ(finite[0], 1) << test::name_of(element);
  }
}

class LossScaleState {
 public:
  LossScaleState(float scale, const cuda::LossScaleNumbers& numbers)
      : numbers_(numbers), scale_(scalar(scale)), finite_steps_(scalar(0)), skipped_(scalar(0)) {}

  void step(bool finite) {
    const DeviceBuffer<std::int32_t> flag = scalar(finite ? 1 : 0);
    cuda::update_loss_scale(scale_.data(), finite_steps_.data(), skipped_.data(), flag.data(), numbers_, kNoStream);
  }
  float scale() const { return scale_[0]; }
  std::int32_t finite_steps() const { return finite_steps_[0]; }
  std::int32_t skipped() const { return skipped_[0]; }

 private:
  cuda::LossScaleNumbers numbers_;
  DeviceBuffer<float> scale_;
  DeviceBuffer<std::int32_t> finite_steps_, skipped_;
};

TEST(CudaLossScale, GrowsAfterTheIntervalAndBacksOffAtOnce) {
  LossScaleState state(1024, {2, 0.5f, 3, 1, 0x1p24f});
  state.step(true);
  state.step(true);
  EXPECT_EQ(state.scale(), 1024);
  EXPECT_EQ(state.finite_steps(), 2);
  state.step(false);  // the count starts again
  EXPECT_EQ(state.scale(), 512);
  EXPECT_EQ(state.finite_steps(), 0);
  EXPECT_EQ(state.skipped(), 1);
  for (int i = 0; i < 2; ++i) state.step(true);
  EXPECT_EQ(state.scale(), 512);
  state.step(true);
  EXPECT_EQ(state.scale(), 1024);
  EXPECT_EQ(state.finite_steps(), 0);
  EXPECT_EQ(state.skipped(), 1);
}

TEST(CudaLossScale, StaysWithinItsBounds) {
  LossScaleState state(0x1p19f, {2, 0.25f, 1, 4, 0x1p20f});
  for (int i = 0; i < 3; ++i) state.step(true);
  EXPECT_EQ(state.scale(), 0x1p20f);
  for (int i = 0; i < 20; ++i) state.step(false);
  EXPECT_EQ(state.scale(), 4);
  EXPECT_EQ(state.skipped(), 20);
}

TEST(CudaRecordStep, WritesTheRingInOrderAndCountsSteps) {
  constexpr std::uint32_t kCapacity = 3;
  DeviceBuffer<cuda::StepScalars> ring(kCapacity);
  DeviceBuffer<std::uint32_t> cursor = scalar(0u);
  for (std::uint32_t step = 0; step < 5; ++step) {
    const DeviceBuffer<float> loss = scalar(static_cast<float>(step) + 0.5f), correct = scalar(static_cast<float>(step));
    cuda::record_step(ring.data(), cursor.data(), kCapacity, step == 3 ? nullptr : loss.data(),
                      step == 4 ? nullptr : correct.data(), kNoStream);
    EXPECT_EQ(cursor[0], step + 1);
  }
  const cuda::StepScalars expected[kCapacity] = {{0, 3}, {4.5f, 0}, {2.5f, 2}};
  for (std::uint32_t i = 0; i < kCapacity; ++i) {
    EXPECT_EQ(ring[i].loss, expected[i].loss) << i;
    EXPECT_EQ(ring[i].correct, expected[i].correct) << i;
  }
  EXPECT_TRUE(ring.guards_intact() && cursor.guards_intact());
}

TEST(CudaWaiting, AddsUpUntilItIsRecorded) {
  constexpr std::uint32_t kCapacity = 3;
  DeviceBuffer<float> ring(kCapacity);
  const DeviceBuffer<std::uint32_t> cursor = scalar(4u);
  DeviceBuffer<cuda::Waiting> waiting = scalar(cuda::Waiting{0, 3'000'000'000});
  cuda::begin_waiting(waiting.data(), kNoStream);
  cuda::end_waiting(waiting.data(), kNoStream);
  EXPECT_GT(waiting[0].since, 0);
  EXPECT_GE(waiting[0].nanoseconds, 3'000'000'000);
  EXPECT_LT(waiting[0].nanoseconds, 4'000'000'000);
  ring.poison();
  cuda::record_waiting(ring.data(), cursor.data(), kCapacity, waiting.data(), kNoStream);
  EXPECT_GE(ring[1], 3);
  EXPECT_LT(ring[1], 4);
  EXPECT_EQ(waiting[0].nanoseconds, 0);
  EXPECT_TRUE(std::isnan(ring[0]) && std::isnan(ring[2]));
  EXPECT_TRUE(ring.guards_intact() && waiting.guards_intact());
}

}  // namespace
}  // namespace epochbench
