// Attention on a CUDA device: the library's fused attention, or products around our own softmax over the scores, one group of
// samples at a time.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <set>
#include <stdexcept>

#include "kernels/cuda/specs.h"
#include "src/backend/cuda/attention_trial.h"
#include "src/backend/cuda/cuda_plans.h"
#include "src/base/numbers.h"

namespace epochbench {
namespace {

// The scores of a group in one tensor, by size of the group. The gradient has two such tensors, so that few of the passes over
// them go to DRAM: the smaller ones together fit the L2 cache of an A100 (40 MB) or H100 (50 MB), the larger ones about that of
// an H200 (60 MB) or RTX 4090 (72 MB), and a group of theirs is enough work for more multiprocessors. A sample is not divided;
// one with 16 heads and 512 positions has as many as the smaller.
constexpr std::array<std::int64_t, 2> kGroupScoreBytes = {std::int64_t{16} << 20, std::int64_t{32} << 20};

std::size_t heads(const AttentionShape& s) { return static_cast<std::size_t>(s.batch * s.heads); }
std::size_t elements(const AttentionShape& s) { return heads(s) * static_cast<std::size_t>(s.sequence * s.width); }
// The shape of k and v as if they were q.
AttentionShape of_keys(AttentionShape s) {
  s.heads = key_heads(s);
  s.kv_heads = 0;
  return s;
}
std::size_t score_count(const AttentionShape& s) { return heads(s) * static_cast<std::size_t>(s.sequence * s.sequence); }
std::size_t log_sum_exp_bytes(const AttentionShape& s) {
  return heads(s) * static_cast<std::size_t>(s.sequence) * sizeof(float);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The shape of the first group, with as few groups as the limit on scores allows. All groups have the same number of samples,
// except that the last may have fewer.
AttentionShape first_group(AttentionShape s, std::int64_t score_bytes) {
  const std::int64_t sample_bytes = s.heads * s.sequence * s.sequence * static_cast<std::int64_t>(sizeof(float));
  s.batch = ceil_div(s.batch, ceil_div(s.batch, std::max<std::int64_t>(1, score_bytes / sample_bytes)));
  return s;
}

// Scratch of the library's attention; log_sum_exp: for a node whose log_sum_exp no gradient reads.
struct FusedScratch {
  std::int64_t* seed_offset;
  float* log_sum_exp;
  void* workspace;
  std::size_t bytes;
};
FusedScratch fused_scratch(const AttentionShape& s, bool gradient, void* memory) {
  ScratchPieces pieces(memory);
  FusedScratch scratch{};
  scratch.seed_offset = pieces.take<std::int64_t>(2 * sizeof(std::int64_t));
  scratch.log_sum_exp = pieces.take<float>(log_sum_exp_bytes(s));
  scratch.workspace = pieces.take(cuda::attention_workspace_bytes(s, gradient));
  scratch.bytes = pieces.used();
  return scratch;
}

// Scratch of unfused attention for a group: separate heads [batch, heads, sequence, width], for k and v [batch, kv_heads,
// sequence, width], scores [batch, heads, sequence, sequence].
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
  ScratchPieces pieces(memory);
  UnfusedScratch scratch{};
  const bool is_float = element == Element::f32;
  scratch.workspace = pieces.take(cuda::kProductWorkspaceBytes);
  for (void** tensor : {&scratch.q, &scratch.y}) *tensor = pieces.take(elements(s) * element_bytes(element));
  for (void** tensor : {&scratch.k, &scratch.v}) *tensor = pieces.take(elements(of_keys(s)) * element_bytes(element));
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

// Heads that share keys are additional rows of one product, as they follow each other in q, y and the scores. A transposed
// product therefore sums over them.
class ProductMaker {
 public:
  ProductMaker(const CudaNodeSource& source, const AttentionShape& shape, Element element, void* workspace)
      : source_(source), shape_(shape), element_(element), workspace_(workspace) {}

  // q k^T of each head, in float.
  ChosenProduct scores(float alpha, float* c, void* a, void* b) const {
    return make({rows(), shape_.sequence, shape_.width, false, true}, Element::f32, alpha, c, a, b);
  }
  // Scores times a [sequence, width] tensor of each head of keys, or, transposed, times one of each head of queries.
  ChosenProduct weighted(bool transposed, float alpha, void* c, void* a, void* b) const {
    const std::int64_t m = transposed ? shape_.sequence : rows(), k = transposed ? rows() : shape_.sequence;
    return make({m, shape_.width, k, transposed, false}, element_, alpha, c, a, b);
  }

 private:
  ChosenProduct make(const GemmShape& gemm, Element out, float alpha, void* c, void* a, void* b) const {
    cuda::ProductSpec spec;
    spec.shape = gemm;
    spec.element = element_;
    spec.out = out;
    spec.math = source_.math();
    spec.alpha = alpha;
    spec.batch = shape_.batch * key_heads(shape_);
    return source_.product(spec, {c, a, b, nullptr}, workspace_);
  }

  std::int64_t rows() const { return group_size(shape_) * shape_.sequence; }

  const CudaNodeSource& source_;
  const AttentionShape& shape_;
  Element element_;
  void* workspace_;
};

std::string implementation_of(const ChosenProduct& product) { return "cuda attention_softmax + " + product.implementation; }

// q, k and v in the order of the library's products.
void split(const UnfusedScratch& t, const void* q, const void* k, const void* v, const AttentionShape& shape, Element element,
           cuda::Stream stream) {
  if (shape.joint) return cuda::split_joint_heads(t.q, t.k, t.v, q, shape, element, stream);
  cuda::split_heads(t.q, q, shape, element, stream);
  cuda::split_heads(t.k, k, of_keys(shape), element, stream);
  cuda::split_heads(t.v, v, of_keys(shape), element, stream);
}

// Advances tensors of the batch to a position, the first of a sample. Tensors have rows like those of q, of k and v, or of y.
void move_to(std::int64_t position, const AttentionShape& s, Element element, std::initializer_list<void**> queries,
             std::initializer_list<void**> keys, void*& y, float*& log_sum_exp) {
  for (void** tensor : queries) *tensor = elements_on(*tensor, position * input_stride(s), element_bytes(element));
  for (void** tensor : keys) *tensor = elements_on(*tensor, position * key_stride(s), element_bytes(element));
  y = elements_on(y, position * row_stride(s), element_bytes(element));
  log_sum_exp = elements_on(log_sum_exp, position * s.heads, sizeof(float));
}

struct Group {
  std::function<void(std::int64_t position, cuda::Stream stream)> enqueue;  // position: of its first sample in the batch
  std::string implementation;
};

// weights: elements of the weights of the whole batch.
Group unfused_forward(const CudaNodeSource& source, const AttentionShape& shape, std::int64_t weights) {
  const NodeOperands<void> o = source.operands();
  const Element element = source.element(source.in()[0]);
  const UnfusedScratch t = unfused_scratch(shape, element, false, source.context.workspace);
  const ProductMaker make(source, shape, element, t.workspace);
  const Dropout dropout = dropout_of(source.node, source.seed);
  const auto alpha = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.width)));
  const ChosenProduct first = make.scores(alpha, t.scores, t.q, t.k);
  const auto scores = first.plan, weighted = make.weighted(false, 1, t.y, t.weights, t.v).plan;
  return {[=, keep = source.libraries](std::int64_t position, cuda::Stream stream) {
            auto given = attention_tensors(o, shape, element_bytes(element));
            move_to(position, shape, element, {&given.q}, {&given.k, &given.v}, given.y, given.log_sum_exp);
            split(t, given.q, given.k, given.v, shape, element, stream);
            scores->run(t.scores, t.q, t.k, nullptr, t.workspace, stream);
            cuda::attention_softmax(t.weights, given.log_sum_exp ? given.log_sum_exp : t.log_sum_exp, t.scores, given.step,
                                    shape, position * shape.heads, of_part(dropout, o.part_of_batch(), weights), element,
                                    stream);
            weighted->run(t.y, t.weights, t.v, nullptr, t.workspace, stream);
            cuda::merge_heads(given.y, t.y, shape, element, stream);
          },
          implementation_of(first)};
}

// Recomputes the scores. A gradient takes the memory of a tensor after its last use: dv that of v, dq that of dy, dk that of k.
Group unfused_gradient(const CudaNodeSource& source, const AttentionShape& shape, std::int64_t weights) {
  const NodeOperands<void> o = source.operands();
  const Element element = source.element(source.in()[0]);
  const UnfusedScratch t = unfused_scratch(shape, element, true, source.context.workspace);
  const ProductMaker make(source, shape, element, t.workspace);
  const Dropout dropout = dropout_of(source.node, source.seed);
  const auto alpha = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.width)));
  const ChosenProduct first = make.scores(alpha, t.scores, t.q, t.k);
  const auto scores = first.plan, dweights = make.scores(1, t.dweights, t.y, t.v).plan;
  const auto dv = make.weighted(true, 1, t.v, t.weights, t.y).plan, dq = make.weighted(false, alpha, t.y, t.dscores, t.k).plan,
             dk = make.weighted(true, alpha, t.k, t.dscores, t.q).plan;
  return {[=, keep = source.libraries](std::int64_t position, cuda::Stream stream) {
            auto given = attention_grad_tensors(o, shape, element_bytes(element));
            move_to(position, shape, element, {&given.dq, &given.q}, {&given.dk, &given.dv, &given.k, &given.v}, given.dy,
                    given.log_sum_exp);
            cuda::split_heads(t.y, given.dy, shape, element, stream);
            split(t, given.q, given.k, given.v, shape, element, stream);
            scores->run(t.scores, t.q, t.k, nullptr, t.workspace, stream);
            dweights->run(t.dweights, t.y, t.v, nullptr, t.workspace, stream);
            cuda::attention_softmax_grad(t.weights, t.dscores, t.scores, t.dweights, given.log_sum_exp, given.step, shape,
                                         position * shape.heads, of_part(dropout, o.part_of_batch(), weights), element, stream);
            dv->run(t.v, t.weights, t.y, nullptr, t.workspace, stream);
            dq->run(t.y, t.dscores, t.k, nullptr, t.workspace, stream);
            dk->run(t.k, t.dscores, t.q, nullptr, t.workspace, stream);
            if (shape.joint) return cuda::merge_joint_heads(given.dq, t.y, t.k, t.v, shape, element, stream);
            if (given.dq) cuda::merge_heads(given.dq, t.y, shape, element, stream);
            for (const auto& [to, gradient] : {std::pair{given.dk, t.k}, {given.dv, t.v}})
              if (to) cuda::merge_heads(to, gradient, of_keys(shape), element, stream);
          },
          implementation_of(first)};
}

Element attention_element(const Graph& graph, const Node& node) { return element_of(graph.desc(node.inputs[0]).dtype); }

cuda::AttentionSpec spec_of(const Graph& graph, const Node& node) {
  return {attention_shape(graph, node), attention_element(graph, node), attributes<AttentionAttributes>(node).dropout};
}

CudaNodeSource source_of(const CudaNodeSource& source, const Node& node) {
  return {source.graph, node, source.context, source.libraries, source.choices, source.layer, source.seed, source.winograd};
}

// The nodes of one attention in order: forward, forward again if it is recomputed, and its gradient.
std::vector<const Node*> nodes_of_attention(const Graph& graph, int ordinal) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<AttentionAttributes>(node.attributes) && node.ordinal == ordinal) nodes.push_back(&node);
  return nodes;
}

bool has_gradient(const Graph& graph, const Node& node) {
  return std::ranges::any_of(nodes_of_attention(graph, node.ordinal),
                             [](const Node* each) { return is_attention_gradient(*each); });
}

constexpr const char* kByLibrary = "cuDNN";

}  // namespace

std::vector<CompiledEngines> cuda_attention_engines(const CudaLayer& at) {
  std::vector<CompiledEngines> engines;
  if (attention_element(at.graph, at.node) == Element::f32) return engines;
  const cuda::AttentionSpec spec = spec_of(at.graph, at.node);
  engines.push_back({at.layer, kByLibrary, at.libraries.attention_forward(spec)});
  if (has_gradient(at.graph, at.node)) engines.push_back({at.layer, kByLibrary, at.libraries.attention_backward(spec)});
  return engines;
}

std::string cuda_attention_layer(const Graph& graph, const Node& node) {
  return describe(spec_of(graph, node)) + (is_tf32(node.attributes) ? " as tf32" : "") +
         (has_gradient(graph, node) ? ", both directions" : ", forward");
}

std::size_t cuda_attention_workspace_bytes(const Graph& graph, const Node& node) {
  const AttentionShape shape = attention_shape(graph, node);
  const Element element = attention_element(graph, node);
  const bool gradient = is_attention_gradient(node);
  const std::size_t unfused = unfused_scratch(first_group(shape, kGroupScoreBytes.back()), element, gradient, nullptr).bytes;
  return element == Element::f32 ? unfused : std::max(unfused, fused_scratch(shape, gradient, nullptr).bytes);
}

int cuda_attention_launches(const Graph& graph, const Node& node) {
  if (attention_element(graph, node) != Element::f32)  // the seed and the library's kernel
    return attributes<AttentionAttributes>(node).dropout > 0 ? 2 : 1;
  const AttentionShape shape = attention_shape(graph, node);
  const int copies = !shape.joint ? 3 : group_size(shape) == 1 ? 1 : 2;  // to split q, k and v, or to merge their gradients
  // Forward: scores, softmax, weighted sum, y merged. Gradient: dy split, two products, softmax, three products.
  const int of_group = is_attention_gradient(node) ? 2 * copies + 7 : copies + 4;
  return of_group * static_cast<int>(ceil_div(shape.batch, first_group(shape, kGroupScoreBytes.front()).batch));
}

CudaNode CudaAttention::unfused(const CudaNodeSource& source, const Node& node, std::int64_t score_bytes) const {
  const AttentionShape shape = attention_shape(source.graph, node), group = first_group(shape, score_bytes);
  const auto compiled = [&](std::int64_t samples) {
    AttentionShape part = shape;
    part.batch = samples;
    const auto make = is_attention_gradient(node) ? unfused_gradient : unfused_forward;
    return make(source_of(source, node), part, weight_count(shape));
  };
  const std::int64_t rest = shape.batch % group.batch;
  const Group whole = compiled(group.batch), last = rest == 0 ? whole : compiled(rest);
  return {[=](cuda::Stream stream) {
            for (std::int64_t first = 0; first < shape.batch; first += group.batch)
              (first + group.batch <= shape.batch ? whole : last).enqueue(first * shape.sequence, stream);
          },
          whole.implementation + (group.batch < shape.batch ? ", " + std::to_string(group.batch) + " of " +
                                                                  std::to_string(shape.batch) + " samples at a time"
                                                            : "")};
}

CudaNode CudaAttention::fused(const CudaNodeSource& source, const Node& node) const {
  const bool gradient = is_attention_gradient(node);
  const cuda::AttentionSpec spec = spec_of(source.graph, node);
  const NodeOperands<void> o = source_of(source, node).operands();
  const FusedScratch t = fused_scratch(spec.shape, gradient, source.context.workspace);
  const auto seed = [t, o, dropout = dropout_of(node, source.seed), weights = weight_count(spec.shape)](
                        const std::int32_t* step, cuda::Stream stream) -> const std::int64_t* {
    if (dropout.threshold == 0) return nullptr;
    cuda::attention_seed(t.seed_offset, step, of_part(dropout, o.part_of_batch(), weights), stream);
    return t.seed_offset;
  };
  const auto compiled = [&]<typename Plan>(cuda::Algorithms<Plan>& engines, auto run) {
    const auto chosen = source.choices.choose<Plan>(source.layer, engines,
                                                    {run, source_of(source, node).float_inputs(), source.context.stream});
    CudaNode result{[run, plan = chosen.plan, keep = source.libraries](cuda::Stream stream) { run(*plan, stream); },
                    chosen.plan->implementation() + chosen.how};
    result.library_dropout = spec.dropout > 0;
    return result;
  };
  if (gradient)
    return compiled(*source.libraries->attention_backward(spec), [=](cuda::AttentionBackward& plan, cuda::Stream stream) {
      const auto given = attention_grad_tensors(o, spec.shape, element_bytes(spec.element));
      plan.run({given.dq, given.dk, given.dv, given.dy, given.q, given.k, given.v, given.y, given.log_sum_exp,
                seed(given.step, stream)},
               t.workspace, stream);
    });
  return compiled(*source.libraries->attention_forward(spec), [=](cuda::AttentionForward& plan, cuda::Stream stream) {
    const auto given = attention_tensors(o, spec.shape, element_bytes(spec.element));
    plan.run(
        {given.y, given.log_sum_exp ? given.log_sum_exp : t.log_sum_exp, given.q, given.k, given.v, seed(given.step, stream)},
        t.workspace, stream);
  });
}

std::string CudaAttention::broken_identity(const CudaNodeSource& source, const std::vector<const Node*>& nodes,
                                           const Compiled& compiled) {
  const bool both = is_attention_gradient(*nodes.back());
  const std::size_t last = nodes.size() - (both ? 2 : 1);  // the forward pass whose y the gradient reads
  const Node& forward = *nodes[last];
  const CudaNode& plan = compiled[last].second;
  const auto [known, missing] =
      checked_.try_emplace(source.layer + plan.implementation + (both ? compiled.back().second.implementation : ""));
  if (!missing) return known->second;
  const AttentionShape shape = attention_shape(source.graph, forward);
  const std::size_t element_bytes = size_bytes(source.graph.desc(forward.inputs[0]).dtype);
  AttentionTrial trial{source.choices.device(),
                       source.context.stream,
                       [&](cuda::Stream stream) { source.choices.await(stream); },
                       shape,
                       source.graph.desc(forward.inputs[0]).dtype,
                       attention_tensors(source_of(source, forward).operands(), shape, element_bytes),
                       plan.enqueue};
  if (both) {
    trial.gradient = attention_grad_tensors(source_of(source, *nodes.back()).operands(), shape, element_bytes);
    trial.enqueue_gradient = compiled.back().second.enqueue;
  }
  return known->second = broken_attention_identity(
             shape, attention_element(source.graph, forward), attributes<AttentionAttributes>(forward).dropout,
             [&](const AttentionInputs& in, std::int32_t step) { return trial.run(in, step); });
}

// The library's attention with dropout counts as one that does not work unless both identities hold for it on this device. They
// are known to be at risk where the probability is not a multiple of 1/16: there the library is tried only while there is time.
std::shared_ptr<CudaAttention::Compiled> CudaAttention::by_library(const CudaNodeSource& source,
                                                                   const std::vector<const Node*>& nodes) {
  const double dropout = attributes<AttentionAttributes>(*nodes.front()).dropout;
  if (!is_multiple_of_a_sixteenth(dropout) && !source.choices.time_is_left())
    throw cuda::Error("dropout " + short_number(dropout) +
                      " is not a multiple of 1/16, and there was no time to check its masks");
  Compiled compiled;
  for (const Node* node : nodes) compiled.emplace_back(node->outputs[0], fused(source, *node));
  if (dropout > 0)
    if (const std::string broken = broken_identity(source, nodes, compiled); !broken.empty())
      throw cuda::Error(compiled.back().second.implementation + ": " + broken);
  return std::make_shared<Compiled>(std::move(compiled));
}

// Chooses one algorithm for all nodes, as they draw the same dropout masks.
CudaAttention::Compiled CudaAttention::choose(const CudaNodeSource& source, const std::vector<const Node*>& nodes) {
  const auto by_products = [&](std::int64_t score_bytes) {
    auto compiled = std::make_shared<Compiled>();
    for (const Node* node : nodes) compiled->emplace_back(node->outputs[0], unfused(source, *node, score_bytes));
    return compiled;
  };
  std::vector<Listed<Compiled>::Algorithm> listed;
  if (uses_library_ && attention_element(source.graph, source.node) != Element::f32)
    listed.push_back({.tag = kByLibrary, .build = [&] { return by_library(source, nodes); }, .compiles = true});
  std::set<std::int64_t> groups;  // in samples
  for (const std::int64_t score_bytes : kGroupScoreBytes)
    if (const std::int64_t group = first_group(attention_shape(source.graph, source.node), score_bytes).batch;
        groups.insert(group).second)
      listed.push_back({.tag = "products and kernels, " + std::to_string(group) + " samples at a time",
                        .build = [=] { return by_products(score_bytes); }});

  std::vector<Operand> inputs;
  for (const Node* node : nodes)
    for (const Operand& input : source_of(source, *node).float_inputs()) inputs.push_back(input);
  Listed<Compiled> algorithms(way_problem(source.layer), std::move(listed));
  const auto run = [](Compiled& compiled, cuda::Stream stream) {
    for (auto& [output, node] : compiled) node.enqueue(stream);
  };
  auto chosen = source.choices.choose<Compiled>(
      source.layer, algorithms, {run, std::move(inputs), source.context.stream, {}, static_cast<int>(nodes.size())});
  for (auto& [output, node] : *chosen.plan)
    node.implementation += chosen.how + (chosen.refused.empty() ? "" : " (" + chosen.refused + ")");
  return std::move(*chosen.plan);
}

CudaNode CudaAttention::compile(const CudaNodeSource& source) {
  const auto [found, missing] = chosen_.try_emplace({&source.graph, source.node.ordinal});
  if (missing) {
    const std::vector<const Node*> nodes = nodes_of_attention(source.graph, source.node.ordinal);
    if (std::ranges::all_of(nodes, [](const Node* node) { return is_attention_gradient(*node); }))
      throw std::logic_error(source.node.name + ": the gradient of no attention");
    found->second = choose(source, nodes);
  }
  for (const auto& [output, node] : found->second)
    if (output == source.node.outputs[0]) return node;
  throw std::logic_error(source.node.name + ": not one of the nodes of its attention");
}

}  // namespace epochbench
