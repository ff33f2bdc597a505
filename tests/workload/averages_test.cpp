// Averages of the weights on the reference and the CPU.
#include "support/averages_of_weights.h"

namespace epochbench {
namespace {

TEST(Averages, FollowTheWeightsAndAreEvaluated) {
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(2);
  for (const Backend* backend : {reference.get(), cpu.get()})
    for (const char* model : {"lenet5", test::kSmallGpt2}) {
      SCOPED_TRACE(model);
      test::expect_averages(model, Precision::fp32, *backend);
    }
  test::expect_averages("mlp:width=40", Precision::fp32, *cpu, 2);
  if (!unsupported(test::made_workload(test::kSmallGpt2, 4), *cpu, {Entry::train}, Precision::bf16))
    test::expect_averages(test::kSmallGpt2, Precision::bf16, *cpu);
}

TEST(Averages, BelongToTheFingerprintWhereTheyAreKept) {
  WorkloadSpec workload = test::made_workload("lenet5", 4);
  const std::string without = count(workload).fingerprint;
  workload.optimizer.ema = 0.9;
  EXPECT_NE(count(workload).fingerprint, without);
  EXPECT_NE(workload.optimizer_text().find(" ema=0.9"), std::string::npos);
}

}  // namespace
}  // namespace epochbench
