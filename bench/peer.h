// A peer: another library that does the same work, for benchmarks only. Each is a separate module in bench/peers/ that is
// loaded on request, so that no program links it and its threads cause no clash of symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/shapes.h"

namespace epochbench::bench {

enum class Pass : std::uint8_t { forward, grad_input, grad_weight };

// Prepared work: everything that can be done once, such as choosing an algorithm or laying out constant operands, is done.
class PeerCall {
 public:
  PeerCall() = default;
  PeerCall(const PeerCall&) = delete;
  PeerCall& operator=(const PeerCall&) = delete;
  virtual ~PeerCall() = default;
  virtual void run() = 0;     // returns when the result is complete
  virtual void finish() = 0;  // copies the last run's result into the caller's memory if it is not there yet
};

// Operands belong to the caller and outlive the call; their elements are f32 or bf16. A null pointer: the library has no such
// work. Errors: std::runtime_error with the library's message.
class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;
  virtual std::string version() const = 0;
  // c [m,n] = a times b, stored as shape says.
  virtual std::unique_ptr<PeerCall> gemm(void* c, const void* a, const void* b, const GemmShape& shape, Element element) = 0;
  // One pass of y = x * weight or its gradients: its result is written, the other two are read. Layouts as in Conv2dShape.
  virtual std::unique_ptr<PeerCall> conv2d(void* y, void* x, void* weight, const Conv2dShape& shape, Pass pass,
                                           Element element) = 0;
};

// The function that every module exports as "epochbench_peer". `variant`: what follows a hyphen in the peer's name. The caller
// deletes the peer.
using MakePeer = Peer*(const std::string& variant, int threads);

// name: "onednn", "onednn-plain", "openblas", "mkl". Errors: std::runtime_error if there is no such peer here.
std::unique_ptr<Peer> load_peer(const std::string& name, int threads);

}  // namespace epochbench::bench
