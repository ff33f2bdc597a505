// The CUDA backend of a build with CUDA: the real device and libraries, or none of them for planning.
#include <cstdlib>
#include <string>
#include <utility>

#include "epochbench_version.h"
#include "src/backend/cuda/cuda_backend.h"

namespace epochbench {

std::unique_ptr<Backend> make_cuda_planner() { return make_cuda_backend(nullptr, nullptr); }

ChoiceOptions stored_choices() {
  return {.file = choices_file(std::getenv("XDG_CACHE_HOME"), std::getenv("HOME")),
          .program = std::string(EPOCHBENCH_VERSION " " EPOCHBENCH_GIT_SHA) + (EPOCHBENCH_GIT_DIRTY ? " changed" : ""),
          .seconds_per_program = kTuningSeconds};
}

std::unique_ptr<Backend> make_cuda_backend(int index, const BackendOptions& options) {
  ChoiceOptions choices = stored_choices();
  if (!options.tuning) choices.seconds_per_program = 0;
  return make_cuda_backend(
      cuda::make_device(index), [] { return cuda::make_libraries(); }, options, std::move(choices));
}

}  // namespace epochbench
