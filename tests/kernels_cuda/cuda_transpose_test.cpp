// Transposes of small matrices in CUDA, exactly.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

// More elements than a block has threads.
TEST(CudaTranspose, MovesEveryElement) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {9, 40}, {40, 9}, {49, 33}, {1, 300}})
    for_each_element(std::to_string(rows) + "x" + std::to_string(columns),
                     [&, rows = rows, columns = columns](Element element) {
                       const Tensor x = random_tensor(rows * columns, element, 7);
                       for_each_order("", [&] {
                         Tensor y(rows * columns, element);
                         cuda::transpose(y.data(), x.data(), rows, columns, element, kNoStream);
                         for (std::int64_t i = 0; i < rows * columns; ++i)
                           ASSERT_EQ(y.floats()[i], x.floats()[i % rows * columns + i / rows]) << i;
                         EXPECT_TRUE(y.guards_intact());
                       });
                     });
}

}  // namespace
}  // namespace epochbench
