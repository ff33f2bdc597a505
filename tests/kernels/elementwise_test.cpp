// Ops that compute each element by itself, against the reference: every size around vectors, teams and blocks, in place,
// special values.
#include <limits>

#include "tests/support/op_test.h"

namespace epochbench {
namespace {

// Around the elements of a register, and those that a thread (4 or 8) and a block (2048 or 4096) of CUDA process at once.
constexpr std::int64_t kSizes[] = {0,   1,    3,    7,    8,    9,    15,   16,   17,    31,    33,
                                   255, 1000, 2047, 2048, 2049, 4095, 4096, 4097, 10003, 20011, 40003};

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kLargest = 3e38f;  // finite in bf16

// x between `low` and `high`, with some of `special` among them. `float_tolerance` is for what is stored as float, `tolerance`
// for what is rounded to 16 bits after it. exponentials: by how many exponential functions the relative error grows,
// absolute_exponentials the absolute one.
struct Form {
  const char* name;
  double low, high;
  std::vector<float> special;
  Tolerance float_tolerance, tolerance;
  double exponentials = 0, absolute_exponentials = 0;

  Tolerance allowed(Element element, const OpDevice& k) const {
    Tolerance allowed = stored(element, element == Element::f32 ? float_tolerance : tolerance);
    allowed.relative += exponentials * k.exponential_error;
    allowed.absolute += absolute_exponentials * k.exponential_error;
    return allowed;
  }
  Tensor values(std::int64_t n, Element element) const {
    GuardedBuffer<float> x = random_floats(n, 1, low, high);
    for (std::int64_t i = 0; i < n; i += 5) x[i] = special[static_cast<std::size_t>(i) % special.size()];
    return Tensor(x, element);
  }
};

struct Unary {  // y = op(x); at each of `limits`, its second number
  Form form;
  std::function<void(void*, const void*, std::int64_t)> OpDevice::*op;
  decltype(&reference::relu) reference;
  std::vector<std::pair<float, float>> limits;
};
struct Binary {  // y = op(a, b); the form is that of b
  Form form;
  std::function<void(void*, const void*, const void*, std::int64_t)> OpDevice::*op;
  decltype(&reference::add) reference;
};

const std::vector<float> kZeros = {0, -0.0f};

// The relative error of erfc(z) is 2 z^2 times that of z: 36 times 1.5 roundings at z = 6 / sqrt(2), and a few of its own. In
// 16 bits the lower tail is 1 + erf, whose absolute error is a few kEps however small the result. The exponent of the tanh
// form, 2 sqrt(2 / pi) (x + 0.044715 x^3), up to 25 at 6, errs by 2.5 roundings in the left tail; __expf adds as many of the
// result's units as its argument.
constexpr Tolerance kErf = {40 * kEps, 0}, kRoundedErf = {4 * kEps, 6 * 4 * kEps}, kTanh = {(4 + 3.5 * 25) * kEps, 0};
const std::vector<std::pair<float, float>> kGeluLimits = {
    {0, 0}, {1e-30f, 5e-31f}, {20, 20}, {-20, 0}, {1e10f, 1e10f}, {-6e4f, 0}, {kLargest, kLargest}, {kInfinity, kInfinity}};

const Unary kUnaries[] = {
    {{"relu", -1, 1, kZeros, kExact, kExact}, &OpDevice::relu, reference::relu, {{kInfinity, kInfinity}, {-kInfinity, 0}}},
    {{"relu6", -9, 9, {0, kSix}, kExact, kExact},
     &OpDevice::relu6,
     reference::relu6,
     {{200, 6}, {-200, 0}, {kInfinity, 6}, {-kInfinity, 0}, {0, 0}}},
    {{"sigmoid", -9, 9, {0, kSix}, {5 * kEps, 5 * kEps}, {5 * kEps, 5 * kEps}, 1, 1},
     &OpDevice::sigmoid,
     reference::sigmoid,
     {{200, 1}, {-200, 0}, {kInfinity, 1}, {-kInfinity, 0}, {0, 0.5f}}},
    {{"silu", -9, 9, {0, kSix}, {6 * kEps, 6 * kEps}, {6 * kEps, 6 * kEps}, 1, 1},
     &OpDevice::silu,
     reference::silu,
     {{200, 200}, {-200, 0}, {0, 0}}},
    {{"gelu", -6, 6, kZeros, kErf, kRoundedErf, 1, 0}, &OpDevice::gelu, reference::gelu, kGeluLimits},
    {{"gelu_tanh", -6, 6, kZeros, kTanh, kTanh, 1, 0}, &OpDevice::gelu_tanh, reference::gelu_tanh, kGeluLimits},
};

// The two terms of gelu's gradient, of at most 1 each, may cancel; in the tanh form, 1 - f errs by half an eps, and is
// multiplied by up to 6 * 6.
const Binary kBinaries[] = {
    {{"add", -1, 1, kZeros, kExact, kExact}, &OpDevice::add, reference::add},
    {{"relu_grad", -1, 1, kZeros, kExact, kExact}, &OpDevice::relu_grad, reference::relu_grad},
    {{"relu6_grad", 0, 6, {0, kSix}, kExact, kExact}, &OpDevice::relu6_grad, reference::relu6_grad},
    {{"sigmoid_grad", 0, 1, {0, 1}, {3 * kEps, 0}, {3 * kEps, 0}}, &OpDevice::sigmoid_grad, reference::sigmoid_grad},
    {{"silu_grad", -9, 9, {-9, 9}, {9 * kEps, 9 * kEps}, {9 * kEps, 9 * kEps}, 1, 1},
     &OpDevice::silu_grad,
     reference::silu_grad},
    {{"gelu_grad", -6, 6, kZeros, {4 * kEps, 8 * kEps}, {4 * kEps, 8 * kEps}, 1, 1},
     &OpDevice::gelu_grad,
     reference::gelu_grad},
    {{"gelu_tanh_grad", -6, 6, kZeros, {4 * kEps, 48 * kEps}, {4 * kEps, 48 * kEps}, 1, 1},
     &OpDevice::gelu_tanh_grad,
     reference::gelu_tanh_grad},
};

void PrintTo(const Unary& unary, std::ostream* out) { *out << unary.form.name; }
void PrintTo(const Binary& binary, std::ostream* out) { *out << binary.form.name; }
const auto kName = [](const auto& info) { return std::string(info.param.form.name); };

class UnaryOps : public testing::TestWithParam<Unary> {};
INSTANTIATE_TEST_SUITE_P(Every, UnaryOps, testing::ValuesIn(kUnaries), kName);
class BinaryOps : public testing::TestWithParam<Binary> {};
INSTANTIATE_TEST_SUITE_P(Every, BinaryOps, testing::ValuesIn(kBinaries), kName);

TEST_P(UnaryOps, MatchTheReference) {
  const auto& [form, op, reference, limits] = GetParam();
  for (std::int64_t n : kSizes)
    for (Element element : test::op_elements()) {
      SCOPED_TRACE(std::to_string(n) + " " + test::name_of(element));
      const Tensor x = form.values(n, element);
      GuardedBuffer<float> expected(n);
      reference(expected.data(), x.floats().data(), n);
      SameBits same(false);
      for_each_device(element, [&, form = &form, op = op](const OpDevice& k) {
        Tensor y(n, element), in_place = x;
        (k.*op)(y.data(), x.data(), n);
        (k.*op)(in_place.data(), in_place.data(), n);
        const GuardedBuffer<float> result = y.floats();
        expect_close(result, expected, form->allowed(element, k));
        EXPECT_TRUE(bit_equal(in_place.floats(), result));
        EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
        same.expect(k, result);
      });
    }
}

TEST_P(UnaryOps, KeepNanAndHaveTheirLimits) {
  const auto& [form, op, reference, limits] = GetParam();
  constexpr std::int64_t kElements = 41;
  GuardedBuffer<float> x = random_floats(kElements, 1), expected(kElements);
  for (std::size_t i = 0; i < limits.size(); ++i) x[static_cast<std::int64_t>(i) + 1] = limits[i].first;
  for (std::int64_t at : {0, 20, 40}) x[at] = NAN;
  for_each_op_element("", [&, form = &form, op = op, limits = &limits](Element element) {
    const Tensor values(x, element);
    for_each_device(element, [&](const OpDevice& k) {
      Tensor y(kElements, element);
      (k.*op)(y.data(), values.data(), kElements);
      const GuardedBuffer<float> result = y.floats();
      for (std::int64_t i = 0; i < kElements; ++i) EXPECT_EQ(std::isnan(result[i]), i % 20 == 0) << i;
      for (std::size_t i = 0; i < limits->size(); ++i) {
        const float limit = test::rounded((*limits)[i].second, element), got = result[static_cast<std::int64_t>(i) + 1];
        const double allowed = form->allowed(element, k).relative * std::fabs(limit);
        EXPECT_TRUE(got == limit || std::fabs(got - limit) <= allowed) << got << " at " << (*limits)[i].first;
      }
    });
  });
}

TEST_P(BinaryOps, MatchTheReference) {
  const auto& [form, op, reference] = GetParam();
  for (std::int64_t n : kSizes)
    for (Element element : test::op_elements()) {
      SCOPED_TRACE(std::to_string(n) + " " + test::name_of(element));
      const Tensor a = random_tensor(n, element, 2), b = form.values(n, element);
      GuardedBuffer<float> expected(n);
      reference(expected.data(), a.floats().data(), b.floats().data(), n);
      SameBits same(false);
      for_each_device(element, [&, form = &form, op = op](const OpDevice& k) {
        Tensor y(n, element), over_a = a, over_b = b;
        (k.*op)(y.data(), a.data(), b.data(), n);
        (k.*op)(over_a.data(), over_a.data(), b.data(), n);
        (k.*op)(over_b.data(), a.data(), over_b.data(), n);
        const GuardedBuffer<float> result = y.floats();
        expect_close(result, expected, form->allowed(element, k));
        EXPECT_TRUE(bit_equal(over_a.floats(), result) && bit_equal(over_b.floats(), result));
        EXPECT_TRUE(y.guards_intact() && over_a.guards_intact() && over_b.guards_intact());
        same.expect(k, result);
      });
    }
}

// In the second operand of a gradient, whose product with dy it becomes. The gradients of relu and relu6 compare it only, which
// is false for NaN, so theirs is 0.
TEST_P(BinaryOps, KeepNan) {
  const auto& [form, op, reference] = GetParam();
  const bool keeps = !std::string(form.name).starts_with("relu");
  GuardedBuffer<float> b = random_floats(40, 1);
  b[17] = NAN;
  for_each_op_element("", [&, op = op](Element element) {
    const Tensor a = random_tensor(40, element, 2), with_nan(b, element);
    for_each_device(element, [&](const OpDevice& k) {
      Tensor y(40, element);
      (k.*op)(y.data(), a.data(), with_nan.data(), 40);
      for (std::int64_t i = 0; i < 40; ++i) EXPECT_EQ(std::isnan(y.floats()[i]), keeps && i == 17) << i;
    });
  });
}

TEST(Accumulate, MatchesReference) {
  for (std::int64_t n : kSizes)
    for_each_op_element(std::to_string(n), [&](Element element) {
      const Tensor x = random_tensor(n, element, 6);
      for (bool first : {true, false}) {
        const GuardedBuffer<float> before = random_floats(n, 7);
        GuardedBuffer<float> expected = before;
        reference::accumulate(expected.data(), x.floats().data(), 0.25f, first, n);
        for_each_device(element, [&](const OpDevice& k) {
          DeviceBuffer<float> sum = on_device<float>(before);
          k.accumulate(sum.data(), x.data(), 0.25f, first, n);
          expect_close(sum, expected, kExact);
          EXPECT_TRUE(sum.guards_intact());
        });
      }
    });
}

}  // namespace
}  // namespace epochbench
