// The CUDA backend: the name of a device, the nodes that it cannot run, and programs compiled for it.
#include "src/backend/cuda/cuda_backend.h"

#include <utility>

#include "src/backend/cuda/cuda_executable.h"
#include "src/backend/cuda/cuda_nodes.h"

namespace epochbench {
namespace {

const cuda::DeviceProperties kPlanned{"a GPU", 90, 0};  // what a backend without a device plans for

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::shared_ptr<cuda::Device> device, LibrariesMaker make_libraries, const BackendOptions& options,
              ChoiceOptions choices, RanksMaker make_ranks)
      : device_(std::move(device)),
        make_libraries_(std::move(make_libraries)),
        make_ranks_(std::move(make_ranks)),
        options_(options),
        choice_options_(std::move(choices)),
        properties_(device_ ? device_->properties() : kPlanned) {}

  DeviceInfo device() const override { return {properties_.name, 0, "", properties_.memory_bytes}; }

  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const override {
    return cuda_unsupported(graph, node, properties_.compute_capability);
  }

  std::size_t workspace_bytes(const Graph& graph, const Node& node) const override { return cuda_workspace_bytes(graph, node); }

  std::size_t value_bytes(const Graph& graph, ValueId value) const override { return cuda_value_bytes(graph, value); }

  int launches(const Graph& graph, const Node& node) const override { return cuda_launches(graph, node); }

  std::string algorithm(const Graph& graph, const Node& node) const override {
    return cuda_algorithm(graph, node, properties_.compute_capability);
  }

  // The result holds the device and the libraries, and may outlive the backend.
  std::unique_ptr<Executable> compile(const Program& program) const override {
    if (!device_) throw DeviceError("a planner has no device, so it cannot compile: use make_cuda_backend()");
    if (!libraries_) {
      libraries_ = make_libraries_();
      choices_ = std::make_shared<Choices>(device_, libraries_->versions(), choice_options_);
    }
    if (make_ranks_ && !ranks_.collectives) ranks_ = make_ranks_();
    const StoredAtEnd stored{*choices_};
    return std::make_unique<CudaExecutable>(device_, program, cuda_compiler(libraries_, choices_, program.seed, options_),
                                            options_.graph_capture, ranks_);
  }

 private:
  struct StoredAtEnd {  // also choices made before a program turned out to need too much memory
    Choices& choices;
    ~StoredAtEnd() { choices.store(); }
  };

  std::shared_ptr<cuda::Device> device_;
  LibrariesMaker make_libraries_;
  RanksMaker make_ranks_;  // empty: a single rank
  BackendOptions options_;
  ChoiceOptions choice_options_;
  cuda::DeviceProperties properties_;
  mutable std::shared_ptr<cuda::Libraries> libraries_;
  mutable std::shared_ptr<Choices> choices_;
  mutable CudaRanks ranks_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(std::shared_ptr<cuda::Device> device, LibrariesMaker make_libraries,
                                           const BackendOptions& options, ChoiceOptions choices, RanksMaker make_ranks) {
  return std::make_unique<CudaBackend>(std::move(device), std::move(make_libraries), options, std::move(choices),
                                       std::move(make_ranks));
}

}  // namespace epochbench
