// Running CUDA kernels on the CPU under a sanitizer finds the faults that mutants.cmake puts into our kernels, each by the
// report that is stated here. Those that give wrong numbers without one are in tests/mutants.json.
#include "tests/support/cuda_mutants.h"

namespace epochbench {

#if defined(EPOCHBENCH_TSAN)
EPOCHBENCH_MUTANT(no_barrier_in_tree, bias_add_grad)
EPOCHBENCH_MUTANT(no_barrier_in_last_sum, bias_add_grad)
EPOCHBENCH_MUTANT(no_barrier_in_moments, batch_norm)
EPOCHBENCH_MUTANT(no_barrier_in_gradient_sums, batch_norm_grad)
EPOCHBENCH_MUTANT(no_barrier_before_reuse, layer_norm)
EPOCHBENCH_MUTANT(no_barrier_before_reading, layer_norm)
EPOCHBENCH_MUTANT(no_barrier_between_warps, add_layer_norm_grad)
EPOCHBENCH_MUTANT(no_barrier_before_partials, add_layer_norm_grad)
EPOCHBENCH_MUTANT(no_barrier_between_taps, depthwise_conv2d_grad_weight)
#else
EPOCHBENCH_MUTANT(sum_of_the_next_elements, add_layer_norm)
EPOCHBENCH_MUTANT(store_beyond_the_end, relu)
EPOCHBENCH_MUTANT(load_beyond_the_end, relu)
EPOCHBENCH_MUTANT(shared_array_too_small, bias_add_grad)
EPOCHBENCH_MUTANT(misaligned_load, relu)
#endif

namespace {

// Each of these runs a function on matrices that exercise every path and prints what is wrong.
void try_bias_add_grad(decltype(cuda::bias_add_grad) function, ThreadOrder order) {
  constexpr std::int64_t kRows = 90, kChannels = 36;
  const DeviceBuffer<float> dy = random_device_floats(kRows * kChannels, 1, 0.5, 1.5);
  GuardedBuffer<float> expected(kChannels);
  reference::bias_add_grad(expected.data(), dy.data(), kRows, kChannels);
  DeviceBuffer<float> dbias(kChannels), workspace = test::scratch(cuda::reduction_workspace_bytes(kRows, kChannels));
  test::set_thread_order(order);
  function(dbias.data(), dy.data(), kRows, kChannels, kChannels, Element::f32, workspace.data(), kNoStream);
  compare({{dbias, expected}});
}

void try_depthwise(decltype(cuda::depthwise_conv2d_grad_weight) function, ThreadOrder order) {
  const Conv2dShape s = test::depthwise(2, 6, 7, 4, 3, 1, 1);
  const DeviceBuffer<float> dy = random_device_floats(outputs(s), 1, 0.5, 1.5),
                            x = random_device_floats(inputs(s), 2, 0.5, 1.5);
  GuardedBuffer<float> expected(9 * s.channels);
  reference::depthwise_conv2d_grad_weight(expected.data(), dy.data(), x.data(), s);
  DeviceBuffer<float> dweight(9 * s.channels), workspace = test::scratch(cuda::depthwise_conv2d_grad_weight_workspace_bytes(s));
  test::set_thread_order(order);
  function(dweight.data(), dy.data(), x.data(), s, Element::f32, workspace.data(), kNoStream);
  compare({{dweight, expected}});
}

void try_batch_norm(decltype(cuda::batch_norm) function, ThreadOrder order) {
  constexpr std::int64_t kRows = 90, kChannels = 8;
  const DeviceBuffer<float> x = random_device_floats(kRows * kChannels, 1, 0.5, 1.5);
  GuardedBuffer<float> scale(kChannels), bias(kChannels), y(kRows * kChannels), mean(kChannels), inv_std(kChannels),
      running_mean(kChannels), running_variance(kChannels);
  for (GuardedBuffer<float>* ones : {&scale, &bias, &running_mean, &running_variance}) std::fill(ones->begin(), ones->end(), 1);
  DeviceBuffer<float> device_scale = on_device<float>(scale), device_bias = on_device<float>(bias), device_y(kRows * kChannels),
                      device_mean(kChannels), device_inv_std(kChannels), device_running_mean = on_device<float>(running_mean),
                      device_running_variance = on_device<float>(running_variance),
                      workspace = test::scratch(cuda::reduction_workspace_bytes(kRows, kChannels));
  reference::batch_norm(y.data(), mean.data(), inv_std.data(), running_mean.data(), running_variance.data(), x.data(),
                        scale.data(), bias.data(), nullptr, kRows, kChannels, 1e-5, 0.1, false);
  test::set_thread_order(order);
  function(device_y.data(), nullptr, device_mean.data(), device_inv_std.data(), device_running_mean.data(),
           device_running_variance.data(), x.data(), device_scale.data(), device_bias.data(), nullptr, kRows, kChannels, 1e-5,
           0.1, false, Element::f32, workspace.data(), kNoStream);
  compare({{device_mean, mean}, {device_inv_std, inv_std}, {device_y, y}, {device_running_variance, running_variance}});
}

void try_batch_norm_grad(decltype(cuda::batch_norm_grad) function, ThreadOrder order) {
  constexpr std::int64_t kRows = 90, kChannels = 8;
  const DeviceBuffer<float> x = random_device_floats(kRows * kChannels, 1), dy = random_device_floats(kRows * kChannels, 2),
                            scale = random_device_floats(kChannels, 3), mean = random_device_floats(kChannels, 4),
                            inv_std = random_device_floats(kChannels, 5, 0.5, 1.5);
  GuardedBuffer<float> dx(kRows * kChannels), dscale(kChannels), dbias(kChannels);
  DeviceBuffer<float> device_dx(kRows * kChannels), device_dscale(kChannels), device_dbias(kChannels),
      workspace = test::scratch(cuda::reduction_workspace_bytes(kRows, kChannels));
  reference::batch_norm_grad(dx.data(), dscale.data(), dbias.data(), nullptr, dy.data(), nullptr, x.data(), scale.data(),
                             mean.data(), inv_std.data(), kRows, kChannels);
  test::set_thread_order(order);
  function(device_dx.data(), device_dscale.data(), device_dbias.data(), nullptr, dy.data(), nullptr, nullptr, nullptr, x.data(),
           scale.data(), mean.data(), inv_std.data(), kRows, kChannels, Element::f32, workspace.data(), kNoStream);
  compare({{device_dscale, dscale}, {device_dbias, dbias}, {device_dx, dx}});
}

// Two rows long enough for a whole block, and short ones for a warp each.
void try_layer_norm(decltype(cuda::layer_norm) function, ThreadOrder order) {
  for (const auto& [rows, channels] : {std::pair<std::int64_t, std::int64_t>{2, 12345}, {5, 100}}) {
    const DeviceBuffer<float> x = random_device_floats(rows * channels, 1, 0, 1), scale = random_device_floats(channels, 2),
                              bias = random_device_floats(channels, 3);
    GuardedBuffer<float> y(rows * channels), mean(rows), inv_std(rows);
    DeviceBuffer<float> device_y(rows * channels), device_mean(rows), device_inv_std(rows);
    reference::layer_norm(y.data(), mean.data(), inv_std.data(), x.data(), scale.data(), bias.data(), rows, channels, 1e-5);
    test::set_thread_order(order);
    function(device_y.data(), device_mean.data(), device_inv_std.data(), x.data(), scale.data(), bias.data(), rows, channels,
             1e-5, Element::f32, kNoStream);
    compare({{device_mean, mean}, {device_inv_std, inv_std}, {device_y, y}});
  }
}

constexpr Dropout kHalf = {1, 2, 1u << 31, 2};
DeviceBuffer<std::int32_t> device_step(std::int32_t step) { return on_device<std::int32_t>({&step, 1}); }

// Rows of a warp, in packs, and of a block, one by one.
constexpr std::pair<std::int64_t, std::int64_t> kAddedRows[] = {{5, 100}, {2, 1025}};

void try_add_layer_norm(decltype(cuda::add_layer_norm) function, ThreadOrder order) {
  const std::int32_t step = 3;
  const DeviceBuffer<std::int32_t> there = device_step(step);
  for (const auto& [rows, channels] : kAddedRows) {
    const std::int64_t n = rows * channels;
    const DeviceBuffer<float> x = random_device_floats(n, 1), shortcut = random_device_floats(n, 2),
                              scale = random_device_floats(channels, 3), bias = random_device_floats(channels, 4);
    GuardedBuffer<float> y(n), sum(n), mean(rows), inv_std(rows);
    reference::dropout(y.data(), x.data(), &step, kHalf, n);
    reference::add(sum.data(), y.data(), shortcut.data(), n);
    reference::layer_norm(y.data(), mean.data(), inv_std.data(), sum.data(), scale.data(), bias.data(), rows, channels, 1e-5);
    DeviceBuffer<float> device_y(n), device_sum(n), device_mean(rows), device_inv_std(rows);
    test::set_thread_order(order);
    function(device_y.data(), device_mean.data(), device_inv_std.data(), device_sum.data(), x.data(), shortcut.data(),
             scale.data(), bias.data(), there.data(), kHalf, rows, channels, 1e-5, Element::f32, kNoStream);
    compare({{device_sum, sum}, {device_mean, mean}, {device_inv_std, inv_std}, {device_y, y}});
  }
}

void try_add_layer_norm_grad(decltype(cuda::add_layer_norm_grad) function, ThreadOrder order) {
  const std::int32_t step = 3;
  const DeviceBuffer<std::int32_t> there = device_step(step);
  for (const auto& [rows, channels] : kAddedRows) {
    const std::int64_t n = rows * channels;
    const DeviceBuffer<float> dy = random_device_floats(n, 1, 0.5, 1.5), sum = random_device_floats(n, 2),
                              scale = random_device_floats(channels, 3, 0.5, 1);
    DeviceBuffer<float> mean(rows), inv_std(rows);
    GuardedBuffer<float> y(n), dsum(n), dscale(channels), dbias(channels);
    reference::layer_norm(y.data(), mean.data(), inv_std.data(), sum.data(), scale.data(), scale.data(), rows, channels, 1e-5);
    reference::layer_norm_grad(dsum.data(), dscale.data(), dbias.data(), dy.data(), sum.data(), scale.data(), mean.data(),
                               inv_std.data(), rows, channels);
    reference::dropout(y.data(), dsum.data(), &step, kHalf, n);
    DeviceBuffer<float> device_dx(n), device_dsum(n), device_dscale(channels), device_dbias(channels),
        workspace = test::scratch(cuda::reduction_workspace_bytes(rows, channels));
    test::set_thread_order(order);
    function(device_dx.data(), device_dscale.data(), device_dbias.data(), device_dsum.data(), dy.data(), sum.data(),
             scale.data(), mean.data(), inv_std.data(), there.data(), kHalf, rows, channels, Element::f32, workspace.data(),
             kNoStream);
    compare({{device_dsum, dsum}, {device_dx, y}, {device_dscale, dscale}, {device_dbias, dbias}});
  }
}

void try_relu(decltype(cuda::relu) function, ThreadOrder order) {
  for (std::int64_t n : {4, 5, 2051}) {
    const DeviceBuffer<float> x = random_device_floats(n, 1);
    GuardedBuffer<float> expected(n);
    DeviceBuffer<float> y(n);
    reference::relu(expected.data(), x.data(), n);
    test::set_thread_order(order);
    function(y.data(), x.data(), n, Element::f32, kNoStream);
    compare({{y, expected}});
  }
}

TEST(CudaMutants, TheOriginalsAreRight) {
  EXPECT_NOTHING_FOUND(try_bias_add_grad, cuda::bias_add_grad);
  EXPECT_NOTHING_FOUND(try_depthwise, cuda::depthwise_conv2d_grad_weight);
  EXPECT_NOTHING_FOUND(try_batch_norm, cuda::batch_norm);
  EXPECT_NOTHING_FOUND(try_batch_norm_grad, cuda::batch_norm_grad);
  EXPECT_NOTHING_FOUND(try_layer_norm, cuda::layer_norm);
  EXPECT_NOTHING_FOUND(try_add_layer_norm, cuda::add_layer_norm);
  EXPECT_NOTHING_FOUND(try_add_layer_norm_grad, cuda::add_layer_norm_grad);
  EXPECT_NOTHING_FOUND(try_relu, cuda::relu);
}

#if defined(EPOCHBENCH_TSAN)
TEST(CudaMutants, RemovedBarriersAreRaces) {
  EXPECT_FOUND(try_bias_add_grad, no_barrier_in_tree::bias_add_grad, "data race");
  EXPECT_FOUND(try_bias_add_grad, no_barrier_in_last_sum::bias_add_grad, "data race");
  EXPECT_FOUND(try_depthwise, no_barrier_between_taps::depthwise_conv2d_grad_weight, "data race");
  EXPECT_FOUND(try_batch_norm, no_barrier_in_moments::batch_norm, "data race");
  EXPECT_FOUND(try_batch_norm_grad, no_barrier_in_gradient_sums::batch_norm_grad, "data race");
  EXPECT_FOUND(try_layer_norm, no_barrier_before_reading::layer_norm, "data race");
  EXPECT_FOUND(try_layer_norm, no_barrier_before_reuse::layer_norm, "data race");
  EXPECT_FOUND(try_add_layer_norm_grad, no_barrier_between_warps::add_layer_norm_grad, "data race");
  EXPECT_FOUND(try_add_layer_norm_grad, no_barrier_before_partials::add_layer_norm_grad, "data race");
}

// In reverse order thread 0 runs last, so everything it reads has been written even without a barrier.
TEST(CudaMutants, RemovedBarriersAreRacesEvenWhereNumbersAreRight) {
  EXPECT_EXIT(try_alone(try_bias_add_grad, no_barrier_in_last_sum::bias_add_grad, ThreadOrder::reverse), any_end, "data race");
  EXPECT_EXIT(try_alone(try_batch_norm, no_barrier_in_moments::batch_norm, ThreadOrder::reverse), any_end, "data race");
}
#else
TEST(CudaMutants, AccessesBeyondTheEndAreFound) {
  EXPECT_FOUND(try_add_layer_norm, sum_of_the_next_elements::add_layer_norm, "AddressSanitizer");
  EXPECT_FOUND(try_relu, store_beyond_the_end::relu, "AddressSanitizer");
  EXPECT_FOUND(try_relu, load_beyond_the_end::relu, "AddressSanitizer");
  EXPECT_FOUND(try_bias_add_grad, shared_array_too_small::bias_add_grad, "AddressSanitizer");
}

TEST(CudaMutants, MisalignedVectorsAreFound) { EXPECT_FOUND(try_relu, misaligned_load::relu, "misaligned address"); }
#endif

}  // namespace
}  // namespace epochbench
