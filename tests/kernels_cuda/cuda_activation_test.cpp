// Element-wise CUDA kernels, the bias and its gradient, dropout and casts against the reference, for every type and thread
// order, with guard bands and in place.
#include <functional>

#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

// Around the elements that a thread (4 or 8) and a block (2048 or 4096) process at once.
constexpr std::int64_t kSizes[] = {0, 1, 3, 7, 8, 9, 33, 2047, 2048, 2049, 4095, 4096, 4097, 10003};

constexpr Matrix kMatrices[] = {{1, 1},   {3, 10},  {5, 1},    {4001, 1}, {7, 255},   {2, 256},
                                {65, 64}, {130, 6}, {700, 10}, {2, 2049}, {71, 1000}, {33, 1032}};

// Values of both signs, with zeros of both signs.
Tensor signed_values(std::int64_t n, Element element, std::uint64_t seed) {
  GuardedBuffer<float> values = random_floats(n, seed);
  for (std::int64_t i = 0; i < n; i += 5) values[i] = i % 2 == 0 ? 0.0f : -0.0f;
  return Tensor(values, element);
}

// call(y, x) computes `expected`, out of place and in place.
void expect_of_one(const Tensor& x, const GuardedBuffer<float>& expected, Tolerance tolerance,
                   const std::function<void(void*, const void*)>& call) {
  for_each_order("", [&] {
    Tensor y(x.size(), x.element()), in_place = x;
    call(y.data(), x.data());
    call(in_place.data(), in_place.data());
    expect_close(y.floats(), expected, tolerance);
    EXPECT_TRUE(bit_equal(in_place.floats(), y.floats()));
    EXPECT_TRUE(y.guards_intact());
    EXPECT_TRUE(in_place.guards_intact());
  });
}
void expect_of_two(const Tensor& a, const Tensor& b, const GuardedBuffer<float>& expected, Tolerance tolerance,
                   const std::function<void(void*, const void*, const void*)>& call) {
  for_each_order("", [&] {
    Tensor y(a.size(), a.element()), over_a = a, over_b = b;
    call(y.data(), a.data(), b.data());
    call(over_a.data(), over_a.data(), b.data());
    call(over_b.data(), a.data(), over_b.data());
    expect_close(y.floats(), expected, tolerance);
    EXPECT_TRUE(bit_equal(over_a.floats(), y.floats()));
    EXPECT_TRUE(bit_equal(over_b.floats(), y.floats()));
    EXPECT_TRUE(y.guards_intact());
  });
}

TEST(CudaRelu, MatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      const Tensor x = signed_values(n, element, 1);
      GuardedBuffer<float> expected(n);
      reference::relu(expected.data(), x.floats().data(), n);
      expect_of_one(x, expected, kExact, [&](void* y, const void* from) { cuda::relu(y, from, n, element, kNoStream); });
    });
}

TEST(CudaRelu, KeepsNan) {
  for_each_element("", [](Element element) {
    GuardedBuffer<float> values = random_floats(37, 1);
    for (std::int64_t at : {0, 20, 36}) values[at] = NAN;
    const Tensor x(values, element);
    Tensor y(37, element);
    cuda::relu(y.data(), x.data(), 37, element, kNoStream);
    for (std::int64_t i = 0; i < 37; ++i) EXPECT_EQ(std::isnan(y.floats()[i]), i == 0 || i == 20 || i == 36) << i;
  });
}

TEST(CudaReluGrad, MatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      const Tensor dy = random_tensor(n, element, 2), y = signed_values(n, element, 3);
      GuardedBuffer<float> expected(n);
      reference::relu_grad(expected.data(), dy.floats().data(), y.floats().data(), n);
      expect_of_two(dy, y, expected, kExact,
                    [&](void* dx, const void* a, const void* b) { cuda::relu_grad(dx, a, b, n, element, kNoStream); });
    });
}

TEST(CudaAdd, MatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      const Tensor a = random_tensor(n, element, 4), b = random_tensor(n, element, 5);
      GuardedBuffer<float> expected(n);
      reference::add(expected.data(), a.floats().data(), b.floats().data(), n);
      expect_of_two(a, b, expected, stored(element, kExact),
                    [&](void* y, const void* from, const void* other) { cuda::add(y, from, other, n, element, kNoStream); });
    });
}

// The relative error of erfc(z) is 2 z^2 times that of z: 36 times 1.5 roundings at z = 6 / sqrt(2), and a few of its own. In
// 16 bits the lower tail is 1 + erf, whose absolute error is a few kEps however small the result.
TEST(CudaGelu, MatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      const Tensor x = random_tensor(n, element, 6, -6, 6);
      GuardedBuffer<float> expected(n);
      reference::gelu(expected.data(), x.floats().data(), n);
      const Tolerance tolerance = element == Element::f32 ? Tolerance{40 * kEps, 0} : stored(element, {4 * kEps, 6 * 4 * kEps});
      expect_of_one(x, expected, tolerance, [&](void* y, const void* from) { cuda::gelu(y, from, n, element, kNoStream); });
    });
}

TEST(CudaGeluGrad, MatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      const Tensor dy = random_tensor(n, element, 7), x = random_tensor(n, element, 8, -6, 6);
      GuardedBuffer<float> expected(n);
      reference::gelu_grad(expected.data(), dy.floats().data(), x.floats().data(), n);
      // The two terms, of at most 1 each, may cancel.
      expect_of_two(dy, x, expected, stored(element, {4 * kEps, 8 * kEps}),
                    [&](void* dx, const void* a, const void* b) { cuda::gelu_grad(dx, a, b, n, element, kNoStream); });
    });
}

// The exponent 2 sqrt(2 / pi) (x + 0.044715 x^3), up to 25 at 6, errs by 2.5 roundings in the left tail; __expf adds as many of
// the result's units as its argument.
TEST(CudaGelu, TanhFormMatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      const Tensor x = random_tensor(n, element, 6, -6, 6);
      GuardedBuffer<float> expected(n);
      reference::gelu_tanh(expected.data(), x.floats().data(), n);
      expect_of_one(x, expected, stored(element, {(4 + 3.5 * 25) * kEps, 0}),
                    [&](void* y, const void* from) { cuda::gelu_tanh(y, from, n, element, kNoStream); });
    });
}

TEST(CudaGeluGrad, TanhFormMatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      const Tensor dy = random_tensor(n, element, 7), x = random_tensor(n, element, 8, -6, 6);
      GuardedBuffer<float> expected(n);
      reference::gelu_tanh_grad(expected.data(), dy.floats().data(), x.floats().data(), n);
      // The two terms, of at most 1 each, may cancel; 1 - f errs by half an eps, and is multiplied by up to 6 * 6.
      expect_of_two(dy, x, expected, stored(element, {4 * kEps, 48 * kEps}),
                    [&](void* dx, const void* a, const void* b) { cuda::gelu_tanh_grad(dx, a, b, n, element, kNoStream); });
    });
}

TEST(CudaBiasAdd, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.rows * m.channels, element, 9), bias = random_tensor(m.channels, element, 10);
      GuardedBuffer<float> expected(m.rows * m.channels);
      reference::bias_add(expected.data(), x.floats().data(), bias.floats().data(), m.rows, m.channels);
      expect_of_one(x, expected, stored(element, kExact), [&](void* y, const void* from) {
        cuda::bias_add(y, from, bias.data(), m.rows, m.channels, m.channels, element, kNoStream);
      });
    });
}

// Only x has the sum rounded to `element`; y is computed from the float, as gelu of it. Sums are at most 5, and what the tanh
// form's exponent of at most 17 adds there is an error of a result below 2e-6.
TEST(CudaBiasGelu, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const std::int64_t n = m.rows * m.channels;
      const Tensor product = random_tensor(n, element, 11, -3, 3), bias = random_tensor(m.channels, element, 12, -2, 2);
      GuardedBuffer<float> sum(n), of_erf(n), of_tanh(n);
      reference::bias_add(sum.data(), product.floats().data(), bias.floats().data(), m.rows, m.channels);
      reference::gelu(of_erf.data(), sum.data(), n);
      reference::gelu_tanh(of_tanh.data(), sum.data(), n);
      for (const bool tanh : {false, true})
        for_each_order(tanh ? "tanh" : "erf", [&] {
          Tensor y(n, element), x(n, element), over_x = product, of_sum(n, element), over_y = product;
          const auto call = [&](Tensor& to, Tensor* stored_sum, const Tensor& from) {
            cuda::bias_gelu(to.data(), stored_sum ? stored_sum->data() : nullptr, from.data(), bias.data(), m.rows, m.channels,
                            tanh, element, kNoStream);
          };
          call(y, &x, product);
          call(of_sum, &over_x, over_x);  // as in training
          call(over_y, nullptr, over_y);  // as in inference
          expect_close(x.floats(), sum, stored(element, {kEps, 0}));
          expect_close(y.floats(), tanh ? of_tanh : of_erf, stored(element, {40 * kEps, 24 * kEps}));
          EXPECT_TRUE(bit_equal(over_x.floats(), x.floats()));
          EXPECT_TRUE(bit_equal(of_sum.floats(), y.floats()) && bit_equal(over_y.floats(), y.floats()));
          for (const Tensor* written : {&y, &x, &over_x, &over_y}) EXPECT_TRUE(written->guards_intact());
        });
    });
}

TEST(CudaBiasAddGrad, MatchesReferenceAndIsBitEqualInEveryOrder) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const Tensor dy = random_tensor(m.rows * m.channels, element, 11);
      GuardedBuffer<float> expected(m.channels);
      reference::bias_add_grad(expected.data(), dy.floats().data(), m.rows, m.channels);
      std::vector<GuardedBuffer<float>> results;
      for_each_order("", [&] {
        Tensor dbias(m.channels, element);
        DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
        cuda::bias_add_grad(dbias.data(), dy.data(), m.rows, m.channels, m.channels, element, workspace.data(), kNoStream);
        expect_close(dbias.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(m.rows), 1)));
        EXPECT_TRUE(dbias.guards_intact());
        EXPECT_TRUE(workspace.guards_intact());
        results.push_back(dbias.floats());
        EXPECT_TRUE(bit_equal(results.front(), results.back()));
      });
    });
}

// Rows of more elements than channels, whatever lies between; in packs, in packs with channels and others, one by one.
struct LongRows {
  std::int64_t rows, channels, row_elements;
};
constexpr LongRows kLongRows[] = {{90, 10, 16}, {41, 1001, 1008}, {70, 7, 9}, {3, 1, 128}, {5, 16, 24}};
std::string describe(const LongRows& p) { return std::to_string(p.channels) + " of " + std::to_string(p.row_elements); }

GuardedBuffer<float> with_gaps(const GuardedBuffer<float>& dense, const LongRows& p) {
  GuardedBuffer<float> rows(p.rows * p.row_elements);
  for (std::int64_t i = 0; i < p.rows * p.row_elements; ++i)
    rows[i] = i % p.row_elements < p.channels ? dense[i / p.row_elements * p.channels + i % p.row_elements] : NAN;
  return rows;
}

TEST(CudaBiasAdd, AddsToChannelsOfLongerRows) {
  for (const LongRows& p : kLongRows)
    for_each_element(describe(p), [&](Element element) {
      const GuardedBuffer<float> dense = random_tensor(p.rows * p.channels, element, 9).floats();
      const Tensor bias = random_tensor(p.channels, element, 10);
      GuardedBuffer<float> expected(p.rows * p.channels), result(p.rows * p.channels);
      reference::bias_add(expected.data(), dense.data(), bias.floats().data(), p.rows, p.channels);
      const Tensor x(with_gaps(dense, p), element);
      for_each_order("", [&] {
        Tensor y(p.rows * p.row_elements, element);
        cuda::bias_add(y.data(), x.data(), bias.data(), p.rows, p.channels, p.row_elements, element, kNoStream);
        const GuardedBuffer<float> rows = y.floats();
        for (std::int64_t i = 0; i < p.rows * p.channels; ++i)
          result[i] = rows[i / p.channels * p.row_elements + i % p.channels];
        expect_close(result, expected, stored(element, kExact));
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

TEST(CudaBiasAddGrad, SumsChannelsOfLongerRows) {
  for (const LongRows& p : kLongRows)
    for_each_element(describe(p), [&](Element element) {
      const GuardedBuffer<float> dense = random_tensor(p.rows * p.channels, element, 11).floats();
      GuardedBuffer<float> expected(p.channels);
      reference::bias_add_grad(expected.data(), dense.data(), p.rows, p.channels);
      const Tensor dy(with_gaps(dense, p), element);
      for_each_order("", [&] {
        Tensor dbias(p.channels, element);
        DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(p.rows, p.row_elements));
        cuda::bias_add_grad(dbias.data(), dy.data(), p.rows, p.channels, p.row_elements, element, workspace.data(), kNoStream);
        expect_close(dbias.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(p.rows), 1)));
        EXPECT_TRUE(dbias.guards_intact() && workspace.guards_intact());
      });
    });
}

// A plain float sum of this many stops growing at 2^24 times the smallest.
TEST(CudaBiasAddGrad, ManyRowsKeepPrecision) {
  constexpr std::int64_t kRows = (1 << 22) + 5;
  GuardedBuffer<float> tenths(kRows);
  std::fill(tenths.begin(), tenths.end(), 0.1f);
  const Tensor dy(tenths, Element::f32);
  Tensor dbias(1, Element::f32);
  DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(kRows, 1));
  cuda::bias_add_grad(dbias.data(), dy.data(), kRows, 1, 1, Element::f32, workspace.data(), kNoStream);
  // A thread adds a few dozen values, lanes are added in pairs, then every eighth of a few hundred blocks.
  EXPECT_NEAR(dbias.floats()[0] / (static_cast<double>(0.1f) * kRows), 1, 64 * kEps);
}

Dropout dropout_of(double probability, std::uint64_t seed, std::uint32_t ordinal) {
  return {seed, ordinal, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}

TEST(CudaDropout, DrawsTheMasksOfTheReference) {
  Dropout dropouts[] = {
      dropout_of(0.1, 0, 5), dropout_of(0.5, 0xfedcba9876543210u, 0xffffffffu), dropout_of(0.999, 1, 0), {3, 2, 0, 1.0f}};
  for (std::size_t i = 0; i < std::size(dropouts); ++i) dropouts[i].first = static_cast<std::int64_t>(i) * 1001;
  const std::int32_t steps[] = {0, 1, 123456789, 2147483647};
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      for (std::size_t i = 0; i < std::size(dropouts); ++i) {
        const Tensor x = random_tensor(n, element, 12 + i);
        const DeviceBuffer<std::int32_t> step = on_device<std::int32_t>({&steps[i], 1});
        GuardedBuffer<float> expected(n);
        reference::dropout(expected.data(), x.floats().data(), &steps[i], dropouts[i], n);
        expect_of_one(x, expected, stored(element, kExact), [&](void* y, const void* from) {
          cuda::dropout(y, from, step.data(), dropouts[i], n, element, kNoStream);
        });
      }
    });
}

TEST(CudaAccumulate, MatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_element(std::to_string(n), [&](Element element) {
      const Tensor x = signed_values(n, element, 1);
      for (bool first : {true, false}) {
        const GuardedBuffer<float> before = random_floats(n, 2);
        GuardedBuffer<float> expected = before;
        reference::accumulate(expected.data(), x.floats().data(), 0.25f, first, n);
        for_each_order("", [&] {
          Tensor sum(before, Element::f32);
          cuda::accumulate(static_cast<float*>(sum.data()), x.data(), 0.25f, first, n, element, kNoStream);
          expect_close(sum.floats(), expected, kExact);
          EXPECT_TRUE(sum.guards_intact());
        });
      }
    });
}

TEST(CudaDropout, DropsNanToo) {
  GuardedBuffer<float> values(100);  // NaN
  const Tensor x(values, Element::bf16);
  Tensor y(100, Element::bf16);
  const std::int32_t zero = 0;
  const DeviceBuffer<std::int32_t> step = on_device<std::int32_t>({&zero, 1});
  cuda::dropout(y.data(), x.data(), step.data(), dropout_of(0.5, 1, 1), 100, Element::bf16, kNoStream);
  const GuardedBuffer<float> out = y.floats();
  const auto zeros = std::count(out.begin(), out.end(), 0.0f);
  EXPECT_GT(zeros, 20);
  EXPECT_LT(zeros, 80);
  for (float value : out) EXPECT_TRUE(value == 0 || std::isnan(value));
}

// Every pair of types in one launch: values of all magnitudes, including those that overflow or underflow in fp16.
TEST(CudaCast, RoundsToNearestEvenBetweenAllTypes) {
  const Element elements[] = {Element::f32, Element::bf16, Element::f16};
  const std::int64_t sizes[] = {1, 9, 4099, cuda::kChunkElements, cuda::kChunkElements + 13};
  std::vector<Tensor> in, out;
  std::vector<GuardedBuffer<float>> expected;
  for (Element from : elements)
    for (Element to : elements)
      for (std::int64_t n : sizes) {
        GuardedBuffer<float> values = random_floats(n, static_cast<std::uint64_t>(n));
        for (std::int64_t i = 0; i < n; ++i) values[i] = std::ldexp(values[i], static_cast<int>(i % 50) - 30);
        if (n > 8) values[3] = INFINITY, values[4] = -0.0f, values[5] = 65519.99f, values[6] = 65520, values[7] = 0x1p-25f;
        in.emplace_back(values, from);
        out.emplace_back(n, to);
        expected.push_back(in.back().floats());
        for (float& value : expected.back()) value = test::rounded(value, to);
      }
  for_each_order("", [&] {
    std::vector<cuda::CastTensor> tensors;
    std::vector<cuda::Chunk> chunks;
    for (std::size_t i = 0; i < in.size(); ++i) {
      out[i].poison();
      for (std::int64_t first = 0; first < in[i].size(); first += cuda::kChunkElements)
        chunks.push_back({static_cast<std::int32_t>(i), first});
      tensors.push_back({out[i].data(), in[i].data(), in[i].size(), out[i].element(), in[i].element()});
    }
    const auto tensors_there = on_device<cuda::CastTensor>(tensors);
    const auto chunks_there = on_device<cuda::Chunk>(chunks);
    cuda::cast(tensors_there.data(), chunks_there.data(), static_cast<std::int64_t>(chunks.size()), kNoStream);
    for (std::size_t i = 0; i < in.size(); ++i) {
      EXPECT_TRUE(bit_equal(out[i].floats(), expected[i])) << i;
      EXPECT_TRUE(out[i].guards_intact()) << i;
    }
  });
}

}  // namespace
}  // namespace epochbench
