// Convolution and its gradients for every instruction set of this CPU, against the reference.
#include "tests/support/kernel_test.h"
#include "tests/support/products.h"
#include "tests/support/shapes.h"

namespace epochbench {
namespace {

using test::convolution_shape;

GuardedBuffer<float> workspace_of(std::size_t bytes) {
  return GuardedBuffer<float>(static_cast<std::int64_t>(bytes / sizeof(float)));
}

template <typename Real>
struct Operands {
  explicit Operands(const Conv2dShape& s)
      : x(random_reals<Real>(s.batch * s.height * s.width * s.channels, 1)),
        weight(random_reals<Real>(s.out_channels * s.kernel_height * s.kernel_width * s.channels, 2)),
        dy(random_reals<Real>(s.batch * s.out_height * s.out_width * s.out_channels, 3)),
        bias(random_reals<Real>(s.out_channels, 4)) {}
  GuardedBuffer<Real> x, weight, dy, bias;
};

template <typename Real>
struct Results {
  template <typename OperandsType>
  explicit Results(const OperandsType& o)
      : y(static_cast<std::int64_t>(o.dy.size())),
        y_packed(static_cast<std::int64_t>(o.dy.size())),
        y_epilogue(static_cast<std::int64_t>(o.dy.size())),
        dx(static_cast<std::int64_t>(o.x.size())),
        dweight(static_cast<std::int64_t>(o.weight.size())) {}
  GuardedBuffer<Real> y, y_packed, y_epilogue, dx, dweight;  // y_packed: y_epilogue with weights packed before
};

template <typename Real>
Results<float> reference_results(const Conv2dShape& s, const Operands<Real>& o) {
  Results<float> r(o);
  const GuardedBuffer<float> x = floats(o.x), weight = floats(o.weight), dy = floats(o.dy), bias = floats(o.bias);
  reference::conv2d(r.y.data(), x.data(), weight.data(), s, {});
  reference::conv2d(r.y_epilogue.data(), x.data(), weight.data(), s, {bias.data(), true});
  reference::conv2d_grad_input(r.dx.data(), dy.data(), weight.data(), s);
  reference::conv2d_grad_weight(r.dweight.data(), dy.data(), x.data(), s);
  return r;
}

// Outputs and workspaces start as NaN. No NaN may remain, and nothing outside them may be written.
template <typename Real>
Results<Real> run(const cpu::Kernels<Real>& kernels, const Conv2dShape& s, const Operands<Real>& o, int threads) {
  Results<Real> r(o);
  GuardedBuffer<float> forward = workspace_of(kernels.conv2d_workspace_bytes(s, threads));
  kernels.conv2d(r.y.data(), o.x.data(), o.weight.data(), s, {}, forward.data(), threads);
  kernels.conv2d(r.y_epilogue.data(), o.x.data(), o.weight.data(), s, {o.bias.data(), true}, forward.data(), threads);
  Conv2dShape with_packed = s;
  GuardedBuffer<Real> packed(static_cast<std::int64_t>(kernels.conv2d_packed_bytes(s, threads) / sizeof(Real)));
  with_packed.packed_weight = packed.size() > 0;
  if (with_packed.packed_weight) kernels.pack_conv2d(packed.data(), o.weight.data(), s, threads);
  GuardedBuffer<float> beside_packed = workspace_of(kernels.conv2d_workspace_bytes(with_packed, threads));
  kernels.conv2d(r.y_packed.data(), o.x.data(), with_packed.packed_weight ? packed.data() : o.weight.data(), with_packed,
                 {o.bias.data(), true}, beside_packed.data(), threads);
  GuardedBuffer<float> grad_input = workspace_of(kernels.conv2d_grad_input_workspace_bytes(s, threads));
  kernels.conv2d_grad_input(r.dx.data(), o.dy.data(), o.weight.data(), s, grad_input.data(), threads);
  GuardedBuffer<float> grad_weight = workspace_of(kernels.conv2d_grad_weight_workspace_bytes(s, threads));
  kernels.conv2d_grad_weight(r.dweight.data(), o.dy.data(), o.x.data(), s, grad_weight.data(), threads);
  for (const GuardedBuffer<Real>* buffer : {&r.y, &r.y_packed, &r.y_epilogue, &r.dx, &r.dweight, &packed})
    EXPECT_TRUE(buffer->guards_intact());
  for (const GuardedBuffer<float>* buffer : {&forward, &beside_packed, &grad_input, &grad_weight})
    EXPECT_TRUE(buffer->guards_intact());
  return r;
}

// A batch norm with the statistics that the convolution left behind, beside the reference's of the same y. Neither the
// statistics nor an epilogue change y.
template <typename Real>
void check_moments(const cpu::Kernels<Real>& kernels, const Conv2dShape& s, const Operands<Real>& o,
                   const GuardedBuffer<Real>& y, int threads) {
  constexpr double kEpsilon = 1e-5, kMomentum = 0.1;
  const std::int64_t channels = s.out_channels, rows = s.batch * s.out_height * s.out_width;
  GuardedBuffer<float> moments = workspace_of(kernels.moments_workspace_bytes(channels, threads));
  GuardedBuffer<float> workspace = workspace_of(kernels.conv2d_workspace_bytes(s, threads));
  GuardedBuffer<Real> convolved(static_cast<std::int64_t>(y.size()));
  Epilogue<Real> epilogue;
  epilogue.moments = moments.data();
  kernels.conv2d(convolved.data(), o.x.data(), o.weight.data(), s, epilogue, workspace.data(), threads);
  EXPECT_TRUE(test::bit_equal(convolved, y));
  struct Norm {
    explicit Norm(std::int64_t n)
        : mean(n), inv_std(n), running_mean(random_floats(n, 5)), running_variance(random_floats(n, 6, 0.5, 2)) {}
    GuardedBuffer<float> mean, inv_std, running_mean, running_variance;
  };
  Norm actual(channels), expected(channels);
  const GuardedBuffer<float> scale = random_floats(channels, 7, 0.5, 2), bias = random_floats(channels, 8);
  GuardedBuffer<Real> normalized(static_cast<std::int64_t>(y.size()));
  GuardedBuffer<float> reference(static_cast<std::int64_t>(y.size())), wide = floats(y);
  GuardedBuffer<float> sums = workspace_of(kernels.reduction_workspace_bytes(channels, threads));
  kernels.batch_norm_of_moments(normalized.data(), nullptr, actual.mean.data(), actual.inv_std.data(),
                                actual.running_mean.data(), actual.running_variance.data(), convolved.data(), moments.data(),
                                scale.data(), bias.data(), nullptr, rows, channels, kEpsilon, kMomentum, Activation::relu,
                                sums.data(), threads);
  reference::batch_norm(reference.data(), expected.mean.data(), expected.inv_std.data(), expected.running_mean.data(),
                        expected.running_variance.data(), wide.data(), scale.data(), bias.data(), nullptr, rows, channels,
                        kEpsilon, kMomentum, Activation::relu);
  // Sums of up to some hundred rows, in parts, are in float; they are relative to the deviation. See batch_norm_test.cpp.
  double deviation = 0;
  for (std::int64_t c = 0; c < channels; ++c) deviation = std::max(deviation, 1 / static_cast<double>(expected.inv_std[c]));
  expect_close(actual.mean, expected.mean, {kEps, 4 * kEps * deviation});
  expect_close(actual.inv_std, expected.inv_std, {16 * kEps, 0});
  expect_close(actual.running_mean, expected.running_mean, {kEps, 4 * kEps * deviation});
  expect_close(actual.running_variance, expected.running_variance, {kEps, 16 * kEps * deviation * deviation});
  expect_close(floats(normalized), reference, rounded<Real>({0, 16 * kEps * (max_abs(reference) + 2)}));
  for (const GuardedBuffer<float>* buffer : {&moments, &workspace, &sums}) EXPECT_TRUE(buffer->guards_intact());
}

template <typename Real>
void check_of(const Conv2dShape& s, std::initializer_list<int> teams) {
  const Operands<Real> operands(s);
  const Results<float> expected = reference_results(s, operands);
  const std::int64_t taps = s.kernel_height * s.kernel_width;
  const auto direct = [](std::int64_t terms) { return rounded<Real>(test::product_tolerance(terms)); };
  test::for_each_isa_of<Real>(describe(s), [&](const cpu::Kernels<Real>& kernels) {
    for (int threads : teams) {
      SCOPED_TRACE("threads=" + std::to_string(threads));
      const Results<Real> actual = run(kernels, s, operands, threads);
      check_moments(kernels, s, operands, actual.y, threads);
      const auto tolerance = [&](std::int64_t channels, std::int64_t bias) {
        return kernels.conv2d_is_winograd(s) ? test::winograd_tolerance(channels) : direct(taps * channels + bias);
      };
      expect_close(floats(actual.y), expected.y, tolerance(s.channels, 0));
      expect_close(floats(actual.y_epilogue), expected.y_epilogue, tolerance(s.channels, 1));
      expect_close(floats(actual.y_packed), expected.y_epilogue, tolerance(s.channels, 1));
      expect_close(floats(actual.dx), expected.dx, tolerance(s.out_channels, 0));
      expect_close(floats(actual.dweight), expected.dweight, direct(s.batch * s.out_height * s.out_width));
    }
  });
}

void check(const Conv2dShape& s, std::initializer_list<int> teams = {1}) {
  check_of<float>(s, teams);
  check_of<Bf16>(s, teams);
}

template <typename Real>
void expect_same(const Results<Real>& actual, const Results<Real>& expected) {
  EXPECT_TRUE(test::bit_equal(actual.y, expected.y));
  EXPECT_TRUE(test::bit_equal(actual.dx, expected.dx));
  EXPECT_TRUE(test::bit_equal(actual.dweight, expected.dweight));
}

// A mean far above the deviation, which drifts from row to row: squares in float would leave nothing of it. By each of the
// ways to convolve: a product, strips, Winograd's transforms.
TEST(Conv2d, StatisticsOfALargeMeanMatchReference) {
  for (const Conv2dShape& s :
       {convolution_shape(3, 20, 20, 16, 16, 1, 1, 1, 0), convolution_shape(3, 40, 40, 16, 16, 3, 3, 2, 1),
        convolution_shape(3, 20, 20, 16, 16, 3, 3, 1, 1)}) {
    Operands<float> o(s);
    for (std::size_t i = 0; i < o.x.size(); ++i)
      o.x.data()[i] = 1e4f + 0.01f * o.x.data()[i] + 1e-3f * static_cast<float>(i / 16);
    std::fill(o.weight.begin(), o.weight.end(), 0.0f);  // but for the center: y is x, or every other pixel
    const std::int64_t taps = s.kernel_height * s.kernel_width;
    for (std::int64_t c = 0; c < 16; ++c) o.weight.data()[(c * taps + taps / 2) * 16 + c] = 1;
    test::for_each_isa_of<float>(describe(s), [&](const cpu::Kernels<float>& kernels) {
      for (int threads : {1, 3}) {
        GuardedBuffer<float> y(static_cast<std::int64_t>(o.dy.size()));
        GuardedBuffer<float> workspace = workspace_of(kernels.conv2d_workspace_bytes(s, threads));
        kernels.conv2d(y.data(), o.x.data(), o.weight.data(), s, {}, workspace.data(), threads);
        check_moments(kernels, s, o, y, threads);
      }
    });
  }
}

TEST(Conv2d, EveryKernelStrideAndPaddingMatchesReference) {
  for (std::int64_t kernel : {1, 2, 3, 5})
    for (std::int64_t stride : {1, 2, 3})
      for (std::int64_t padding : {0, 1, 2, 3})
        for (std::int64_t size : {5, 8}) check(convolution_shape(2, size, size + 1, 5, 7, kernel, kernel, stride, padding));
}

// Around lanes and tile rows, and on both sides of the length above which each tap is a separate run.
TEST(Conv2d, ChannelCountsMatchReference) {
  for (std::int64_t channels : {1, 3, 4, 8, 15, 16, 17, 33, 63, 64, 67, 96})
    for (std::int64_t out_channels : {1, 6, 16, 31, 33, 70})
      check(convolution_shape(1, 4, 6, channels, out_channels, 3, 3, channels % 2 == 0 ? 2 : 1, 1));
}

TEST(Conv2d, WidthsMatchReference) {
  for (std::int64_t width : {1, 2, 13, 14, 15, 16, 17, 28, 32, 33}) check(convolution_shape(1, 3, width, 8, 20, 3, 3, 1, 1));
}

TEST(Conv2d, OnePixelMatchesReference) {
  check(convolution_shape(1, 1, 1, 1, 1, 1, 1, 1, 0));
  check(convolution_shape(3, 1, 1, 9, 4, 3, 3, 1, 1));
  check(convolution_shape(2, 1, 1, 16, 16, 5, 5, 2, 2));
  check(convolution_shape(2, 1, 1, 16, 16, 1, 1, 3, 0));
}

TEST(Conv2d, OblongImagesAndKernelsMatchReference) {
  check(convolution_shape(2, 9, 4, 6, 5, 5, 1, 1, 2));
  check(convolution_shape(2, 4, 9, 6, 5, 1, 5, 2, 2));
  check(convolution_shape(1, 7, 20, 64, 5, 2, 7, 2, 3));
}

TEST(Conv2d, KernelThatCoversTheImageMatchesReference) { check(convolution_shape(6, 5, 5, 16, 12, 5, 5, 1, 0)); }

// Rows and columns that no window covers: their gradient is zero.
TEST(Conv2d, PixelsWithoutWindowsGetNoGradient) {
  check(convolution_shape(2, 8, 8, 5, 5, 1, 1, 3, 0));
  check(convolution_shape(2, 9, 10, 5, 5, 2, 2, 4, 0));
  check(convolution_shape(2, 12, 11, 5, 5, 3, 3, 5, 1));
}

// More than the depth that one pass sums, in whole runs and in split runs.
TEST(Conv2d, DeepProductsMatchReference) {
  check(convolution_shape(1, 4, 4, 130, 40, 3, 3, 1, 1), {1, 3});
  check(convolution_shape(1, 3, 3, 1100, 20, 1, 1, 2, 0), {1, 3});
  check(convolution_shape(1, 2, 3, 1030, 18, 3, 3, 1, 1), {1, 3});
  check(convolution_shape(1, 14, 14, 20, 12, 9, 9, 1, 4), {1, 3});
}

// More channels of x than the weight gradient rearranges at once, and more images; and fewer channels than output channels.
TEST(Conv2d, WideWeightGradientsMatchReference) {
  check(convolution_shape(2, 22, 22, 420, 33, 1, 1, 1, 0), {1, 2});
  check(convolution_shape(3, 20, 20, 300, 35, 3, 3, 2, 1), {1, 2});
  check(convolution_shape(8, 16, 16, 65, 700, 1, 1, 1, 0), {1, 2});  // and several blocks of output channels
  check(convolution_shape(10, 7, 7, 40, 70, 3, 3, 1, 1), {1, 2});
  check(convolution_shape(5, 6, 10, 40, 100, 1, 1, 1, 0), {1, 2});
}

TEST(Conv2d, EveryTeamMatchesReference) {
  const auto teams = {1, 2, 3, 5};
  check(convolution_shape(4, 16, 16, 16, 16, 3, 3, 1, 1), teams);
  check(convolution_shape(7, 8, 8, 16, 33, 3, 3, 2, 1), teams);
  check(convolution_shape(2, 8, 8, 64, 64, 3, 3, 1, 1), teams);
  check(convolution_shape(1, 16, 16, 3, 64, 7, 7, 2, 3), teams);
  check(convolution_shape(9, 14, 14, 6, 16, 5, 5, 1, 0), teams);
  check(convolution_shape(4, 8, 8, 32, 64, 1, 1, 1, 0), teams);
  check(convolution_shape(4, 8, 8, 64, 128, 1, 1, 2, 0), teams);
  check(convolution_shape(2, 17, 17, 24, 600, 1, 1, 1, 0), teams);  // several blocks of rows, of columns, and below of k
  check(convolution_shape(1, 17, 17, 1100, 330, 1, 1, 1, 0), teams);
}

// Enough weights that the threads divide the output channels instead of adding partial sums.
TEST(Conv2d, LargeWeightsMatchReference) { check(convolution_shape(1, 3, 3, 256, 300, 3, 3, 1, 1), {1, 2, 3, 4, 16}); }

// Inside a parallel region the runtime grants a team of one, whatever the kernel requests.
TEST(Conv2d, FewerThreadsThanRequestedGiveTheSameResult) {
  const Conv2dShape shape = convolution_shape(5, 12, 12, 16, 24, 3, 3, 2, 1);
  test::for_each_isa(describe(shape), [&](const auto& kernels) {
    using Real = RealOf<decltype(kernels)>;
    const Operands<Real> operands(shape);
    const Results<Real> expected = run(kernels, shape, operands, 6);
#pragma omp parallel num_threads(2)
#pragma omp single
    expect_same(run(kernels, shape, operands, 6), expected);
  });
}

TEST(Conv2d, RepeatsBitForBit) {
  const Conv2dShape shape = convolution_shape(5, 12, 12, 16, 24, 3, 3, 1, 1);
  test::for_each_isa(describe(shape), [&](const auto& kernels) {
    using Real = RealOf<decltype(kernels)>;
    const Operands<Real> operands(shape);
    for (int threads : {1, 2, 3}) {
      SCOPED_TRACE("threads=" + std::to_string(threads));
      const Results<Real> first = run(kernels, shape, operands, threads);
      for (int repetition = 0; repetition < 5; ++repetition) expect_same(run(kernels, shape, operands, threads), first);
    }
  });
}

}  // namespace
}  // namespace epochbench
