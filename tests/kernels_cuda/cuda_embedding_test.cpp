// The gradient of an embedding in CUDA whose base has another type than the gradient of its rows. The rest is in
// tests/kernels/embedding_test.cpp.
#include "tests/support/cuda_kernel_test.h"
#include "tests/support/lookups.h"

namespace epochbench {
namespace {

using test::Ids;
using test::Lookup;

TEST(CudaEmbeddingGrad, AddsToAFloatBase) {
  for (const Lookup& l : {Lookup{1, 1, 1}, Lookup{64, 9, 17}, Lookup{33, 50, 12}, Lookup{257, 31, 8}, Lookup{19, 7, 1300}})
    for (Element element : {Element::bf16, Element::f16}) {
      const std::int64_t n = l.vocabulary * l.width;
      const DeviceBuffer<float> base = random_device_floats(n, 2);
      const Tensor dy = random_tensor(l.rows * l.width, element, 3);
      const DeviceBuffer<std::int32_t> ids = test::ids_for(l, Ids::one_frequent);
      GuardedBuffer<float> expected(n);
      reference::embedding_grad(expected.data(), dy.floats().data(), ids.data(), base.data(), l.rows, l.vocabulary, l.width);
      for_each_order(describe(l), [&] {
        DeviceBuffer<float> dtable(n), in_place = base;
        for (auto [to, from] : {std::pair{&dtable, &base}, {&in_place, static_cast<const DeviceBuffer<float>*>(&in_place)}}) {
          cuda::embedding_grad(to->data(), dy.data(), ids.data(), from->data(), Element::f32, l.rows, l.vocabulary, l.width,
                               element, kNoStream);
          expect_close(*to, expected, test::embedding_grad_tolerance(l));
          EXPECT_TRUE(to->guards_intact());
        }
      });
    }
}

}  // namespace
}  // namespace epochbench
