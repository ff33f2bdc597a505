// A peer: a library that our kernels are compared with. Each is a module beside epochbench_bench.
#pragma once

#include <memory>
#include <string>

#include "kernels/libraries/library.h"

namespace epochbench::bench {

// name: "onednn", "onednn-plain", "openblas", "mkl". Errors: std::runtime_error if there is no such peer here.
std::unique_ptr<Library> load_peer(const std::string& name, int threads);

}  // namespace epochbench::bench
