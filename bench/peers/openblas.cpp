// OpenBLAS, the library of the package scipy-openblas64: products in fp32 alone, as it has no convolution, and this build no
// product in bf16. Its functions are declared here, since the package brings no header.
#include <stdexcept>

#include "bench/peer.h"

extern "C" {
void scipy_cblas_sgemm64_(int order, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                          float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                          std::int64_t ldc);
void scipy_openblas_set_num_threads64_(int threads);
int scipy_openblas_get_num_threads64_();
char* scipy_openblas_get_config64_();
}

namespace epochbench::bench {
namespace {

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;  // CBLAS

class Product final : public PeerCall {
 public:
  Product(float* c, const float* a, const float* b, const GemmShape& shape) : c_(c), a_(a), b_(b), shape_(shape) {}
  void run() override {
    const auto& [m, n, k, transpose_a, transpose_b] = shape_;
    scipy_cblas_sgemm64_(kRowMajor, transpose_a ? kTransposed : kPlain, transpose_b ? kTransposed : kPlain, m, n, k, 1, a_,
                         transpose_a ? m : k, b_, transpose_b ? k : n, 0, c_, n);
  }
  void finish() override {}

 private:
  float* c_;        // [m,n]
  const float* a_;  // [m,k] or [k,m]
  const float* b_;  // [k,n] or [n,k]
  GemmShape shape_;
};

class OpenBlas final : public Peer {
 public:
  explicit OpenBlas(int threads) {
    scipy_openblas_set_num_threads64_(threads);
    if (const int got = scipy_openblas_get_num_threads64_(); got != threads)
      throw std::runtime_error("OpenBLAS uses " + std::to_string(got) + " threads of the " + std::to_string(threads) +
                               " wanted");
  }
  std::string version() const override { return scipy_openblas_get_config64_(); }
  std::unique_ptr<PeerCall> gemm(void* c, const void* a, const void* b, const GemmShape& shape, Element element) override {
    if (element != Element::f32) return nullptr;
    return std::make_unique<Product>(static_cast<float*>(c), static_cast<const float*>(a), static_cast<const float*>(b), shape);
  }
  std::unique_ptr<PeerCall> conv2d(void*, void*, void*, const Conv2dShape&, Pass, Element) override { return nullptr; }
};

}  // namespace
}  // namespace epochbench::bench

extern "C" std::unique_ptr<epochbench::bench::Peer> epochbench_peer(const std::string& variant, int threads) {
  if (!variant.empty()) throw std::runtime_error("openblas has no variant '" + variant + "'");
  return std::make_unique<epochbench::bench::OpenBlas>(threads);
}
