// Maps nodes to our own CUDA kernels and to library plans.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/libraries/libraries.h"
#include "src/backend/cuda/cuda_choices.h"
#include "src/backend/cuda/cuda_executable.h"

namespace epochbench {

// The reason why a device of this compute capability (75 for 7.5) cannot run the node.
std::optional<std::string> cuda_unsupported(const Graph& graph, const Node& node, int compute_capability);

// Scratch that is enough for every algorithm of the node: it is planned before the libraries are asked for plans.
std::size_t cuda_workspace_bytes(const Graph& graph, const Node& node);

// The number of elements from the start of a row of the value in memory to the start of the next. Products and our kernels
// cannot use vectors if rows do not start at multiples of 16 bytes, so rows are padded where needed for logits that a product
// makes for the cross entropy only, and for the gradient of these logits that products read. Any other value is dense.
std::int64_t cuda_row_elements(const Graph& graph, ValueId value);
std::size_t cuda_value_bytes(const Graph& graph, ValueId value);

// Backend::launches of a node by the first algorithm that is listed for it.
int cuda_launches(const Graph& graph, const Node& node);

// Backend::algorithm of a node on such a device.
std::string cuda_algorithm(const Graph& graph, const Node& node, int compute_capability);

// The kind of layer that a node with several algorithms belongs to: layers of equal text have the same algorithms and share
// what is chosen. Empty for a node with one algorithm.
std::string cuda_layer(const Graph& graph, const Node& node, bool winograd);

// Compiles the nodes of one program, each by the algorithm that `choices` decides on. Compiled nodes keep `libraries` alive.
CudaCompiler cuda_compiler(std::shared_ptr<cuda::Libraries> libraries, std::shared_ptr<Choices> choices, std::uint64_t seed,
                           const BackendOptions& options);

}  // namespace epochbench
