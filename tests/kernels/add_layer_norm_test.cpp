// The fused sums and normalizations on the CPU: the sum against the reference, the rest bit for bit against the kernels that
// they replace.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

constexpr double kEpsilon = 1e-12;
constexpr std::int32_t kStep = 5;
constexpr Matrix kMatrices[] = {{1, 2}, {3, 16}, {4, 768}, {301, 5}, {33, 1}, {70, 255}, {37, 513}, {5, 2049}, {2, 9000}};

Dropout dropout_of(double probability) {
  return {0x0123456789abcdefu, 9, static_cast<std::uint32_t>(std::lround(probability * 0x1p32)),
          static_cast<float>(1 / (1 - probability))};
}

template <typename Real>
class AddLayerNorm : public test::OfReal<Real> {};
TYPED_TEST_SUITE(AddLayerNorm, test::Reals, test::RealName);

template <typename Real>
GuardedBuffer<float> reference_sum(const Matrix& m, const GuardedBuffer<Real>& x, const GuardedBuffer<Real>& shortcut,
                                   const Dropout& dropout) {
  GuardedBuffer<float> dropped(m.elements()), sum(m.elements());
  reference::dropout(dropped.data(), floats(x).data(), &kStep, dropout, m.elements());
  reference::add(sum.data(), dropped.data(), floats(shortcut).data(), m.elements());
  return sum;
}

TYPED_TEST(AddLayerNorm, MatchesItsParts) {
  using Real = TypeParam;
  for (const Matrix& m : kMatrices)
    for (double probability : {0.0, 0.3}) {
      const Dropout dropout = dropout_of(probability);
      const std::int32_t* const step = probability > 0 ? &kStep : nullptr;
      const GuardedBuffer<Real> x = random_reals<Real>(m.elements(), 1), shortcut = random_reals<Real>(m.elements(), 2);
      const GuardedBuffer<float> scale = random_floats(m.channels, 3, 0.5, 2), bias = random_floats(m.channels, 4);
      const GuardedBuffer<float> expected_sum = reference_sum(m, x, shortcut, dropout);
      for_each_kernels_of<Real>(describe(m), [&](const cpu::Kernels<Real>& kernels, int threads) {
        GuardedBuffer<Real> y(m.elements()), sum(m.elements()), expected_y(m.elements());
        GuardedBuffer<float> mean(m.rows), inv_std(m.rows), expected_mean(m.rows), expected_inv_std(m.rows);
        const auto call = [&](GuardedBuffer<Real>& to, Real* to_sum, const GuardedBuffer<Real>& from,
                              const GuardedBuffer<Real>& from_shortcut, bool statistics) {
          kernels.add_layer_norm(to.data(), statistics ? mean.data() : nullptr, statistics ? inv_std.data() : nullptr, to_sum,
                                 from.data(), from_shortcut.data(), scale.data(), bias.data(), step, dropout, m.rows,
                                 m.channels, kEpsilon, threads);
        };
        call(y, sum.data(), x, shortcut, true);
        expect_close(floats(sum), expected_sum, rounded<Real>({kEps, 4 * kEps}));
        kernels.layer_norm(expected_y.data(), expected_mean.data(), expected_inv_std.data(), sum.data(), scale.data(),
                           bias.data(), m.rows, m.channels, kEpsilon, threads);
        EXPECT_TRUE(test::bit_equal(y, expected_y));
        EXPECT_TRUE(test::bit_equal(mean, expected_mean) && test::bit_equal(inv_std, expected_inv_std));
        EXPECT_TRUE(y.guards_intact() && sum.guards_intact() && mean.guards_intact() && inv_std.guards_intact());

        GuardedBuffer<Real> alone(m.elements()), over_x = x, over_shortcut = shortcut;
        call(alone, nullptr, x, shortcut, false);
        EXPECT_TRUE(test::bit_equal(alone, y));
        call(over_x, over_shortcut.data(), over_x, over_shortcut, true);
        EXPECT_TRUE(test::bit_equal(over_x, y) && test::bit_equal(over_shortcut, sum));
      });
    }
}

TYPED_TEST(AddLayerNorm, GradientMatchesItsParts) {
  using Real = TypeParam;
  const Dropout dropout = dropout_of(0.3);
  for (const Matrix& m : kMatrices) {
    const GuardedBuffer<Real> dy = random_reals<Real>(m.elements(), 5), sum = random_reals<Real>(m.elements(), 6);
    const GuardedBuffer<float> scale = random_floats(m.channels, 3, 0.5, 2), mean = random_floats(m.rows, 7);
    const GuardedBuffer<float> inv_std = random_floats(m.rows, 8, 0.5, 2);
    for_each_kernels_of<Real>(describe(m), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<float> workspace = test::reduction_workspace(kernels, m.channels, threads);
      GuardedBuffer<Real> dx(m.elements()), dsum(m.elements()), expected_dx(m.elements()), expected_dsum(m.elements());
      GuardedBuffer<float> dscale(m.channels), dbias(m.channels), expected_dscale(m.channels), expected_dbias(m.channels);
      kernels.layer_norm_grad(expected_dsum.data(), expected_dscale.data(), expected_dbias.data(), dy.data(), sum.data(),
                              scale.data(), mean.data(), inv_std.data(), m.rows, m.channels, workspace.data(), threads);
      kernels.dropout(expected_dx.data(), expected_dsum.data(), &kStep, dropout, m.elements(), threads);
      workspace.poison();
      const auto call = [&](Real* to, Real* to_sum, const GuardedBuffer<Real>& from) {
        kernels.add_layer_norm_grad(to, dscale.data(), dbias.data(), to_sum, from.data(), sum.data(), scale.data(), mean.data(),
                                    inv_std.data(), &kStep, dropout, m.rows, m.channels, workspace.data(), threads);
      };
      call(dx.data(), dsum.data(), dy);
      EXPECT_TRUE(test::bit_equal(dx, expected_dx) && test::bit_equal(dsum, expected_dsum));
      EXPECT_TRUE(test::bit_equal(dscale, expected_dscale) && test::bit_equal(dbias, expected_dbias));
      EXPECT_TRUE(dx.guards_intact() && dsum.guards_intact() && workspace.guards_intact());

      GuardedBuffer<Real> alone(m.elements()), over_dy = dy;
      call(alone.data(), nullptr, dy);
      call(over_dy.data(), dsum.data(), over_dy);
      EXPECT_TRUE(test::bit_equal(alone, expected_dx) && test::bit_equal(over_dy, expected_dx));
    });
  }
}

}  // namespace
}  // namespace epochbench
