// Scaled dot-product attention over whole sequences (Vaswani et al. 2017): every position sees all positions or, with the
// attribute causal, those up to itself; only these count as FLOPs. Only the log of each row's sum of exponentials is kept for
// the gradient (Dao et al. 2022), never the scores.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

struct Sizes {
  std::int64_t batch, width;
};

std::int64_t kv_heads(const AttentionAttributes& a) { return a.kv_heads > 0 ? a.kv_heads : a.heads; }

Sizes check_sizes(const Node& node, const TensorDesc& q) {
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  require_float(q);
  require(a.heads >= 1 && q.shape[1] % a.heads == 0, "the width is not a multiple of the heads");
  require(a.sequence >= 1 && q.shape[0] % a.sequence == 0, "the rows are not a multiple of the sequence");
  require(a.kv_heads >= 0 && (a.kv_heads == 0 || a.heads % a.kv_heads == 0), "the heads are not a multiple of kv_heads");
  require(a.dropout >= 0 && a.dropout < 1, "dropout must be at least 0 and less than 1");
  return {q.shape[0] / a.sequence, q.shape[1]};
}

// `first` is q's position.
Sizes check_operands(const Graph& graph, const Node& node, int first) {
  const TensorDesc &q = input(graph, node, first), &k = input(graph, node, first + 1);
  require(q.shape.size() == 2, "q must be [batch*sequence, heads*d]");
  const Sizes sizes = check_sizes(node, q);
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  require(k == TensorDesc{{q.shape[0], q.shape[1] / a.heads * kv_heads(a)}, q.dtype} && k == input(graph, node, first + 2),
          "k and v must have q's type and the shape [batch*sequence, kv_heads*d]");
  return sizes;
}

// The description of q, which is followed by k and v in the rows of input `index`.
TensorDesc q_of_joint(const Graph& graph, const Node& node, int index) {
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  const std::int64_t all = a.heads + 2 * kv_heads(a);
  TensorDesc desc = input(graph, node, index);
  require(desc.shape.size() == 2 && all >= 1 && desc.shape[1] % all == 0, "qkv must be [batch*sequence, (heads+2*kv_heads)*d]");
  desc.shape[1] = desc.shape[1] / all * a.heads;
  return desc;
}

std::vector<TensorDesc> infer_outputs(const Graph& graph, const Node& node, const TensorDesc& q, int step) {
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  const Sizes s = check_sizes(node, q);
  require(input(graph, node, step) == TensorDesc{{1}, DType::i32}, "the step must be i32 [1]");
  return {q, {{s.batch, a.heads, a.sequence}, DType::f32}};
}

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  check_operands(graph, node, 0);
  return infer_outputs(graph, node, input(graph, node, 0), 3);
}
std::vector<TensorDesc> infer_joint(const Graph& graph, const Node& node) {
  return infer_outputs(graph, node, q_of_joint(graph, node, 0), 1);
}

std::vector<TensorDesc> infer_grad(const Graph& graph, const Node& node) {
  check_operands(graph, node, 1);
  const TensorDesc& q = input(graph, node, 1);
  require(input(graph, node, 0) == q && input(graph, node, 4) == q, "dy and y must have q's shape and type");
  return {q, input(graph, node, 2), input(graph, node, 3)};
}

std::vector<TensorDesc> infer_joint_grad(const Graph& graph, const Node& node) {
  const TensorDesc q = q_of_joint(graph, node, 1);
  check_sizes(node, q);
  require(input(graph, node, 0) == q && input(graph, node, 2) == q, "dy and y must have q's shape and type");
  return {input(graph, node, 1)};
}

// Forward: scores and weighted sum. Gradient: four products. Recomputed scores do not count.
double product_flops(const Graph& graph, const Node& node, int first) {
  const Sizes s = check_operands(graph, node, first);
  const auto& a = std::get<AttentionAttributes>(node.attributes);
  const auto sequence = static_cast<double>(a.sequence), keys = a.causal ? (sequence + 1) / 2 : sequence;  // per query
  return 2.0 * static_cast<double>(s.batch) * sequence * keys * static_cast<double>(s.width);
}
double flops_forward(const Graph& graph, const Node& node) { return 2 * product_flops(graph, node, 0); }
double flops_grad(const Graph& graph, const Node& node) { return 4 * product_flops(graph, node, 1); }

void gradient(GradientBuilder& builder, const Node& node) {
  const std::vector<ValueId>& in = node.inputs;
  const auto gradients =
      builder.append(Op::attention_grad, node.attributes,
                     {builder.gradient(node.outputs[0]), in[0], in[1], in[2], node.outputs[0], node.outputs[1], in[3]}, node);
  for (std::size_t i = 0; i < 3; ++i)
    if (builder.needed(in[i])) builder.accumulate(in[i], gradients[i]);
}

}  // namespace

const OpRule kAttentionRule{.infer = infer, .gradient = gradient, .flops = flops_forward};
const OpRule kAttentionGradRule{.infer = infer_grad, .flops = flops_grad};
const OpRule kJointAttentionRule{.infer = infer_joint};
const OpRule kJointAttentionGradRule{.infer = infer_joint_grad};

}  // namespace epochbench
