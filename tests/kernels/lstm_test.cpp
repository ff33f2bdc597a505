// Long short-term memory and its gradient on the CPU against the reference. The gradient pass is compared with differences in
// graph/gradient_test.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

template <typename Real>
class LstmKernel : public testing::Test {};
TYPED_TEST_SUITE(LstmKernel, test::Reals, test::RealName);

// One of everything; units within a vector, around one, two and a cache line; and enough work for several threads, which then
// divide the sequences, the units, or both, with parts that have none.
constexpr LstmShape kShapes[] = {{1, 1, 1},   {1, 3, 1},   {2, 1, 5},   {3, 4, 7},   {5, 3, 16},  {2, 5, 17}, {13, 2, 33},
                                 {40, 3, 64}, {33, 2, 65}, {2, 7, 130}, {20, 3, 96}, {3, 2, 250}, {1, 6, 192}};

std::string describe(const LstmShape& s) {
  return "batch=" + std::to_string(s.batch) + " sequence=" + std::to_string(s.sequence) + " units=" + std::to_string(s.units);
}

std::int64_t rows(const LstmShape& s) { return s.batch * s.sequence; }

// In floats that are Reals; gates, cells and dx of the reference, whose gradient takes rounded gates, as a kernel does.
template <typename Real>
struct Tensors {
  explicit Tensors(const LstmShape& s)
      : shape(s),
        x(random_reals<Real>(4 * state(), 1, -2, 2)),
        weight(random_reals<Real>(4 * s.units * s.units, 2, -bound(), bound())),
        dh(random_reals<Real>(state(), 3)),
        gates(4 * state()),
        cells(state()),
        h(state()),
        previous(state()),
        dx(4 * state()) {
    reference::lstm(gates.data(), cells.data(), h.data(), previous.data(), floats(x).data(), floats(weight).data(), s);
    reference::lstm_grad(dx.data(), floats(dh).data(), floats(weight).data(), floats(reals<Real>(gates)).data(), cells.data(),
                         s);
  }
  std::int64_t state() const { return rows(shape) * shape.units; }
  double bound() const { return 1 / std::sqrt(static_cast<double>(shape.units)); }

  LstmShape shape;
  GuardedBuffer<Real> x, weight, dh;
  GuardedBuffer<float> gates, cells, h, previous, dx;
};

template <typename Real>
GuardedBuffer<float> workspace_of(const cpu::Kernels<Real>& kernels, const LstmShape& shape, int threads) {
  return GuardedBuffer<float>(static_cast<std::int64_t>(kernels.lstm_workspace_bytes(shape, threads) / sizeof(float)));
}

// A gate errs by a few units of its own and by those of a sum of products, almost all below 1; in Bf16 also by
// the rounding of h, whose products with a row of the weight add up to less than 1 in root mean square. At every step the
// errors of the step before are at most halved on their way through the gates: in all, twice those of one step, and twice more
// for what a cell keeps.
template <typename Real>
test::Tolerance tolerance_of(const LstmShape& s, double largest) {
  const double sum = test::sum_tolerance(static_cast<double>(s.units), 2).absolute;
  const double rounding = std::is_same_v<Real, float> ? 0 : 0x1p-8;
  return rounded<Real>({4 * kEps, 4 * (8 * kEps + sum + rounding) * largest});
}

TYPED_TEST(LstmKernel, MatchesReferenceAtEveryShape) {
  using Real = TypeParam;
  for (const LstmShape& shape : kShapes) {
    const Tensors<Real> t(shape);
    const test::Tolerance tolerance = tolerance_of<Real>(shape, 1);
    for_each_kernels_of<Real>(describe(shape), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> gates(4 * t.state()), h(t.state()), previous(t.state());
      GuardedBuffer<float> cells(t.state()), workspace = workspace_of(kernels, shape, threads);
      kernels.lstm(gates.data(), cells.data(), h.data(), previous.data(), t.x.data(), t.weight.data(), shape, workspace.data(),
                   threads);
      expect_close(floats(gates), t.gates, tolerance);
      expect_close(cells, t.cells, tolerance);
      expect_close(floats(h), t.h, tolerance);
      for (std::int64_t i = 0; i < t.state(); ++i) {
        const bool first = i / shape.units % shape.sequence == 0;
        ASSERT_EQ(test::widen(previous[i]), first ? 0 : test::widen(h[i - shape.units])) << i;
      }
      for (const auto* buffer : {&gates, &h, &previous}) EXPECT_TRUE(buffer->guards_intact());
      EXPECT_TRUE(cells.guards_intact() && workspace.guards_intact());
    });
  }
}

// Gates in the place of x, and h alone, are the same bits.
TYPED_TEST(LstmKernel, WritesOverItsInputAndOnlyWhatIsWanted) {
  using Real = TypeParam;
  for (const LstmShape& shape : {LstmShape{3, 4, 7}, LstmShape{40, 3, 64}, LstmShape{2, 7, 130}}) {
    const Tensors<Real> t(shape);
    for_each_kernels_of<Real>(describe(shape), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> gates(4 * t.state()), h(t.state()), previous(t.state()), in_place = t.x, alone(t.state());
      GuardedBuffer<float> cells(t.state()), workspace = workspace_of(kernels, shape, threads);
      const auto run = [&](Real* to_gates, float* to_cells, Real* to_h, Real* to_previous, const Real* from) {
        workspace.poison();
        kernels.lstm(to_gates, to_cells, to_h, to_previous, from, t.weight.data(), shape, workspace.data(), threads);
      };
      run(gates.data(), cells.data(), h.data(), previous.data(), t.x.data());
      run(in_place.data(), cells.data(), h.data(), previous.data(), in_place.data());
      run(nullptr, nullptr, alone.data(), nullptr, t.x.data());
      EXPECT_TRUE(bit_equal(in_place, gates));
      EXPECT_TRUE(bit_equal(alone, h));
      EXPECT_TRUE(in_place.guards_intact() && alone.guards_intact());
    });
  }
}

TYPED_TEST(LstmKernel, GradientMatchesReferenceAtEveryShapeAlsoInPlace) {
  using Real = TypeParam;
  for (const LstmShape& shape : kShapes) {
    const Tensors<Real> t(shape);
    const GuardedBuffer<Real> gates = reals<Real>(t.gates);
    for_each_kernels_of<Real>(describe(shape), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> dx(4 * t.state()), in_place = gates;
      GuardedBuffer<float> workspace = workspace_of(kernels, shape, threads);
      kernels.lstm_grad(dx.data(), t.dh.data(), t.weight.data(), gates.data(), t.cells.data(), shape, workspace.data(),
                        threads);
      expect_close(floats(dx), t.dx, tolerance_of<Real>(shape, max_abs(t.dx)));
      workspace.poison();
      kernels.lstm_grad(in_place.data(), t.dh.data(), t.weight.data(), in_place.data(), t.cells.data(), shape, workspace.data(),
                        threads);
      EXPECT_TRUE(bit_equal(in_place, dx));
      EXPECT_TRUE(dx.guards_intact() && in_place.guards_intact() && workspace.guards_intact());
    });
  }
}

// One unit, with x alone: sigmoid and tanh over their whole range, to a few units in the last place of the result. The cell is
// i g, as it starts at 0.
TEST(LstmKernel, GatesKeepTheirRelativeAccuracy) {
  constexpr std::int64_t kCount = 4001;
  const LstmShape shape{kCount, 1, 1};
  GuardedBuffer<float> x(4 * kCount), expected(4 * kCount), cells(kCount), h(kCount);
  for (std::int64_t i = 0; i < 4 * kCount; ++i) x[i] = static_cast<float>(i / 4 - kCount / 2) / 23;  // to 87
  x[2] = 1e-30f;
  const float weight[4] = {};
  reference::lstm(expected.data(), cells.data(), h.data(), nullptr, x.data(), weight, shape);
  for_each_kernels_of<float>("", [&](const cpu::Kernels<float>& kernels, int threads) {
    GuardedBuffer<float> gates(4 * kCount), workspace = workspace_of(kernels, shape, threads);
    kernels.lstm(gates.data(), cells.data(), h.data(), nullptr, x.data(), weight, shape, workspace.data(), threads);
    expect_close(gates, expected, {8 * kEps, 2e-38});
  });
}

TYPED_TEST(LstmKernel, SaturatedGatesStayFinite) {
  using Real = TypeParam;
  const LstmShape shape{4, 5, 40};
  const Tensors<Real> t(shape);
  const GuardedBuffer<Real> x = random_reals<Real>(4 * t.state(), 7, -3e38, 3e38);
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> gates(4 * t.state()), h(t.state()), dx(4 * t.state());
    GuardedBuffer<float> cells(t.state()), workspace = workspace_of(kernels, shape, threads);
    kernels.lstm(gates.data(), cells.data(), h.data(), nullptr, x.data(), t.weight.data(), shape, workspace.data(), threads);
    kernels.lstm_grad(dx.data(), t.dh.data(), t.weight.data(), gates.data(), cells.data(), shape, workspace.data(), threads);
    for (const auto& values : {floats(gates), floats(h), floats(dx), cells})
      for (float value : values) ASSERT_TRUE(std::isfinite(value));
    for (float value : floats(gates)) ASSERT_TRUE(value == 0 || std::fabs(value) == 1) << value;
  });
}

TYPED_TEST(LstmKernel, NotANumberStaysInItsSequenceAndComesAfterItsStep) {
  using Real = TypeParam;
  const LstmShape shape{3, 6, 20};
  const Tensors<Real> t(shape);
  GuardedBuffer<float> values = floats(t.x);
  const std::int64_t position = 1 * shape.sequence + 2;
  values[position * 4 * shape.units + 5] = NAN;
  const GuardedBuffer<Real> x = reals<Real>(values);
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> h(t.state());
    GuardedBuffer<float> workspace = workspace_of(kernels, shape, threads);
    kernels.lstm(nullptr, nullptr, h.data(), nullptr, x.data(), t.weight.data(), shape, workspace.data(), threads);
    for (std::int64_t i = 0; i < t.state(); ++i) {
      const std::int64_t at = i / shape.units;
      const bool hit = at == position ? i % shape.units == 5 : at > position && at < 2 * shape.sequence;
      ASSERT_EQ(std::isnan(test::widen(h[i])), hit) << i;
    }
  });
}

TYPED_TEST(LstmKernel, RepeatsBitForBit) {
  using Real = TypeParam;
  for (const LstmShape& shape : {LstmShape{40, 3, 64}, LstmShape{2, 7, 130}}) {
    const Tensors<Real> t(shape);
    for_each_kernels_of<Real>(describe(shape), [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<Real> first(t.state()), again(t.state());
      GuardedBuffer<float> workspace = workspace_of(kernels, shape, threads);
      for (GuardedBuffer<Real>* h : {&first, &again, &again})
        kernels.lstm(nullptr, nullptr, h->data(), nullptr, t.x.data(), t.weight.data(), shape, workspace.data(), threads);
      EXPECT_TRUE(bit_equal(first, again));
    });
  }
}

}  // namespace
}  // namespace epochbench
