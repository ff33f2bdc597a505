// What the CUDA backend asks of cuDNN, without a device: every convolution and attention of every model passes
// cudnn_frontend's checks, and cuDNN's heuristics offer engines for it on GPUs described to them.
#include "kernels/cuda/libraries/cudnn_graphs.h"

#include <algorithm>
#include <ostream>
#include <set>
#include <thread>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/specs.h"
#include "src/backend/cuda/cuda_nodes.h"
#include "src/backend/cuda/cuda_plans.h"
#include "src/backend/host/kernel_shapes.h"
#include "src/workload/workload.h"
#include "support/described_gpus.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

using cuda::AttentionSpec;
using cuda::ConvolutionSpec;
using cuda::GeluProductSpec;
using test::described_a100;
using test::described_gpus;
using test::described_h100;
using test::described_h200;
using test::described_rtx_4090;
using test::described_t4;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Asked {  // each problem once
  std::vector<ConvolutionSpec> convolutions;
  std::vector<bool> may_be_winograd;      // of convolutions, on an A100
  std::vector<ConvolutionSpec> sums;      // convolutions that sum for a batch norm
  std::vector<GeluProductSpec> gelus;     // products with GELU
  std::vector<AttentionSpec> attentions;  // 16-bit only: for float the backend has its own
};

std::optional<cuda::ConvolutionPass> pass_of(Op op) {
  if (op == Op::conv2d || op == Op::conv2d_bias) return cuda::ConvolutionPass::forward;
  if (op == Op::conv2d_grad_input) return cuda::ConvolutionPass::grad_input;
  if (op == Op::conv2d_grad_weight) return cuda::ConvolutionPass::grad_weight;
  return std::nullopt;
}

bool is_depthwise(Op op) {
  return op == Op::depthwise_conv2d || op == Op::depthwise_conv2d_grad_input || op == Op::depthwise_conv2d_grad_weight;
}

Asked asked_by(const std::string& model, Precision precision, std::int64_t batch = 32) {
  const Program program = make_program(test::made_workload(model, batch), *make_cuda_planner(), test::kAllEntries, precision);
  Asked asked;
  std::set<std::string> known;
  const auto ask = [&](const Graph& graph, const Node& node, bool sums) {
    ConvolutionSpec convolution;
    convolution.shape = conv2d_shape(graph, node);
    convolution.pass = *pass_of(node.op);
    convolution.element = element_of(graph.desc(node.inputs[0]).dtype);
    convolution.math = is_tf32(node.attributes) ? cuda::Math::tf32 : cuda::Math::exact;
    convolution.sums = sums;
    if (const auto* bias = std::get_if<Conv2dBiasAttributes>(&node.attributes)) {
      convolution.bias = true;
      convolution.relu = bias->relu;
    }
    if (!known.insert(describe(convolution)).second) return;
    if (sums) return asked.sums.push_back(convolution);
    asked.convolutions.push_back(convolution);
    asked.may_be_winograd.push_back(!cuda_algorithm(graph, node, 80).empty());
  };
  for (const auto& entry : program.entries) {
    const Graph& graph = entry->graph;
    for (const Node& node : graph.nodes) {
      if (pass_of(node.op)) ask(graph, node, false);
      if (is_depthwise(node.op))
        if (const auto spec = cuda_depthwise_spec(graph, node); spec && known.insert(describe(*spec)).second) {
          asked.convolutions.push_back(*spec);
          asked.may_be_winograd.push_back(false);
        }
      if (node.op == Op::conv2d_batch_norm || node.op == Op::conv2d_batch_norm_grad)
        for (const bool sums : {false, true}) ask(graph, node.parts[0], sums);
      if (node.op == Op::linear_gelu || node.op == Op::matmul_gelu_grad) {
        const GeluProductSpec gelu{gemm_shape(graph, node.parts[0]),
                                   element_of(graph.desc(node.inputs[0]).dtype),
                                   is_tf32(node.attributes) ? cuda::Math::tf32 : cuda::Math::exact,
                                   node.op == Op::matmul_gelu_grad,
                                   node.outputs.size() > 1,
                                   is_tanh(node.parts[1].attributes)};
        if (known.insert(describe(gelu)).second) asked.gelus.push_back(gelu);
      }
      if (node.op != Op::attention && node.op != Op::joint_attention) continue;
      const AttentionSpec attention{attention_shape(graph, node), element_of(graph.desc(node.inputs[0]).dtype),
                                    std::get<AttentionAttributes>(node.attributes).dropout};
      if (attention.element != Element::f32 && known.insert(describe(attention)).second) asked.attentions.push_back(attention);
    }
  }
  return asked;
}

struct Case {
  std::string model;
  Precision precision;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.model << " in " << name(c.precision); }
class EveryModel : public ::testing::TestWithParam<Case> {};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ModelFamily& family : model_registry())
    if (family.name != "mlp")  // it has products only
      for (const Precision precision : kPrecisions) all.push_back({family.name, precision});
  return all;
}

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string text = info.param.model + "_" + name(info.param.precision);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}
INSTANTIATE_TEST_SUITE_P(CudnnGraphs, EveryModel, ::testing::ValuesIn(cases()), test_name);

bool starts_with_any(const std::string& model, std::initializer_list<const char*> families) {
  return std::ranges::any_of(families, [&](const char* family) { return model.starts_with(family); });
}
bool is_text_model(const std::string& model) { return starts_with_any(model, {"bert", "gpt2", "llama", "lstm"}); }
bool is_transformer(const std::string& model) { return starts_with_any(model, {"bert", "gpt2", "llama", "vit"}); }

// A GPU below compute capability 8.0 runs convolutions with norms and products with GELU in parts (cuda_unsupported()).
std::vector<cuda::DescribedDevice> gpus_with(Precision precision) {
  std::vector<cuda::DescribedDevice> gpus = described_gpus();
  if (precision == Precision::fp32 || precision == Precision::fp16) gpus.push_back(described_t4());
  return gpus;
}

TEST_P(EveryModel, PassesTheFrontendsChecks) {
  const auto [model, precision] = GetParam();
  const Asked asked = asked_by(model, precision);
  const bool half = precision == Precision::bf16 || precision == Precision::fp16;
  EXPECT_EQ(asked.convolutions.empty(), is_text_model(model));
  EXPECT_EQ(asked.attentions.empty(), !is_transformer(model) || !half);
  const bool has_gelu = is_transformer(model) && !starts_with_any(model, {"llama"});
  EXPECT_EQ(asked.gelus.empty(), !has_gelu || precision == Precision::fp32);
  for (const ConvolutionSpec& spec : asked.convolutions)
    for (const cuda::DescribedDevice& device : gpus_with(precision))
      EXPECT_NO_THROW(validate(spec, device)) << describe(spec) << device.json;
  for (const cuda::DescribedDevice& device : described_gpus()) {
    SCOPED_TRACE(device.json);
    for (const ConvolutionSpec& spec : asked.sums) EXPECT_NO_THROW(validate(spec, device)) << describe(spec);
    for (const GeluProductSpec& spec : asked.gelus) EXPECT_NO_THROW(validate(spec, device)) << describe(spec);
    for (const AttentionSpec& spec : asked.attentions) EXPECT_NO_THROW(validate(spec, device)) << describe(spec);
  }
}

TEST_P(EveryModel, HasAnEngineOnEveryGpuForEachConvolution) {
  const auto [model, precision] = GetParam();
  if (is_text_model(model)) return;
  const std::vector<ConvolutionSpec> convolutions = asked_by(model, precision).convolutions;
  for (const cuda::DescribedDevice& device : gpus_with(precision)) {
    SCOPED_TRACE(device.json);
    for (const ConvolutionSpec& spec : convolutions)
      EXPECT_NO_THROW(EXPECT_GT(engines(spec, device).names.size(), 0u)) << describe(spec);
  }
}

// "eng28" of "cudnn eng28_k2=1_k3=0".
std::string engine(const std::string& implementation) {
  const std::size_t begin = implementation.find("eng");
  return implementation.substr(begin, implementation.find_first_not_of("0123456789", begin + 3) - begin);
}

// At batch 256 most engines transpose tensors of a gigabyte in their scratch. Engine 0 needs none and takes a hundred times as
// long. Those of weight gradients before Hopper are one, as the others sum by atomic operations; im2col and a product compete
// with it. A window of 1x1 at stride 1 is a product.
TEST(CudnnGraphs, StrictFp32HasEnginesBesidesTheSlowestForEveryConvolutionOfAResnet) {
  const std::vector<ConvolutionSpec> convolutions = asked_by("resnet50", Precision::fp32, 256).convolutions;
  ASSERT_GT(convolutions.size(), 50u);
  for (const cuda::DescribedDevice& device :
       {described_h200(), described_h100(), described_a100(), described_rtx_4090(), described_t4()}) {
    SCOPED_TRACE(device.json);
    for (const ConvolutionSpec& spec : convolutions) {
      const Conv2dShape& s = spec.shape;
      if (s.kernel_height == 1 && s.kernel_width == 1 && s.stride == 1) continue;
      std::set<std::string> names;
      for (const std::string& offered : engines(spec, device).names) names.insert(engine(offered));
      names.erase("eng0");
      const bool one = spec.pass == cuda::ConvolutionPass::grad_weight && device.compute_capability < 90;
      EXPECT_GE(names.size(), one ? 1u : 2u) << describe(spec) << ": " << ::testing::PrintToString(names);
    }
  }
}

// cuDNN compiles the kernels of attention, of GELUs and of sums when they are planned, which needs the driver's library: the
// toolkit's stub is sufficient.
class Compiled : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!dlopen("libcuda.so.1", RTLD_NOW) && !dlopen(EPOCHBENCH_CUDA_STUB, RTLD_NOW | RTLD_GLOBAL))
      GTEST_SKIP() << "neither libcuda.so.1 of a driver nor the stub of the toolkit is installed";
  }
};
class CudnnAttention : public Compiled {};
class CudnnSums : public Compiled {};
class CudnnGelu : public Compiled {};

// The larger ResNets have the same convolutions; asking takes half a minute.
TEST_F(CudnnSums, HaveEnginesForEveryNormOfAResnetOnEveryGpu) {
  for (const auto& [model, precision] :
       {Case{"resnet18", Precision::bf16}, Case{"resnet18", Precision::fp16}, Case{"resnet50", Precision::bf16}}) {
    const std::vector<ConvolutionSpec> sums = asked_by(model, precision).sums;
    EXPECT_GT(sums.size(), 0u) << model;
    for (const cuda::DescribedDevice& device : described_gpus()) {
      SCOPED_TRACE(device.json);
      for (const ConvolutionSpec& spec : sums)
        EXPECT_NO_THROW(EXPECT_GT(engines(spec, device).names.size(), 0u)) << describe(spec);
    }
  }
}

TEST_F(CudnnGelu, HasEnginesForEveryProductOfATransformerOnEveryGpu) {
  for (const char* model : {"bert-tiny", "bert-base", "bert-large", "gpt2", "vit-b-16", "vit-s-16"})
    for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::tf32})
      for (const GeluProductSpec& spec : asked_by(model, precision).gelus)
        for (const cuda::DescribedDevice& device : described_gpus()) {
          SCOPED_TRACE(device.json);
          EXPECT_NO_THROW(EXPECT_GT(engines(spec, device).names.size(), 0u)) << describe(spec);
        }
}

// As the tuner compiles engines: each thread has a graph of its own.
TEST_F(CudnnGelu, IsPlannedBySeveralThreadsAtOnce) {
  const std::vector<GeluProductSpec> gelus = asked_by("bert-base", Precision::bf16).gelus;
  ASSERT_GE(gelus.size(), 2u);
  std::vector<cuda::OfferedEngines> together(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < together.size(); ++i)
    threads.emplace_back([&together, &gelus, i] { together[i] = engines(gelus[i % gelus.size()], described_h200()); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < together.size(); ++i)
    EXPECT_EQ(together[i].names, engines(gelus[i % gelus.size()], described_h200()).names) << i;
}

TEST_F(CudnnAttention, HasEnginesForEveryTransformerOnEveryGpuInBothDirections) {
  for (const char* model : {"bert-tiny", "bert-base", "bert-large", "gpt2", "gpt2-xl", "llama-15m", "llama-15m:kv-heads=2",
                            "llama-7b", "vit-b-16", "vit-s-16"})
    for (const Precision precision : {Precision::bf16, Precision::fp16})
      for (const AttentionSpec& spec : asked_by(model, precision).attentions)
        for (const cuda::DescribedDevice& device : described_gpus()) {
          SCOPED_TRACE(device.json);
          cuda::AttentionEngines offered;
          ASSERT_NO_THROW(offered = engines(spec, device)) << describe(spec);
          EXPECT_GT(offered.forward.names.size(), 0u) << describe(spec);
          EXPECT_GT(offered.backward.names.size(), 0u) << describe(spec);
        }
}

// Where ours run in its place.
TEST(CudnnGraphs, HasNoAttentionForAT4) {
  EXPECT_THAT(
      [] {
        engines(AttentionSpec{{32, 128, 12, 64}, Element::f16, 0.1}, described_t4());
      },
      ThrowsMessage<cuda::Error>(HasSubstr("requires SM80")));
}

// The planned workspace includes what the graph of the gradient keeps there and leaves enough for the engines.
TEST_F(CudnnAttention, HasEnginesWithinThePlannedWorkspace) {
  for (const cuda::DescribedDevice& device : {described_h200(), described_a100()})
    for (const AttentionShape& shape :
         {AttentionShape{512, 512, 12, 64}, AttentionShape{512, 512, 12, 64, true}, AttentionShape{1024, 128, 16, 64},
          AttentionShape{3, 40, 5, 32}, AttentionShape{3, 40, 5, 32, true}, AttentionShape{8, 1024, 12, 64, true, true},
          AttentionShape{4, 256, 6, 48, true, true, 2}, AttentionShape{2, 2048, 32, 128, false, true, 8}}) {
      const AttentionSpec spec{shape, Element::bf16, 0.1};
      cuda::AttentionEngines offered;
      ASSERT_NO_THROW(offered = engines(spec, device)) << describe(spec);
      EXPECT_GT(offered.forward.names.size(), 0u) << describe(spec);
      EXPECT_GT(offered.backward.names.size(), 0u) << describe(spec);
      EXPECT_EQ(offered.forward_bytes, 0) << describe(spec);
      EXPECT_EQ(offered.backward_bytes, shape.batch * shape.heads * shape.sequence * (shape.width + 1) * 4) << describe(spec);
    }
}

ConvolutionSpec small_convolution() {
  ConvolutionSpec spec;
  spec.shape = {2, 8, 8, 16, 8, 8, 32, 3, 3, 1, 1};
  return spec;
}

TEST(CudnnGraphs, RefusalsNameTheLayer) {
  AttentionSpec attention{{2, 64, 4, 1000}, Element::bf16, 0};  // heads wider than any engine supports
  EXPECT_THAT([&] { validate(attention, described_h200()); }, ThrowsMessage<cuda::Error>(HasSubstr("heads 4 width 1000")));
  ConvolutionSpec huge = small_convolution();
  huge.shape.out_channels = std::int64_t{1} << 24;  // a weight with more than 2^31 elements
  EXPECT_THAT([&] { validate(huge, described_h200()); },
              ThrowsMessage<cuda::Error>(HasSubstr("conv2d forward x [2,8,8,16] weight [16777216,3,3,16]")));
}

TEST(CudnnGraphs, ReasonsAreOneLine) {
  ConvolutionSpec spec = small_convolution();
  spec.shape.out_height = 9;  // contradicts the padding
  std::string reason;
  try {
    engines(spec, described_h200());
  } catch (const cuda::Error& error) {
    reason = error.what();
  }
  EXPECT_THAT(reason, ::testing::Not(::testing::IsEmpty()));
  EXPECT_THAT(reason, ::testing::Not(HasSubstr("\n")));
  EXPECT_LT(reason.size(), 500u);
}

bool any_is_winograd(const std::vector<std::string>& engines) {
  return std::any_of(engines.begin(), engines.end(),
                     [](const std::string& engine) { return engine.find("winograd") != std::string::npos; });
}

// Winograd is offered exactly where the backend allows it on an A100; all other layers have other engines.
TEST_P(EveryModel, HasWinogradWhereTheBackendSaysSo) {
  const auto [model, precision] = GetParam();
  const Asked asked = asked_by(model, precision);
  for (std::size_t i = 0; i < asked.convolutions.size(); ++i) {
    ConvolutionSpec spec = asked.convolutions[i];
    EXPECT_EQ(any_is_winograd(engines(spec, described_a100()).names), asked.may_be_winograd[i]) << describe(spec);
    EXPECT_FALSE(any_is_winograd(engines(spec, described_h200()).names)) << describe(spec);
    spec.shape.winograd = false;
    const std::vector<std::string> others = engines(spec, described_a100()).names;
    EXPECT_GT(others.size(), 0u) << describe(spec);
    EXPECT_FALSE(any_is_winograd(others)) << describe(spec);
  }
}

// Strict fp32 excludes engines that tf32 may use.
TEST(CudnnGraphs, StrictFp32IsOfferedFewerEnginesThanTf32) {
  ConvolutionSpec strict = small_convolution();
  strict.shape = {32, 56, 56, 64, 56, 56, 64, 3, 3, 1, 1};
  ConvolutionSpec tf32 = strict;
  tf32.math = cuda::Math::tf32;
  const std::vector<std::string> of_strict = engines(strict, described_h200()).names,
                                 of_tf32 = engines(tf32, described_h200()).names;
  EXPECT_LT(of_strict.size(), of_tf32.size());
  const std::string left_out = engines(strict, described_h200()).left_out;
  ASSERT_THAT(left_out, ::testing::MatchesRegex("of [0-9]+; [0-9]+ use tensor cores.*"));
  std::size_t counted = of_strict.size();  // and what each reason leaves out
  for (std::size_t at = left_out.find(';'); at != std::string::npos; at = left_out.find(',', at + 1))
    counted += std::stoul(left_out.substr(at + 1));
  EXPECT_EQ(counted, std::stoul(left_out.substr(3))) << left_out;
  EXPECT_EQ(engines(tf32, described_h200()).left_out.find("tensor cores"), std::string::npos);
  for (const std::string& engine : of_strict) EXPECT_THAT(of_tf32, ::testing::Contains(engine));
}

}  // namespace
}  // namespace epochbench
