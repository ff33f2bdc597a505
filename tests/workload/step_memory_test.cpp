// A step of a real model on the CPU allocates nothing: neither the kernels, nor OpenMP, nor the runner and loader.
#include <atomic>

#include <gtest/gtest.h>

#include "src/base/clock.h"
#include "src/worker/runner.h"
#include "src/workload/workload.h"
#include "support/allocations.h"
#include "support/made_workload.h"
#include "support/trainer.h"

namespace epochbench {
namespace {

using test::allocations;
using test::Trainer;
using test::Training;

void run(Executable& executable, Entry entry, int steps) {
  for (int step = 0; step < steps; ++step) {
    executable.submit(step % kInputSlots);
    executable.run(entry);
  }
}

class StepMemory : public testing::TestWithParam<Training> {
 protected:
  void SetUp() override {
    CaseSpec spec;
    spec.model = find_model(GetParam().model);
    spec.batch = GetParam().batch;
    const auto reason = unsupported(workload_spec(spec), *make_cpu_backend(1), {Entry::train}, GetParam().precision);
    if (reason) GTEST_SKIP() << *reason;
  }
};

TEST_P(StepMemory, IsAllThereBeforeTheSecondStep) {
  for (int threads : {1, 2, 3}) {
    Trainer trainer(GetParam(), *make_cpu_backend(threads));
    for (InputSlot slot = 0; slot < kInputSlots; ++slot) trainer.fill(slot, slot * GetParam().batch);
    Executable& executable = trainer.executable();
    for (Entry entry : {Entry::train, Entry::evaluate}) {
      run(executable, entry, 1);  // OpenMP creates its team
      const std::int64_t before = allocations();
      run(executable, entry, 6);
      EXPECT_EQ(allocations() - before, 0) << name(entry) << ", threads " << threads;
    }
  }
}

TEST_P(StepMemory, RunnerAndLoaderAllocateNothing) {
  CaseSpec spec;
  spec.model = find_model(GetParam().model);
  spec.batch = GetParam().batch;
  spec.data = GetParam().data;
  spec.precision = GetParam().precision;
  spec.threads = 2;
  PreparedCase prepared = prepare_case(spec);
  Runner runner(*prepared.executable, *prepared.batches, prepared.entry, steady_seconds, read_usage);
  runner.begin_epoch(0);
  runner.steps(2);
  const std::int64_t before = allocations();
  runner.steps(12 + 2 * prepared.batches->steps_per_epoch() % 30);
  EXPECT_EQ(allocations() - before, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Models, StepMemory,
    testing::Values(Training{"lenet5", 96, "digits"}, Training{"resnet20", 4}, Training{"bert-tiny", 2, "founding-documents"},
                    Training{test::kSmallVit, 4}, Training{test::kSmallGpt2, 4, "founding-documents"},
                    Training{test::kSmallLlama, 4, "founding-documents"}, Training{"lenet5", 96, "digits", Precision::bf16},
                    Training{"resnet20", 4, "synthetic", Precision::bf16},
                    Training{"bert-tiny", 2, "founding-documents", Precision::bf16}),
    [](const auto& info) { return test::parameter_name(info.param.model + "_" + name(info.param.precision)); });

TEST(Allocations, AreCounted) {
  std::int64_t before = allocations();
  char* volatile memory = new char;  // volatile: otherwise the compiler removes the unused pair
  delete memory;
  EXPECT_GT(allocations(), before);
  if (!test::kCountsMalloc) return;
  const auto change_team = [](int threads) {
    std::atomic<int> seen{0};
#pragma omp parallel num_threads(threads)
    ++seen;
    EXPECT_EQ(seen, threads);
  };
  change_team(2);
  before = allocations();
  change_team(3);
  EXPECT_GT(allocations(), before) << "OpenMP creates another team";
}

}  // namespace
}  // namespace epochbench
