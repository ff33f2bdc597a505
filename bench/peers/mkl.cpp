// Intel MKL, the library of the package mkl: products in fp32 alone; it has no convolution, and its product in bf16 writes
// fp32. It runs on this program's own OpenMP (its "GNU" threading layer). Its functions are declared here, so that its headers
// need not be installed.
#include <stdexcept>

#include "bench/peer.h"

extern "C" {
void cblas_sgemm_64(int order, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                    const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);
int MKL_Set_Threading_Layer(int layer);
void MKL_Set_Dynamic(int dynamic);
void MKL_Set_Num_Threads(int threads);
int MKL_Get_Max_Threads();
void MKL_Get_Version_String(char* text, int length);
}

namespace epochbench::bench {
namespace {

constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;  // CBLAS
constexpr int kGnuThreading = 3;                                 // MKL_THREADING_GNU

class Product final : public PeerCall {
 public:
  Product(float* c, const float* a, const float* b, const GemmShape& shape) : c_(c), a_(a), b_(b), shape_(shape) {}
  void run() override {
    const auto& [m, n, k, transpose_a, transpose_b] = shape_;
    cblas_sgemm_64(kRowMajor, transpose_a ? kTransposed : kPlain, transpose_b ? kTransposed : kPlain, m, n, k, 1, a_,
                   transpose_a ? m : k, b_, transpose_b ? k : n, 0, c_, n);
  }
  void finish() override {}

 private:
  float* c_;        // [m,n]
  const float* a_;  // [m,k] or [k,m]
  const float* b_;  // [k,n] or [n,k]
  GemmShape shape_;
};

class Mkl final : public Peer {
 public:
  explicit Mkl(int threads) {
    if (MKL_Set_Threading_Layer(kGnuThreading) != kGnuThreading)
      throw std::runtime_error("MKL does not run on this program's OpenMP: unset MKL_THREADING_LAYER");
    MKL_Set_Dynamic(0);
    MKL_Set_Num_Threads(threads);
    if (const int got = MKL_Get_Max_Threads(); got != threads)
      throw std::runtime_error("MKL uses " + std::to_string(got) + " threads of the " + std::to_string(threads) + " wanted");
  }
  std::string version() const override {
    char text[256] = "";
    MKL_Get_Version_String(text, sizeof text - 1);
    std::string result = text;
    return result.substr(0, result.find_last_not_of(' ') + 1);
  }
  std::unique_ptr<PeerCall> gemm(void* c, const void* a, const void* b, const GemmShape& shape, Element element) override {
    if (element != Element::f32) return nullptr;
    return std::make_unique<Product>(static_cast<float*>(c), static_cast<const float*>(a), static_cast<const float*>(b), shape);
  }
  std::unique_ptr<PeerCall> conv2d(void*, void*, void*, const Conv2dShape&, Pass, Element) override { return nullptr; }
};

}  // namespace
}  // namespace epochbench::bench

extern "C" std::unique_ptr<epochbench::bench::Peer> epochbench_peer(const std::string& variant, int threads) {
  if (!variant.empty()) throw std::runtime_error("mkl has no variant '" + variant + "'");
  return std::make_unique<epochbench::bench::Mkl>(threads);
}
