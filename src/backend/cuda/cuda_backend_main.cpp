// The CUDA backend of a build with CUDA: the real device and libraries, or none of them for planning.
#include "src/backend/cuda/cuda_backend.h"
#include "src/backend/cuda/cuda_nodes.h"

namespace epochbench {
namespace {

class CudaPlanner final : public Backend {
 public:
  DeviceInfo device() const override { return {"cuda", "a GPU", 0, "", 0}; }
  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const override {
    return cuda_unsupported(graph, node, kComputeCapability);
  }
  std::size_t workspace_bytes(const Graph& graph, const Node& node) const override { return cuda_workspace_bytes(graph, node); }
  std::unique_ptr<Executable> compile(const Program&) const override {
    throw DeviceError("a planner has no device, so it cannot compile: use make_cuda_backend()");
  }

 private:
  static constexpr int kComputeCapability = 90;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_planner() { return std::make_unique<CudaPlanner>(); }

std::unique_ptr<Backend> make_cuda_backend(int index, const BackendOptions& options) {
  return make_cuda_backend(
      cuda::make_device(index), [] { return cuda::make_libraries(); }, options);
}

}  // namespace epochbench
