// The CUDA backend of a build with CUDA: the real device and libraries, or neither for planning.
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include "epochbench/gpu.h"
#include "src/backend/cuda/cuda_backend.h"

namespace epochbench {

std::unique_ptr<Backend> make_cuda_planner() { return make_cuda_backend(nullptr, nullptr); }

ChoiceOptions stored_choices() {
  return {.file = choices_file(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME")), .seconds_per_program = kTuningSeconds};
}

std::optional<std::string> gpu_ranks_obstacle() { return cuda::collectives_obstacle(); }

std::unique_ptr<Backend> make_cuda_backend(int index, const BackendOptions& options, Communicator* communicator) {
  ChoiceOptions choices = stored_choices();
  if (!options.tuning) choices.seconds_per_program = 0;
  RanksMaker make_ranks;
  if (communicator != nullptr) {
    if (const auto obstacle = gpu_ranks_obstacle()) throw DeviceError(*obstacle);
    make_ranks = [communicator, index]() -> CudaRanks {
      cuda::CollectivesId id{};
      if (communicator->rank() == 0) id = cuda::make_collectives_id();
      communicator->broadcast(std::as_writable_bytes(std::span(id)), 0);
      return {cuda::make_collectives(id, communicator->rank(), communicator->size(), index), communicator};
    };
  }
  return make_cuda_backend(
      cuda::make_device(index), [] { return cuda::make_libraries(); }, options, std::move(choices), std::move(make_ranks));
}

}  // namespace epochbench
