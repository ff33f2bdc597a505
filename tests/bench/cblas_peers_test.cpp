// The peers with the CBLAS interface, on a plain product and numbers of threads in place of the libraries.
#include <cstring>
#include <stdexcept>

#include <gtest/gtest.h>

#include "kernels/libraries/cblas.h"
#include "kernels/reference/kernels.h"
#include "tests/support/compare.h"

namespace {

int openblas_threads = 0, mkl_threads = 0;

// c = alpha a b + beta c, of rows that are `ld` numbers apart.
void product(int order, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
             const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  ASSERT_EQ(order, 101) << "CblasRowMajor";
  const auto at = [](const float* x, int transpose, std::int64_t ld, std::int64_t row, std::int64_t column) {
    return transpose == 112 ? x[column * ld + row] : x[row * ld + column];
  };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += at(a, transpose_a, lda, i, l) * at(b, transpose_b, ldb, l, j);
      c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
    }
}

}  // namespace

extern "C" {
void scipy_cblas_sgemm64_(int order, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                          float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                          std::int64_t ldc) {
  product(order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void scipy_openblas_set_num_threads64_(int threads) { openblas_threads = threads > 64 ? 64 : threads; }
int scipy_openblas_get_num_threads64_() { return openblas_threads; }
char* scipy_openblas_get_config64_() {
  static char text[] = "OpenBLAS 1";
  return text;
}

void cblas_sgemm_64(int order, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                    const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                    std::int64_t ldc) {
  product(order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
int MKL_Set_Threading_Layer(int layer) { return layer; }
void MKL_Set_Dynamic(int) {}
void MKL_Set_Num_Threads(int threads) { mkl_threads = threads > 64 ? 64 : threads; }
int MKL_Get_Max_Threads() { return mkl_threads; }
void MKL_Get_Version_String(char* text, int length) { std::strncpy(text, "MKL 1  ", static_cast<std::size_t>(length)); }

epochbench::MakeLibrary openblas_peer, mkl_peer;
}

namespace epochbench::bench {
namespace {

using test::GuardedBuffer;
using test::random_floats;

std::unique_ptr<Library> made(MakeLibrary* make, const std::string& variant, int threads) {
  return std::unique_ptr<Library>(make(variant, threads));
}

TEST(CblasPeers, MultiplyAsShapesSay) {
  for (MakeLibrary* make : {openblas_peer, mkl_peer}) {
    const std::unique_ptr<Library> peer = made(make, "", 2);
    for (int transposed = 0; transposed < 4; ++transposed) {
      const GemmShape s{5, 3, 7, (transposed & 1) != 0, (transposed & 2) != 0};
      const GuardedBuffer<float> a = random_floats(s.m * s.k, 1), b = random_floats(s.k * s.n, 2);
      GuardedBuffer<float> c = random_floats(s.m * s.n, 3), expected(s.m * s.n);
      reference::gemm(expected.data(), a.data(), b.data(), s, {});
      const std::unique_ptr<LibraryCall> call = peer->gemm(s, Element::f32, {});
      ASSERT_NE(call, nullptr);
      call->bind(c.data(), const_cast<float*>(a.data()), const_cast<float*>(b.data()), nullptr, nullptr);
      call->run();
      call->finish();
      for (std::int64_t i = 0; i < s.m * s.n; ++i) EXPECT_NEAR(c[i], expected[i], 1e-5) << peer->version() << ' ' << transposed;
      EXPECT_TRUE(c.guards_intact());
      EXPECT_EQ(peer->gemm(s, Element::bf16, {}), nullptr) << "they have none in bf16";
    }
  }
}

TEST(CblasPeers, RunOnTheThreadsThatAreAskedFor) {
  EXPECT_EQ(made(openblas_peer, "", 2)->version(), "OpenBLAS 1");
  EXPECT_EQ(openblas_threads, 2);
  EXPECT_EQ(made(mkl_peer, "", 3)->version(), "MKL 1");
  EXPECT_EQ(mkl_threads, 3);
  for (MakeLibrary* make : {openblas_peer, mkl_peer}) {
    EXPECT_THROW(made(make, "", 65), std::runtime_error) << "fewer than asked for";
    EXPECT_THROW(made(make, "plain", 1), std::runtime_error) << "an unknown variant";
  }
}

}  // namespace
}  // namespace epochbench::bench
