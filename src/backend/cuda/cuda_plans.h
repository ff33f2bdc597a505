// Nodes that are more than one launch of our own: products, convolutions and attention, each by one of several algorithms
// (cuda_choices.h). Part of cuda_nodes; apart from it, only tests include this.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cuda/libraries/libraries.h"
#include "src/backend/cuda/cuda_choices.h"
#include "src/backend/cuda/cuda_executable.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

inline cuda::Math math_of(const Node& node) { return is_tf32(node.attributes) ? cuda::Math::tf32 : cuda::Math::exact; }

struct ChosenProduct {
  std::shared_ptr<cuda::Product> plan;
  std::string implementation;
};

struct CudaNodeSource {
  const Graph& graph;
  const Node& node;
  const CudaNodeContext& context;
  const std::shared_ptr<cuda::Libraries>& libraries;
  Choices& choices;
  const std::string& layer;  // cuda_layer() of the node
  std::uint64_t seed;
  bool winograd;  // whether convolutions may use Winograd transforms

  const std::vector<ValueId>& in() const { return node.inputs; }
  const std::vector<ValueId>& out() const { return node.outputs; }
  NodeOperands<void> operands() const { return {&context.values, node.inputs, node.outputs}; }
  Element element(ValueId id) const { return element_of(graph.desc(id).dtype); }
  cuda::Math math() const { return math_of(node); }

  // For nodes of several ranks. Errors: std::logic_error if there is only one rank.
  CudaExchange* exchange() const;
  // The elements of the value that this rank of `ranks` owns, and their address.
  Share share(ValueId id, std::int64_t ranks) const;
  const void* elements_from(ValueId id, Share share) const;

  // The inputs that are numbers and have memory.
  std::vector<Operand> float_inputs() const;
  // A product with the algorithm that was chosen for it. Its name says how. Errors: cuda::Error if there is none.
  ChosenProduct product(const cuda::ProductSpec& spec, const cuda::ProductOperands& operands, void* workspace) const;
  // One of several algorithms for the node, timed on random `inputs`.
  CudaNode choose(Listed<CudaNode>& algorithms, std::vector<Operand> inputs) const;
};

// A node whose engines are listed before it is compiled.
struct CudaLayer {
  const Graph& graph;
  const Node& node;
  const std::string& layer;  // cuda_layer() of the node
  cuda::Libraries& libraries;
  bool winograd;
};

inline constexpr std::size_t kCudaAlignment = 256;
constexpr std::size_t cuda_aligned(std::size_t bytes) { return (bytes + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment; }
constexpr std::size_t element_bytes(Element element) { return element == Element::f32 ? 4 : 2; }

// Divides a workspace into pieces; with a null workspace, only counts their bytes.
class ScratchPieces {
 public:
  explicit ScratchPieces(void* workspace) : begin_(static_cast<std::byte*>(workspace)) {}
  template <typename T = std::byte>
  T* take(std::size_t bytes) {
    std::byte* piece = begin_ ? begin_ + used_ : nullptr;
    used_ += cuda_aligned(bytes);
    return reinterpret_cast<T*>(piece);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* begin_;
  std::size_t used_ = 0;
};

struct CudaChunks {
  const cuda::Chunk* chunks = nullptr;
  std::int64_t count = 0;
};
CudaChunks upload_chunks(DeviceTables& tables, const std::vector<std::int64_t>& elements);  // for tensors of these sizes

// matmul, linear, matmul_add, linear_grad_weight. The bias sums of the last are an epilogue of the product, or our own kernel.
std::string cuda_product_layer(const Graph& graph, const Node& node);
std::size_t cuda_product_workspace_bytes(const Graph& graph, const Node& node);
CudaNode cuda_product(const CudaNodeSource& source);
CudaNode cuda_product_by_epilogue(const CudaNodeSource& source);  // only the first of these algorithms

CudaNode in_sequence(const CudaNode& first, const CudaNode& second);
using CompileNode = std::function<CudaNode(const Node& node)>;  // of a part of a composite

// linear_gelu, matmul_gelu_grad: by one cuDNN plan, by a product and our own kernel for bias and GELU, or one after the other,
// the second by `compile`.
std::string cuda_gelu_product_layer(const Graph& graph, const Node& node);
CompiledEngines cuda_gelu_product_engines(const CudaLayer& at);  // throws as cuda::Libraries; so do the next ones
CudaNode cuda_gelu_product(const CudaNodeSource& source, const CompileNode& compile);

// sgd and adamw, all_finite, clip_factor; all_reduce, reduce_scatter and all_gather. With several ranks, each handles its
// shares.
std::function<void(cuda::Stream)> cuda_optimizer(const CudaNodeSource& source);
std::function<void(cuda::Stream)> cuda_all_finite(const CudaNodeSource& source);
std::function<void(cuda::Stream)> cuda_clip_factor(const CudaNodeSource& source);
std::function<void(cuda::Stream)> cuda_collective(const CudaNodeSource& source);
std::size_t cuda_clip_workspace_bytes(const Graph& graph, const Node& node);

// lstm and its gradient: a product and our own kernel per step.
std::string cuda_lstm_layer(const Graph& graph, const Node& node);
std::size_t cuda_lstm_workspace_bytes(const Graph& graph, const Node& node);
int cuda_lstm_launches(const Graph& graph, const Node& node);
CudaNode cuda_lstm(const CudaNodeSource& source);

// conv2d, conv2d_bias and the gradients: by cuDNN, with bias and ReLU or without, or im2col and a product, some images at a
// time.
std::string cuda_convolution_layer(const Graph& graph, const Node& node, bool winograd);
std::size_t cuda_convolution_workspace_bytes(const Graph& graph, const Node& node);
CudaNode cuda_convolution(const CudaNodeSource& source);
cuda::ConvolutionSpec cuda_convolution_spec(const Graph& graph, const Node& node, bool winograd);

// conv2d_batch_norm and its gradient: by cuDNN with the sums that the norm needs, or one after the other by `compile`.
std::string cuda_convolution_norm_layer(const Graph& graph, const Node& node, bool winograd);
CompiledEngines cuda_convolution_norm_engines(const CudaLayer& at);
std::size_t cuda_convolution_norm_workspace_bytes(const Graph& graph, const Node& node);
CudaNode cuda_convolution_norm(const CudaNodeSource& source, const CompileNode& compile);

// depthwise_conv2d and its gradients: by `own`, our kernel, or by cuDNN, unless the padding differs at the two ends.
std::optional<cuda::ConvolutionSpec> cuda_depthwise_spec(const Graph& graph, const Node& node);  // empty: there is none
std::string cuda_depthwise_layer(const Graph& graph, const Node& node);
std::size_t cuda_depthwise_workspace_bytes(const Graph& graph, const Node& node);
CudaNode cuda_depthwise(const CudaNodeSource& source, const CudaNode& own);

// attention and its gradient. In 16 bits: the library's attention, or products and our own softmax with our own dropout masks,
// the same for both directions. In float, or if the library has none, or none whose masks pass attention_identities.h: the
// latter, which runs one group of samples at a time, so that scratch and scores do not grow with the batch. A CudaAttention
// compiles the nodes of a program once, as the nodes of an attention are chosen together.
using CheckedMasks = std::map<std::string, std::string>;  // which identity is broken, by layer and engines
class CudaAttention {
 public:
  CudaAttention(bool uses_library, CheckedMasks& checked) : uses_library_(uses_library), checked_(checked) {}
  CudaNode compile(const CudaNodeSource& source);

 private:
  using Compiled = std::vector<std::pair<ValueId, CudaNode>>;  // nodes by their first output, in the order of the graph
  CudaNode fused(const CudaNodeSource& source, const Node& node) const;
  CudaNode unfused(const CudaNodeSource& source, const Node& node, std::int64_t score_bytes) const;
  Compiled choose(const CudaNodeSource& source, const std::vector<const Node*>& nodes);
  std::shared_ptr<Compiled> by_library(const CudaNodeSource& source, const std::vector<const Node*>& nodes);
  std::string broken_identity(const CudaNodeSource& source, const std::vector<const Node*>& nodes, const Compiled& compiled);

  bool uses_library_;  // whether the library's may be used
  CheckedMasks& checked_;
  std::map<std::pair<const Graph*, int>, Compiled> chosen_;  // by graph and ordinal
};
std::string cuda_attention_layer(const Graph& graph, const Node& node);
std::vector<CompiledEngines> cuda_attention_engines(const CudaLayer& at);  // of both directions, if both are in the graph
std::size_t cuda_attention_workspace_bytes(const Graph& graph, const Node& node);
int cuda_attention_launches(const Graph& graph, const Node& node);  // Backend::launches

}  // namespace epochbench
