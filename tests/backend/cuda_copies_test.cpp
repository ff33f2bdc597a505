// AdamW that writes 16-bit copies of the weights, through the CUDA backend, with our kernels compiled for the CPU, a fake
// device and fake libraries.
#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_backend.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/made_workload.h"
#include "tests/support/parts_only.h"
#include "tests/support/trainer.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;
using test::Trainer;

bool writes_copies(const Node& node) {
  const auto* adamw = std::get_if<AdamwAttributes>(&node.attributes);
  return adamw != nullptr && !adamw->copies.empty();
}

std::unique_ptr<Backend> make_backend(bool copies) {
  const auto device = std::make_shared<FakeDevice>();
  auto backend = make_cuda_backend(device, [device] { return std::make_shared<FakeLibraries>(*device); });
  if (!copies) backend = std::make_unique<test::PartsOnly>(std::move(backend), writes_copies);
  return backend;
}

bool has_copies(const Trainer& trainer) { return trainer.program().entry(Entry::prepare) != nullptr; }

// Also over a skipped step, after which the copies are as they were, and after weights that came from outside.
TEST(CudaCopies, TrainAsCastsDoToTheBit) {
  for (const char* model : {"lenet5", test::kSmallBert, test::kSmallVit})
    for (Precision precision : {Precision::bf16, Precision::fp16}) {
      SCOPED_TRACE(std::string(model) + " " + name(precision));
      Trainer with({model, 4, "synthetic", precision}, *make_backend(true));
      Trainer without({model, 4, "synthetic", precision}, *make_backend(false));
      ASSERT_TRUE(has_copies(with));
      ASSERT_FALSE(has_copies(without));
      const auto expect_same = [&] {
        const std::vector<double> losses = with.losses(3);
        EXPECT_EQ(losses, without.losses(3));
        EXPECT_NE(losses[0], losses[2]);
        EXPECT_EQ(with.state(VariableRole::parameter), without.state(VariableRole::parameter));
        EXPECT_EQ(with.state(VariableRole::optimizer), without.state(VariableRole::optimizer));
        EXPECT_EQ(with.step(Entry::evaluate, 0).loss, without.step(Entry::evaluate, 0).loss);
      };
      expect_same();
      for (Trainer* trainer : {&with, &without}) {
        if (precision == Precision::fp16) trainer->write("loss_scale", 0x1p24f);  // beyond what gradients hold
        const Variable& weight = trainer->program().variables.front();
        trainer->executable().write(weight.name, std::vector<float>(static_cast<std::size_t>(weight.desc.elements()), 0.01f));
        prepare(trainer->executable(), trainer->program());
      }
      expect_same();
    }
}

}  // namespace
}  // namespace epochbench
