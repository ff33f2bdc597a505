// Attention on a CUDA device: the library's fused one, or products around our own softmax over all scores at once.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "src/backend/cuda/cuda_plans.h"

namespace epochbench {
namespace {

std::size_t heads(const AttentionShape& s) { return static_cast<std::size_t>(s.batch * s.heads); }
std::size_t elements(const AttentionShape& s) { return heads(s) * static_cast<std::size_t>(s.sequence * s.width); }
std::size_t score_count(const AttentionShape& s) { return heads(s) * static_cast<std::size_t>(s.sequence * s.sequence); }
std::size_t log_sum_exp_bytes(const AttentionShape& s) {
  return heads(s) * static_cast<std::size_t>(s.sequence) * sizeof(float);
}

// Scratch of the library's attention; log_sum_exp: for a node whose log_sum_exp no gradient reads.
struct FusedScratch {
  std::int64_t* seed_offset;
  float* log_sum_exp;
  void* workspace;
  std::size_t bytes;
};
FusedScratch fused_scratch(const AttentionShape& s, bool gradient, void* memory) {
  Pieces pieces(memory);
  FusedScratch scratch{};
  scratch.seed_offset = pieces.take<std::int64_t>(2 * sizeof(std::int64_t));
  scratch.log_sum_exp = pieces.take<float>(log_sum_exp_bytes(s));
  scratch.workspace = pieces.take(cuda::attention_workspace_bytes(s, gradient));
  scratch.bytes = pieces.used();
  return scratch;
}

// Scratch of the unfused one: separate heads [batch, heads, sequence, width], scores [batch, heads, sequence, sequence].
struct UnfusedScratch {
  void* workspace;  // of products
  void *q, *k, *v;
  void* y;  // forward: y; gradient: dy
  float* scores;
  void* weights;  // the memory of scores if elements are float
  float* log_sum_exp;
  float* dweights;  // gradient
  void* dscores;    // gradient; the memory of dweights if elements are float
  std::size_t bytes;
};
UnfusedScratch unfused_scratch(const AttentionShape& s, Element element, bool gradient, void* memory) {
  Pieces pieces(memory);
  UnfusedScratch scratch{};
  const bool is_float = element == Element::f32;
  const std::size_t bytes = elements(s) * element_bytes(element);
  scratch.workspace = pieces.take(cuda::kProductWorkspaceBytes);
  for (void** tensor : {&scratch.q, &scratch.k, &scratch.v, &scratch.y}) *tensor = pieces.take(bytes);
  scratch.log_sum_exp = pieces.take<float>(log_sum_exp_bytes(s));
  scratch.scores = pieces.take<float>(score_count(s) * sizeof(float));
  scratch.weights = is_float ? scratch.scores : pieces.take<void>(score_count(s) * element_bytes(element));
  if (gradient) {
    scratch.dweights = pieces.take<float>(score_count(s) * sizeof(float));
    scratch.dscores = is_float ? scratch.dweights : pieces.take<void>(score_count(s) * element_bytes(element));
  }
  scratch.bytes = pieces.used();
  return scratch;
}

using SharedProduct = std::shared_ptr<cuda::Product>;

class ProductMaker {
 public:
  ProductMaker(const CudaNodeSource& source, const AttentionShape& shape, Element element, void* workspace)
      : source_(source), shape_(shape), element_(element), workspace_(workspace) {}

  // q k^T of each head, in float.
  SharedProduct scores(float alpha, float* c, void* a, void* b) const {
    return make({shape_.sequence, shape_.sequence, shape_.width, false, true}, Element::f32, alpha, c, a, b);
  }
  // Scores (transposed or not) times a [sequence, width] tensor.
  SharedProduct weighted(bool transposed, float alpha, void* c, void* a, void* b) const {
    return make({shape_.sequence, shape_.width, shape_.sequence, transposed, false}, element_, alpha, c, a, b);
  }

 private:
  SharedProduct make(const GemmShape& gemm, Element out, float alpha, void* c, void* a, void* b) const {
    cuda::ProductSpec spec;
    spec.shape = gemm;
    spec.element = element_;
    spec.out = out;
    spec.math = source_.math();
    spec.alpha = alpha;
    spec.batch = shape_.batch * shape_.heads;
    return source_.libraries->product(spec, {c, a, b, nullptr, workspace_}, source_.context.stream);
  }

  const CudaNodeSource& source_;
  const AttentionShape& shape_;
  Element element_;
  void* workspace_;
};

std::string implementation_of(const SharedProduct& product, const std::string& reason) {
  return "cuda attention_softmax + " + product->implementation() + (reason.empty() ? "" : " (cuDNN: " + reason + ")");
}

CudaNode unfused_forward(const CudaNodeSource& source, const AttentionShape& shape, void* memory, const std::string& reason) {
  const NodeOperands<void> o = source.operands();
  const Element element = source.element(source.in()[0]);
  const UnfusedScratch t = unfused_scratch(shape, element, false, memory);
  const ProductMaker make(source, shape, element, t.workspace);
  const auto alpha = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.width)));
  const SharedProduct scores = make.scores(alpha, t.scores, t.q, t.k), weighted = make.weighted(false, 1, t.y, t.weights, t.v);
  return {[=, dropout = dropout_of(source.node, source.seed), keep = source.libraries](cuda::Stream stream) {
            cuda::split_heads(t.q, o.x(0), shape, element, stream);
            cuda::split_heads(t.k, o.x(1), shape, element, stream);
            cuda::split_heads(t.v, o.x(2), shape, element, stream);
            scores->run(t.scores, t.q, t.k, nullptr, t.workspace, stream);
            float* const log_sum_exp = o.y32(1);
            cuda::attention_softmax(t.weights, log_sum_exp ? log_sum_exp : t.log_sum_exp, t.scores, o.integers(3), shape,
                                    dropout, element, stream);
            weighted->run(t.y, t.weights, t.v, nullptr, t.workspace, stream);
            cuda::merge_heads(o.y(0), t.y, shape, element, stream);
          },
          implementation_of(scores, reason)};
}

// The scores are computed again. A gradient takes the memory of a tensor after its last use: dv that of v, dq that of dy, dk
// that of k.
CudaNode unfused_gradient(const CudaNodeSource& source, const AttentionShape& shape, void* memory, const std::string& reason) {
  const NodeOperands<void> o = source.operands();  // dy, q, k, v, y, log_sum_exp, step
  const Element element = source.element(source.in()[0]);
  const UnfusedScratch t = unfused_scratch(shape, element, true, memory);
  const ProductMaker make(source, shape, element, t.workspace);
  const auto alpha = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.width)));
  const SharedProduct scores = make.scores(alpha, t.scores, t.q, t.k), dweights = make.scores(1, t.dweights, t.y, t.v);
  const SharedProduct dv = make.weighted(true, 1, t.v, t.weights, t.y), dq = make.weighted(false, alpha, t.y, t.dscores, t.k),
                      dk = make.weighted(true, alpha, t.k, t.dscores, t.q);
  return {[=, dropout = dropout_of(source.node, source.seed), keep = source.libraries](cuda::Stream stream) {
            cuda::split_heads(t.y, o.x(0), shape, element, stream);
            cuda::split_heads(t.q, o.x(1), shape, element, stream);
            cuda::split_heads(t.k, o.x(2), shape, element, stream);
            cuda::split_heads(t.v, o.x(3), shape, element, stream);
            scores->run(t.scores, t.q, t.k, nullptr, t.workspace, stream);
            dweights->run(t.dweights, t.y, t.v, nullptr, t.workspace, stream);
            cuda::attention_softmax_grad(t.weights, t.dscores, t.scores, t.dweights, o.x32(5), o.integers(6), shape, dropout,
                                         element, stream);
            dv->run(t.v, t.weights, t.y, nullptr, t.workspace, stream);
            dq->run(t.y, t.dscores, t.k, nullptr, t.workspace, stream);
            dk->run(t.k, t.dscores, t.q, nullptr, t.workspace, stream);
            const void* const gradients[] = {t.y, t.k, t.v};
            for (std::size_t i = 0; i < 3; ++i)
              if (void* const to = o.y(i)) cuda::merge_heads(to, gradients[i], shape, element, stream);
          },
          implementation_of(scores, reason)};
}

Element attention_element(const Graph& graph, const Node& node) { return element_of(graph.desc(node.inputs[0]).dtype); }

std::size_t unfused_bytes(const Graph& graph, const Node& node) {
  return unfused_scratch(attention_shape(graph, node), attention_element(graph, node), node.op == Op::attention_grad, nullptr)
      .bytes;
}

}  // namespace

std::size_t cuda_attention_workspace_bytes(const Graph& graph, const Node& node) {
  if (attention_element(graph, node) == Element::f32) return unfused_bytes(graph, node);
  return fused_scratch(attention_shape(graph, node), node.op == Op::attention_grad, nullptr).bytes;
}

// One for all nodes of the graph.
void* CudaAttention::unfused_workspace(const CudaNodeSource& source) {
  if (attention_element(source.graph, source.node) == Element::f32) return source.context.workspace;
  const auto [found, missing] = unplanned_.try_emplace(&source.graph);
  if (missing) {
    std::size_t most = 0;
    for (const Node& node : source.graph.nodes)
      if (node.op == Op::attention || node.op == Op::attention_grad) most = std::max(most, unfused_bytes(source.graph, node));
    found->second = source.context.tables.allocate(most);
  }
  return found->second;
}

const CudaAttention::Plan& CudaAttention::plan(const CudaNodeSource& source, const AttentionShape& shape, double dropout) {
  const auto [found, missing] = plans_.try_emplace({&source.graph, source.node.ordinal});
  Plan& plan = found->second;
  const Element element = attention_element(source.graph, source.node);
  if (missing && element != Element::f32)
    plan.attention = source.libraries->attention({shape, element, dropout}, source.context.stream, plan.reason);
  return plan;
}

CudaNode CudaAttention::compile(const CudaNodeSource& source) {
  const bool gradient = source.node.op == Op::attention_grad;
  const AttentionShape shape = attention_shape(source.graph, source.node);
  const double dropout = attributes<AttentionAttributes>(source.node).dropout;
  const Plan& shared = plan(source, shape, dropout);
  if (!shared.attention)
    return (gradient ? unfused_gradient : unfused_forward)(source, shape, unfused_workspace(source), shared.reason);

  const NodeOperands<void> o = source.operands();
  const FusedScratch t = fused_scratch(shape, gradient, source.context.workspace);
  const std::shared_ptr<cuda::Attention> plan = shared.attention;
  auto seed = [=, seed = source.seed, ordinal = static_cast<std::uint32_t>(source.node.ordinal)](
                  const std::int32_t* step, cuda::Stream stream) -> const std::int64_t* {
    if (dropout == 0) return nullptr;
    cuda::attention_seed(t.seed_offset, step, seed, ordinal, stream);
    return t.seed_offset;
  };
  CudaNode compiled{{}, plan->implementation()};
  compiled.library_dropout = dropout > 0;
  if (gradient)
    compiled.enqueue = [=, keep = source.libraries](cuda::Stream stream) {
      const std::int64_t* const seed_offset = seed(o.integers(6), stream);
      plan->backward({o.y(0), o.y(1), o.y(2), o.x(0), o.x(1), o.x(2), o.x(3), o.x(4), o.x32(5), seed_offset}, t.workspace,
                     stream);
    };
  else
    compiled.enqueue = [=, keep = source.libraries](cuda::Stream stream) {
      float* const log_sum_exp = o.y32(1);
      const std::int64_t* const seed_offset = seed(o.integers(3), stream);
      plan->forward({o.y(0), log_sum_exp ? log_sum_exp : t.log_sum_exp, o.x(0), o.x(1), o.x(2), seed_offset}, t.workspace,
                    stream);
    };
  return compiled;
}

}  // namespace epochbench
