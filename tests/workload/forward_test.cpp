// Forward programs: CPU logits against the reference with any part left out, and the nodes of the programs.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cpu/kernels.h"
#include "src/base/errors.h"
#include "src/workload/workload.h"
#include "support/logits.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

using Floats = std::vector<float>;
using test::difference;
using test::logits;
using test::made_workload;

// About 20 layers, each rounding sums of up to 2,000 products by at most sqrt(2000) eps; the squares add up: 1.2e-5.
constexpr double kFp32 = 2e-5;

class ForwardOf : public testing::TestWithParam<const char*> {};

TEST_P(ForwardOf, TheCpuIsThatOfTheReferenceWhateverIsLeftOut) {
  constexpr std::int64_t kBatch = 2;
  const Floats expected = logits(GetParam(), kBatch, *make_reference_backend());
  for (int threads : {1, 3}) EXPECT_LT(difference(logits(GetParam(), kBatch, *make_cpu_backend(threads)), expected), kFp32);
  EXPECT_LT(difference(logits(GetParam(), kBatch, *make_cpu_backend(2), Precision::fp32, false), expected), kFp32);
  for (const BackendOptions& options :
       {BackendOptions{.winograd = false}, BackendOptions{.packed_weights = false}, BackendOptions{.kernels = "portable"}})
    EXPECT_LT(difference(logits(GetParam(), kBatch, *make_cpu_backend(2, options)), expected), kFp32);
}

TEST_P(ForwardOf, CpuMatchesReferenceInBf16) {
  const auto cpu = make_cpu_backend(2);
  // Both round activations to 8 bits, at nearly the same places: about 20 layers, whose squares add up.
  EXPECT_LT(difference(logits(GetParam(), 2, *cpu, Precision::bf16),
                       logits(GetParam(), 2, *make_reference_backend(), Precision::bf16)),
            0x1p-8 * std::sqrt(20));
}

TEST_P(ForwardOf, WeightsOf16BitsAreThoseThatAStepWouldCast) {
  std::vector<std::pair<std::unique_ptr<Backend>, Precision>> with;
  with.emplace_back(make_reference_backend(), Precision::bf16);
  with.emplace_back(make_reference_backend(), Precision::fp16);
  with.emplace_back(make_cpu_backend(2), Precision::bf16);
  for (const auto& [backend, precision] : with)
    EXPECT_EQ(logits(GetParam(), 2, *backend, precision),
              logits(GetParam(), 2, *backend, precision, true, {Entry::train, Entry::forward}))
        << backend->device().name << " " << name(precision);
}

// Running statistics: a sample does not depend on the rest of the batch.
TEST_P(ForwardOf, ASampleDoesNotDependOnItsBatch) {
  const auto cpu = make_cpu_backend(2);
  const Floats alone = logits(GetParam(), 1, *cpu);
  Floats among = logits(GetParam(), 3, *cpu);
  among.resize(alone.size());
  EXPECT_LT(difference(among, alone), kFp32);
}

INSTANTIATE_TEST_SUITE_P(Models, ForwardOf, testing::ValuesIn(test::kForwardModels),
                         [](const auto& info) { return test::parameter_name(info.param); });

TEST(Forward, HasNeitherGradientNorOptimizerNorDropout) {
  for (const char* model : {"lenet5", "resnet20", "bert-tiny"}) {
    const auto cpu = make_cpu_backend(2);
    const Program forward = make_program(made_workload(model, 8), *cpu, {Entry::forward});
    const Program train = make_program(made_workload(model, 8), *cpu, {Entry::train, Entry::evaluate});
    for (const Variable& variable : forward.variables) EXPECT_NE(variable.role, VariableRole::optimizer) << variable.name;
    for (const Node& node : forward.entry(Entry::forward)->graph.nodes) {
      EXPECT_NE(node.op, Op::dropout) << node.name;
      EXPECT_NE(node.op, Op::batch_norm) << node.name;
      const auto* attention = std::get_if<AttentionAttributes>(&node.attributes);
      EXPECT_FALSE(attention && attention->dropout > 0) << node.name;
    }
    EXPECT_EQ(memory(forward).gradients, 0);
    const auto unpacked =
        make_program(made_workload(model, 8), *make_cpu_backend(2, {.packed_weights = false}), {Entry::forward});
    EXPECT_EQ(memory(unpacked).parameters, memory(train).parameters);
    EXPECT_LT(memory(unpacked).total(), memory(train).total() - 2 * memory(train).parameters) << model;
  }
}

TEST(Forward, KeepsIn16BitsTheWeightsThatItReadsSo) {
  const auto reference = make_reference_backend();
  for (const std::string model : {"resnet20", "bert-tiny", "gpt2:layers=2,units=48,heads=3,sequence=20,vocabulary=300", "lstm"})
    for (Precision precision : {Precision::bf16, Precision::fp16}) {
      SCOPED_TRACE(model + " " + name(precision));
      const Program half = make_program(made_workload(model, 4), *reference, {Entry::forward, Entry::evaluate}, precision);
      const Program whole = make_program(made_workload(model, 4), *reference, {Entry::forward, Entry::evaluate});
      for (const Node& node : half.entry(Entry::forward)->graph.nodes)
        for (ValueId id : node.inputs) {
          const Value& value = half.entry(Entry::forward)->graph.value(id);
          EXPECT_FALSE(node.op == Op::cast && value.kind == ValueKind::variable) << value.name;
        }
      // Scales and biases of norms stay f32.
      EXPECT_GE(memory(half).parameters, memory(whole).parameters / 2);
      EXPECT_LE(static_cast<double>(memory(half).parameters), 0.52 * static_cast<double>(memory(whole).parameters));
      EXPECT_LT(memory(half).total(), memory(whole).total());
    }
}

// Activations are freed after their last reader: two of the largest are live at once, besides the batches.
TEST(Forward, KeepsNoActivationForAGradient) {
  const auto cpu = make_cpu_backend(2);
  const Program program = make_program(made_workload("resnet20", 8), *cpu, {Entry::forward});
  std::int64_t largest = 0;
  const Graph& graph = program.entry(Entry::forward)->graph;
  for (const Node& node : graph.nodes)
    largest = std::max(largest, static_cast<std::int64_t>(graph.desc(node.outputs[0]).bytes()));
  EXPECT_LE(program.entry(Entry::forward)->plan.arena_bytes, 3 * largest);
  EXPECT_GE(program.entry(Entry::forward)->plan.arena_bytes, 2 * largest);
}

TEST(Forward, CountsTheSameFlopsWithAndWithoutFusion) {
  for (const char* model : {"resnet20", "bert-tiny"})
    for (bool fusion : {true, false}) {
      const Program program =
          make_program(made_workload(model, 4), *make_cpu_backend(2), {Entry::forward}, Precision::fp32, fusion);
      double sum = 0;
      for (const Node& node : program.entry(Entry::forward)->graph.nodes) {
        sum += flops(program.entry(Entry::forward)->graph, node);
        EXPECT_FALSE(!fusion && is_composite(node.op)) << node.name;
      }
      EXPECT_EQ(sum, 4 * count(made_workload(model, 4)).forward_flops_per_sample) << model;
    }
}

std::string reason_of(CaseSpec spec) {
  const auto cpu = make_cpu_backend(1, {.kernels = spec.kernels == Kernels::portable ? "portable" : ""});
  return nothing_to_leave_out(spec, *cpu).value_or("");
}

TEST(Ablation, RefusesToLeaveOutMissingParts) {
  using testing::HasSubstr;
  CaseSpec spec;
  spec.model = find_model("resnet20");
  spec.batch = 2;
  spec.data = "synthetic";
  EXPECT_EQ(reason_of(spec), "");
  for (const char* parts : {"fusion", "winograd", "fusion+winograd"}) {
    spec.without = parse_parts<Without>(parts);
    EXPECT_EQ(reason_of(spec), "") << parts;
  }
  spec.mode = Mode::forward;
  EXPECT_EQ(reason_of(spec), "");
  spec.without = {.prefetch = true};
  EXPECT_THAT(reason_of(spec), HasSubstr("synthetic"));
  spec.data = "digits";
  EXPECT_EQ(reason_of(spec), "");
  spec.loader_threads = 0;
  EXPECT_THAT(reason_of(spec), HasSubstr("--loader-threads 0"));
  spec.without = {.packed_weights = true};
  EXPECT_EQ(reason_of(spec), "");
  spec.mode = Mode::train;
  EXPECT_THAT(reason_of(spec), HasSubstr("--mode forward"));
  spec.mode = Mode::forward;
  spec.without = {.graph_capture = true};
  EXPECT_THAT(reason_of(spec), HasSubstr("only CUDA"));
  spec.device = cuda_device(0);
  EXPECT_EQ(reason_of(spec), "");
  spec.without = {};
  spec.kernels = Kernels::portable;
  EXPECT_THAT(reason_of(spec), HasSubstr("--device cpu"));
  spec.device = {};
  EXPECT_EQ(reason_of(spec), "");
  spec.kernels = Kernels::best;
  spec.without = {.winograd = true};
  spec.without = {.library_attention = true};
  spec.model = find_model("bert-tiny");
  spec.precision = Precision::bf16;
  EXPECT_THAT(reason_of(spec), HasSubstr("bert-tiny has no attention by a library"));
  spec.without = {.winograd = true};
  spec.precision = Precision::fp32;
  spec.model = find_model("lenet5");  // windows of 5x5
  EXPECT_THAT(reason_of(spec), HasSubstr("lenet5 has no convolution"));
}

TEST(Tuning, IsForRunsThatMeasureSpeed) {
  CaseSpec spec;
  EXPECT_TRUE(backend_options(spec).tuning);
  spec.warmup = 0;
  EXPECT_TRUE(backend_options(spec).tuning);
  spec.stop.steps = 11;
  EXPECT_TRUE(backend_options(spec).tuning);
  spec.stop.steps = 10;
  EXPECT_FALSE(backend_options(spec).tuning);
  for (const std::optional<int> warm_up : {std::optional<int>(), std::optional(1)}) {
    spec.warmup = warm_up;
    EXPECT_TRUE(backend_options(spec).tuning);
  }
}

TEST(Ablation, NamesItsPartsInOrder) {
  EXPECT_EQ(to_string(Without{}), "");
  EXPECT_EQ(to_string(Without{.fusion = true, .prefetch = true}), "fusion+prefetch");
  EXPECT_EQ(parse_parts<Without>("none"), Without{});
  EXPECT_EQ(parse_parts<Without>("winograd+graph-capture"), (Without{.graph_capture = true, .winograd = true}));
  for (const char* text : {"", "+", "fusion+", "+fusion", "fusion+none", "Fusion", "fusion prefetch"})
    EXPECT_THROW(parse_parts<Without>(text), CallError) << text;
}

TEST(Ablation, KernelsOfOneInstructionSetComputeInBf16AndThoseOfAvx2InInt8) {
  for (const cpu::Isa isa : {cpu::Isa::portable, cpu::Isa::avx2}) {
    if (!cpu::available<cpu::Kernels<Bf16>>(isa)) continue;
    const auto backend = make_cpu_backend(1, {.kernels = cpu::name(isa)});
    EXPECT_EQ(unsupported(made_workload("mlp", 2), *backend, {Entry::forward}, Precision::bf16), std::nullopt);
    const auto reason = unsupported(made_workload("mlp", 2), *backend, {Entry::forward}, Precision::int8);
    if (isa == cpu::Isa::avx2)
      EXPECT_EQ(reason, std::nullopt);
    else
      EXPECT_THAT(reason.value_or(""), testing::HasSubstr("the portable kernels have no int8"));
    EXPECT_EQ(backend->device().int8_isa, isa == cpu::Isa::avx2 ? "avx2" : "");
    EXPECT_EQ(backend->device().isa, cpu::name(isa));
    EXPECT_EQ(backend->device().bf16_isa, cpu::name(isa));
    EXPECT_TRUE(backend->device().widens_bf16);
  }
}

TEST(Ablation, KernelsThatTheCpuDoesNotRunAreRefused) {
  const char* const other = cpu::supported(cpu::Isa::neon) ? "avx2" : "neon";
  try {
    make_cpu_backend(1, {.kernels = other});
    FAIL() << other;
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(std::string("does not run ") + other));
  }
}

}  // namespace
}  // namespace epochbench
