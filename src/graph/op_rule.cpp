// The rule of each op, and what rules share.
#include "src/graph/op_rule.h"

namespace epochbench {

const OpRule& rule(Op op) {
  switch (op) {
    case Op::matmul:
      return kMatmulRule;
    case Op::bias_add:
      return kBiasAddRule;
    case Op::relu:
      return kReluRule;
    case Op::add:
      return kAddRule;
    case Op::reshape:
      return kReshapeRule;
    case Op::conv2d:
      return kConv2dRule;
    case Op::batch_norm:
      return kBatchNormRule;
    case Op::batch_norm_inference:
      return kBatchNormInferenceRule;
    case Op::max_pool:
      return kMaxPoolRule;
    case Op::global_average_pool:
      return kGlobalAveragePoolRule;
    case Op::cross_entropy:
      return kCrossEntropyRule;
    case Op::embedding:
      return kEmbeddingRule;
    case Op::add_rows:
      return kAddRowsRule;
    case Op::layer_norm:
      return kLayerNormRule;
    case Op::gelu:
      return kGeluRule;
    case Op::dropout:
      return kDropoutRule;
    case Op::attention:
      return kAttentionRule;
    case Op::gather_rows:
      return kGatherRowsRule;
    case Op::embedding_grad:
      return kEmbeddingGradRule;
    case Op::add_rows_grad:
      return kAddRowsGradRule;
    case Op::layer_norm_grad:
      return kLayerNormGradRule;
    case Op::gelu_grad:
      return kGeluGradRule;
    case Op::attention_grad:
      return kAttentionGradRule;
    case Op::gather_rows_grad:
      return kGatherRowsGradRule;
    case Op::count_correct:
      return kCountCorrectRule;
    case Op::cast:
      return kCastRule;
    case Op::bias_add_grad:
      return kBiasAddGradRule;
    case Op::relu_grad:
      return kReluGradRule;
    case Op::conv2d_grad_input:
      return kConv2dGradInputRule;
    case Op::conv2d_grad_weight:
      return kConv2dGradWeightRule;
    case Op::batch_norm_grad:
      return kBatchNormGradRule;
    case Op::max_pool_grad:
      return kMaxPoolGradRule;
    case Op::global_average_pool_grad:
      return kGlobalAveragePoolGradRule;
    case Op::cross_entropy_grad:
      return kCrossEntropyGradRule;
    case Op::sgd:
      return kSgdRule;
    case Op::adamw:
      return kAdamwRule;
    case Op::increment:
      return kIncrementRule;
    case Op::all_finite:
      return kAllFiniteRule;
    case Op::update_loss_scale:
      return kUpdateLossScaleRule;
    case Op::linear:
      return kLinearRule;
    case Op::linear_grad_weight:
      return kLinearGradWeightRule;
    case Op::conv2d_bias:
      return kConv2dBiasRule;
    case Op::batch_norm_relu:
      return kBatchNormReluRule;
    case Op::batch_norm_inference_relu:
      return kBatchNormInferenceReluRule;
    case Op::batch_norm_relu_grad:
      return kBatchNormReluGradRule;
  }
  throw GraphError("op without a rule");
}

void require(bool condition, const char* what) {
  if (!condition) throw GraphError(what);
}

const TensorDesc& input(const Graph& graph, const Node& node, int index) {
  require(static_cast<std::size_t>(index) < node.inputs.size(), "too few inputs");
  return graph.desc(node.inputs[static_cast<std::size_t>(index)]);
}

std::int64_t last_extent(const TensorDesc& desc) {
  require(!desc.shape.empty(), "needs at least one dimension");
  return desc.shape.back();
}

std::int64_t rows(const TensorDesc& desc) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < desc.shape.size(); ++i) count *= desc.shape[i];
  return count;
}

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16; }

void require_float(const TensorDesc& desc) { require(is_float(desc.dtype), "the elements must be f32, bf16 or f16"); }

std::vector<TensorDesc> like_first_input(const Graph& graph, const Node& node) {
  require_float(input(graph, node, 0));
  return {input(graph, node, 0)};
}

double flops(const Graph& graph, const Node& node) {
  double sum = 0;
  for (const Node& part : node.parts) sum += flops(graph, part);
  if (node.parts.empty() && rule(node.op).flops) sum = rule(node.op).flops(graph, node);
  return sum;
}

double bytes(const Graph& graph, const Node& node) {
  if (rule(node.op).view) return 0;
  if (rule(node.op).bytes) return rule(node.op).bytes(graph, node);
  double sum = 0;
  for (ValueId id : node.inputs) sum += static_cast<double>(graph.desc(id).bytes());
  for (ValueId id : node.outputs) sum += static_cast<double>(graph.desc(id).bytes());
  return sum;
}

}  // namespace epochbench
