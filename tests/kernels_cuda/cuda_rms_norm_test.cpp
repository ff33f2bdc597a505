// Root mean square normalization in CUDA against the reference: rows of every kernel, sums, aliasing.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-5;

// As those of layer normalization: one row per warp, with 8 to 32 values per lane, and one per block, in packs or one by one.
constexpr Matrix kMatrices[] = {{5, 8},    {3, 64},   {9, 256},  {2, 264},  {7, 512},  {6, 768},  {4, 776},
                                {3, 1024}, {3, 1032}, {2, 2048}, {9, 100},  {2, 1028}, {1, 1},    {1, 17},
                                {40, 3},   {37, 33},  {5, 513},  {2, 2049}, {60, 24},  {33, 288}, {6401, 8}};

struct Forward {
  Tensor y;
  DeviceBuffer<float> inv_rms;
  Forward(const Matrix& m, Element element) : y(m.elements(), element), inv_rms(m.rows) {}
  bool guards_intact() const { return y.guards_intact() && inv_rms.guards_intact(); }
};

TEST(CudaRmsNorm, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 3);
      const DeviceBuffer<float> scale = random_device_floats(m.channels, 1, 0.5, 2);
      GuardedBuffer<float> expected(m.elements()), inv_rms(m.rows);
      reference::rms_norm(expected.data(), inv_rms.data(), x.floats().data(), scale.data(), m.rows, m.channels, kEpsilon);
      for_each_order("", [&] {
        Forward f(m, element);
        Tensor in_place = x;
        cuda::rms_norm(f.y.data(), f.inv_rms.data(), x.data(), scale.data(), m.rows, m.channels, kEpsilon, element, kNoStream);
        cuda::rms_norm(in_place.data(), nullptr, in_place.data(), scale.data(), m.rows, m.channels, kEpsilon, element,
                       kNoStream);
        expect_close(f.inv_rms, inv_rms, {16 * kEps, 0});
        expect_close(f.y.floats(), expected, stored(element, {18 * kEps, 0}));
        EXPECT_TRUE(bit_equal(in_place.floats(), f.y.floats()));
        EXPECT_TRUE(f.guards_intact() && in_place.guards_intact());
      });
    });
}

// The sum is rounded once and normalized as it is stored.
TEST(CudaRmsNorm, OfASumIsThatOfTheStoredSum) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 3), shortcut = random_tensor(m.elements(), element, 4);
      const DeviceBuffer<float> scale = random_device_floats(m.channels, 1, 0.5, 2);
      GuardedBuffer<float> sums = x.floats();
      const GuardedBuffer<float> other = shortcut.floats();
      for (std::int64_t i = 0; i < m.elements(); ++i) sums[i] += other[i];
      const Tensor expected_sum(sums, element);
      for_each_order("", [&] {
        Forward f(m, element), expected(m, element), without(m, element);
        Tensor sum(m.elements(), element);
        cuda::rms_norm(expected.y.data(), expected.inv_rms.data(), expected_sum.data(), scale.data(), m.rows, m.channels,
                       kEpsilon, element, kNoStream);
        cuda::add_rms_norm(f.y.data(), f.inv_rms.data(), sum.data(), x.data(), shortcut.data(), scale.data(), m.rows,
                           m.channels, kEpsilon, element, kNoStream);
        cuda::add_rms_norm(without.y.data(), without.inv_rms.data(), nullptr, x.data(), shortcut.data(), scale.data(), m.rows,
                           m.channels, kEpsilon, element, kNoStream);
        EXPECT_TRUE(bit_equal(sum.floats(), expected_sum.floats()) && bit_equal(f.y.floats(), expected.y.floats()));
        EXPECT_TRUE(bit_equal(f.inv_rms, expected.inv_rms) && bit_equal(without.y.floats(), f.y.floats()));
        EXPECT_TRUE(f.guards_intact() && sum.guards_intact() && without.guards_intact());
      });
    });
}

TEST(CudaRmsNorm, GradientMatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 3), dy = random_tensor(m.elements(), element, 7);
      const DeviceBuffer<float> scale = random_device_floats(m.channels, 1, 0.5, 2);
      const GuardedBuffer<float> wide = x.floats();
      GuardedBuffer<float> y(m.elements()), dx(m.elements()), dscale(m.channels);
      DeviceBuffer<float> inv_rms(m.rows);
      reference::rms_norm(y.data(), inv_rms.data(), wide.data(), scale.data(), m.rows, m.channels, kEpsilon);
      reference::rms_norm_grad(dx.data(), dscale.data(), dy.floats().data(), wide.data(), scale.data(), inv_rms.data(), m.rows,
                               m.channels);
      double largest = 1;  // |normalized x|
      for (std::int64_t i = 0; i < m.elements(); ++i)
        largest = std::max(largest, std::fabs(static_cast<double>(wide[i]) * inv_rms[i / m.channels]));
      const double slope = 2 * max_abs(inv_rms), rows = static_cast<double>(m.rows);
      for_each_order("", [&] {
        Tensor got(m.elements(), element), over_dy = dy;
        DeviceBuffer<float> got_scale(m.channels), again(m.channels), alone(m.channels);
        DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
        const auto run = [&](void* to, float* to_scale, const void* from) {
          cuda::rms_norm_grad(to, to_scale, from, x.data(), scale.data(), inv_rms.data(), m.rows, m.channels, element,
                              workspace.data(), kNoStream);
        };
        run(got.data(), got_scale.data(), dy.data());
        run(over_dy.data(), again.data(), over_dy.data());
        run(nullptr, alone.data(), dy.data());
        expect_close(got_scale, dscale, test::sum_tolerance(rows, largest));
        expect_close(got.floats(), dx, stored(element, {0, 16 * kEps * slope * (1 + largest * largest)}));
        EXPECT_TRUE(bit_equal(over_dy.floats(), got.floats()));
        EXPECT_TRUE(bit_equal(again, got_scale) && bit_equal(alone, got_scale));
        EXPECT_TRUE(got.guards_intact() && got_scale.guards_intact() && workspace.guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
