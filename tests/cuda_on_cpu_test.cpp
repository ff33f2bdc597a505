// The machine on which CUDA kernels run in tests.
#include "tests/support/cuda_kernel_sweep.h"

namespace epochbench {
namespace {

TEST(CudaOnCpu, RoundsAsTheFormatsSay) {
  EXPECT_EQ(test::rounded(1 + 0x1p-8f, Element::bf16), 1);
  EXPECT_EQ(test::rounded(1 + 0x1.8p-7f, Element::bf16), 1 + 0x1p-6f);
}

}  // namespace
}  // namespace epochbench
