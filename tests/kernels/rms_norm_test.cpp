// Root mean square normalization, its gradient and its fused form against the reference: odd sizes, rows of every kernel, large
// values, aliasing.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-5;

// CUDA has one row per warp, with 8 to 32 values per lane (8 to 1024), and one per block, in packs (1032, 2048) or one by one.
constexpr Matrix kMatrices[] = {{5, 8},    {3, 64},   {9, 256}, {2, 264},  {7, 512}, {6, 768}, {4, 776}, {3, 1024},
                                {3, 1032}, {2, 2048}, {9, 100}, {2, 1028}, {1, 1},   {1, 17},  {40, 3},  {37, 33},
                                {5, 513},  {2, 2049}, {60, 24}, {33, 288}, {33, 1},  {2, 3},   {3, 16},  {70, 2}};
constexpr Matrix kLarge[] = {{6401, 8}, {4, 288}, {301, 5}, {65, 128}, {70, 255}, {37, 513}, {5, 2049}, {2, 9000}};

std::vector<Matrix> matrices() { return test::op_sizes(kMatrices, kLarge); }

DeviceBuffer<float> scales(std::int64_t channels) { return random_device_floats(channels, 1, 0.5, 2); }

struct Forward {
  Tensor y;
  DeviceBuffer<float> inv_rms;
  Forward(const Matrix& m, Element element) : y(m.elements(), element), inv_rms(m.rows) {}
  bool guards_intact() const { return y.guards_intact() && inv_rms.guards_intact(); }
};

void check_forward(const Matrix& m, const Tensor& x) {
  const Element element = x.element();
  const DeviceBuffer<float> scale = scales(m.channels);
  GuardedBuffer<float> expected(m.elements()), inv_rms(m.rows);
  reference::rms_norm(expected.data(), inv_rms.data(), x.floats().data(), scale.data(), m.rows, m.channels, kEpsilon);
  SameBits same(false);  // no sum is divided among threads
  for_each_device(element, [&](const OpDevice& k) {
    Forward f(m, element);
    Tensor in_place = x;
    k.rms_norm(f.y.data(), f.inv_rms.data(), x.data(), scale.data(), m.rows, m.channels, kEpsilon);
    k.rms_norm(in_place.data(), nullptr, in_place.data(), scale.data(), m.rows, m.channels, kEpsilon);
    // Each rounding of a sum of up to 512 squares in float is relative to the sum; the square root halves it.
    expect_close(f.inv_rms, inv_rms, {16 * kEps, 0});
    expect_close(f.y.floats(), expected, stored(element, {18 * kEps, 0}));
    EXPECT_TRUE(bit_equal(in_place.floats(), f.y.floats()));
    EXPECT_TRUE(f.guards_intact() && in_place.guards_intact());
    same.expect(k, f.y.floats());
  });
}

TEST(RmsNorm, MatchesReference) {
  for (const Matrix& m : matrices())
    for_each_op_element(describe(m), [&](Element element) { check_forward(m, random_tensor(m.elements(), element, 3)); });
}

TEST(RmsNorm, ManyRowsMatchReference) {  // several rows per warp
  check_forward({6401, 8}, random_tensor(6401 * 8, Element::f32, 3));
}

// The mean is not subtracted; of small values epsilon is most of the mean square.
TEST(RmsNorm, LargeAndSmallValuesMatchReference) {
  for (double scale : {1e-3, 1e3})
    for_each_op_element("", [&](Element element) {
      GuardedBuffer<float> x = random_floats(9 * 300, 5);
      for (float& value : x) value = static_cast<float>(scale * (2 + static_cast<double>(value)));
      check_forward({9, 300}, Tensor(x, element));
    });
}

TEST(RmsNorm, OfZerosIsZero) {
  const Matrix m = {3, 40};
  const DeviceBuffer<float> scale = scales(m.channels);
  for_each_op_element("", [&](Element element) {
    const Tensor x(std::vector<float>(static_cast<std::size_t>(m.elements())), element);
    for_each_device(element, [&](const OpDevice& k) {
      Forward f(m, element);
      k.rms_norm(f.y.data(), f.inv_rms.data(), x.data(), scale.data(), m.rows, m.channels, kEpsilon);
      EXPECT_EQ(max_abs(f.y.floats()), 0);
      for (float inverse : f.inv_rms) EXPECT_FLOAT_EQ(inverse, static_cast<float>(1 / std::sqrt(kEpsilon)));
    });
  });
}

TEST(RmsNorm, NanReachesItsRowOnly) {
  for (const Matrix& m : {Matrix{50, 72}, Matrix{50, 70}})
    for_each_op_element(describe(m), [&](Element element) {
      GuardedBuffer<float> values = random_floats(m.elements(), 6);
      values[20 * m.channels + 3] = NAN;
      const Tensor x(values, element);
      const DeviceBuffer<float> scale = scales(m.channels);
      for_each_device(element, [&](const OpDevice& k) {
        Forward f(m, element);
        k.rms_norm(f.y.data(), f.inv_rms.data(), x.data(), scale.data(), m.rows, m.channels, kEpsilon);
        const GuardedBuffer<float> result = f.y.floats();
        for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(std::isnan(result[i]), i / m.channels == 20) << i;
      });
    });
}

// The sum is rounded once and normalized as it is stored; without a place of its own it is in y.
TEST(RmsNorm, OfASumIsThatOfTheStoredSum) {
  for (const Matrix& m : matrices())
    for_each_op_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 3), shortcut = random_tensor(m.elements(), element, 4);
      const DeviceBuffer<float> scale = scales(m.channels);
      GuardedBuffer<float> sums = x.floats();
      const GuardedBuffer<float> other = shortcut.floats();
      for (std::int64_t i = 0; i < m.elements(); ++i) sums[i] += other[i];
      const Tensor expected_sum(sums, element);
      for_each_device(element, [&](const OpDevice& k) {
        Forward f(m, element), expected(m, element), without(m, element);
        Tensor sum(m.elements(), element), over_x = x;
        k.rms_norm(expected.y.data(), expected.inv_rms.data(), expected_sum.data(), scale.data(), m.rows, m.channels, kEpsilon);
        const auto run = [&](Tensor& y, float* inv_rms, void* to_sum, const Tensor& from) {
          k.add_rms_norm(y.data(), inv_rms, to_sum, from.data(), shortcut.data(), scale.data(), m.rows, m.channels, kEpsilon);
        };
        run(f.y, f.inv_rms.data(), sum.data(), x);
        run(without.y, without.inv_rms.data(), nullptr, x);
        run(over_x, nullptr, nullptr, over_x);
        EXPECT_TRUE(bit_equal(sum.floats(), expected_sum.floats()) && bit_equal(f.y.floats(), expected.y.floats()));
        EXPECT_TRUE(bit_equal(f.inv_rms, expected.inv_rms) && bit_equal(without.inv_rms, f.inv_rms));
        EXPECT_TRUE(bit_equal(without.y.floats(), f.y.floats()) && bit_equal(over_x.floats(), f.y.floats()));
        EXPECT_TRUE(f.guards_intact() && sum.guards_intact() && without.guards_intact() && over_x.guards_intact());
      });
    });
}

TEST(RmsNorm, GradientMatchesReference) {
  for (const Matrix& m : matrices())
    for_each_op_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 3), dy = random_tensor(m.elements(), element, 7);
      const DeviceBuffer<float> scale = scales(m.channels);
      const GuardedBuffer<float> wide = x.floats();
      GuardedBuffer<float> y(m.elements()), dx(m.elements()), dscale(m.channels);
      DeviceBuffer<float> inv_rms(m.rows);
      reference::rms_norm(y.data(), inv_rms.data(), wide.data(), scale.data(), m.rows, m.channels, kEpsilon);
      reference::rms_norm_grad(dx.data(), dscale.data(), dy.floats().data(), wide.data(), scale.data(), inv_rms.data(), m.rows,
                               m.channels);
      double largest = 1;  // |normalized x|
      for (std::int64_t i = 0; i < m.elements(); ++i)
        largest = std::max(largest, std::fabs(static_cast<double>(wide[i]) * inv_rms[i / m.channels]));
      const double slope = 2 * max_abs(inv_rms), rows = static_cast<double>(m.rows);  // scales are below 2
      SameBits same(true);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor got(m.elements(), element), over_dy = dy, over_x = x;
        const auto run = [&](void* to, const Tensor& from_dy, const Tensor& from_x) {
          DeviceBuffer<float> sums(m.channels);
          k.rms_norm_grad(to, sums.data(), from_dy.data(), from_x.data(), scale.data(), inv_rms.data(), m.rows, m.channels);
          EXPECT_TRUE(sums.guards_intact());
          same.expect(k, sums);
          return sums;
        };
        expect_close(run(got.data(), dy, x), dscale, test::sum_tolerance(rows, largest));
        expect_close(got.floats(), dx, stored(element, {0, 16 * kEps * slope * (1 + largest * largest)}));
        run(over_dy.data(), over_dy, x);
        run(over_x.data(), dy, over_x);
        run(nullptr, dy, x);
        EXPECT_TRUE(bit_equal(over_dy.floats(), got.floats()) && bit_equal(over_x.floats(), got.floats()));
        EXPECT_TRUE(got.guards_intact() && over_dy.guards_intact() && over_x.guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
