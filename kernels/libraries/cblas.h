// Shared by libraries with the CBLAS interface: products in fp32 only, and no convolution. Int: the type of their sizes.
#pragma once

#include <limits>

#include "kernels/libraries/library.h"

namespace epochbench {

template <typename Int>
using CblasSgemm = void(int order, int transpose_a, int transpose_b, Int m, Int n, Int k, float alpha, const float* a, Int lda,
                        const float* b, Int ldb, float beta, float* c, Int ldc);

template <typename Int>
class CblasProduct final : public LibraryCall {
 public:
  CblasProduct(CblasSgemm<Int>* sgemm, const GemmShape& shape) : sgemm_(sgemm), shape_(shape) {}
  void bind(void* first, void* second, void* third, const void*, void*) override {
    c_ = static_cast<float*>(first);
    a_ = static_cast<const float*>(second);
    b_ = static_cast<const float*>(third);
  }
  void run() override {
    constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
    const bool a = shape_.transpose_a, b = shape_.transpose_b;
    const Int m = static_cast<Int>(shape_.m), n = static_cast<Int>(shape_.n), k = static_cast<Int>(shape_.k);
    sgemm_(kRowMajor, a ? kTransposed : kPlain, b ? kTransposed : kPlain, m, n, k, 1, a_, a ? m : k, b_, b ? k : n, 0, c_, n);
  }

 private:
  CblasSgemm<Int>* sgemm_;
  GemmShape shape_;
  float* c_ = nullptr;        // [m,n]
  const float* a_ = nullptr;  // [m,k] or [k,m]
  const float* b_ = nullptr;  // [k,n] or [n,k]
};

template <typename Int>
class CblasLibrary : public Library {
 public:
  explicit CblasLibrary(CblasSgemm<Int>* sgemm) : sgemm_(sgemm) {}
  std::unique_ptr<LibraryCall> gemm(const GemmShape& shape, Element element, const LibraryEpilogue& epilogue) override {
    constexpr std::int64_t kMax = std::numeric_limits<Int>::max();
    const bool fits = shape.m <= kMax && shape.n <= kMax && shape.k <= kMax;
    if (element != Element::f32 || epilogue.bias || epilogue.relu || !fits) return nullptr;
    return std::make_unique<CblasProduct<Int>>(sgemm_, shape);
  }
  std::unique_ptr<LibraryCall> conv2d(const Conv2dShape&, Pass, Element, const LibraryEpilogue&) override { return nullptr; }

 private:
  CblasSgemm<Int>* sgemm_;
};

}  // namespace epochbench
