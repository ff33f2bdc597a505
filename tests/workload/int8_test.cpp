// Inference on bytes: logits of the CPU beside the reference, and what it costs in accuracy on the digits.

#include <gtest/gtest.h>

#include "src/workload/workload.h"
#include "support/logits.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

using test::difference;
using test::logits;

class Int8Of : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Int8Of, testing::ValuesIn(test::kForwardModels),
                         [](const auto& info) { return test::parameter_name(info.param); });

// Ranges of activations that differ in the last bit move a few values to the next code, in every layer that follows.
TEST_P(Int8Of, TheCpuIsTheReference) {
  if (make_cpu_backend(1)->device().int8_isa.empty()) GTEST_SKIP() << "this CPU has no int8 products";
  const auto expected = logits(GetParam(), 3, *make_reference_backend(), Precision::int8);
  for (int threads : {1, 2, 3})
    EXPECT_LT(difference(logits(GetParam(), 3, *make_cpu_backend(threads), Precision::int8), expected), 0.02) << threads;
}

// Activations are rounded to 256 steps of their range and weights to 255: half a step each, in about 20 layers.
TEST_P(Int8Of, TheReferenceIsNearFp32) {
  const auto expected = logits(GetParam(), 3, *make_reference_backend());
  const double error = difference(logits(GetParam(), 3, *make_reference_backend(), Precision::int8), expected);
  EXPECT_GT(error, 1e-5) << "nothing is rounded";
  EXPECT_LT(error, 0.1);
}

struct Accuracy {
  double fp32, int8;  // of the test split
};

// The accuracy of a model that learned the digits for some epochs, with the same weights in both precisions.
Accuracy accuracy_on_digits(const char* model, std::uint64_t seed, int epochs) {
  constexpr std::int64_t kBatch = 32;
  const auto backend = make_cpu_backend(2);
  const WorkloadSpec workload = test::made_workload(model, kBatch);
  const auto data = open_dataset("digits", workload.model.family->sample(workload.config), 0, seed);
  const auto fill = [&](Executable& executable, const EntryGraph& entry, Split split, std::int64_t first) {
    std::vector<std::span<std::byte>> inputs;
    for (std::size_t i = 0; i < entry.graph.inputs.size(); ++i) inputs.push_back(executable.stage(0, static_cast<int>(i)));
    for (std::int64_t row = 0; row < kBatch; ++row) data->fill(split, first + row, 0, row, inputs);
    executable.submit(0);
  };
  const auto correct = [&](Executable& executable, const Program& program) {
    const std::int64_t samples = data->samples(Split::test) / kBatch * kBatch;
    for (std::int64_t first = 0; first < samples; first += kBatch) {
      fill(executable, *program.entry(Entry::evaluate), Split::test, first);
      executable.run(Entry::evaluate);
    }
    std::vector<StepRecord> records;
    executable.drain(records);
    double sum = 0;
    for (const StepRecord& record : records)
      if (record.entry == Entry::evaluate) sum += record.correct;
    return sum / static_cast<double>(samples);
  };

  const Program training = make_program(workload, *backend, {Entry::train, Entry::evaluate});
  const auto trained = backend->compile(training);
  initialize(*trained, training, seed);
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (std::int64_t first = 0; first + kBatch <= data->samples(Split::train); first += kBatch) {
      fill(*trained, *training.entry(Entry::train), Split::train, first);
      trained->run(Entry::train);
    }
  const Program bytes = make_program(workload, *backend, {Entry::evaluate}, Precision::int8);
  const auto executable = backend->compile(bytes);
  initialize(*executable, bytes, seed);
  for (const Variable& variable : model_variables(workload)) {
    std::vector<float> values(static_cast<std::size_t>(variable.desc.elements()));
    trained->read(variable.name, values);
    executable->write(variable.name, values);
  }
  for (std::int64_t first = 0; first < 4 * kBatch; first += kBatch) {
    fill(*executable, *bytes.entry(Entry::evaluate), Split::train, first);
    executable->run(Entry::calibrate);
  }
  executable->run(Entry::prepare);
  std::vector<StepRecord> records;
  for (Executable* each : {trained.get(), executable.get()}) each->drain(records);
  return {correct(*trained, training), correct(*executable, bytes)};
}

// The means of ten seeds differ by at most half a point; docs/forward.md has the figures of both models.
TEST(Int8Accuracy, DigitsLoseLessThanHalfAPoint) {
  if (make_cpu_backend(1)->device().int8_isa.empty()) GTEST_SKIP() << "this CPU has no int8 products";
  double fp32 = 0, int8 = 0;
  constexpr int kSeeds = 10;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Accuracy of_seed = accuracy_on_digits("lenet5", static_cast<std::uint64_t>(seed), 4);
    fp32 += of_seed.fp32 / kSeeds;
    int8 += of_seed.int8 / kSeeds;
  }
  EXPECT_GT(fp32, 0.8) << "the model has learned";
  EXPECT_NEAR(int8, fp32, 0.005);
}

}  // namespace
}  // namespace epochbench
