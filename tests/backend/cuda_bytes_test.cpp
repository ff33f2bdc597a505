// Images as bytes through the CUDA backend, with our kernels compiled for the CPU, a fake device and fake libraries.
#include "src/backend/cuda/cuda_backend.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/staged_bytes.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;

TEST(CudaBytes, TrainAsFloatsDoToTheBit) {
  for (const char* model : {"lenet5", "mlp:width=96"})
    for (Precision precision : kPrecisions) {
      const auto device = std::make_shared<FakeDevice>();
      const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
      test::expect_bytes_train_as_floats(*backend, model, precision);
    }
}

TEST(CudaBytes, AreNotDecodedToATypeThatTheGpuLacks) {
  constexpr int kTuring = 75;
  const auto device = std::make_shared<FakeDevice>(0, kTuring);
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  test::expect_bytes_train_as_floats(*backend, "lenet5", Precision::fp16);
  Graph graph;
  const ValueId x = graph.add_input("images", {{1, 2, 2, 1}, DType::u8}), table = graph.add_input("t", {{1, 256}, DType::f32});
  graph.add_node(Op::decode_pixels, CastAttributes{DType::bf16}, {x, table}, "decode");
  EXPECT_TRUE(backend->unsupported(graph, graph.nodes[0]));
}

}  // namespace
}  // namespace epochbench
