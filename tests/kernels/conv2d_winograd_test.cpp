// Winograd convolution for every instruction set of this CPU: where it is chosen, agreement with the reference, and how
// much more it rounds than direct sums.
#include "tests/support/kernel_test.h"
#include "tests/support/products.h"

namespace epochbench {
namespace {

Conv2dShape make_shape(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t channels,
                       std::int64_t out_channels) {
  return {batch, height, width, channels, height, width, out_channels, 3, 3, 1, 1};
}

GuardedBuffer<float> workspace_of(std::size_t bytes) {
  return GuardedBuffer<float>(static_cast<std::int64_t>(bytes / sizeof(float)));
}

// Outputs and workspaces start as NaN. No NaN may remain, and nothing outside them may be written.
void check(const Conv2dShape& s, std::initializer_list<int> teams = {1, 2}) {
  const std::int64_t pixels = s.batch * s.height * s.width;
  const auto x = random_reals<float>(pixels * s.channels, 1), dy = random_reals<float>(pixels * s.out_channels, 3);
  const auto weight = random_reals<float>(s.out_channels * 9 * s.channels, 2), bias = random_reals<float>(s.out_channels, 4);
  GuardedBuffer<float> expected_sum(pixels * s.out_channels), expected_y(pixels * s.out_channels);
  GuardedBuffer<float> expected_dx(pixels * s.channels);
  reference::conv2d(expected_sum.data(), x.data(), weight.data(), s, {});
  reference::conv2d(expected_y.data(), x.data(), weight.data(), s, {bias.data(), true});
  reference::conv2d_grad_input(expected_dx.data(), dy.data(), weight.data(), s);
  test::for_each_isa_of<float>(describe(s), [&](const cpu::Kernels<float>& kernels) {
    ASSERT_TRUE(kernels.conv2d_is_winograd(s));
    for (int threads : teams) {
      SCOPED_TRACE("threads=" + std::to_string(threads));
      GuardedBuffer<float> sum(pixels * s.out_channels), y(pixels * s.out_channels), dx(pixels * s.channels);
      GuardedBuffer<float> forward = workspace_of(kernels.conv2d_workspace_bytes(s, threads));
      kernels.conv2d(sum.data(), x.data(), weight.data(), s, {}, forward.data(), threads);
      expect_close(sum, expected_sum, test::winograd_tolerance(s.channels));
      kernels.conv2d(y.data(), x.data(), weight.data(), s, {bias.data(), true}, forward.data(), threads);
      expect_close(y, expected_y, test::winograd_tolerance(s.channels));
      GuardedBuffer<float> packed = workspace_of(kernels.conv2d_packed_bytes(s, threads)), again(pixels * s.out_channels);
      kernels.pack_conv2d(packed.data(), weight.data(), s, threads);
      Conv2dShape with_packed = s;
      with_packed.packed_weight = true;
      GuardedBuffer<float> beside_packed = workspace_of(kernels.conv2d_workspace_bytes(with_packed, threads));
      kernels.conv2d(again.data(), x.data(), packed.data(), with_packed, {bias.data(), true}, beside_packed.data(), threads);
      EXPECT_TRUE(test::bit_equal(again, y));
      GuardedBuffer<float> backward = workspace_of(kernels.conv2d_grad_input_workspace_bytes(s, threads));
      kernels.conv2d_grad_input(dx.data(), dy.data(), weight.data(), s, backward.data(), threads);
      expect_close(dx, expected_dx, test::winograd_tolerance(s.out_channels));
      for (const GuardedBuffer<float>* buffer : {&sum, &y, &dx, &forward, &packed, &again, &beside_packed, &backward})
        EXPECT_TRUE(buffer->guards_intact());
    }
  });
}

TEST(Winograd, IsChosenWhereItPays) {
  test::for_each_isa_of<float>("rule", [](const cpu::Kernels<float>& kernels) {
    for (const Conv2dShape& s :
         {make_shape(16, 56, 56, 64, 64), make_shape(16, 28, 28, 128, 128), make_shape(16, 14, 14, 256, 256),
          make_shape(16, 7, 7, 512, 512), make_shape(128, 32, 32, 16, 16)})
      EXPECT_TRUE(kernels.conv2d_is_winograd(s)) << describe(s);
    for (const Conv2dShape& s : {make_shape(1, 7, 7, 512, 512), make_shape(64, 3, 3, 64, 64), make_shape(64, 5, 5, 64, 64),
                                 make_shape(16, 32, 32, 3, 16), make_shape(16, 32, 32, 16, 24)})
      EXPECT_FALSE(kernels.conv2d_is_winograd(s)) << describe(s);
    Conv2dShape direct = make_shape(16, 56, 56, 64, 64);
    direct.winograd = false;
    EXPECT_FALSE(kernels.conv2d_is_winograd(direct)) << "not allowed";
    EXPECT_FALSE(kernels.conv2d_is_winograd({16, 56, 56, 64, 28, 28, 64, 3, 3, 2, 1}));
    EXPECT_FALSE(kernels.conv2d_is_winograd({16, 56, 56, 64, 54, 54, 64, 3, 3, 1, 0}));
    EXPECT_FALSE(kernels.conv2d_is_winograd({16, 56, 56, 64, 56, 56, 64, 1, 1, 1, 0}));
    EXPECT_FALSE(kernels.conv2d_is_winograd({16, 56, 56, 64, 56, 56, 64, 5, 5, 1, 2}));
  });
  test::for_each_isa_of<Bf16>("rule", [](const cpu::Kernels<Bf16>& kernels) {
    EXPECT_FALSE(kernels.conv2d_is_winograd(make_shape(16, 56, 56, 64, 64)));
  });
}

// Image sizes that are not multiples of a tile, in both directions.
TEST(Winograd, ImageSizesMatchReference) {
  for (std::int64_t height : {4, 7, 8, 10, 13})
    for (std::int64_t width : {4, 11, 12, 14}) check(make_shape(16, height, width, 16, 16));
}

// Around panels of two vectors, and a last panel of one.
TEST(Winograd, ChannelCountsMatchReference) {
  for (std::int64_t channels : {16, 32, 48, 80})
    for (std::int64_t out_channels : {16, 48, 64, 112}) check(make_shape(2, 12, 11, channels, out_channels));
}

// Blocks of several sizes, tiles that do not divide evenly among the threads, and more threads than tiles.
TEST(Winograd, EveryTeamMatchesReference) {
  const auto teams = {1, 2, 3, 5, 16};
  check(make_shape(3, 20, 20, 64, 48), teams);
  check(make_shape(2, 12, 12, 128, 32), teams);
  check(make_shape(4, 16, 16, 16, 16), teams);
  check(make_shape(2, 15, 14, 256, 64), teams);
}

// Inside a parallel region the runtime grants a team of one, whatever the kernel requests.
TEST(Winograd, RepeatsBitForBitWithFewerThreadsThanRequested) {
  const Conv2dShape s = make_shape(5, 12, 12, 32, 48);
  const std::int64_t pixels = s.batch * s.height * s.width;
  const auto x = random_reals<float>(pixels * s.channels, 1), weight = random_reals<float>(s.out_channels * 9 * s.channels, 2);
  test::for_each_isa_of<float>(describe(s), [&](const cpu::Kernels<float>& kernels) {
    GuardedBuffer<float> y(pixels * s.out_channels), again(pixels * s.out_channels);
    GuardedBuffer<float> workspace = workspace_of(kernels.conv2d_workspace_bytes(s, 6));
    kernels.conv2d(y.data(), x.data(), weight.data(), s, {}, workspace.data(), 6);
    for (int repetition = 0; repetition < 3; ++repetition) {
#pragma omp parallel num_threads(2)
#pragma omp single
      kernels.conv2d(again.data(), x.data(), weight.data(), s, {}, workspace.data(), 6);
      EXPECT_TRUE(test::bit_equal(again, y));
    }
  });
}

// The RMS error divided by that of plain float sums: what kWinogradMeanGrowth derives, plus a quarter for the rounding of
// the transforms themselves and the sampling error.
TEST(Winograd, RoundsLittleMoreThanDirectSums) {
  for (std::int64_t channels : {64, 256}) {
    const Conv2dShape s = make_shape(2, 12, 12, channels, 32);
    const std::int64_t pixels = s.batch * s.height * s.width;
    const auto x = random_reals<float>(pixels * s.channels, 1),
               weight = random_reals<float>(s.out_channels * 9 * s.channels, 2);
    GuardedBuffer<float> y(pixels * s.out_channels), exact(pixels * s.out_channels);
    reference::conv2d(exact.data(), x.data(), weight.data(), s, {});
    const auto interior = [&](auto error_of) {
      double squares = 0;
      std::int64_t count = 0;
      for (std::int64_t image = 0; image < s.batch; ++image)
        for (std::int64_t row = 1; row + 1 < s.height; ++row)
          for (std::int64_t column = 1; column + 1 < s.width; ++column)
            for (std::int64_t k = 0; k < s.out_channels; ++k, ++count) {
              const double error = error_of(image, row, column, k);
              squares += error * error;
            }
      return std::sqrt(squares / static_cast<double>(count));
    };
    const auto index = [&](std::int64_t image, std::int64_t row, std::int64_t column, std::int64_t k) {
      return ((image * s.height + row) * s.width + column) * s.out_channels + k;
    };
    const double direct = interior([&](std::int64_t image, std::int64_t row, std::int64_t column, std::int64_t k) {
      float sum = 0;
      for (std::int64_t tap = 0; tap < 9; ++tap)
        for (std::int64_t c = 0; c < s.channels; ++c) {
          const std::int64_t pixel = (image * s.height + row + tap / 3 - 1) * s.width + column + tap % 3 - 1;
          sum = std::fma(x.data()[pixel * s.channels + c], weight.data()[(k * 9 + tap) * s.channels + c], sum);
        }
      return static_cast<double>(sum) - exact.data()[index(image, row, column, k)];
    });
    test::for_each_isa_of<float>(describe(s), [&](const cpu::Kernels<float>& kernels) {
      ASSERT_TRUE(kernels.conv2d_is_winograd(s));
      GuardedBuffer<float> workspace = workspace_of(kernels.conv2d_workspace_bytes(s, 1));
      kernels.conv2d(y.data(), x.data(), weight.data(), s, {}, workspace.data(), 1);
      const double transformed = interior([&](std::int64_t image, std::int64_t row, std::int64_t column, std::int64_t k) {
        const std::int64_t at = index(image, row, column, k);
        return static_cast<double>(y.data()[at]) - exact.data()[at];
      });
      RecordProperty(std::string(kernels.isa) + "_" + std::to_string(channels), std::to_string(transformed / direct));
      EXPECT_LT(transformed / direct, 1.25 * test::kWinogradMeanGrowth);
    });
  }
}

}  // namespace
}  // namespace epochbench
