// The steps of long short-term memory in CUDA, around products of the reference, against its whole sequences.
#include <cmath>

#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

// One of everything; units that fill a block, and a few more; more sequences than units.
constexpr LstmShape kShapes[] = {{1, 1, 1}, {1, 3, 1}, {2, 1, 5}, {3, 4, 7}, {2, 3, 128}, {2, 2, 131}, {40, 2, 3}};

std::string describe(const LstmShape& s) {
  return "batch=" + std::to_string(s.batch) + " sequence=" + std::to_string(s.sequence) + " units=" + std::to_string(s.units);
}

class CudaLstm : public testing::TestWithParam<LstmShape> {
 protected:
  static std::int64_t rows() { return GetParam().batch * GetParam().sequence; }
  static std::int64_t state() { return rows() * GetParam().units; }
  static std::int64_t of_step() { return GetParam().batch * GetParam().units; }
  // With sums of products below 1, as those of a trained layer.
  static double bound() { return 1 / std::sqrt(static_cast<double>(GetParam().units)); }

  // sums = rows of `state` [batch, k] by the weight, transposed in the forward pass.
  static DeviceBuffer<float> product(const Tensor& of_step, const Tensor& weight, bool forward) {
    const std::int64_t batch = GetParam().batch, units = GetParam().units;
    const GemmShape shape = forward ? GemmShape{batch, 4 * units, units, false, true} : GemmShape{batch, units, 4 * units};
    GuardedBuffer<float> sums(batch * shape.n);
    reference::gemm(sums.data(), of_step.floats().data(), weight.floats().data(), shape, {});
    return on_device<float>(sums);
  }
};

// A gate errs by a few roundings of its own, by those of the fast exponential of 16-bit tensors, and by those of h, which is
// stored before it is multiplied; at most half of it reaches the next step.
Tolerance tolerance_of(Element element, double largest) {
  const double rounding = stored(element, {}).relative;
  return stored(element, {8 * kEps, (64 * kEps + 4 * rounding) * largest});
}

TEST_P(CudaLstm, StepsMatchReference) {
  const LstmShape shape = GetParam();
  for_each_element(describe(shape), [&](Element element) {
    const Tensor x = random_tensor(4 * state(), element, 1, -2, 2);
    const Tensor weight = random_tensor(4 * shape.units * shape.units, element, 2, -bound(), bound());
    GuardedBuffer<float> gates(4 * state()), cells(state()), h(state()), previous(state());
    reference::lstm(gates.data(), cells.data(), h.data(), previous.data(), x.floats().data(), weight.floats().data(), shape);
    for_each_order("", [&] {
      Tensor got_gates(4 * state(), element), got_h(state(), element), got_previous(state(), element), in_place = x;
      Tensor alone(state(), element), last(of_step(), element);
      DeviceBuffer<float> got_cells(state()), cell(of_step());
      const auto run = [&](void* to_gates, float* to_cells, Tensor& to_h, void* to_previous, const void* from) {
        for (std::int64_t step = 0; step < shape.sequence; ++step) {
          const DeviceBuffer<float> sums = step == 0 ? DeviceBuffer<float>(1) : product(last, weight, true);
          cuda::lstm_step(to_gates, to_cells, to_h.data(), to_previous, last.data(), cell.data(), from,
                          step == 0 ? nullptr : sums.data(), shape, step, element, kNoStream);
        }
        EXPECT_TRUE(last.guards_intact() && cell.guards_intact());
      };
      run(got_gates.data(), got_cells.data(), got_h, got_previous.data(), x.data());
      const Tolerance tolerance = tolerance_of(element, 1);
      expect_close(got_gates.floats(), gates, tolerance);
      expect_close(got_cells, cells, tolerance);
      expect_close(got_h.floats(), h, tolerance);
      const GuardedBuffer<float> values = got_h.floats(), before = got_previous.floats();
      for (std::int64_t i = 0; i < state(); ++i) {
        const bool first = i / shape.units % shape.sequence == 0;
        ASSERT_EQ(before[i], first ? 0 : values[i - shape.units]) << i;
      }
      run(in_place.data(), nullptr, alone, nullptr, in_place.data());
      EXPECT_TRUE(bit_equal(in_place.floats(), got_gates.floats()));
      EXPECT_TRUE(bit_equal(alone.floats(), values));
      run(nullptr, nullptr, alone, nullptr, x.data());
      EXPECT_TRUE(bit_equal(alone.floats(), values));
      for (const Tensor* tensor : {&got_gates, &got_h, &got_previous, &in_place, &alone}) EXPECT_TRUE(tensor->guards_intact());
      EXPECT_TRUE(got_cells.guards_intact());
    });
  });
}

TEST_P(CudaLstm, StepsOfTheGradientMatchReference) {
  const LstmShape shape = GetParam();
  for_each_element(describe(shape), [&](Element element) {
    const Tensor x = random_tensor(4 * state(), element, 1, -2, 2), dh = random_tensor(state(), element, 3);
    const Tensor weight = random_tensor(4 * shape.units * shape.units, element, 2, -bound(), bound());
    GuardedBuffer<float> values(4 * state()), cell_values(state()), h(state()), dx(4 * state());
    reference::lstm(values.data(), cell_values.data(), h.data(), nullptr, x.floats().data(), weight.floats().data(), shape);
    const Tensor gates(values, element);
    const DeviceBuffer<float> cells = on_device<float>(cell_values);
    reference::lstm_grad(dx.data(), dh.floats().data(), weight.floats().data(), gates.floats().data(), cell_values.data(),
                         shape);
    for_each_order("", [&] {
      Tensor got(4 * state(), element), in_place = gates, next(4 * of_step(), element);
      DeviceBuffer<float> dcell(of_step());
      for (Tensor* to : {&got, &in_place})
        for (std::int64_t step = shape.sequence - 1; step >= 0; --step) {
          const bool first = step + 1 == shape.sequence;
          const DeviceBuffer<float> sums = first ? DeviceBuffer<float>(1) : product(next, weight, false);
          cuda::lstm_step_grad(to->data(), next.data(), dcell.data(), dh.data(), first ? nullptr : sums.data(),
                               to == &got ? gates.data() : in_place.data(), cells.data(), shape, step, element, kNoStream);
        }
      expect_close(got.floats(), dx, tolerance_of(element, max_abs(dx)));
      EXPECT_TRUE(bit_equal(in_place.floats(), got.floats()));
      EXPECT_TRUE(got.guards_intact() && in_place.guards_intact() && next.guards_intact() && dcell.guards_intact());
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaLstm, testing::ValuesIn(kShapes),
                         [](const auto& info) { return "shape" + std::to_string(info.index); });

}  // namespace
}  // namespace epochbench
