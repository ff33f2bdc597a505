// As cuda_mutants_test, for whole layers that other kernels do not share: bias and GELU, those of Llama, depthwise convolution,
// the mean over windows and LSTM. Their threads share nothing, so all faults are in what one reads, computes and writes.
#include "tests/support/cuda_mutants.h"

namespace epochbench {

EPOCHBENCH_MUTANT(gelu_of_the_product, bias_gelu)
EPOCHBENCH_MUTANT(sum_over_the_next_pack, bias_gelu)
EPOCHBENCH_MUTANT(rms_about_the_mean, rms_norm)
EPOCHBENCH_MUTANT(columns_beyond_the_row, rotary)
EPOCHBENCH_MUTANT(gates_of_the_first_row, swiglu)
EPOCHBENCH_MUTANT(taps_not_flipped, depthwise_conv2d_grad_input)
EPOCHBENCH_MUTANT(share_of_the_mean_added, squeeze_excite_grad)
EPOCHBENCH_MUTANT(padding_counted, average_pool)
EPOCHBENCH_MUTANT(cell_before_the_first_step, lstm_step)

namespace {

// Rows of whole packs, and a rest.
void try_bias_gelu(decltype(cuda::bias_gelu) function, ThreadOrder order) {
  for (const auto& [rows, channels] : {std::pair<std::int64_t, std::int64_t>{3, 40}, {3, 41}}) {
    const std::int64_t n = rows * channels;
    const DeviceBuffer<float> product = random_device_floats(n, 1), bias = random_device_floats(channels, 2, 0.5, 1);
    GuardedBuffer<float> sum(n), expected(n);
    reference::bias_add(sum.data(), product.data(), bias.data(), rows, channels);
    reference::gelu(expected.data(), sum.data(), n);
    DeviceBuffer<float> y(n), x(n);
    test::set_thread_order(order);
    function(y.data(), x.data(), product.data(), bias.data(), rows, channels, false, Element::f32, kNoStream);
    compare({{x, sum}, {y, expected}});
  }
}

void try_rms_norm(decltype(cuda::rms_norm) function, ThreadOrder order) {
  constexpr std::int64_t kRows = 5, kChannels = 100, kCount = kRows * kChannels;
  const DeviceBuffer<float> x = random_device_floats(kCount, 1, 0.5, 1.5), scale = random_device_floats(kChannels, 2);
  GuardedBuffer<float> expected(kCount), expected_rms(kRows);
  reference::rms_norm(expected.data(), expected_rms.data(), x.data(), scale.data(), kRows, kChannels, 1e-5);
  DeviceBuffer<float> y(kCount), inv_rms(kRows);
  test::set_thread_order(order);
  function(y.data(), inv_rms.data(), x.data(), scale.data(), kRows, kChannels, 1e-5, Element::f32, kNoStream);
  compare({{inv_rms, expected_rms}, {y, expected}});
}

// An odd number of columns that stay.
void try_rotary(decltype(cuda::rotary) function, ThreadOrder order) {
  const RotaryShape s{4, 13, 2, 6, 2};
  const std::int64_t n = s.rows * s.columns;
  const DeviceBuffer<float> x = random_device_floats(n, 1), table = random_device_floats(s.sequence * s.width, 2);
  GuardedBuffer<float> expected(n);
  reference::rotary(expected.data(), x.data(), table.data(), s);
  DeviceBuffer<float> y(n);
  test::set_thread_order(order);
  function(y.data(), x.data(), table.data(), s, Element::f32, kNoStream);
  compare({{y, expected}});
}

// Side by side in each row.
void try_swiglu(decltype(cuda::swiglu) function, ThreadOrder order) {
  const SwigluShape s{3, 20, true};
  const std::int64_t n = s.rows * s.width;
  const DeviceBuffer<float> x = random_device_floats(2 * n, 1);
  GuardedBuffer<float> expected(n);
  reference::swiglu(expected.data(), x.data(), x.data() + s.width, s);
  DeviceBuffer<float> y(n);
  test::set_thread_order(order);
  function(y.data(), x.data(), x.data() + s.width, s, Element::f32, kNoStream);
  compare({{y, expected}});
}

void try_depthwise_grad_input(decltype(cuda::depthwise_conv2d_grad_input) function, ThreadOrder order) {
  const Conv2dShape s = test::depthwise(2, 5, 6, 4, 3, 1, 1);
  const DeviceBuffer<float> dy = random_device_floats(outputs(s), 1), weight = random_device_floats(9 * s.channels, 2);
  GuardedBuffer<float> expected(inputs(s));
  reference::depthwise_conv2d_grad_input(expected.data(), dy.data(), weight.data(), s);
  DeviceBuffer<float> dx(inputs(s));
  test::set_thread_order(order);
  function(dx.data(), dy.data(), weight.data(), s, Element::f32, kNoStream);
  compare({{dx, expected}});
}

void try_squeeze_excite_grad(decltype(cuda::squeeze_excite_grad) function, ThreadOrder order) {
  constexpr std::int64_t kBatch = 2, kPixels = 9, kChannels = 12, kCount = kBatch * kPixels * kChannels;
  const DeviceBuffer<float> dy = random_device_floats(kCount, 1), scale = random_device_floats(kBatch * kChannels, 2),
                            dmean = random_device_floats(kBatch * kChannels, 3, 0.5, 1), x = random_device_floats(kCount, 4);
  GuardedBuffer<float> sum(kCount), spread(kCount), expected(kCount);
  reference::scale_channels(sum.data(), dy.data(), scale.data(), kBatch, kPixels, kChannels);
  reference::global_average_pool_grad(spread.data(), dmean.data(), kBatch, kPixels, kChannels);
  reference::add(sum.data(), sum.data(), spread.data(), kCount);
  reference::silu_grad(expected.data(), sum.data(), x.data(), kCount);
  DeviceBuffer<float> dx(kCount);
  test::set_thread_order(order);
  function(dx.data(), dy.data(), scale.data(), dmean.data(), x.data(), kBatch, kPixels, kChannels, Element::f32, kNoStream);
  compare({{dx, expected}});
}

void try_average_pool(decltype(cuda::average_pool) function, ThreadOrder order) {
  const PoolShape s{.batch = 2,
                    .height = 5,
                    .width = 5,
                    .channels = 6,
                    .out_height = 3,
                    .out_width = 3,
                    .window = 3,
                    .stride = 2,
                    .padding = 1};
  const std::int64_t n = s.batch * s.out_height * s.out_width * s.channels;
  const DeviceBuffer<float> x = random_device_floats(s.batch * s.height * s.width * s.channels, 1, 0.5, 1.5);
  GuardedBuffer<float> expected(n);
  reference::average_pool(expected.data(), x.data(), s);
  DeviceBuffer<float> y(n);
  test::set_thread_order(order);
  function(y.data(), x.data(), s, Element::f32, kNoStream);
  compare({{y, expected}});
}

// Weights of 0, so that a step adds no product with the state.
void try_lstm(decltype(cuda::lstm_step) function, ThreadOrder order) {
  const LstmShape s{2, 3, 130};
  const std::int64_t n = s.batch * s.sequence * s.units, of_step = s.batch * s.units;
  const DeviceBuffer<float> x = random_device_floats(4 * n, 1);
  GuardedBuffer<float> weight(4 * s.units * s.units), expected_gates(4 * n), expected_cells(n), expected(n);
  std::fill(weight.begin(), weight.end(), 0.0f);
  reference::lstm(expected_gates.data(), expected_cells.data(), expected.data(), nullptr, x.data(), weight.data(), s);
  DeviceBuffer<float> gates(4 * n), cells(n), h(n), state(of_step), cell(of_step);
  test::set_thread_order(order);
  for (std::int64_t step = 0; step < s.sequence; ++step)
    function(gates.data(), cells.data(), h.data(), nullptr, state.data(), cell.data(), x.data(), nullptr, s, step, Element::f32,
             kNoStream);
  compare({{gates, expected_gates}, {cells, expected_cells}, {h, expected}});
}

TEST(CudaLayerMutants, TheOriginalsAreRight) {
  EXPECT_NOTHING_FOUND(try_bias_gelu, cuda::bias_gelu);
  EXPECT_NOTHING_FOUND(try_rms_norm, cuda::rms_norm);
  EXPECT_NOTHING_FOUND(try_rotary, cuda::rotary);
  EXPECT_NOTHING_FOUND(try_swiglu, cuda::swiglu);
  EXPECT_NOTHING_FOUND(try_depthwise_grad_input, cuda::depthwise_conv2d_grad_input);
  EXPECT_NOTHING_FOUND(try_squeeze_excite_grad, cuda::squeeze_excite_grad);
  EXPECT_NOTHING_FOUND(try_average_pool, cuda::average_pool);
  EXPECT_NOTHING_FOUND(try_lstm, cuda::lstm_step);
}

TEST(CudaLayerMutants, WrongNumbersAreFound) {
  EXPECT_FOUND(try_bias_gelu, gelu_of_the_product::bias_gelu, "wrong numbers");
  EXPECT_FOUND(try_rms_norm, rms_about_the_mean::rms_norm, "wrong numbers");
  EXPECT_FOUND(try_swiglu, gates_of_the_first_row::swiglu, "wrong numbers");
  EXPECT_FOUND(try_depthwise_grad_input, taps_not_flipped::depthwise_conv2d_grad_input, "wrong numbers");
  EXPECT_FOUND(try_squeeze_excite_grad, share_of_the_mean_added::squeeze_excite_grad, "wrong numbers");
  EXPECT_FOUND(try_average_pool, padding_counted::average_pool, "wrong numbers");
  EXPECT_FOUND(try_lstm, cell_before_the_first_step::lstm_step, "wrong numbers");
}

// Beyond a row is the next one, which another thread writes. Rotary copies there, and of the last row a guard band over one of
// the same contents.
TEST(CudaLayerMutants, StoresBeyondTheEndAreFound) {
  EXPECT_FOUND(try_bias_gelu, sum_over_the_next_pack::bias_gelu,
               kFindsOverruns ? "AddressSanitizer"
               : kFindsRaces  ? "data race"
                              : "touched band");
  EXPECT_FOUND(try_rotary, columns_beyond_the_row::rotary, kFindsOverruns ? "AddressSanitizer" : kWrongNumbers);
}

}  // namespace
}  // namespace epochbench
