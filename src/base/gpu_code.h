// What a build contains for GPUs, by CMake's names of CUDA architectures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

// Whether a GPU of this compute capability (90: 9.0) runs code for one of these architectures: "90-real" is machine code
// for 9.0 and later minor versions of 9, "90-virtual" is PTX, which the driver compiles for 9.0 and all later ones, "90" is
// both, and "90a" runs on 9.0 alone. A name of another kind, such as "native", is taken to fit.
bool has_gpu_code(const std::vector<std::string>& architectures, int compute_capability);

// "compute capability 7.5, 8.0, 9.0 and later"; "none, since it has no CUDA backend".
std::string gpu_code_text(const std::vector<std::string>& architectures);

// 90: "9.0"
std::string capability_text(int compute_capability);

}  // namespace epochbench
