// What the CUDA backend knows about a program before it compiles it, on a fake device.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/backend/cuda/cuda_backend.h"
#include "src/backend/cuda/cuda_nodes.h"
#include "src/workload/traffic.h"
#include "src/workload/workload.h"
#include "tests/support/cuda_fake_device.h"
#include "tests/support/cuda_fake_libraries.h"
#include "tests/support/made_workload.h"
#include "tests/support/print.h"

namespace epochbench {
namespace {

using test::FakeDevice;
using test::FakeLibraries;
using test::made_workload;

std::string reason_not_to_leave_out(const Without& without, const char* model, Precision precision, int compute_capability) {
  const auto device = std::make_shared<FakeDevice>(0, compute_capability);
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  CaseSpec spec;
  spec.model = find_model(model);
  spec.precision = precision;
  spec.device = cuda_device(0);
  spec.batch = 2;
  spec.data = "synthetic";
  spec.without = without;
  return nothing_to_leave_out(spec, *backend).value_or("");
}

TEST(CudaPlanning, HasNoInt8AndSaysSo) {
  const auto device = std::make_shared<FakeDevice>(0, 90);
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  for (const char* model : {"lenet5", "bert-tiny"})
    EXPECT_THAT(unsupported(made_workload(model, 2), *backend, {Entry::forward}, Precision::int8).value_or(""),
                testing::HasSubstr("the CUDA backend has no int8"))
        << model;
}

TEST(CudaPlanning, LeavesOutTheLibrarysAttentionWhereThereIsOne) {
  const auto reason = [](const char* model, Precision precision, int compute_capability) {
    return reason_not_to_leave_out({.library_attention = true}, model, precision, compute_capability);
  };
  for (const char* model : {"bert-tiny", "vit-s-16", "gpt2:layers=2"})
    for (const Precision precision : {Precision::bf16, Precision::fp16}) EXPECT_EQ(reason(model, precision, 80), "") << model;
  EXPECT_THAT(reason("bert-tiny", Precision::fp32, 90),
              testing::HasSubstr("bert-tiny has no attention by a library on cuda:0"));
  EXPECT_NE(reason("bert-tiny", Precision::tf32, 90), "");
  EXPECT_NE(reason("bert-tiny", Precision::fp16, 75), "");
  EXPECT_NE(reason("resnet20", Precision::bf16, 90), "");
}

TEST(CudaPlanning, LeavesOutWinogradWhereTheLibraryMayChooseIt) {
  const auto reason_not_to_leave_out_winograd = [](const char* model, Precision precision, int compute_capability) {
    return reason_not_to_leave_out({.winograd = true}, model, precision, compute_capability);
  };
  for (const Precision precision : {Precision::fp32, Precision::tf32})
    for (const char* model : {"resnet20", "resnet50"}) EXPECT_EQ(reason_not_to_leave_out_winograd(model, precision, 80), "");
  for (const char* model : {"lenet5", "mlp"})
    EXPECT_THAT(reason_not_to_leave_out_winograd(model, Precision::fp32, 80),
                testing::HasSubstr(std::string(model) + " has no convolution"));
  EXPECT_NE(reason_not_to_leave_out_winograd("resnet20", Precision::fp16, 80), "");
  EXPECT_NE(reason_not_to_leave_out_winograd("resnet20", Precision::fp32, 90), "");
}

// Planning takes no memory, so the batch may be one that fills a GPU.
TEST(CudaPlanning, PlansForTheGradientOfAttentionWhatTheLibraryKeepsInFloat) {
  constexpr std::int64_t kBatch = 4096, kSequence = 128, kHeads = 2, kWidth = 64;
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  auto workspace_bytes = [&](Entry entry) {
    return memory(make_program(made_workload("bert-tiny", kBatch), *backend, {entry}, Precision::bf16)).workspace;
  };
  constexpr std::int64_t kGradient = kBatch * kHeads * kSequence * kWidth * 4;
  EXPECT_GE(workspace_bytes(Entry::train), 2 * kGradient);
  EXPECT_LT(workspace_bytes(Entry::forward), kGradient);
  EXPECT_EQ(device->counts().allocations, 0);
}

// Only a group of one layer's scores, which are 192 MiB, has memory at once.
TEST(CudaPlanning, PlansForLessThanTheScoresOfALayer) {
  constexpr std::int64_t kScores = std::int64_t{256} * 12 * 128 * 128 * 4;
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  for (Precision precision : {Precision::fp32, Precision::tf32})
    EXPECT_LT(memory(make_program(made_workload("bert-base", 256), *backend, {Entry::train}, precision)).workspace, kScores);
}

TEST(CudaPlanning, RefusesWhatTheComputeCapabilityLacks) {
  const auto device = std::make_shared<FakeDevice>(0, 75);
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  for (Precision precision : {Precision::bf16, Precision::tf32}) {
    try {
      make_program(made_workload("mlp:width=8", 2), *backend, {Entry::train}, precision);
      ADD_FAILURE() << name(precision) << " is accepted";
    } catch (const GraphError& error) {
      EXPECT_THAT(error.what(),
                  testing::HasSubstr(std::string(name(precision)) +
                                     " needs a GPU of compute capability 8.0 or higher, and this one has 7.5; use fp"));
    }
  }
  for (Precision precision : {Precision::fp32, Precision::fp16})
    EXPECT_NO_THROW(make_program(made_workload("mlp:width=8", 2), *backend, {Entry::train}, precision));
}

// What the fake device ran in a step, less the one kernel that records the loss.
void expect_counted_launches(const char* model, Precision precision, double tuning_seconds = 0) {
  for (Entry entry : {Entry::train, Entry::evaluate, Entry::forward}) {
    const auto device = std::make_shared<FakeDevice>();
    const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); }, {},
                                           {.seconds_per_program = tuning_seconds, .clock = [&] { return device->seconds(); }});
    const Program program = make_program(made_workload(model, 1), *backend, {entry}, precision);
    const auto executable = backend->compile(program);
    const std::int64_t before = device->counts().work;
    executable->run(entry);
    executable->synchronize();
    const auto ops = traffic_by_op(program, entry, *backend);
    EXPECT_EQ(traffic_of(ops, true).launches + traffic_of(ops, false).launches, device->counts().work - before - 1)
        << model << " " << name(precision) << " " << name(entry);
  }
}

TEST(CudaPlanning, CountsTheLaunchesOfAStep) {
  expect_counted_launches("bert-tiny:sequence=16", Precision::fp32);
  expect_counted_launches("bert-tiny:sequence=16", Precision::bf16, 1e6);  // without time products are apart from their GELU
  expect_counted_launches("lenet5", Precision::fp16);
  expect_counted_launches("resnet20", Precision::bf16);
}

// The CUDA backend without some of its composites, for planning.
class Lacking final : public Backend {
 public:
  Lacking(const Backend& backend, std::set<Op> ops) : backend_(backend), ops_(std::move(ops)) {}
  DeviceInfo device() const override { return backend_.device(); }
  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const override {
    return ops_.count(node.op) ? std::optional<std::string>("left out") : backend_.unsupported(graph, node);
  }
  std::size_t workspace_bytes(const Graph& graph, const Node& node) const override {
    return backend_.workspace_bytes(graph, node);
  }
  std::size_t value_bytes(const Graph& graph, ValueId value) const override { return backend_.value_bytes(graph, value); }
  int launches(const Graph& graph, const Node& node) const override { return backend_.launches(graph, node); }
  std::unique_ptr<Executable> compile(const Program& program) const override { return backend_.compile(program); }

 private:
  const Backend& backend_;
  std::set<Op> ops_;
};

// Against the same step whose sublayers' ends, sums of gradients, GELUs, and products of query, key and value are nodes of
// their own.
TEST(CudaPlanning, FusionSavesBertAThirdOfItsLaunchesAndAQuarterOfItsTraffic) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  const Lacking before(*backend, {Op::add_layer_norm, Op::add_layer_norm_grad, Op::matmul_add, Op::joint_attention,
                                  Op::linear_gelu, Op::matmul_gelu_grad});
  struct Sums {
    std::int64_t launches;
    double bytes;  // outside products
  };
  const auto sums = [](const Backend& of) {
    const Program program = make_program(made_workload("bert-base", 256), of, {Entry::train}, Precision::bf16);
    const auto ops = traffic_by_op(program, Entry::train, of);
    const OpTraffic others = traffic_of(ops, false);
    return Sums{traffic_of(ops, true).launches + others.launches, others.bytes};
  };
  const Sums parts = sums(before), fused = sums(*backend);
  EXPECT_LE(fused.launches, 2 * parts.launches / 3) << parts.launches;
  EXPECT_LE(fused.bytes, 0.75 * parts.bytes) << parts.bytes;
}

// Elements from row to row of what the cross entropy reads and of its gradient; 0: there is none.
std::pair<std::int64_t, std::int64_t> row_elements(const char* model, Entry entry, Precision precision, bool fusion = true) {
  const auto device = std::make_shared<FakeDevice>();
  const auto backend = make_cuda_backend(device, [&] { return std::make_shared<FakeLibraries>(*device); });
  const Program program = make_program(made_workload(model, 2), *backend, {entry}, precision, fusion);
  const Graph& graph = program.entry(entry)->graph;
  std::pair<std::int64_t, std::int64_t> result = {0, 0};
  for (const Node& node : graph.nodes) {
    if (node.op == Op::cross_entropy) result.first = cuda_row_elements(graph, node.inputs[0]);
    if (node.op == Op::cross_entropy_grad) result.second = cuda_row_elements(graph, node.outputs[0]);
    for (ValueId id : node.outputs) {
      const Shape& shape = graph.desc(id).shape;
      EXPECT_EQ(backend->value_bytes(graph, id),
                shape.size() == 2
                    ? static_cast<std::size_t>(shape[0] * cuda_row_elements(graph, id)) * size_bytes(graph.desc(id).dtype)
                    : graph.desc(id).bytes());
    }
  }
  return result;
}

// 30,522 words, and 10 classes: rows of multiples of 16 bytes where a product makes the logits, which their gradient
// overwrites.
TEST(CudaPlanning, LogitsOfProductsHaveAlignedRows) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  const char* bert = "bert-tiny:sequence=16";
  for (Precision precision : {Precision::bf16, Precision::fp16}) {
    EXPECT_EQ(row_elements(bert, Entry::train, precision), Pair(30528, 30528));
    EXPECT_EQ(row_elements(bert, Entry::evaluate, precision), Pair(30528, 0));
    EXPECT_EQ(row_elements("resnet20", Entry::train, precision), Pair(16, 16));
  }
  EXPECT_EQ(row_elements(bert, Entry::train, Precision::tf32), Pair(30524, 30524));
  EXPECT_EQ(row_elements("mlp", Entry::train, Precision::fp32), Pair(12, 12));
  // 1000 classes are aligned, and the sum with a bias that is a node of its own is dense.
  EXPECT_EQ(row_elements("resnet50:height=64,width=64", Entry::train, Precision::bf16), Pair(1000, 1000));
  EXPECT_EQ(row_elements(bert, Entry::train, Precision::bf16, false), Pair(30522, 30522));
}

// What a caller reads is dense.
TEST(CudaPlanning, OutputsAreDense) {
  const auto backend = make_cuda_backend(std::make_shared<FakeDevice>(), {});
  const Program program = make_program(made_workload("bert-tiny:sequence=16", 2), *backend, {Entry::forward}, Precision::bf16);
  const Graph& graph = program.entry(Entry::forward)->graph;
  EXPECT_EQ(cuda_row_elements(graph, graph.output("logits")), 30522);
}

TEST(CudaPlanning, TakesNothingOfTheDeviceBeforeItCompiles) {
  const auto device = std::make_shared<FakeDevice>();
  int libraries = 0;
  const auto backend = make_cuda_backend(device, [&] {
    ++libraries;
    return std::make_shared<FakeLibraries>(*device);
  });
  const Program program = make_program(made_workload("mlp:width=8", 2), *backend, {Entry::train, Entry::evaluate});
  EXPECT_EQ(backend->device().name, "fake device");
  EXPECT_EQ(device->counts().allocations, 0);
  EXPECT_EQ(libraries, 0);
  {
    const auto first = backend->compile(program), second = backend->compile(program);
    EXPECT_EQ(libraries, 1);
  }
  EXPECT_EQ(device->held(), 0);
}

}  // namespace
}  // namespace epochbench
