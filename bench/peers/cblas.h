// Shared by libraries with the CBLAS interface: products in fp32 only, and no convolution. Sizes have 64 bits.
#pragma once

#include "bench/peer.h"

namespace epochbench::bench {

using CblasSgemm = void(int order, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                        float alpha, const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                        std::int64_t ldc);

class CblasProduct final : public PeerCall {
 public:
  CblasProduct(CblasSgemm* sgemm, float* c, const float* a, const float* b, const GemmShape& shape)
      : sgemm_(sgemm), c_(c), a_(a), b_(b), shape_(shape) {}
  void run() override {
    constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
    const GemmShape& s = shape_;
    sgemm_(kRowMajor, s.transpose_a ? kTransposed : kPlain, s.transpose_b ? kTransposed : kPlain, s.m, s.n, s.k, 1, a_,
           s.transpose_a ? s.m : s.k, b_, s.transpose_b ? s.k : s.n, 0, c_, s.n);
  }
  void finish() override {}

 private:
  CblasSgemm* sgemm_;
  float* c_;        // [m,n]
  const float* a_;  // [m,k] or [k,m]
  const float* b_;  // [k,n] or [n,k]
  GemmShape shape_;
};

class CblasPeer : public Peer {
 public:
  explicit CblasPeer(CblasSgemm* sgemm) : sgemm_(sgemm) {}
  std::unique_ptr<PeerCall> gemm(void* c, const void* a, const void* b, const GemmShape& shape, Element element) override {
    if (element != Element::f32) return nullptr;
    return std::make_unique<CblasProduct>(sgemm_, static_cast<float*>(c), static_cast<const float*>(a),
                                          static_cast<const float*>(b), shape);
  }
  std::unique_ptr<PeerCall> conv2d(void*, void*, void*, const Conv2dShape&, Pass, Element) override { return nullptr; }

 private:
  CblasSgemm* sgemm_;
};

}  // namespace epochbench::bench
