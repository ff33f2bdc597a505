// Long short-term memory and its gradient against the reference. The gradient pass is compared with differences in
// graph/gradient_test.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

// One of everything; units within a vector, around one, two and a cache line; units that fill a block of CUDA, and a few more;
// more sequences than units; and enough work for several threads, which then divide the sequences, the units, or both, with
// parts that have none.
constexpr LstmShape kShapes[] = {{1, 1, 1},   {1, 3, 1},   {2, 1, 5},   {3, 4, 7},   {5, 3, 16},  {2, 5, 17},
                                 {13, 2, 33}, {40, 3, 64}, {33, 2, 65}, {2, 7, 130}, {20, 3, 96}, {3, 2, 250},
                                 {1, 6, 192}, {2, 3, 128}, {2, 2, 131}, {40, 2, 3}};

std::string describe(const LstmShape& s) {
  return "batch=" + std::to_string(s.batch) + " sequence=" + std::to_string(s.sequence) + " units=" + std::to_string(s.units);
}

std::int64_t state_elements(const LstmShape& s) { return s.batch * s.sequence * s.units; }

// Inputs, and what the reference makes of them, whose gradient takes rounded gates, as a kernel does.
struct Given {
  LstmShape shape;
  Element element;
  Tensor x, weight, dh;
  GuardedBuffer<float> gates, h;
  DeviceBuffer<float> cells;

  Given(const LstmShape& s, Element of)
      : shape(s),
        element(of),
        x(random_tensor(4 * state(), of, 1, -2, 2)),
        weight(random_tensor(4 * s.units * s.units, of, 2, -bound(), bound())),
        dh(random_tensor(state(), of, 3)),
        gates(4 * state()),
        h(state()),
        cells(state()) {
    reference::lstm(gates.data(), cells.data(), h.data(), nullptr, x.floats().data(), weight.floats().data(), s);
  }
  std::int64_t state() const { return state_elements(shape); }
  // With sums of products below 1, as those of a trained layer.
  double bound() const { return 1 / std::sqrt(static_cast<double>(shape.units)); }
};

// A gate errs by a few units of its own and by those of a sum of products, almost all below 1; in 16 bits also by the rounding
// of h, whose products with a row of the weight add up to less than 1 in root mean square, and by a fast exponential's. At
// every step the errors of the step before are at most halved on their way through the gates: in all, twice those of one step,
// and twice more for what a cell keeps.
Tolerance lstm_tolerance(const OpDevice& k, const LstmShape& s, Element element, double largest) {
  const double sum = k.products_in_float ? test::sum_tolerance(static_cast<double>(s.units), 2).absolute : 0;
  return stored(element, {8 * kEps, 4 * (8 * kEps + sum + stored(element, {}).relative) * largest});
}

// Outputs of one call.
struct Forward {
  Tensor gates, h, previous;
  DeviceBuffer<float> cells;

  Forward(const LstmShape& s, Element element)
      : gates(4 * state_elements(s), element),
        h(state_elements(s), element),
        previous(state_elements(s), element),
        cells(state_elements(s)) {}
  void run(const OpDevice& k, const Given& given) {
    k.lstm(gates.data(), cells.data(), h.data(), previous.data(), given.x.data(), given.weight.data(), given.shape);
    EXPECT_TRUE(gates.guards_intact() && h.guards_intact() && previous.guards_intact() && cells.guards_intact());
  }
};

TEST(Lstm, MatchesReferenceAtEveryShape) {
  for (const LstmShape& shape : kShapes)
    for_each_op_element(describe(shape), [&](Element element) {
      const Given given(shape, element);
      for_each_device(element, [&](const OpDevice& k) {
        Forward got(shape, element);
        got.run(k, given);
        const Tolerance tolerance = lstm_tolerance(k, shape, element, 1);
        expect_close(got.gates.floats(), given.gates, tolerance);
        expect_close(got.cells, given.cells, tolerance);
        const GuardedBuffer<float> h = got.h.floats(), previous = got.previous.floats();
        expect_close(h, given.h, tolerance);
        for (std::int64_t i = 0; i < given.state(); ++i) {
          const bool first = i / shape.units % shape.sequence == 0;
          ASSERT_EQ(previous[i], first ? 0 : h[i - shape.units]) << i;
        }
      });
    });
}

// Gates in the place of x, and h alone, are the same bits; so is a repetition.
TEST(Lstm, WritesOverItsInputAndOnlyWhatIsWanted) {
  for (const LstmShape& shape : {LstmShape{3, 4, 7}, LstmShape{40, 3, 64}, LstmShape{2, 7, 130}})
    for_each_op_element(describe(shape), [&](Element element) {
      const Given given(shape, element);
      SameBits same(true);
      for_each_device(element, [&](const OpDevice& k) {
        Forward got(shape, element);
        got.run(k, given);
        Tensor in_place = given.x, without_cells(given.state(), element), alone(given.state(), element);
        k.lstm(in_place.data(), nullptr, without_cells.data(), nullptr, in_place.data(), given.weight.data(), shape);
        k.lstm(nullptr, nullptr, alone.data(), nullptr, given.x.data(), given.weight.data(), shape);
        EXPECT_TRUE(bit_equal(in_place.floats(), got.gates.floats()));
        for (const Tensor* h : {&got.h, &without_cells, &alone}) same.expect(k, h->floats());
        EXPECT_TRUE(in_place.guards_intact() && without_cells.guards_intact() && alone.guards_intact());
      });
    });
}

TEST(LstmGrad, MatchesReferenceAtEveryShapeAlsoInPlace) {
  for (const LstmShape& shape : kShapes)
    for_each_op_element(describe(shape), [&](Element element) {
      const Given given(shape, element);
      const Tensor gates(given.gates, element);
      GuardedBuffer<float> dx(4 * given.state());
      reference::lstm_grad(dx.data(), given.dh.floats().data(), given.weight.floats().data(), gates.floats().data(),
                           given.cells.data(), shape);
      SameBits same(true);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor got(4 * given.state(), element), in_place = gates;
        for (Tensor* to : {&got, &in_place})
          k.lstm_grad(to->data(), given.dh.data(), given.weight.data(), to == &got ? gates.data() : to->data(),
                      given.cells.data(), shape);
        expect_close(got.floats(), dx, lstm_tolerance(k, shape, element, max_abs(dx)));
        for (const Tensor* to : {&got, &in_place}) same.expect(k, to->floats());
        EXPECT_TRUE(got.guards_intact() && in_place.guards_intact());
      });
    });
}

// One unit, with x alone: sigmoid and tanh over their whole range, to a few units in the last place of the result. The cell is
// i g, as it starts at 0.
TEST(Lstm, GatesKeepTheirRelativeAccuracy) {
  constexpr std::int64_t kCount = 4001;
  const LstmShape shape{kCount, 1, 1};
  DeviceBuffer<float> x(4 * kCount), weight(4);
  GuardedBuffer<float> expected(4 * kCount), h(kCount);
  for (std::int64_t i = 0; i < 4 * kCount; ++i) x[i] = static_cast<float>(i / 4 - kCount / 2) / 23;  // to 87
  x[2] = 1e-30f;
  std::fill(weight.begin(), weight.end(), 0.0f);
  reference::lstm(expected.data(), nullptr, h.data(), nullptr, x.data(), weight.data(), shape);
  for_each_device(Element::f32, [&](const OpDevice& k) {
    DeviceBuffer<float> gates(4 * kCount), got(kCount);
    k.lstm(gates.data(), nullptr, got.data(), nullptr, x.data(), weight.data(), shape);
    expect_close(gates, expected, {8 * kEps, 2e-38});
  });
}

TEST(Lstm, SaturatedGatesStayFinite) {
  const LstmShape shape{4, 5, 40};
  for_each_op_element("", [&](Element element) {
    Given given(shape, element);
    given.x = random_tensor(4 * given.state(), element, 7, -3e38, 3e38);
    for_each_device(element, [&](const OpDevice& k) {
      Forward got(shape, element);
      got.run(k, given);
      Tensor dx(4 * given.state(), element);
      k.lstm_grad(dx.data(), given.dh.data(), given.weight.data(), got.gates.data(), got.cells.data(), shape);
      for (const GuardedBuffer<float>& values : {got.gates.floats(), got.h.floats(), dx.floats()})
        for (float value : values) ASSERT_TRUE(std::isfinite(value));
      for (float value : got.cells) ASSERT_TRUE(std::isfinite(value));
      for (float value : got.gates.floats()) ASSERT_TRUE(value == 0 || std::fabs(value) == 1) << value;
    });
  });
}

TEST(Lstm, NotANumberStaysInItsSequenceAndComesAfterItsStep) {
  const LstmShape shape{3, 6, 20};
  const std::int64_t position = 1 * shape.sequence + 2, unit = 5;
  for_each_op_element("", [&](Element element) {
    Given given(shape, element);
    GuardedBuffer<float> values = given.x.floats();
    values[position * 4 * shape.units + unit] = NAN;
    given.x = Tensor(values, element);
    for_each_device(element, [&](const OpDevice& k) {
      Forward got(shape, element);
      got.run(k, given);
      const GuardedBuffer<float> h = got.h.floats();
      for (std::int64_t i = 0; i < given.state(); ++i) {
        const std::int64_t at = i / shape.units;
        const bool hit = at == position ? i % shape.units == unit : at > position && at < 2 * shape.sequence;
        ASSERT_EQ(std::isnan(h[i]), hit) << i;
      }
    });
  });
}

}  // namespace
}  // namespace epochbench
