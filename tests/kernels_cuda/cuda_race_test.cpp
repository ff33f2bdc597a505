// Races in our CUDA kernels, between the threads of a block and between blocks: ThreadSanitizer treats every thread of a grid
// as a thread, and assumes only the ordering that a GPU guarantees. A few blocks each, since a thread costs half a millisecond.
// Other tests check the numbers; only that sanitizer's build contains this one.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/support/cuda_kernel_test.h"
#include "tests/support/cuda_on_cpu.h"

namespace epochbench {
namespace {

// ---- What is a race and what is not ----

void exchange(int* values, bool sync_warp) {
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (sync_warp)
    __syncwarp();
  else
    __shfl_sync(0xffffffffu, 1, 0);
  values[32 + threadIdx.x] = values[31 - threadIdx.x];
}
void exchange_by_barrier(int* values, bool barrier) {
  values[threadIdx.x] = 1;
  if (barrier) __syncthreads();
  values[64 + threadIdx.x] = values[63 - threadIdx.x];
}
void write_one_place(int* values, bool atomic) {
  if (threadIdx.x != 0) return;
  if (atomic)
    atomicAdd(values, 1);
  else
    values[0] = 1;
}
void mix_atomic_and_plain(int* values, bool) {
  if (threadIdx.x == 0)
    atomicAdd(values, 1);
  else if (threadIdx.x == 1)
    values[0] = 5;
}

void race(void (*kernel)(int*, bool), dim3 grid, dim3 block, bool ordered) {
  int values[128] = {};
  cuda::launch(kernel, grid, block, 0, kNoStream, values, ordered);
  std::fputs("end\n", stderr);
  std::_Exit(0);
}
bool any_end(int) { return true; }

TEST(CudaRacesDeathTest, BarriersAndSyncwarpOrderMemory) {
  EXPECT_EXIT(race(exchange_by_barrier, dim3(1), dim3(64), true), testing::ExitedWithCode(0), "^end\n$");
  EXPECT_EXIT(race(exchange_by_barrier, dim3(1), dim3(64), false), any_end, "data race");
  EXPECT_EXIT(race(exchange, dim3(1), dim3(32), true), testing::ExitedWithCode(0), "^end\n$");
}

TEST(CudaRacesDeathTest, ShufflesDoNotOrderMemory) {
  EXPECT_EXIT(race(exchange, dim3(1), dim3(32), false), any_end, "data race");
}

TEST(CudaRacesDeathTest, BlocksAreUnordered) {
  EXPECT_EXIT(race(write_one_place, dim3(2), dim3(2), false), any_end, "data race");
  EXPECT_EXIT(race(write_one_place, dim3(2), dim3(2), true), testing::ExitedWithCode(0), "^end\n$");
}

TEST(CudaRacesDeathTest, AtomicsOrderOnlyThemselves) {
  EXPECT_EXIT(race(mix_atomic_and_plain, dim3(1), dim3(2), false), any_end, "data race");
}

TEST(CudaRaces, LaunchesAreOrdered) {
  int value = 0;
  for (int i = 0; i < 3; ++i) cuda::launch(write_one_place, dim3(1), dim3(2), 0, kNoStream, &value, false);
  EXPECT_EQ(value, 1);
}

// ---- Our kernels ----

TEST(CudaRaces, ElementWise) {
  constexpr std::int64_t kCount = 4100;  // two blocks
  const Tensor x = random_tensor(kCount, Element::bf16, 1);
  Tensor y(kCount, Element::bf16);
  cuda::gelu(y.data(), x.data(), kCount, Element::bf16, kNoStream);
  cuda::gelu_tanh(y.data(), x.data(), kCount, Element::bf16, kNoStream);
  const Tensor bias = random_tensor(41, Element::bf16, 2);
  cuda::bias_add(y.data(), x.data(), bias.data(), 100, 41, 41, Element::bf16, kNoStream);
  Tensor sum(kCount, Element::bf16);
  cuda::bias_gelu(y.data(), sum.data(), x.data(), bias.data(), 100, 41, false, Element::bf16, kNoStream);
}

TEST(CudaRaces, BiasAddGrad) {
  const Tensor dy = random_tensor(90 * 36, Element::f32, 1);
  Tensor dbias(36, Element::f32);
  DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(90, 36));
  cuda::bias_add_grad(dbias.data(), dy.data(), 90, 36, 36, Element::f32, workspace.data(), kNoStream);
}

TEST(CudaRaces, Depthwise) {
  const Conv2dShape s = test::depthwise(1, 6, 7, 8, 3, 2, 1);
  const Tensor x = random_tensor(inputs(s), Element::bf16, 1), dy = random_tensor(outputs(s), Element::bf16, 2),
               weight = random_tensor(9 * s.channels, Element::bf16, 3);
  Tensor y(outputs(s), Element::bf16), dx(inputs(s), Element::bf16), dweight(9 * s.channels, Element::bf16);
  DeviceBuffer<float> workspace = scratch(cuda::depthwise_conv2d_grad_weight_workspace_bytes(s));
  cuda::depthwise_conv2d(y.data(), x.data(), weight.data(), s, Element::bf16, kNoStream);
  cuda::depthwise_conv2d_grad_input(dx.data(), dy.data(), weight.data(), s, Element::bf16, kNoStream);
  cuda::depthwise_conv2d_grad_weight(dweight.data(), dy.data(), x.data(), s, Element::bf16, workspace.data(), kNoStream);
  Tensor dscale(s.channels, Element::bf16);
  cuda::scale_channels_grad(dscale.data(), x.data(), x.data(), 1, 42, s.channels, Element::bf16, kNoStream);
  cuda::squeeze_excite_grad(dx.data(), x.data(), dscale.data(), dscale.data(), x.data(), 1, 42, s.channels, Element::bf16,
                            kNoStream);
}

TEST(CudaRaces, BatchNorm) {
  for (std::int64_t channels : {8, 17}) {
    constexpr std::int64_t kRows = 70;
    const std::int64_t n = kRows * channels;
    const Tensor x = random_tensor(n, Element::bf16, 1), shortcut = random_tensor(n, Element::bf16, 2),
                 dy = random_tensor(n, Element::bf16, 3);
    Tensor y(n, Element::bf16), dx(n, Element::bf16), dz(n, Element::bf16);
    const DeviceBuffer<float> scale = random_device_floats(channels, 4), bias = random_device_floats(channels, 5);
    DeviceBuffer<float> mean(channels), inv_std(channels),
        running_mean = random_device_floats(channels, 6), running_variance = random_device_floats(channels, 7, 1, 2),
        dscale(channels), dbias(channels), workspace = scratch(cuda::reduction_workspace_bytes(kRows, channels));
    DeviceBuffer<std::uint32_t> mask(static_cast<std::int64_t>(cuda::mask_bytes(n) / 4));
    cuda::batch_norm(y.data(), mask.data(), mean.data(), inv_std.data(), running_mean.data(), running_variance.data(), x.data(),
                     scale.data(), bias.data(), shortcut.data(), kRows, channels, 1e-5, 0.1, true, Element::bf16,
                     workspace.data(), kNoStream);
    cuda::batch_norm_grad(dx.data(), dscale.data(), dbias.data(), dz.data(), dy.data(), nullptr, mask.data(), nullptr, x.data(),
                          scale.data(), mean.data(), inv_std.data(), kRows, channels, Element::bf16, workspace.data(),
                          kNoStream);
  }
}

TEST(CudaRaces, BatchNormOfSums) {
  for (std::int64_t channels : {8, 17}) {
    constexpr std::int64_t kRows = 70;
    const std::int64_t n = kRows * channels;
    const Tensor x = random_tensor(n, Element::bf16, 1), shortcut = random_tensor(n, Element::bf16, 2);
    Tensor y(n, Element::bf16), dz = random_tensor(n, Element::bf16, 3);
    const DeviceBuffer<float> sums = random_device_floats(2 * channels, 4, 1, 2), scale = random_device_floats(channels, 5),
                              bias = random_device_floats(channels, 6);
    DeviceBuffer<float> mean(channels), inv_std(channels),
        running_mean = random_device_floats(channels, 7), running_variance = random_device_floats(channels, 8, 1, 2),
        dscale(channels), dbias(channels), workspace = scratch(cuda::reduction_workspace_bytes(kRows, channels));
    DeviceBuffer<std::uint32_t> mask(static_cast<std::int64_t>(cuda::mask_bytes(n) / 4));
    cuda::batch_norm_of_sums(y.data(), mask.data(), mean.data(), inv_std.data(), running_mean.data(), running_variance.data(),
                             x.data(), sums.data(), scale.data(), bias.data(), shortcut.data(), kRows, channels, 1e-5, 0.1,
                             true, Element::bf16, workspace.data(), kNoStream);
    cuda::batch_norm_grad_of_sums(dz.data(), dscale.data(), dbias.data(), dz.data(), x.data(), sums.data(), scale.data(),
                                  mean.data(), inv_std.data(), kRows, channels, Element::bf16, workspace.data(), kNoStream);
  }
}

// Rows that take one warp each, and one that takes a block.
TEST(CudaRaces, LayerNorm) {
  for (const auto& [rows, channels] : {std::pair<std::int64_t, std::int64_t>{9, 40}, {1, 1028}}) {
    const Tensor x = random_tensor(rows * channels, Element::f32, 1), dy = random_tensor(rows * channels, Element::f32, 2);
    Tensor y(rows * channels, Element::f32), dx(rows * channels, Element::f32);
    const DeviceBuffer<float> scale = random_device_floats(channels, 3), bias = random_device_floats(channels, 4);
    DeviceBuffer<float> mean(rows), inv_std(rows), dscale(channels), dbias(channels),
        workspace = scratch(cuda::reduction_workspace_bytes(rows, channels));
    cuda::layer_norm(y.data(), mean.data(), inv_std.data(), x.data(), scale.data(), bias.data(), rows, channels, 1e-5,
                     Element::f32, kNoStream);
    cuda::layer_norm_grad(dx.data(), dscale.data(), dbias.data(), dy.data(), x.data(), scale.data(), mean.data(),
                          inv_std.data(), rows, channels, Element::f32, workspace.data(), kNoStream);
  }
}

TEST(CudaRaces, AddLayerNorm) {
  for (const auto& [rows, channels] : {std::pair<std::int64_t, std::int64_t>{9, 40}, {1, 1028}}) {
    const std::int64_t n = rows * channels;
    const Tensor x = random_tensor(n, Element::f32, 1), shortcut = random_tensor(n, Element::f32, 2),
                 dy = random_tensor(n, Element::f32, 3);
    Tensor y(n, Element::f32), sum(n, Element::f32), dx(n, Element::f32), dsum(n, Element::f32);
    const DeviceBuffer<float> scale = random_device_floats(channels, 4), bias = random_device_floats(channels, 5);
    const std::int32_t zero = 0;
    const DeviceBuffer<std::int32_t> step = on_device<std::int32_t>({&zero, 1});
    const Dropout dropout{3, 2, 1u << 31, 2};
    DeviceBuffer<float> mean(rows), inv_std(rows), dscale(channels), dbias(channels),
        workspace = scratch(cuda::reduction_workspace_bytes(rows, channels));
    cuda::add_layer_norm(y.data(), mean.data(), inv_std.data(), sum.data(), x.data(), shortcut.data(), scale.data(),
                         bias.data(), step.data(), dropout, rows, channels, 1e-5, Element::f32, kNoStream);
    cuda::add_layer_norm_grad(dx.data(), dscale.data(), dbias.data(), dsum.data(), dy.data(), sum.data(), scale.data(),
                              mean.data(), inv_std.data(), step.data(), dropout, rows, channels, Element::f32, workspace.data(),
                              kNoStream);
  }
}

// The kernels are those of LayerNorm, which also takes a row by a block.
TEST(CudaRaces, RmsNorm) {
  constexpr std::int64_t kRows = 3, kChannels = 40, kCount = kRows * kChannels;
  const Tensor x = random_tensor(kCount, Element::bf16, 1), shortcut = random_tensor(kCount, Element::bf16, 2);
  Tensor y(kCount, Element::bf16), sum(kCount, Element::bf16), dy = random_tensor(kCount, Element::bf16, 3);
  const DeviceBuffer<float> scale = random_device_floats(kChannels, 4);
  DeviceBuffer<float> inv_rms(kRows), dscale(kChannels), workspace = scratch(cuda::reduction_workspace_bytes(kRows, kChannels));
  cuda::add_rms_norm(y.data(), inv_rms.data(), sum.data(), x.data(), shortcut.data(), scale.data(), kRows, kChannels, 1e-5,
                     Element::bf16, kNoStream);
  cuda::rms_norm_grad(dy.data(), dscale.data(), dy.data(), sum.data(), scale.data(), inv_rms.data(), kRows, kChannels,
                      Element::bf16, workspace.data(), kNoStream);
}

// Columns that no head rotates, by themselves and in place; gate and up side by side.
TEST(CudaRaces, RotaryAndSwiglu) {
  const RotaryShape rotated{4, 13, 2, 6, 2};
  Tensor x = random_tensor(52, Element::bf16, 1), y(52, Element::bf16);
  const DeviceBuffer<float> table = random_device_floats(12, 2);
  cuda::rotary(y.data(), x.data(), table.data(), rotated, Element::bf16, kNoStream);
  cuda::rotary(x.data(), x.data(), table.data(), rotated, Element::bf16, kNoStream);
  const SwigluShape joint{7, 33, true};
  Tensor gates = random_tensor(2 * 7 * 33, Element::f32, 3);
  const Tensor dy = random_tensor(7 * 33, Element::f32, 4);
  Tensor of_gates(7 * 33, Element::f32);
  float* const gate = static_cast<float*>(gates.data());
  cuda::swiglu(of_gates.data(), gate, gate + 33, joint, Element::f32, kNoStream);
  cuda::swiglu_grad(gate, gate + 33, dy.data(), gate, gate + 33, joint, Element::f32, kNoStream);
}

// Rows of a warp each, and one of a block; over the scores.
TEST(CudaRaces, AttentionSoftmax) {
  for (const AttentionShape& shape : {AttentionShape{1, 8, 1, 1}, AttentionShape{1, 3, 1, 1, false, true}}) {
    const std::int64_t rows = shape.sequence, n = rows * shape.sequence;
    DeviceBuffer<float> scores = random_device_floats(n, 1), dweights = random_device_floats(n, 2), log_sum_exp(rows);
    const std::int32_t zero = 0;
    const DeviceBuffer<std::int32_t> step = on_device<std::int32_t>({&zero, 1});
    const Dropout dropout{3, 2, 1u << 31, 2};
    const DeviceBuffer<float> kept = scores;
    cuda::attention_softmax(scores.data(), log_sum_exp.data(), scores.data(), step.data(), shape, 0, dropout, Element::f32,
                            kNoStream);
    scores = kept;
    cuda::attention_softmax_grad(scores.data(), dweights.data(), scores.data(), dweights.data(), log_sum_exp.data(),
                                 step.data(), shape, 0, dropout, Element::f32, kNoStream);
  }
}

// Three tensors in a launch.
TEST(CudaRaces, JointHeads) {
  const AttentionShape shape{1, 3, 2, 4, true};
  const std::int64_t n = shape.sequence * row_stride(shape);
  Tensor qkv = random_tensor(3 * n, Element::bf16, 1), q(n, Element::bf16), k(n, Element::bf16), v(n, Element::bf16);
  cuda::split_joint_heads(q.data(), k.data(), v.data(), qkv.data(), shape, Element::bf16, kNoStream);
  cuda::merge_joint_heads(qkv.data(), q.data(), k.data(), v.data(), shape, Element::bf16, kNoStream);
}

// Images whose windows overlap.
TEST(CudaRaces, Im2col) {
  const Conv2dShape s = {.batch = 2,
                         .height = 3,
                         .width = 3,
                         .channels = 8,
                         .out_height = 3,
                         .out_width = 3,
                         .out_channels = 1,
                         .kernel_height = 3,
                         .kernel_width = 3,
                         .stride = 1,
                         .padding = 1};
  const Tensor x = random_tensor(inputs(s), Element::bf16, 1);
  Tensor columns(2 * 9 * 9 * s.channels, Element::bf16), dx(inputs(s), Element::bf16);
  cuda::im2col(columns.data(), x.data(), s, 0, 2, Element::bf16, kNoStream);
  cuda::col2im(dx.data(), columns.data(), s, 0, 2, Element::bf16, kNoStream);
}

// Rows of a warp each and of a block each, dense and with padding between them.
TEST(CudaRaces, CrossEntropy) {
  for (const auto& [classes, row] : {std::pair<std::int64_t, std::int64_t>{10, 10}, {600, 600}, {601, 608}}) {
    const Tensor logits = random_tensor(3 * row, Element::f32, 1);
    Tensor dlogits(3 * row, Element::f32);
    const std::int32_t values[] = {1, -1, 9};
    const DeviceBuffer<std::int32_t> labels = on_device<std::int32_t>(values);
    DeviceBuffer<float> loss(1), count(1), log_sum_exp(3), workspace = scratch(cuda::cross_entropy_workspace_bytes(3));
    cuda::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), 3, classes, true, row, Element::f32,
                        workspace.data(), kNoStream);
    cuda::cross_entropy_grad(dlogits.data(), logits.data(), labels.data(), log_sum_exp.data(), nullptr, 3, classes, true, row,
                             Element::f32, workspace.data(), kNoStream);
    cuda::count_correct(count.data(), logits.data(), labels.data(), 3, classes, row, Element::f32, workspace.data(), kNoStream);
  }
}

TEST(CudaRaces, Embedding) {
  const std::int32_t values[] = {3, 0, 3, 3, 1};
  const DeviceBuffer<std::int32_t> ids = on_device<std::int32_t>(values);
  const Tensor dy = random_tensor(5 * 72, Element::f32, 1);
  DeviceBuffer<float> dtable(4 * 72), workspace = scratch(cuda::reduction_workspace_bytes(5, 2 * 72));
  cuda::embedding_grad(dtable.data(), dy.data(), ids.data(), nullptr, Element::f32, 5, 4, 72, Element::f32, kNoStream);
  cuda::add_rows_grad(dtable.data(), dy.data(), 4, 72, 2, 4, Element::f32, workspace.data(), kNoStream);
}

TEST(CudaRaces, Lstm) {
  const LstmShape shape{2, 3, 130};
  const Tensor x = random_tensor(6 * 4 * 130, Element::bf16, 1), dh = random_tensor(6 * 130, Element::bf16, 2);
  Tensor gates(6 * 4 * 130, Element::bf16), h(6 * 130, Element::bf16), previous(6 * 130, Element::bf16);
  Tensor state(2 * 4 * 130, Element::bf16);
  DeviceBuffer<float> cells(6 * 130), cell = random_device_floats(2 * 130, 3);
  const DeviceBuffer<float> sums = random_device_floats(2 * 4 * 130, 4);
  cuda::lstm_step(gates.data(), cells.data(), h.data(), previous.data(), state.data(), cell.data(), x.data(), sums.data(),
                  shape, 1, Element::bf16, kNoStream);
  cuda::lstm_step_grad(gates.data(), state.data(), cell.data(), dh.data(), sums.data(), gates.data(), cells.data(), shape, 1,
                       Element::bf16, kNoStream);
}

TEST(CudaRaces, DecodePixels) {  // through shared memory
  DeviceBuffer<std::uint8_t> x(900);
  std::fill(x.begin(), x.end(), std::uint8_t{200});
  const DeviceBuffer<float> table = random_device_floats(3 * 256, 1);
  Tensor y(900, Element::bf16);
  cuda::decode_pixels(y.data(), x.data(), table.data(), 300, 3, Element::bf16, kNoStream);
}

TEST(CudaRaces, Pool) {
  const PoolShape shape{.batch = 1,
                        .height = 5,
                        .width = 5,
                        .channels = 20,
                        .out_height = 3,
                        .out_width = 3,
                        .window = 3,
                        .stride = 2,
                        .padding = 1};
  const Tensor x = random_tensor(500, Element::f32, 1), dy = random_tensor(180, Element::f32, 2);
  Tensor y(180, Element::f32), dx(500, Element::f32), mean(20, Element::f32);
  DeviceBuffer<std::uint8_t> index(180);
  cuda::max_pool(y.data(), index.data(), x.data(), shape, Element::f32, kNoStream);
  cuda::max_pool_grad(dx.data(), dy.data(), index.data(), shape, Element::f32, kNoStream);
  cuda::global_average_pool(mean.data(), x.data(), 1, 25, 20, Element::f32, kNoStream);
  cuda::average_pool(y.data(), x.data(), shape, Element::f32, kNoStream);
  cuda::average_pool_grad(dx.data(), dy.data(), shape, Element::f32, kNoStream);
}

TEST(CudaRaces, Concatenate) {
  constexpr std::int64_t kRows = 70;
  const Tensor one = random_tensor(kRows * 12, Element::bf16, 1), other = random_tensor(kRows * 5, Element::bf16, 2);
  Tensor y(kRows * 17, Element::bf16), first(kRows * 12, Element::bf16), second(kRows * 5, Element::bf16);
  cuda::concatenate(y.data(), {{one.data(), other.data()}, {12, 5}, 2}, kRows, Element::bf16, kNoStream);
  cuda::concatenate_grad({{first.data(), second.data()}, {12, 5}, 2}, y.data(), kRows, Element::bf16, kNoStream);
}

// Two tensors, one of them with several gradients that are not finite, and with copies of the weights in 16 bits.
class CudaOptimizerRaces : public testing::Test {
 protected:
  CudaOptimizerRaces() {
    for (std::int64_t i : {0, 50, 150}) gradient_[i] = INFINITY;
    std::vector<cuda::OptimizerTensor> tensors;
    for (std::int64_t first : {0, 100})
      tensors.push_back({weight_.data() + first, state1_.data() + first, state2_.data() + first, gradient_.data() + first, 100,
                         Element::f32, 0.01, copy_.data() + first, first == 0 ? Element::bf16 : Element::f16});
    tensors_ = on_device<cuda::OptimizerTensor>(tensors);
    chunks_ = on_device<cuda::Chunk>(std::vector<cuda::Chunk>{{0, 0}, {1, 0}});
    step_[0] = 3;
  }

  DeviceBuffer<float> weight_ = random_device_floats(200, 1), state1_ = random_device_floats(200, 2, 0, 1),
                      state2_ = random_device_floats(200, 3, 0, 1), gradient_ = random_device_floats(200, 4);
  DeviceBuffer<std::uint16_t> copy_{200};
  DeviceBuffer<cuda::OptimizerTensor> tensors_{0};
  DeviceBuffer<cuda::Chunk> chunks_{0};
  const DeviceBuffer<float> rate_ = random_device_floats(1, 5, 0.1, 0.2);
  DeviceBuffer<std::int32_t> step_{1};
};

TEST_F(CudaOptimizerRaces, Adamw) {
  DeviceBuffer<std::int32_t> finite(1);
  cuda::all_finite(finite.data(), tensors_.data(), chunks_.data(), 2, kNoStream);
  DeviceBuffer<float> clip(1), workspace = scratch(cuda::clip_workspace_bytes(2));
  cuda::clip_factor(clip.data(), tensors_.data(), chunks_.data(), 2, nullptr, 1, workspace.data(), kNoStream);
  cuda::adamw(tensors_.data(), chunks_.data(), 2, rate_.data(), step_.data(), {0.9, 0.999, 1e-8, clip.data()}, {}, kNoStream);
}

TEST_F(CudaOptimizerRaces, Sgd) { cuda::sgd(tensors_.data(), chunks_.data(), 2, rate_.data(), {0.9, 0.01}, {}, kNoStream); }

}  // namespace
}  // namespace epochbench
