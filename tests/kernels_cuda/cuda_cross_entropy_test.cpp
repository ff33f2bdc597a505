// Cross entropy in CUDA where it differs from the CPU's: rows with elements between them, a scale of the loss. The rest is in
// tests/kernels/cross_entropy_test.cpp.
#include "tests/support/cuda_kernel_test.h"
#include "tests/support/labels.h"

namespace epochbench {
namespace {

using test::cross_entropy_gradient_tolerance;
using test::Ignored;
using test::kLogError;
using test::labels_for;

DeviceBuffer<float> workspace_of(const Matrix& m) { return scratch(cuda::cross_entropy_workspace_bytes(m.rows)); }

// Rows of more elements than classes, aligned and not, per warp and per block: the numbers of dense rows, whatever lies
// between, which stays.
TEST(CudaCrossEntropy, LongerRowsMatchReference) {
  struct Padded {
    Matrix m;
    std::int64_t row_elements;
  };
  for (const Padded& rows : {Padded{{5, 10}, 16}, Padded{{4, 7}, 9}, Padded{{3, 1001}, 1008}, Padded{{2, 30522}, 30528}}) {
    const Matrix& m = rows.m;
    const std::int64_t row_elements = rows.row_elements;
    for_each_element(describe(m) + " of " + std::to_string(row_elements), [&](Element element) {
      const GuardedBuffer<float> dense = random_tensor(m.elements(), element, 9, -6, 6).floats();
      GuardedBuffer<float> padded(m.rows * row_elements);
      const auto among = [&](std::int64_t i) { return i % row_elements < m.channels; };
      const auto index = [&](std::int64_t i) { return i / row_elements * m.channels + i % row_elements; };
      for (std::int64_t i = 0; i < m.rows * row_elements; ++i) padded[i] = among(i) ? dense[index(i)] : INFINITY;
      const DeviceBuffer<std::int32_t> labels = labels_for(m, Ignored::every_third);
      GuardedBuffer<float> loss(1), log_sum_exp(m.rows), gradient(m.elements()), correct(1);
      reference::cross_entropy(loss.data(), log_sum_exp.data(), dense.data(), labels.data(), m.rows, m.channels, true);
      reference::cross_entropy_grad(gradient.data(), dense.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, true);
      reference::count_correct(correct.data(), dense.data(), labels.data(), m.rows, m.channels);
      for_each_order("", [&] {
        const Tensor logits(padded, element);
        Tensor dlogits(padded, element), in_place(padded, element);
        DeviceBuffer<float> of_loss(1), of_log_sum_exp(m.rows), of_correct(1), workspace = workspace_of(m);
        cuda::cross_entropy(of_loss.data(), of_log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, true,
                            row_elements, element, workspace.data(), kNoStream);
        for (Tensor* to : {&dlogits, &in_place})
          cuda::cross_entropy_grad(to->data(), to == &dlogits ? logits.data() : in_place.data(), labels.data(),
                                   of_log_sum_exp.data(), nullptr, m.rows, m.channels, true, row_elements, element,
                                   workspace.data(), kNoStream);
        cuda::count_correct(of_correct.data(), logits.data(), labels.data(), m.rows, m.channels, row_elements, element,
                            workspace.data(), kNoStream);
        expect_close(of_loss, loss, {kEps, kLogError});
        expect_close(of_log_sum_exp, log_sum_exp, {kEps, kLogError});
        EXPECT_EQ(of_correct[0], correct[0]);
        const GuardedBuffer<float> result = dlogits.floats();
        EXPECT_TRUE(bit_equal(in_place.floats(), result));
        GuardedBuffer<float> classes(m.elements());
        for (std::int64_t i = 0; i < m.rows * row_elements; ++i)
          if (among(i))
            classes[index(i)] = result[i];
          else
            ASSERT_EQ(result[i], INFINITY) << i;
        expect_close(classes, gradient, cross_entropy_gradient_tolerance(element, 1.5 / static_cast<double>(m.rows)));
        EXPECT_TRUE(dlogits.guards_intact() && in_place.guards_intact() && workspace.guards_intact());
      });
    });
  }
}

TEST(CudaCrossEntropyGrad, LossScaleMultiplies) {
  const Matrix m = {9, 40};
  for_each_element("", [&](Element element) {
    const Tensor logits = random_tensor(m.elements(), element, 7, -3, 3);
    const DeviceBuffer<std::int32_t> labels = labels_for(m, Ignored::every_third);
    DeviceBuffer<float> loss(1), log_sum_exp(m.rows), workspace = workspace_of(m), scale(1);
    scale[0] = 1024;  // a power of two, so float results are exact multiples
    cuda::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, true, m.channels,
                        element, workspace.data(), kNoStream);
    GuardedBuffer<float> expected(m.elements());
    reference::cross_entropy_grad(expected.data(), logits.floats().data(), labels.data(), log_sum_exp.data(), m.rows,
                                  m.channels, true);
    for (float& value : expected) value *= 1024;
    Tensor scaled(m.elements(), element);
    cuda::cross_entropy_grad(scaled.data(), logits.data(), labels.data(), log_sum_exp.data(), scale.data(), m.rows, m.channels,
                             true, m.channels, element, workspace.data(), kNoStream);
    expect_close(scaled.floats(), expected, cross_entropy_gradient_tolerance(element, 1024.0 / 6));
  });
}

}  // namespace
}  // namespace epochbench
