// Maps nodes to the CPU kernels that run them, for one element type: float, or Bf16 for the nodes of a bf16 graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "kernels/cpu/kernels.h"
#include "src/backend/cpu/cpu_libraries.h"
#include "src/backend/host/host_executable.h"

namespace epochbench {

// Returns a function that makes a step from a kernel and a function that supplies its arguments; the step also passes the
// number of threads and, if the kernel takes one, the workspace.
inline auto cpu_step_maker(void* workspace, int threads) {
  return [=](auto kernel, auto call) -> HostStep {
    return [=] {
      call([&](const auto&... arguments) {
        if constexpr (std::is_invocable_v<decltype(kernel), decltype(arguments)..., void*, int>)
          kernel(arguments..., workspace, threads);
        else
          kernel(arguments..., threads);
      });
    };
  };
}

template <typename Real>
class CpuNodes {
 public:
  // `winograd`: whether convolutions may use Winograd transforms. `communicator`: for nodes of several ranks; may be null.
  // `libraries`: what may run in place of our kernels; may be null.
  CpuNodes(const cpu::Kernels<Real>& kernels, int threads, bool winograd, Communicator* communicator, CpuLibraries* libraries)
      : k_(&kernels), threads_(threads), winograd_(winograd), communicator_(communicator), libraries_(libraries) {}

  const char* isa() const { return k_->isa; }
  bool widens() const { return k_->widens; }
  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const;  // the reason
  std::size_t workspace_bytes(const Graph& graph, const Node& node) const;
  std::string algorithm(const Graph& graph, const Node& node) const;                // as Backend's
  std::int64_t packed_weight_elements(const Graph& graph, const Node& node) const;  // likewise
  // `seed`: key of the random numbers that the node draws.
  CompiledNode compile(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace,
                       std::uint64_t seed) const;

 private:
  Conv2dShape convolution(const Graph& graph, const Node& node) const;
  int rank() const;
  HostStep step(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace, std::uint64_t seed) const;
  std::size_t moment_bytes(const Graph& graph, const Node& node) const;
  std::size_t own_workspace_bytes(const Graph& graph, const Node& node) const;
  std::optional<LibraryProblem> library_problem(const Graph& graph, const Node& node) const;
  HostStep library_step(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace,
                        const CpuLibraries::Offer& offer) const;
  HostStep convolution_norm(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace) const;
  HostStep pack_step(const Graph& graph, const Node& node, const ValueMemory& memory) const;

  const cpu::Kernels<Real>* k_;
  int threads_;
  bool winograd_;
  Communicator* communicator_;
  CpuLibraries* libraries_;
};

}  // namespace epochbench
