// Rotary position embedding and SwiGLU against the reference: odd sizes, packs and single elements, columns that stay, tensors
// side by side, aliasing.
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

constexpr RotaryShape kShapes[] = {{1, 2, 1, 2, 1},     {3, 6, 3, 2, 2},     {4, 13, 2, 6, 2},     {6, 288, 3, 48, 6},
                                   {10, 96, 5, 48, 1},  {4, 640, 4, 128, 3}, {5, 66, 1, 66, 1},    {600, 70, 300, 10, 6},
                                   {60, 72, 30, 16, 4}, {7, 50, 7, 16, 3},   {256, 480, 64, 48, 8}};

TEST(Rotary, MatchesReference) {
  for (RotaryShape s : kShapes)
    for (bool inverse : {false, true})
      for_each_op_element(describe(s), [&](Element element) {
        s.inverse = inverse;
        const std::int64_t n = s.rows * s.columns;
        const Tensor x = random_tensor(n, element, 1);
        const DeviceBuffer<float> table = random_device_floats(s.sequence * s.width, 2);
        GuardedBuffer<float> expected(n);
        reference::rotary(expected.data(), x.floats().data(), table.data(), s);
        for_each_device(element, [&](const OpDevice& k) {
          Tensor y(n, element), in_place = x;
          k.rotary(y.data(), x.data(), table.data(), s);
          k.rotary(in_place.data(), in_place.data(), table.data(), s);
          expect_close(y.floats(), expected, stored(element, {kEps, 3 * kEps}));
          EXPECT_TRUE(bit_equal(in_place.floats(), y.floats()));
          EXPECT_TRUE(y.guards_intact() && in_place.guards_intact());
        });
      });
}

// By a quarter turn: (a, b) becomes (-b, a), as in Hugging Face's rotate_half, and column 4 stays.
TEST(ReferenceRotary, MatchesWorkedCase) {
  const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, table[] = {0, 1, 1, 0, 1, 0, 0, 1};
  GuardedBuffer<float> y(10);
  reference::rotary(y.data(), x, table, {2, 5, 2, 4, 1});
  expect_close(y, std::vector<float>{-3, 2, 1, 4, 5, 6, -9, 8, 7, 10}, kExact);
}

constexpr SwigluShape kSwiglus[] = {{1, 1},       {1, 33},       {1, 4099},      {1, 4096},       {1, 20011},
                                    {1, 1, true}, {3, 17, true}, {7, 768, true}, {70, 768, true}, {31, 255, true}};

// One tensor with up right after gate, or beside it in every row.
TEST(Swiglu, MatchesReference) {
  for (const SwigluShape& s : kSwiglus)
    for_each_op_element(describe(s), [&](Element element) {
      const std::int64_t n = s.rows * s.width, up = s.joint ? s.width : n;
      const Tensor x = random_tensor(2 * n, element, 1, -9, 9), dy = random_tensor(n, element, 2);
      const std::int64_t bytes = up * test::bytes_of(element);
      const auto up_half = [&](Tensor& tensor) { return static_cast<std::byte*>(tensor.data()) + bytes; };
      const void* const x_up = static_cast<const std::byte*>(x.data()) + bytes;
      const GuardedBuffer<float> wide = x.floats();
      GuardedBuffer<float> expected(n), expected_grad(2 * n);
      reference::swiglu(expected.data(), wide.data(), wide.data() + up, s);
      reference::swiglu_grad(expected_grad.data(), expected_grad.data() + up, dy.floats().data(), wide.data(), wide.data() + up,
                             s);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(n, element), grad(2 * n, element), in_place = x, one(2 * n, element);
        k.swiglu(y.data(), x.data(), x_up, s);
        k.swiglu_grad(grad.data(), up_half(grad), dy.data(), x.data(), x_up, s);
        k.swiglu_grad(in_place.data(), up_half(in_place), dy.data(), in_place.data(), up_half(in_place), s);
        k.swiglu_grad(one.data(), nullptr, dy.data(), x.data(), x_up, s);
        k.swiglu_grad(nullptr, up_half(one), dy.data(), x.data(), x_up, s);
        const auto tolerance = [&](double eps) {
          const Tolerance rounded = stored(element, {eps, eps});
          return Tolerance{rounded.relative + k.exponential_error, rounded.absolute + 8 * k.exponential_error};
        };
        expect_close(y.floats(), expected, tolerance(8 * 9 * kEps));
        expect_close(grad.floats(), expected_grad, tolerance(12 * 9 * kEps));
        EXPECT_TRUE(bit_equal(in_place.floats(), grad.floats()));
        expect_close(one.floats(), expected_grad, tolerance(12 * 9 * kEps));
        for (const Tensor* written : {&y, &grad, &in_place, &one}) EXPECT_TRUE(written->guards_intact());
      });
    });
}

}  // namespace
}  // namespace epochbench
