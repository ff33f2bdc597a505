// What only CUDA's optimizers have: gradients that are scaled, copies of weights, a norm of shares, the search for numbers that
// are not finite, and the scalars that a step writes.
#include <cfloat>

#include "kernels/cuda/exchange.h"
#include "tests/support/cuda_kernel_test.h"
#include "tests/support/cuda_parameters.h"

namespace epochbench {
namespace {

using test::CudaParameters;
using test::expect_same_parameters;
using test::Parameter;
using test::Parameters;

const std::vector<Element> kElements = {Element::f32, Element::bf16, Element::f16};

template <typename T>
DeviceBuffer<T> scalar(T value) {
  return on_device<T>({&value, 1});
}

// Copies of some of the parameters, in both types.
std::vector<Tensor> copies_for(const Parameters& parameters) {
  std::vector<Tensor> copies;
  for (const Parameter& p : parameters)
    copies.emplace_back(copies.size() % 3 == 0 ? 0 : p.n(), copies.size() % 2 == 0 ? Element::bf16 : Element::f16);
  return copies;
}

constexpr int kSteps = 3;

struct Scaling {  // on the device
  DeviceBuffer<float> scale;
  DeviceBuffer<std::int32_t> finite, skipped;

  cuda::LossScale loss_scale() const { return {scale.data(), finite.data(), skipped.data()}; }
};

TEST(CudaSgd, ScaledStepsMatchReference) {
  constexpr float kScale = 1000;
  const DeviceBuffer<float> rate = scalar(0.05f), clip = scalar(0.3f);
  const Scaling scaling = {scalar(kScale), scalar(1), scalar(0)};
  for (const SgdNumbers& numbers : {SgdNumbers{0.9, 1e-4}, SgdNumbers{0.9, 1e-4, clip.data()}}) {
    Parameters expected = test::small_model(kElements, kScale);
    for (int step = 0; step < kSteps; ++step) test::reference_sgd(expected, rate.data(), numbers, kScale);
    for_each_order("", [&] {
      Parameters parameters = test::small_model(kElements, kScale);
      const CudaParameters p(parameters);
      for (int step = 0; step < kSteps; ++step)
        cuda::sgd(p.tensors(), p.chunks(), p.chunk_count(), rate.data(), numbers, scaling.loss_scale(), kNoStream);
      expect_same_parameters(parameters, expected, kSteps);
    });
  }
}

// Skipped steps do not count. Copies are the weights, rounded once.
TEST(CudaAdamw, ScaledStepsMatchReferenceAndLeaveCopies) {
  constexpr float kScale = 1000;
  constexpr std::int32_t kSkipped = 7;
  const DeviceBuffer<float> rate = scalar(0.01f), clip = scalar(0.3f);
  const Scaling scaling = {scalar(kScale), scalar(1), scalar(kSkipped)};
  for (const std::int32_t first : {0, 2000000}) {
    const AdamwNumbers numbers = {0.9, 0.999, 1e-8, first > 0 ? clip.data() : nullptr};
    Parameters expected = test::small_model(kElements, kScale);
    for (std::int32_t step = first; step < first + kSteps; ++step)
      test::reference_adamw(expected, rate.data(), &step, numbers, kScale);
    for_each_order("from step " + std::to_string(first), [&] {
      Parameters parameters = test::small_model(kElements, kScale);
      std::vector<Tensor> copies = copies_for(parameters);
      const CudaParameters p(parameters, &copies);
      DeviceBuffer<std::int32_t> step = scalar(first + kSkipped);
      for (int i = 0; i < kSteps; ++i) {
        cuda::adamw(p.tensors(), p.chunks(), p.chunk_count(), rate.data(), step.data(), numbers, scaling.loss_scale(),
                    kNoStream);
        cuda::increment(step.data(), kNoStream);
      }
      expect_same_parameters(parameters, expected, kSteps);
      for (std::size_t i = 0; i < copies.size(); ++i) {
        if (copies[i].size() == 0) continue;
        EXPECT_TRUE(bit_equal(copies[i].floats(), Tensor(parameters[i].weight, copies[i].element()).floats())) << i;
        EXPECT_TRUE(copies[i].guards_intact()) << i;
      }
    });
  }
}

TEST(CudaLossScale, NonFiniteGradientsChangeNothing) {
  const DeviceBuffer<float> rate = scalar(0.05f);
  const DeviceBuffer<std::int32_t> step = scalar(3);
  const Scaling scaling = {scalar(8.0f), scalar(0), scalar(1)};
  const Parameters before = test::small_model(kElements);
  const std::vector<Tensor> copies_before = copies_for(before);
  Parameters parameters = test::small_model(kElements);
  std::vector<Tensor> copies = copies_before;
  const CudaParameters p(parameters, &copies);
  cuda::sgd(p.tensors(), p.chunks(), p.chunk_count(), rate.data(), {0.9, 1e-4}, scaling.loss_scale(), kNoStream);
  cuda::adamw(p.tensors(), p.chunks(), p.chunk_count(), rate.data(), step.data(), {0.9, 0.999, 1e-8}, scaling.loss_scale(),
              kNoStream);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Parameter &a = parameters[i], &b = before[i];
    EXPECT_TRUE(bit_equal(a.weight, b.weight) && bit_equal(a.state1, b.state1) && bit_equal(a.state2, b.state2)) << i;
    EXPECT_TRUE(bit_equal(copies[i].floats(), copies_before[i].floats())) << i;
  }
}

TEST(CudaClipFactor, OfScaledGradientsMatchesReference) {
  constexpr float kScale = 1000;
  Parameters parameters = test::small_model(kElements, kScale);
  const CudaParameters p(parameters);
  const DeviceBuffer<float> loss_scale = scalar(kScale);
  const double norm = test::reference_norm(parameters, kScale);
  for_each_order("", [&] {
    DeviceBuffer<float> factor(1), workspace = scratch(cuda::clip_workspace_bytes(p.chunk_count()));
    cuda::clip_factor(factor.data(), p.tensors(), p.chunks(), p.chunk_count(), loss_scale.data(), static_cast<float>(norm / 3),
                      workspace.data(), kNoStream);
    EXPECT_NEAR(factor[0], 1.0 / 3, test::kNormError);
  });
}

// As ranks take it, with what the others have of the gradient in between.
TEST(CudaClipFactor, OfSharesIsThatOfTheWhole) {
  Parameters parameters = test::small_model(kElements);
  const CudaParameters p(parameters);
  DeviceBuffer<float> whole(1), factor(1), sum(1), workspace = scratch(cuda::clip_workspace_bytes(p.chunk_count()));
  cuda::sum_of_squares(sum.data(), p.tensors(), p.chunks(), p.chunk_count(), workspace.data(), kNoStream);
  const float largest = std::sqrt(sum[0]) / 3;
  cuda::clip_factor(whole.data(), p.tensors(), p.chunks(), p.chunk_count(), nullptr, largest, workspace.data(), kNoStream);
  cuda::clip_factor(factor.data(), sum.data(), largest, kNoStream);
  EXPECT_EQ(factor[0], whole[0]);
  EXPECT_NEAR(factor[0], 1.0 / 3, test::kNormError);
  cuda::sum_of_squares(sum.data(), p.tensors(), p.chunks(), 0, workspace.data(), kNoStream);  // a rank without a share
  EXPECT_EQ(sum[0], 0);
  EXPECT_TRUE(sum.guards_intact() && factor.guards_intact() && workspace.guards_intact());
}

// One non-finite value at each kind of position: first and last element of each tensor, and either side of a chunk boundary.
TEST(CudaAllFinite, FindsOneBadNumberAnywhere) {
  Parameters parameters = test::small_model(kElements);
  const CudaParameters p(parameters);
  DeviceBuffer<std::int32_t> finite(1);
  const auto check = [&] {
    finite.poison();
    cuda::all_finite(finite.data(), p.tensors(), p.chunks(), p.chunk_count(), kNoStream);
    return finite[0];
  };
  for_each_order("", [&] {
    EXPECT_EQ(check(), 1);
    const float bad[] = {INFINITY, -INFINITY, NAN};
    int kind = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const GuardedBuffer<float> good = parameters[i].gradient.floats();
      const std::int64_t n = parameters[i].n(), chunk = cuda::kChunkElements;
      for (const std::int64_t at : {std::int64_t{0}, n - 1, n / 2, chunk - 1, chunk, 2 * chunk}) {
        if (at < 0 || at >= n) continue;
        GuardedBuffer<float> values = good;
        values[at] = bad[kind++ % 3];
        parameters[i].gradient.write(values);
        EXPECT_EQ(check(), 0) << "tensor " << i << " [" << at << "] " << values[at];
      }
      parameters[i].gradient.write(good);
    }
    EXPECT_EQ(check(), 1);
  });
  EXPECT_TRUE(finite.guards_intact());
}

TEST(CudaAllFinite, LargestNumbersAreFinite) {
  const float largest[] = {FLT_MAX, 0x1.fep127f, 65504};  // fp32, bf16, fp16
  int kind = 0;
  for (Element element : {Element::f32, Element::bf16, Element::f16}) {
    Parameters parameters;
    const std::vector<float> values = {largest[kind], -largest[kind], 0, largest[kind], largest[kind]};
    ++kind;
    parameters.push_back({DeviceBuffer<float>(5), DeviceBuffer<float>(5), DeviceBuffer<float>(5), Tensor(values, element), 0});
    const CudaParameters p(parameters);
    DeviceBuffer<std::int32_t> finite(1);
    cuda::all_finite(finite.data(), p.tensors(), p.chunks(), p.chunk_count(), kNoStream);
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
