// Batches in parts, and activations that are recomputed, through the CUDA backend, with our kernels compiled for the CPU, a
// fake device and fake libraries; with steps captured as graphs and without.
#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_backend.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/made_workload.h"
#include "tests/support/parts_of_a_batch.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;
using test::FakeLibrariesOptions;

// `attention`: the library's, which draws masks of its own.
std::unique_ptr<Backend> make_backend(bool captures, bool attention = false) {
  const auto device = std::make_shared<FakeDevice>();
  return make_cuda_backend(
      device, [=] { return std::make_shared<FakeLibraries>(*device, FakeLibrariesOptions{.attention = attention}); },
      {.graph_capture = captures});
}

TEST(CudaParts, GiveTheGradientsOfTheWholeBatch) {
  constexpr const char* kOddLstm = "lstm-lm:units=33,sequence=5,vocabulary=41";
  for (const char* model : {test::kSmallGpt2, kOddLstm, "mlp:width=40"})
    for (Precision precision : {Precision::fp32, Precision::fp16}) {
      SCOPED_TRACE(std::string(model) + " " + name(precision));
      test::expect_parts_equal_the_whole({.model = model, .batch = 4, .precision = precision}, 4,
                                         *make_backend(precision == Precision::fp32),
                                         precision == Precision::fp32 ? 1e-5 : 0x1p-6);
    }
  test::expect_parts_equal_the_whole({.model = "lenet5", .batch = 6, .data = "digits", .precision = Precision::bf16}, 3,
                                     *make_backend(true), 0x1p-6);
}

TEST(CudaParts, DrawOtherMasksForEachPartOfALibrarysAttention) {
  test::Training training{
      .model = test::kSmallGpt2, .batch = 4, .precision = Precision::bf16, .dropout = 0.125, .accumulate = 2};
  test::Trainer divided(training, *make_backend(true, true));
  EXPECT_TRUE(divided.executable().library_dropout_masks());
  const std::vector<double> losses = divided.losses(2);
  EXPECT_EQ(losses, test::Trainer(training, *make_backend(true, true)).losses(2));
}

TEST(CudaCheckpoint, ChangesNothingButMemory) {
  for (const char* model : {test::kSmallGpt2, "resnet20"})
    for (Precision precision : {Precision::fp32, Precision::bf16}) {
      SCOPED_TRACE(std::string(model) + " " + name(precision));
      const auto backend = make_backend(precision == Precision::fp32, true);
      test::expect_same_with_checkpoints({.model = model, .batch = 4, .precision = precision, .dropout = 0.125}, *backend);
    }
}

}  // namespace
}  // namespace epochbench
