// Layers as cuDNN graphs: what to compute, without choosing an engine; building a graph needs no device. Included only by
// cudnn_graphs.cpp, the one file that includes cudnn_frontend, because that compiles slowly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <cudnn_frontend.h>

#include "kernels/cuda/libraries/cudnn_graphs.h"
#include "kernels/cuda/libraries/library_error.h"
#include "kernels/cuda/specs.h"

namespace epochbench::cuda::layers {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Shape = std::vector<std::int64_t>;

// Tensors are identified by numbers and passed in this order. For a convolution, or a product with GELU:
enum : std::int64_t { kOut = 1, kA, kB, kBias, kSum, kSecondSum, kMean, kNormX, kInvStd, kNormScale, kNormBias, kGeluX };
// For attention; forward and backward are separate graphs.
enum : std::int64_t { kY = 1, kLogSumExp, kQ, kK, kV, kSeed, kOffset, kDy, kDq, kDk, kDv };

inline fe::DataType_t type_of(Element element) {
  switch (element) {
    case Element::f32:
      return fe::DataType_t::FLOAT;
    case Element::bf16:
      return fe::DataType_t::BFLOAT16;
    case Element::f16:
      return fe::DataType_t::HALF;
  }
  return fe::DataType_t::NOT_SET;
}

inline void check(fe::error_t status, const std::string& what) {
  if (status.is_bad()) throw Error(what + ": " + short_message(status.get_message()));
}

inline const std::vector<fe::NumericalNote_t> kWinograd = {
    fe::NumericalNote_t::WINOGRAD, fe::NumericalNote_t::WINOGRAD_TILE_4x4, fe::NumericalNote_t::WINOGRAD_TILE_6x6,
    fe::NumericalNote_t::WINOGRAD_TILE_13x13};

class Graph : public fe::graph::Graph {
 public:
  Graph(Element element, const DescribedDevice* device) {
    if (device) set_sm_version(device->compute_capability);
    set_io_data_type(type_of(element));
    set_intermediate_data_type(fe::DataType_t::FLOAT);
    set_compute_data_type(fe::DataType_t::FLOAT);
    set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);  // the code that captures a plan keeps the graph
  }

  // What the heuristics listed, by index; to be called before any is deselected.
  struct Engine {
    std::string name;
    std::vector<fe::NumericalNote_t> notes;
    std::int64_t workspace = 0;  // bytes, without own_workspace(); 0 before cuDNN 9.2, which knows it of built plans only
  };
  std::vector<Engine> listed() {
    std::vector<Engine> engines;
    fe::EngineConfigList configurations = plans.get_barred_engine_configs();
    for (fe::ManagedOpaqueDescriptor& configuration : configurations) {
      Engine& engine = engines.emplace_back();
      const auto index = static_cast<std::int64_t>(engines.size()) - 1;
      check(get_plan_name_at_index(index, engine.name), "naming a plan");
      if (fe::detail::get_workspace_size(configuration, engine.workspace).is_bad()) engine.workspace = 0;
      engine.notes = plans.numeric_notes[static_cast<std::size_t>(index)];
    }
    return engines;
  }
  // Whether an engine fits the device and satisfies the rules, without building its plan.
  bool supports(std::int64_t index) { return plans.check_support_at_index(index).is_good(); }
  // What the graph itself stores in a plan's workspace, before the engine's part.
  std::int64_t own_workspace() const { return get_fe_workspace_size_subtree(); }
  // Whether an engine uses Winograd's transforms.
  bool is_winograd(std::int64_t index) const {
    const auto& notes = plans.numeric_notes[static_cast<std::size_t>(index)];
    return std::find_first_of(notes.begin(), notes.end(), kWinograd.begin(), kWinograd.end()) != notes.end();
  }
  // Releases what a plan holds, including kernels on the device. The plan must not be running and cannot run again.
  void release(std::int64_t index) noexcept { plans.execution_plans[static_cast<std::size_t>(index)].reset(); }

  // shape and strides in the library's order: n, c, h, w.
  Tensor input(const char* name, std::int64_t number, const Shape& shape, const Shape& strides) {
    numbers_.insert(number);
    return tensor(fe::graph::Tensor_attributes().set_name(name).set_uid(number).set_dim(shape).set_stride(strides));
  }
  void output(const Tensor& tensor, std::int64_t number, const Shape& shape, const Shape& strides) {
    numbers_.insert(number);
    tensor->set_output(true).set_uid(number).set_dim(shape).set_stride(strides);
  }

  // Checks that a plan takes exactly the tensors of input() and output(), in the order of their numbers.
  void check_tensors() {
    check(prepare_variant_pack_template(), "the graph's tensors");
    if (get_variant_pack_uids_sorted() != std::vector<std::int64_t>(numbers_.begin(), numbers_.end()))
      throw Error("cuDNN expects other tensors than the graph's");
  }

 private:
  std::set<std::int64_t> numbers_;
};

// A channels-last tensor; weights are [out_channels, height, width, channels].
inline Shape nhwc(std::int64_t c, std::int64_t h, std::int64_t w) { return {h * w * c, 1, w * c, c}; }

// Values per channel in float.
class PerChannel {
 public:
  PerChannel(Graph& graph, std::int64_t channels)
      : graph_(graph), shape_{1, channels, 1, 1}, strides_{channels, 1, channels, channels} {}
  Tensor input(const char* name, std::int64_t number) {
    const Tensor tensor = graph_.input(name, number, shape_, strides_);
    tensor->set_data_type(fe::DataType_t::FLOAT);
    return tensor;
  }
  void output_sum(const Tensor& of, std::int64_t number) {
    const Tensor sum = graph_.reduction(of, fe::graph::Reduction_attributes().set_mode(fe::ReductionMode_t::ADD));
    graph_.output(sum, number, shape_, strides_);
    sum->set_data_type(fe::DataType_t::FLOAT);
  }

 private:
  Graph& graph_;
  Shape shape_, strides_;
};

inline Tensor pointwise(Graph& graph, fe::PointwiseMode_t mode, const Tensor& a, const Tensor& b) {
  return graph.pointwise(a, b, fe::graph::Pointwise_attributes().set_mode(mode));
}

// The sums of ConvolutionSpec::sums. Deviations are from the running mean: with a large mean, float sums of squares would lose
// the precision of the variance.
inline void sum_forward(Graph& graph, const Tensor& y, std::int64_t channels) {
  PerChannel per_channel(graph, channels);
  const Tensor deviation = pointwise(graph, fe::PointwiseMode_t::SUB, y, per_channel.input("mean", kMean));
  per_channel.output_sum(deviation, kSum);
  per_channel.output_sum(pointwise(graph, fe::PointwiseMode_t::MUL, deviation, deviation), kSecondSum);
}
// dx where the norm's output was above 0.
inline Tensor sum_gradient(Graph& graph, const Tensor& dx, const Shape& x, const Shape& strides) {
  PerChannel per_channel(graph, x[1]);
  const Tensor deviation =
      pointwise(graph, fe::PointwiseMode_t::SUB, graph.input("norm_x", kNormX, x, strides), per_channel.input("mean", kMean));
  Tensor y = pointwise(graph, fe::PointwiseMode_t::MUL, deviation, per_channel.input("inv_std", kInvStd));
  y = pointwise(graph, fe::PointwiseMode_t::MUL, y, per_channel.input("norm_scale", kNormScale));
  y = pointwise(graph, fe::PointwiseMode_t::ADD, y, per_channel.input("norm_bias", kNormBias));
  const Tensor dz = pointwise(graph, fe::PointwiseMode_t::RELU_BWD, dx, y);
  per_channel.output_sum(dz, kSum);
  per_channel.output_sum(pointwise(graph, fe::PointwiseMode_t::MUL, dz, deviation), kSecondSum);
  return dz;
}

// Matrices have an extra leading extent of 1.
inline std::shared_ptr<Graph> gelu_product_graph(const GeluProductSpec& spec, const DescribedDevice* device = nullptr) {
  const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
  const auto strides = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return transposed ? Shape{rows * columns, 1, rows} : Shape{rows * columns, columns, 1};
  };
  const Shape out{1, m, n}, out_strides = strides(m, n, false);
  auto graph = std::make_shared<Graph>(spec.element, device);
  const Tensor product =
      graph->matmul(graph->input("a", kA, {1, m, k}, strides(m, k, transpose_a)),
                    graph->input("b", kB, {1, k, n}, strides(k, n, transpose_b)), fe::graph::Matmul_attributes());
  const auto forward = spec.tanh ? fe::PointwiseMode_t::GELU_APPROX_TANH_FWD : fe::PointwiseMode_t::GELU_FWD;
  const auto backward = spec.tanh ? fe::PointwiseMode_t::GELU_APPROX_TANH_BWD : fe::PointwiseMode_t::GELU_BWD;
  if (spec.gradient) {
    const Tensor x = graph->input("x", kGeluX, out, out_strides);
    graph->output(pointwise(*graph, backward, product, x), kOut, out, out_strides);
  } else {
    const Tensor bias = graph->input("bias", kBias, {1, 1, n}, {n, n, 1});
    const Tensor x = pointwise(*graph, fe::PointwiseMode_t::ADD, product, bias);
    graph->output(graph->pointwise(x, fe::graph::Pointwise_attributes().set_mode(forward)), kOut, out, out_strides);
    if (spec.x) graph->output(x, kGeluX, out, out_strides);
  }
  check(graph->validate(), describe(spec));
  return graph;
}

inline std::shared_ptr<Graph> convolution_graph(const ConvolutionSpec& spec, const DescribedDevice* device = nullptr) {
  const Conv2dShape& s = spec.shape;
  const Shape x{s.batch, s.channels, s.height, s.width}, x_strides = nhwc(s.channels, s.height, s.width);
  const Shape y{s.batch, s.out_channels, s.out_height, s.out_width},
      y_strides = nhwc(s.out_channels, s.out_height, s.out_width);
  const std::int64_t of_group = spec.depthwise ? 1 : s.channels;  // tells the library the number of groups
  const Shape weight{s.out_channels, of_group, s.kernel_height, s.kernel_width},
      weight_strides = nhwc(of_group, s.kernel_height, s.kernel_width);
  // Rows and columns at the end that a stride skips are not padding for the library: it computes as many outputs as fit.
  auto set = [&](auto&& attributes) {
    return attributes.set_padding({s.padding, s.padding}).set_stride({s.stride, s.stride}).set_dilation({1, 1});
  };
  auto graph = std::make_shared<Graph>(spec.element, device);
  switch (spec.pass) {
    case ConvolutionPass::forward: {
      Tensor out = graph->conv_fprop(graph->input("x", kA, x, x_strides), graph->input("weight", kB, weight, weight_strides),
                                     set(fe::graph::Conv_fprop_attributes()));
      if (spec.bias)
        out = graph->pointwise(
            out, graph->input("bias", kBias, {1, s.out_channels, 1, 1}, {s.out_channels, 1, s.out_channels, s.out_channels}),
            fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
      if (spec.relu) out = graph->pointwise(out, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));
      graph->output(out, kOut, y, y_strides);
      if (spec.sums) sum_forward(*graph, out, s.out_channels);
      break;
    }
    case ConvolutionPass::grad_input: {
      Tensor out = graph->conv_dgrad(graph->input("dy", kA, y, y_strides), graph->input("weight", kB, weight, weight_strides),
                                     set(fe::graph::Conv_dgrad_attributes()));
      if (spec.sums) {
        out->set_dim(x).set_stride(x_strides);
        out = sum_gradient(*graph, out, x, x_strides);
      }
      graph->output(out, kOut, x, x_strides);
      break;
    }
    case ConvolutionPass::grad_weight:
      graph->output(graph->conv_wgrad(graph->input("dy", kA, y, y_strides), graph->input("x", kB, x, x_strides),
                                      set(fe::graph::Conv_wgrad_attributes())),
                    kOut, weight, weight_strides);
      break;
  }
  check(graph->validate(), describe(spec));
  return graph;
}

// The library's order of a [batch, sequence, heads, width] tensor: batch, heads, sequence, width.
inline Shape heads_shape(const AttentionShape& s) { return {s.batch, s.heads, s.sequence, s.width}; }
inline Shape keys_shape(const AttentionShape& s) { return {s.batch, key_heads(s), s.sequence, s.width}; }
inline Shape heads_strides(const AttentionShape& s, std::int64_t row) { return {s.sequence * row, s.width, row, 1}; }
inline Shape row_shape(const AttentionShape& s) { return {s.batch, s.heads, s.sequence, 1}; }
inline Shape row_strides(const AttentionShape& s) { return {s.heads * s.sequence, s.sequence, 1, 1}; }

inline Tensor number_input(Graph& graph, const char* name, std::int64_t number) {
  const Tensor tensor = graph.input(name, number, {1, 1, 1, 1}, {1, 1, 1, 1});
  tensor->set_data_type(fe::DataType_t::INT64);
  return tensor;
}

inline float score_scale(const AttentionShape& s) { return static_cast<float>(1 / std::sqrt(static_cast<double>(s.width))); }

// Causal attention, of either direction: no key to the right of the diagonal.
template <typename SdpaAttributes>
void mask_later_keys(SdpaAttributes& attributes) {
  attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
}

inline std::shared_ptr<Graph> attention_graph(const AttentionSpec& spec, const DescribedDevice* device = nullptr) {
  auto graph = std::make_shared<Graph>(spec.element, device);
  const AttentionShape& s = spec.shape;
  const Shape shape = heads_shape(s), strides = heads_strides(s, input_stride(s)), y_strides = heads_strides(s, row_stride(s));
  const Shape keys = keys_shape(s), key_strides = heads_strides(s, key_stride(s));
  auto attributes = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true).set_attn_scale(score_scale(s));
  if (s.causal) mask_later_keys(attributes);
  if (spec.dropout > 0)
    attributes.set_dropout(static_cast<float>(spec.dropout), number_input(*graph, "seed", kSeed),
                           number_input(*graph, "offset", kOffset));
  const auto [y, log_sum_exp] = graph->sdpa(graph->input("q", kQ, shape, strides), graph->input("k", kK, keys, key_strides),
                                            graph->input("v", kV, keys, key_strides), attributes);
  graph->output(y, kY, shape, y_strides);
  graph->output(log_sum_exp, kLogSumExp, row_shape(s), row_strides(s));
  log_sum_exp->set_data_type(fe::DataType_t::FLOAT);
  check(graph->validate(), describe(spec) + ", forward");
  return graph;
}

inline std::shared_ptr<Graph> attention_gradient_graph(const AttentionSpec& spec, const DescribedDevice* device = nullptr) {
  auto graph = std::make_shared<Graph>(spec.element, device);
  const AttentionShape& s = spec.shape;
  const Shape shape = heads_shape(s), strides = heads_strides(s, input_stride(s)), y_strides = heads_strides(s, row_stride(s));
  const Shape keys = keys_shape(s), key_strides = heads_strides(s, key_stride(s));
  auto attributes = fe::graph::SDPA_backward_attributes().set_name("attention_grad").set_attn_scale(score_scale(s));
  if (s.causal) mask_later_keys(attributes);
  if (spec.dropout > 0)
    attributes.set_dropout(static_cast<float>(spec.dropout), number_input(*graph, "seed", kSeed),
                           number_input(*graph, "offset", kOffset));
  const Tensor log_sum_exp = graph->input("log_sum_exp", kLogSumExp, row_shape(s), row_strides(s));
  log_sum_exp->set_data_type(fe::DataType_t::FLOAT);
  const auto [dq, dk, dv] = graph->sdpa_backward(
      graph->input("q", kQ, shape, strides), graph->input("k", kK, keys, key_strides), graph->input("v", kV, keys, key_strides),
      graph->input("y", kY, shape, y_strides), graph->input("dy", kDy, shape, y_strides), log_sum_exp, attributes);
  graph->output(dq, kDq, shape, strides);
  graph->output(dk, kDk, keys, key_strides);
  graph->output(dv, kDv, keys, key_strides);
  check(graph->validate(), describe(spec) + ", backward");
  return graph;
}

}  // namespace epochbench::cuda::layers
