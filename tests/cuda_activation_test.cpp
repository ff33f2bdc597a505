// Element-wise CUDA kernels, the bias and its gradient, and casts, against the reference.
#include "kernels/reference/kernels.h"
#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench {
namespace {

using test::expect_close;
using test::GuardedBuffer;
using test::kExact;
using test::random_tensor;
using test::stored;
using test::Tensor;

TEST(CudaActivation, ReluMatchesReference) {
  for (std::int64_t n : {1, 7, 4099})
    test::for_each_element(std::to_string(n), [&](Element element) {
      const Tensor x = random_tensor(n, element, 1);
      GuardedBuffer<float> expected(n);
      reference::relu(expected.data(), x.floats().data(), n);
      test::for_each_order("", [&] {
        Tensor y(n, element);
        cuda::relu(y.data(), x.data(), n, element, test::kNoStream);
        expect_close(y.floats(), expected, kExact);
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

TEST(CudaActivation, BiasAddGradMatchesReference) {
  test::for_each_element("", [&](Element element) {
    const Tensor x = random_tensor(1000 * 17, element, 1);
    GuardedBuffer<float> expected(17);
    reference::bias_add_grad(expected.data(), x.floats().data(), 1000, 17);
    test::for_each_order("", [&] {
      Tensor y(17, element);
      auto workspace = test::scratch(cuda::reduction_workspace_bytes(1000, 17));
      cuda::bias_add_grad(y.data(), x.data(), 1000, 17, element, workspace.data(), test::kNoStream);
      expect_close(y.floats(), expected, stored(element, test::sum_tolerance(1000, 1)));
      EXPECT_TRUE(y.guards_intact());
      EXPECT_TRUE(workspace.guards_intact());
    });
  });
}

}  // namespace
}  // namespace epochbench
