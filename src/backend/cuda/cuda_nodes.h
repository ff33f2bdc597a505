// From nodes to what runs them on a CUDA device: our own kernels, and plans of the libraries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/libraries.h"
#include "src/backend/cuda/cuda_executable.h"

namespace epochbench {

// The reason why a device of this compute capability (75 for 7.5) cannot run the node.
std::optional<std::string> cuda_unsupported(const Graph& graph, const Node& node, int compute_capability);

// Scratch that the node needs whichever way it is compiled: it is planned before libraries say what they have.
std::size_t cuda_workspace_bytes(const Graph& graph, const Node& node);

// Backend::algorithm of a node on such a device: that by which cuDNN may run it.
std::string cuda_algorithm(const Graph& graph, const Node& node, int compute_capability);

// Compiles the nodes of one program, whose random numbers `seed` keys. What it compiles keeps `libraries` alive. `winograd`:
// whether convolutions may be computed by its transforms.
CudaNodeCompiler cuda_node_compiler(std::shared_ptr<cuda::Libraries> libraries, std::uint64_t seed, bool winograd);

}  // namespace epochbench
