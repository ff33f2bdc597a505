// Takes the place of nccl_collectives.cpp in a build without nccl.h: states the reason.
#include "kernels/cuda/libraries/collectives.h"

namespace epochbench::cuda {
namespace {

constexpr const char* kNotBuilt =
    "this build has no NCCL, by which GPUs exchange gradients: install nccl.h (on the Python index: nvidia-nccl-cu13, of "
    "CUDA 12 nvidia-nccl-cu12), and build again";

}  // namespace

std::optional<std::string> collectives_obstacle() { return kNotBuilt; }
CollectivesId make_collectives_id() { throw Error(kNotBuilt); }
std::shared_ptr<Collectives> make_collectives(const CollectivesId&, int, int, int) { throw Error(kNotBuilt); }

}  // namespace epochbench::cuda
