// OpenBLAS, from the package scipy-openblas64: products in fp32 only, because it has no convolution and this build has no bf16
// product. Its functions are declared here, because the package has no header.
#include <stdexcept>

#include "bench/peers/cblas.h"

extern "C" {
epochbench::bench::CblasSgemm scipy_cblas_sgemm64_;
void scipy_openblas_set_num_threads64_(int threads);
int scipy_openblas_get_num_threads64_();
char* scipy_openblas_get_config64_();
}

namespace epochbench::bench {
namespace {

class OpenBlas final : public CblasPeer {
 public:
  explicit OpenBlas(int threads) : CblasPeer(scipy_cblas_sgemm64_) {
    scipy_openblas_set_num_threads64_(threads);
    if (const int got = scipy_openblas_get_num_threads64_(); got != threads)
      throw std::runtime_error("OpenBLAS uses " + std::to_string(got) + " threads of the " + std::to_string(threads) +
                               " wanted");
  }
  std::string version() const override { return scipy_openblas_get_config64_(); }
};

}  // namespace
}  // namespace epochbench::bench

extern "C" epochbench::bench::Peer* epochbench_peer(const std::string& variant, int threads) {
  if (!variant.empty()) throw std::runtime_error("openblas has no variant '" + variant + "'");
  return new epochbench::bench::OpenBlas(threads);
}
