// Products of bytes of every instruction set of this CPU, and on the model of AMX, against the reference. Sums are exact and
// the epilogue rounds as the reference does, so results are equal, except after GELU.
#include <map>
#include <string>
#include <vector>

#include "tests/support/int8_sweep.h"
#include "tests/support/shapes.h"

namespace epochbench {
namespace {

using test::Codes;
using test::convolution_shape;
using test::expect_close;
using test::for_each_int8_isa;
using test::GuardedBuffer;
using test::random_codes;
using test::random_floats;

enum class Shortcut { none, codes, floats };

struct Case {
  Conv2dShape shape;
  bool codes = true;  // y
  Shortcut shortcut = Shortcut::none;
  Int8Activation activation = Int8Activation::none;
  int threads = 1;
  std::int64_t offset = 0;  // of operands from a boundary of 64 bytes
};

std::string describe(const Case& test) {
  const Conv2dShape& s = test.shape;
  return "n=" + std::to_string(s.batch) + " h=" + std::to_string(s.height) + " w=" + std::to_string(s.width) +
         " c=" + std::to_string(s.channels) + " k=" + std::to_string(s.out_channels) + " r=" + std::to_string(s.kernel_height) +
         " s=" + std::to_string(s.kernel_width) + " stride=" + std::to_string(s.stride) + " pad=" + std::to_string(s.padding) +
         " threads=" + std::to_string(test.threads) + (test.codes ? " codes" : " floats") + " shortcut " +
         std::to_string(static_cast<int>(test.shortcut)) + " activation " + std::to_string(static_cast<int>(test.activation)) +
         " offset " + std::to_string(test.offset);
}

Conv2dShape linear(std::int64_t rows, std::int64_t k, std::int64_t columns) {
  return {rows, 1, 1, k, 1, 1, columns, 1, 1, 1, 0};
}

std::int64_t inputs_of(const Conv2dShape& s) { return s.batch * s.height * s.width * s.channels; }
std::int64_t weights_of(const Conv2dShape& s) { return s.out_channels * s.kernel_height * s.kernel_width * s.channels; }
std::int64_t outputs_of(const Conv2dShape& s) { return s.batch * s.out_height * s.out_width * s.out_channels; }

constexpr float kXRange[] = {-1.3f, 2.1f}, kShortcutRange[] = {-0.7f, 1.1f};

struct Operands {
  explicit Operands(const Case& test)
      : x(test::shifted(random_codes(inputs_of(test.shape), 1), test.offset)),
        weights(int8_weight_bytes(test.shape)),
        multiplier(test.shape.out_channels),
        offset(test.shape.out_channels),
        shortcut_codes(random_codes(outputs_of(test.shape), 4)),
        shortcut_floats(random_floats(outputs_of(test.shape), 5)) {
    const GuardedBuffer<float> weight = random_floats(weights_of(test.shape), 2),
                               bias = random_floats(test.shape.out_channels, 3);
    Int8Affine affine;
    affine.bias = bias.data();
    pack_int8_weights(weights.data(), multiplier.data(), offset.data(), weight.data(), kXRange, test.shape, affine);
    EXPECT_TRUE(weights.guards_intact());
  }
  Codes x;
  GuardedBuffer<std::int8_t> weights;
  GuardedBuffer<float> multiplier, offset;
  Codes shortcut_codes;
  GuardedBuffer<float> shortcut_floats;
};

Int8Epilogue epilogue_of(const Case& test, const Operands& o, const float* y_range) {
  Int8Epilogue epilogue;
  epilogue.multiplier = o.multiplier.data();
  epilogue.offset = o.offset.data();
  if (test.shortcut == Shortcut::codes) epilogue.shortcut = o.shortcut_codes.data();
  if (test.shortcut == Shortcut::codes) epilogue.shortcut_range = kShortcutRange;
  if (test.shortcut == Shortcut::floats) epilogue.shortcut = o.shortcut_floats.data();
  epilogue.activation = test.activation;
  epilogue.y_range = test.codes ? y_range : nullptr;
  return epilogue;
}

void expect_codes(const std::uint8_t* actual, const Codes& expected, int apart) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_LE(std::abs(actual[i] - expected.data()[i]), apart)
        << "[" << i << "] is " << int{actual[i]} << ", expected " << int{expected.data()[i]};
}

void check(const Case& test) {
  const Conv2dShape& s = test.shape;
  const Operands o(test);
  const std::int64_t n = outputs_of(s);
  const bool exact = test.activation != Int8Activation::gelu;
  // Some numbers of the result lie outside of the range.
  GuardedBuffer<float> numbers(n);
  reference::int8_product(numbers.data(), o.x.data() + test.offset, o.weights.data(), kXRange, s,
                          epilogue_of(test, o, nullptr));
  const float largest = 0.9f * static_cast<float>(test::max_abs(numbers));
  const float y_range[] = {-0.8f * largest, largest};
  const Int8Epilogue epilogue = epilogue_of(test, o, y_range);
  Codes expected(n);
  if (test.codes) reference::int8_product(expected.data(), o.x.data() + test.offset, o.weights.data(), kXRange, s, epilogue);
  for_each_int8_isa(describe(test), [&](const cpu::Int8Kernels& kernels) {
    GuardedBuffer<std::uint8_t> workspace(static_cast<std::int64_t>(kernels.int8_product_workspace_bytes(s, test.threads)));
    const auto run = [&](void* y) {
      kernels.int8_product(y, o.x.data() + test.offset, o.weights.data(), kXRange, s, epilogue, workspace.data(), test.threads);
      EXPECT_TRUE(workspace.guards_intact());
    };
    if (test.codes) {
      Codes y(n + test.offset);
      run(y.data() + test.offset);
      EXPECT_TRUE(y.guards_intact());
      expect_codes(y.data() + test.offset, expected, exact ? 0 : 1);
    } else {
      GuardedBuffer<float> y(n);
      run(y.data());
      EXPECT_TRUE(y.guards_intact());
      expect_close(y, numbers, exact ? test::kExact : test::Tolerance{1e-6, 1e-30});
    }
  });
}

TEST(Int8, EveryDepthMatchesReference) {
  for (std::int64_t k = 1; k <= 70; ++k) check({linear(17, k, 33)});
  for (std::int64_t k = 71; k <= 1100; ++k) check({linear(3, k, 17)});
  for (std::int64_t k : {127, 128, 129, 255, 256, 260, 511, 512, 768, 1021, 1024, 1100, 2048}) check({linear(35, k, 40)});
}

TEST(Int8, EveryNumberOfRowsAndColumnsMatchesReference) {
  for (std::int64_t rows = 1; rows <= 34; ++rows) check({linear(rows, 20, 33)});
  for (std::int64_t rows = 1; rows <= 34; ++rows) check({linear(rows, 21, 9)});
  for (std::int64_t columns = 1; columns <= 50; ++columns) check({linear(15, 64, columns), columns % 2 == 0});
  for (std::int64_t columns : {95, 97, 130, 1000}) check({linear(31, 40, columns)});
}

TEST(Int8, ConvolutionsMatchReference) {
  for (std::int64_t channels : {1, 3, 4, 5, 64})
    for (std::int64_t kernel : {1, 3, 5, 7})
      for (std::int64_t stride : {1, 2})
        for (std::int64_t padding : {0, 1, 2, 3}) {
          if (kernel == 1 && padding > 1) continue;
          check({convolution_shape(2, 9, 12, channels, 18, kernel, kernel, stride, padding)});
        }
}

TEST(Int8, UnequalKernelsMatchReference) {
  check({convolution_shape(2, 8, 13, 6, 20, 1, 3, 1, 1)});
  check({convolution_shape(2, 13, 7, 3, 35, 5, 2, 2, 2)});
  check({convolution_shape(1, 3, 2, 16, 20, 3, 3, 1, 3)});  // windows without a pixel of the image
}

// More than one block of rows, and more than one group of panels.
TEST(Int8, BlocksMatchReference) {
  check({linear(600, 700, 33)});
  check({convolution_shape(2, 14, 14, 128, 70, 3, 3, 1, 1)});
  check({linear(20, 3000, 200)});
}

// On AMX: several pieces of k and groups of panels, with rows in place and gathered, and a last panel of one vector.
TEST(Int8, PiecesOfDepthMatchReference) {
  check({linear(70, 3072, 360), true, Shortcut::floats, Int8Activation::relu});
  check({linear(70, 2048, 560), false});
  check({convolution_shape(1, 7, 7, 250, 300, 3, 3, 1, 1), true, Shortcut::codes});
  check({convolution_shape(1, 7, 7, 512, 260, 3, 3, 1, 1)});
  check({linear(130, 20000, 40)});
  for (int threads : {2, 5}) check({linear(100, 1100, 300), true, Shortcut::none, Int8Activation::none, threads});
}

// The largest codes and weights, whose products in pairs exceed 16 bits: no sum saturates on its way, and codes do at both
// ends.
TEST(Int8, SumsOfExtremesAreExact) {
  for (std::int64_t k : {1, 2, 3, 63, 64, 100, 1100, 8000}) {
    const Conv2dShape s = linear(33, k, 34);
    Codes x(inputs_of(s));
    std::fill(x.begin(), x.end(), std::uint8_t{255});
    GuardedBuffer<std::int8_t> weights(int8_weight_bytes(s));
    std::fill(weights.begin(), weights.end(), std::int8_t{0});
    std::vector<std::int64_t> sums(static_cast<std::size_t>(s.out_channels));
    for (std::int64_t c = 0; c < s.out_channels; ++c)
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int8_t weight = c % 3 == 0 || (c % 3 == 2 && i % 5 != 0) ? 127 : -128;
        weights[((c / 16 * int8_words(s) + i / 4) * 16 + c % 16) * 4 + i % 4] = weight;
        sums[static_cast<std::size_t>(c)] += 255 * weight;
      }
    GuardedBuffer<float> ones(s.out_channels), zeros(s.out_channels);
    std::fill(ones.begin(), ones.end(), 1.0f);
    std::fill(zeros.begin(), zeros.end(), 0.0f);
    Int8Epilogue epilogue;
    epilogue.multiplier = ones.data();
    epilogue.offset = zeros.data();
    const float y_range[] = {-4e6f, 5e6f};
    for_each_int8_isa("k=" + std::to_string(k), [&](const cpu::Int8Kernels& kernels) {
      GuardedBuffer<std::uint8_t> workspace(static_cast<std::int64_t>(kernels.int8_product_workspace_bytes(s, 1)));
      GuardedBuffer<float> numbers(outputs_of(s));
      Codes codes(outputs_of(s));
      epilogue.y_range = nullptr;
      kernels.int8_product(numbers.data(), x.data(), weights.data(), kXRange, s, epilogue, workspace.data(), 1);
      epilogue.y_range = y_range;
      kernels.int8_product(codes.data(), x.data(), weights.data(), kXRange, s, epilogue, workspace.data(), 1);
      for (std::int64_t i = 0; i < outputs_of(s); ++i) {
        const float expected = static_cast<float>(sums[static_cast<std::size_t>(i % s.out_channels)]);
        ASSERT_EQ(numbers[i], expected) << i;
        ASSERT_EQ(codes[i], encode(expected, byte_code(y_range))) << i;
      }
    });
  }
}

// Also after GELU, for which the reference allows a difference; its codes are computed with AVX-512's own reciprocal, where
// there is one.
TEST(Int8, InstructionSetsAgreeToTheBit) {
  const float y_range[] = {-3, 4};
  for (const Conv2dShape& shape : {linear(67, 1100, 50), linear(33, 192, 64), convolution_shape(2, 9, 12, 20, 35, 3, 3, 2, 1)})
    for (bool codes : {true, false})
      for (Int8Activation activation : {Int8Activation::none, Int8Activation::gelu}) {
        const Case test{shape, codes, Shortcut::floats, activation};
        const Operands o(test);
        std::map<bool, Codes> results;  // the bytes of y, by whether codes after GELU are those of AVX-512
        for_each_int8_isa(describe(test), [&](const cpu::Int8Kernels& kernels) {
          GuardedBuffer<std::uint8_t> workspace(static_cast<std::int64_t>(kernels.int8_product_workspace_bytes(shape, 1)));
          Codes y(outputs_of(shape) * (codes ? 1 : 4));
          kernels.int8_product(y.data(), o.x.data(), o.weights.data(), kXRange, shape, epilogue_of(test, o, y_range),
                               workspace.data(), 1);
          const std::string isa = kernels.isa;
          const bool own = codes && activation == Int8Activation::gelu && isa != "avx2" && isa != "avx_vnni";
          const Codes& first = results.try_emplace(own, y).first->second;
          EXPECT_TRUE(std::equal(y.begin(), y.end(), first.begin()));
        });
      }
}

TEST(Int8, EpiloguesMatchReference) {
  for (const Conv2dShape& shape : {linear(33, 48, 50), convolution_shape(1, 5, 6, 3, 32, 3, 3, 1, 1), linear(40, 64, 64)})
    for (bool codes : {true, false})
      for (Shortcut shortcut : {Shortcut::none, Shortcut::codes, Shortcut::floats})
        for (Int8Activation activation : {Int8Activation::none, Int8Activation::relu, Int8Activation::gelu})
          check({shape, codes, shortcut, activation});
}

TEST(Int8, UnalignedOperandsMatchReference) {
  for (std::int64_t offset : {1, 3, 4, 16, 63}) {
    check({linear(40, 64, 48), true, Shortcut::none, Int8Activation::none, 1, offset});
    check({convolution_shape(1, 6, 7, 5, 17, 3, 3, 1, 1), true, Shortcut::none, Int8Activation::none, 1, offset});
  }
}

// Large enough for a team, in shapes that it divides by rows, by columns, and by neither.
TEST(Int8, EveryTeamMatchesReference) {
  for (int threads : {1, 2, 3, 4, 7})
    for (const Conv2dShape& shape : {linear(130, 70, 110), linear(2, 300, 900), linear(1500, 100, 5), linear(9, 900, 80),
                                     convolution_shape(3, 12, 11, 20, 33, 3, 3, 1, 1)})
      check({shape, true, Shortcut::none, Int8Activation::relu, threads});
}

// Inside a parallel region the runtime grants a team of one, whatever the kernel requests.
TEST(Int8, FewerThreadsThanRequestedMatchReference) {
#pragma omp parallel num_threads(2)
#pragma omp single
  check({linear(150, 200, 100), true, Shortcut::none, Int8Activation::none, 4});
}

TEST(Int8, ShortcutMayBeTheResult) {
  for (Shortcut shortcut : {Shortcut::codes, Shortcut::floats}) {
    const Case test{linear(37, 40, 41), shortcut == Shortcut::codes, shortcut};
    const Operands o(test);
    Int8Epilogue epilogue = epilogue_of(test, o, kXRange);
    GuardedBuffer<float> expected(outputs_of(test.shape));
    reference::int8_product(expected.data(), o.x.data(), o.weights.data(), kXRange, test.shape, epilogue);
    for_each_int8_isa("in place", [&](const cpu::Int8Kernels& kernels) {
      Operands own(test);
      void* const y = test.codes ? static_cast<void*>(own.shortcut_codes.data()) : own.shortcut_floats.data();
      epilogue.shortcut = y;
      GuardedBuffer<float> workspace(static_cast<std::int64_t>(kernels.int8_product_workspace_bytes(test.shape, 1) / 4));
      kernels.int8_product(y, o.x.data(), o.weights.data(), kXRange, test.shape, epilogue, workspace.data(), 1);
      EXPECT_EQ(std::memcmp(y, expected.data(), static_cast<std::size_t>(outputs_of(test.shape)) * (test.codes ? 1 : 4)), 0);
    });
  }
}

// Encoded operands approximate a convolution of floats, batch norm included: each code is off by at most half a step, so a sum
// of k products by k (x_step max|w| + w_step max|x| + x_step w_step / 2) / 2.
TEST(Int8, ApproximatesConvolutionOfFloats) {
  const Conv2dShape s = convolution_shape(2, 7, 9, 11, 21, 3, 3, 1, 1);
  const GuardedBuffer<float> x = random_floats(inputs_of(s), 1, -1.3, 2.1), weight = random_floats(weights_of(s), 2);
  const GuardedBuffer<float> bias = random_floats(s.out_channels, 3), scale = random_floats(s.out_channels, 4),
                             shift = random_floats(s.out_channels, 5), mean = random_floats(s.out_channels, 6),
                             variance = random_floats(s.out_channels, 7, 0.5, 2);
  const Int8Affine affine{bias.data(), scale.data(), shift.data(), mean.data(), variance.data(), 1e-5};
  GuardedBuffer<std::int8_t> weights(int8_weight_bytes(s));
  GuardedBuffer<float> multiplier(s.out_channels), offset(s.out_channels), products(outputs_of(s));
  pack_int8_weights(weights.data(), multiplier.data(), offset.data(), weight.data(), kXRange, s, affine);
  reference::conv2d(products.data(), x.data(), weight.data(), s, {bias.data(), false});
  const double k = 9 * 11, x_step = 3.4 / 255, w_step = 1.0 / 127;
  const double bound = k * (x_step * 1 + w_step * 2.1 + x_step * w_step / 2) / 2;
  Codes codes(inputs_of(s));
  Int8Epilogue epilogue;
  epilogue.multiplier = multiplier.data();
  epilogue.offset = offset.data();
  for_each_int8_isa("approximation", [&](const cpu::Int8Kernels& kernels) {
    kernels.quantize(codes.data(), x.data(), kXRange, inputs_of(s), 1);
    GuardedBuffer<float> y(outputs_of(s));
    GuardedBuffer<float> workspace(static_cast<std::int64_t>(kernels.int8_product_workspace_bytes(s, 1) / 4));
    kernels.int8_product(y.data(), codes.data(), weights.data(), kXRange, s, epilogue, workspace.data(), 1);
    for (std::int64_t i = 0; i < outputs_of(s); ++i) {
      const std::int64_t c = i % s.out_channels;
      const double factor = scale[c] / std::sqrt(variance[c] + 1e-5);
      ASSERT_NEAR(y[i], (products[i] - mean[c]) * factor + shift[c], bound * std::fabs(factor)) << i;
    }
  });
}

}  // namespace
}  // namespace epochbench
