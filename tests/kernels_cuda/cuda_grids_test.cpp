// Grids that depend on the number of multiprocessors: any number gives the numbers of the reference, the same number the same
// bits, and the scratch that is planned without a device is enough. Only the kernels compiled for the CPU can vary it.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

// The least, few, those of an H200, the most that reductions occupy, and more.
constexpr int kCounts[] = {1, 2, 132, 256, 1000};

class CudaGrids : public testing::Test {
 protected:
  void TearDown() override { test::set_multiprocessors(test::kMultiprocessors); }

  // Runs check() twice on each device; what it returns must be bit-equal on the same one.
  template <typename Check>
  void on_each_device(const std::string& what, Check check) {
    for (int count : kCounts) {
      SCOPED_TRACE(what + " on " + std::to_string(count) + " multiprocessors");
      test::set_multiprocessors(count);
      const std::vector<GuardedBuffer<float>> first = check(), second = check();
      for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(bit_equal(first[i], second[i])) << i;
    }
  }
};

GuardedBuffer<float> copy(const DeviceBuffer<float>& values) {
  GuardedBuffer<float> result(static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

// Strips of several widths, and one by one.
constexpr Matrix kMatrices[] = {{1301, 8}, {300, 132}, {40, 1024}, {500, 7}, {1, 64}};
constexpr double kEpsilon = 1e-5;

std::int64_t written(const DeviceBuffer<float>& workspace) {  // floats that are no longer the NaN they were
  return std::count_if(workspace.begin(), workspace.end(), [](float value) { return !std::isnan(value); });
}

// 64 channels of float are one tile of 16 strips, whose chunks have 64 rows; each block leaves a sum per channel.
TEST_F(CudaGrids, ReductionsHaveThreeBlocksPerMultiprocessor) {
  constexpr std::int64_t kRows = 300 * 64, kChannels = 64;
  const Tensor dy = random_tensor(kRows * kChannels, Element::f32, 1);
  for (int count : {1, 2, 99, 132, 1000}) {
    test::set_multiprocessors(count);
    Tensor dbias(kChannels, Element::f32);
    DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(kRows, kChannels));
    cuda::bias_add_grad(dbias.data(), dy.data(), kRows, kChannels, kChannels, Element::f32, workspace.data(), kNoStream);
    EXPECT_EQ(written(workspace), std::min(3 * count, 300) * kChannels) << count;
  }
}

// Rows of 1024 channels: two sums per channel of each block, and at most 3 * 256 blocks, for which scratch is planned.
TEST_F(CudaGrids, ScratchSufficesForTheLargestDevice) {
  const Matrix m = {900, 256};
  const Tensor x = random_tensor(m.elements(), Element::f32, 2);
  const DeviceBuffer<float> ones = random_device_floats(m.rows + m.channels, 3, 1, 1);
  for (int count : {2, 256, 1000}) {
    test::set_multiprocessors(count);
    DeviceBuffer<float> dscale(m.channels), dbias(m.channels);
    DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
    cuda::layer_norm_grad(nullptr, dscale.data(), dbias.data(), x.data(), x.data(), ones.data(), ones.data(), ones.data(),
                          m.rows, m.channels, Element::f32, workspace.data(), kNoStream);
    EXPECT_EQ(written(workspace), 2 * 3 * std::min(count, 256) * m.channels) << count;
    EXPECT_TRUE(workspace.guards_intact());
  }
}

TEST_F(CudaGrids, BiasGradientMatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const Tensor dy = random_tensor(m.elements(), element, 4);
      GuardedBuffer<float> expected(m.channels);
      reference::bias_add_grad(expected.data(), dy.floats().data(), m.rows, m.channels);
      on_each_device("", [&] {
        Tensor dbias(m.channels, element);
        DeviceBuffer<float> workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
        cuda::bias_add_grad(dbias.data(), dy.data(), m.rows, m.channels, m.channels, element, workspace.data(), kNoStream);
        expect_close(dbias.floats(), expected, stored(element, test::sum_tolerance(static_cast<double>(m.rows), 1)));
        EXPECT_TRUE(workspace.guards_intact());
        return std::vector{dbias.floats()};
      });
    });
}

TEST_F(CudaGrids, AddedRowsGradientMatchesReference) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const Tensor dy = random_tensor(m.elements(), element, 5);
      constexpr std::int64_t kPeriod = 2;
      GuardedBuffer<float> expected(kPeriod * m.channels);
      reference::add_rows_grad(expected.data(), dy.floats().data(), m.rows, m.channels, kPeriod, kPeriod);
      on_each_device("", [&] {
        DeviceBuffer<float> dtable(kPeriod * m.channels),
            workspace = scratch(cuda::reduction_workspace_bytes(m.rows, kPeriod * m.channels));
        cuda::add_rows_grad(dtable.data(), dy.data(), m.rows, m.channels, kPeriod, kPeriod, element, workspace.data(),
                            kNoStream);
        expect_close(dtable, expected, test::sum_tolerance(static_cast<double>(m.rows), 1));
        EXPECT_TRUE(workspace.guards_intact());
        return std::vector{copy(dtable)};
      });
    });
}

// Few blocks take several turns each, in which the channel of a thread's pack goes on.
TEST_F(CudaGrids, DecodedPixelsAreThoseOfTheReference) {
  for (const Matrix& m : {Matrix{30011, 3}, Matrix{20003, 1}, Matrix{4001, 7}, Matrix{999, 49}})
    for_each_element(describe(m), [&](Element element) {
      DeviceBuffer<std::uint8_t> x(m.elements());
      for (std::int64_t i = 0; i < m.elements(); ++i) x[i] = static_cast<std::uint8_t>(i * 97 % 251);
      const DeviceBuffer<float> table = random_device_floats(m.channels * 256, 14);
      GuardedBuffer<float> expected(m.elements());
      reference::decode_pixels(expected.data(), x.data(), table.data(), m.rows, m.channels);
      const Tensor rounded(expected, element);
      on_each_device("", [&] {
        Tensor y(m.elements(), element);
        cuda::decode_pixels(y.data(), x.data(), table.data(), m.rows, m.channels, element, kNoStream);
        EXPECT_TRUE(bit_equal(y.floats(), rounded.floats()));
        EXPECT_TRUE(y.guards_intact());
        return std::vector{y.floats()};
      });
    });
}

// Rows are normalized one by one, so their results are those of every device. A row per warp and per block, the latter one by
// one for 16 bits.
TEST_F(CudaGrids, LayerNormIsBitEqualOnAllAndItsGradientMatchesReference) {
  for (const Matrix& m : {Matrix{61, 8}, Matrix{15, 264}, Matrix{5, 1028}})
    for_each_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 6), dy = random_tensor(m.elements(), element, 7);
      const DeviceBuffer<float> scale = random_device_floats(m.channels, 8, 0.5, 2), bias = random_device_floats(m.channels, 9);
      DeviceBuffer<float> mean(m.rows), inv_std(m.rows);
      Tensor reference_y(m.elements(), element);
      cuda::layer_norm(reference_y.data(), mean.data(), inv_std.data(), x.data(), scale.data(), bias.data(), m.rows, m.channels,
                       kEpsilon, element, kNoStream);
      GuardedBuffer<float> dx(m.elements()), dscale(m.channels), dbias(m.channels);
      reference::layer_norm_grad(dx.data(), dscale.data(), dbias.data(), dy.floats().data(), x.floats().data(), scale.data(),
                                 mean.data(), inv_std.data(), m.rows, m.channels);
      on_each_device("", [&] {
        Tensor y(m.elements(), element), of_dx(m.elements(), element);
        DeviceBuffer<float> of_dscale(m.channels), of_dbias(m.channels),
            workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
        cuda::layer_norm(y.data(), nullptr, nullptr, x.data(), scale.data(), bias.data(), m.rows, m.channels, kEpsilon, element,
                         kNoStream);
        cuda::layer_norm_grad(of_dx.data(), of_dscale.data(), of_dbias.data(), dy.data(), x.data(), scale.data(), mean.data(),
                              inv_std.data(), m.rows, m.channels, element, workspace.data(), kNoStream);
        EXPECT_TRUE(bit_equal(y.floats(), reference_y.floats()));
        const auto rows = static_cast<double>(m.rows);
        expect_close(of_dbias, dbias, test::sum_tolerance(rows, 1));
        expect_close(of_dscale, dscale, test::sum_tolerance(rows, 2));  // uniform in [-1, 1]: |x| <= sqrt(3) deviations, nearly
        EXPECT_TRUE(workspace.guards_intact());
        return std::vector{of_dx.floats(), copy(of_dscale), copy(of_dbias)};
      });
    });
}

TEST_F(CudaGrids, BatchNormAndItsGradientMatchReference) {
  for (const Matrix& m : kMatrices)
    for_each_element(describe(m), [&](Element element) {
      const Tensor x = random_tensor(m.elements(), element, 10), dy = random_tensor(m.elements(), element, 11);
      const DeviceBuffer<float> scale = random_device_floats(m.channels, 12, 0.5, 2),
                                bias = random_device_floats(m.channels, 13);
      GuardedBuffer<float> y(m.elements()), mean(m.channels), inv_std(m.channels), dx(m.elements()), dz(m.elements()),
          dscale(m.channels), dbias(m.channels);
      reference::batch_norm(y.data(), mean.data(), inv_std.data(), nullptr, nullptr, x.floats().data(), scale.data(),
                            bias.data(), nullptr, m.rows, m.channels, kEpsilon, 0.1, false);
      reference::batch_norm_grad(dx.data(), dscale.data(), dbias.data(), dz.data(), dy.floats().data(), nullptr,
                                 x.floats().data(), scale.data(), mean.data(), inv_std.data(), m.rows, m.channels);
      on_each_device("", [&] {
        Tensor of_y(m.elements(), element), of_dx(m.elements(), element);
        DeviceBuffer<float> of_mean(m.channels), of_inv_std(m.channels), of_dscale(m.channels), of_dbias(m.channels),
            workspace = scratch(cuda::reduction_workspace_bytes(m.rows, m.channels));
        cuda::batch_norm(of_y.data(), nullptr, of_mean.data(), of_inv_std.data(), nullptr, nullptr, x.data(), scale.data(),
                         bias.data(), nullptr, m.rows, m.channels, kEpsilon, 0.1, false, element, workspace.data(), kNoStream);
        cuda::batch_norm_grad(of_dx.data(), of_dscale.data(), of_dbias.data(), nullptr, dy.data(), nullptr, nullptr, nullptr,
                              x.data(), scale.data(), of_mean.data(), of_inv_std.data(), m.rows, m.channels, element,
                              workspace.data(), kNoStream);
        expect_close(of_mean, mean, {kEps, 4 * kEps});
        expect_close(of_inv_std, inv_std, {16 * kEps, 0});
        const auto rows = static_cast<double>(m.rows);
        expect_close(of_dbias, dbias, test::sum_tolerance(rows, 1));
        expect_close(of_dscale, dscale, test::sum_tolerance(rows, 2));
        EXPECT_TRUE(workspace.guards_intact());
        return std::vector{of_y.floats(), of_dx.floats(), copy(of_mean), copy(of_dscale), copy(of_dbias)};
      });
    });
}

}  // namespace
}  // namespace epochbench
