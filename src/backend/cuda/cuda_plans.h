// Nodes that are more than one launch of our own: products, convolutions and attention, with alternatives for libraries that
// have no plan. Part of cuda_nodes; no other file includes this.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/libraries/libraries.h"
#include "src/backend/cuda/cuda_executable.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

struct CudaNodeSource {
  const Graph& graph;
  const Node& node;
  const CudaNodeContext& context;
  const std::shared_ptr<cuda::Libraries>& libraries;
  std::uint64_t seed;
  bool winograd;  // whether convolutions may use Winograd transforms

  const std::vector<ValueId>& in() const { return node.inputs; }
  const std::vector<ValueId>& out() const { return node.outputs; }
  NodeOperands<void> operands() const { return {&context.values, node.inputs, node.outputs}; }
  Element element(ValueId id) const { return element_of(graph.desc(id).dtype); }
  cuda::Math math() const { return is_tf32(node.attributes) ? cuda::Math::tf32 : cuda::Math::exact; }
};

inline constexpr std::size_t kCudaAlignment = 256;
constexpr std::size_t cuda_aligned(std::size_t bytes) { return (bytes + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment; }
constexpr std::size_t element_bytes(Element element) { return element == Element::f32 ? 4 : 2; }

// Divides a workspace into pieces; with a null workspace, only counts their bytes.
class Pieces {
 public:
  explicit Pieces(void* workspace) : begin_(static_cast<std::byte*>(workspace)) {}
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
CudaChunks upload_chunks(DeviceTables& tables, const std::vector<std::int64_t>& elements);  // of tensors with so many elements

// matmul, linear, matmul_add, linear_grad_weight
std::size_t cuda_product_workspace_bytes(const Graph& graph, const Node& node);
CudaNode cuda_product(const CudaNodeSource& source);

// conv2d, conv2d_bias and the gradients. If cuDNN has no plan: im2col and a product, some images at a time.
std::size_t cuda_convolution_workspace_bytes(const Graph& graph, const Node& node);
CudaNode cuda_convolution(const CudaNodeSource& source);

// attention and its gradient. 16-bit: the library's, with one plan for a forward node and its gradient. If it has none, and in
// float: products and our own softmax, with our dropout masks. A program has one CudaAttention, as the two nodes share a plan.
// The workspace planned for 16 bits is the library's; the scores of the alternative, far larger, are then allocated separately.
class CudaAttention {
 public:
  CudaNode compile(const CudaNodeSource& source);

 private:
  struct Plan {
    std::shared_ptr<cuda::Attention> attention;  // null: the library has none
    std::string reason;
  };
  const Plan& plan(const CudaNodeSource& source, const AttentionShape& shape, double dropout);
  void* unfused_workspace(const CudaNodeSource& source);

  std::map<std::pair<const Graph*, int>, Plan> plans_;  // by graph and ordinal
  std::map<const Graph*, void*> unplanned_;             // allocated by unfused_workspace()
};
std::size_t cuda_attention_workspace_bytes(const Graph& graph, const Node& node);

}  // namespace epochbench
