// A peer: another library that does the same work, for benchmarks alone. Each is a module of its own in bench/peers/, loaded
// when it is asked for, so that nothing of it is linked into a program, and its threads come without a clash of symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/shapes.h"

namespace epochbench::bench {

enum class Pass : std::uint8_t { forward, grad_input, grad_weight };

// Prepared work: all that can be done once, as choosing an algorithm or laying out constant operands, has been done.
class PeerCall {
 public:
  PeerCall() = default;
  PeerCall(const PeerCall&) = delete;
  PeerCall& operator=(const PeerCall&) = delete;
  virtual ~PeerCall() = default;
  virtual void run() = 0;     // returns when the result is there
  virtual void finish() = 0;  // brings the last run's result into the caller's memory, where it is not there yet
};

// Operands are the caller's and outlive the call; their elements are f32 or bf16. An empty pointer: the library has no such
// work. Errors: std::runtime_error with the library's words.
class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;
  virtual std::string version() const = 0;
  // c [m,n] = a times b, stored as shape says.
  virtual std::unique_ptr<PeerCall> gemm(void* c, const void* a, const void* b, const GemmShape& shape, Element element) = 0;
  // Of y = x * weight or its gradients: the pass's result is written, the other two are read. Layouts as in Conv2dShape.
  virtual std::unique_ptr<PeerCall> conv2d(void* y, void* x, void* weight, const Conv2dShape& shape, Pass pass,
                                           Element element) = 0;
};

// The function that every module exports as "epochbench_peer". `variant`: what follows a hyphen in the peer's name.
using MakePeer = std::unique_ptr<Peer>(const std::string& variant, int threads);

// name: "onednn", "onednn-plain", "openblas", "mkl". Errors: std::runtime_error if there is no such peer here.
std::unique_ptr<Peer> load_peer(const std::string& name, int threads);

}  // namespace epochbench::bench
