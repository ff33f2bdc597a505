// OpenBLAS: products in fp32 only, because it has no convolution, and its bf16 product writes fp32. Debian's
// libopenblas-openmp, which runs on this program's own OpenMP, or, with EPOCHBENCH_SCIPY_OPENBLAS, the package
// scipy-openblas64, which has threads of its own and other names. Its functions are declared here, because that package has no
// header.
#include <stdexcept>

#include "kernels/libraries/cblas.h"

#ifdef EPOCHBENCH_SCIPY_OPENBLAS
#define EPOCHBENCH_OPENBLAS(name) scipy_##name##64_
using Int = std::int64_t;
#else
#define EPOCHBENCH_OPENBLAS(name) name
using Int = int;
#endif

extern "C" {
epochbench::CblasSgemm<Int> EPOCHBENCH_OPENBLAS(cblas_sgemm);
void EPOCHBENCH_OPENBLAS(openblas_set_num_threads)(int threads);
int EPOCHBENCH_OPENBLAS(openblas_get_num_threads)();
int EPOCHBENCH_OPENBLAS(openblas_get_parallel)();
char* EPOCHBENCH_OPENBLAS(openblas_get_config)();
}

namespace epochbench {
namespace {

class OpenBlas final : public CblasLibrary<Int> {
 public:
  explicit OpenBlas(int threads) : CblasLibrary(EPOCHBENCH_OPENBLAS(cblas_sgemm)) {
#ifndef EPOCHBENCH_SCIPY_OPENBLAS
    constexpr int kOpenMp = 2;
    if (EPOCHBENCH_OPENBLAS(openblas_get_parallel)() != kOpenMp)
      throw std::runtime_error("OpenBLAS does not run on this program's OpenMP: install libopenblas0-openmp");
#endif
    EPOCHBENCH_OPENBLAS(openblas_set_num_threads)(threads);
    if (const int got = EPOCHBENCH_OPENBLAS(openblas_get_num_threads)(); got != threads)
      throw std::runtime_error("OpenBLAS uses " + std::to_string(got) + " threads of the " + std::to_string(threads) +
                               " wanted");
  }
  std::string version() const override { return EPOCHBENCH_OPENBLAS(openblas_get_config)(); }
};

}  // namespace
}  // namespace epochbench

extern "C" epochbench::Library* epochbench_library(const std::string& variant, int threads) {
  if (!variant.empty()) throw std::runtime_error("openblas has no variant '" + variant + "'");
  return new epochbench::OpenBlas(threads);
}
