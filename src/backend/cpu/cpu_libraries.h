// Decides for each product and convolution of a CPU program whether our kernel or a library's runs it: both are timed on the
// node's own memory while the program is compiled, and the choice is part of the result. The libraries run on our OpenMP team.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/libraries/library.h"
#include "src/backend/host/host_executable.h"

namespace epochbench {

// A product, or one pass of a convolution.
struct LibraryProblem {
  std::optional<GemmShape> gemm = {};  // empty: a convolution
  Conv2dShape conv2d = {};
  Pass pass = Pass::forward;
  Element element = Element::f32;
  LibraryEpilogue epilogue = {};
};

// The place of the candidate that runs, by the seconds of each: the first, ours, unless another is faster by more than noise.
std::size_t place_of_fastest(const std::vector<double>& seconds);

// As a line of bench/shapes: "gemm m=64 n=128 k=32 transpose_b=1 bf16 bias relu".
std::string to_text(const LibraryProblem& problem);

class CpuLibraries {
 public:
  // `use`: kFastest, or the name of one library, which then runs whatever it can. Errors: DeviceError if this build has no
  // libraries, or they do not load.
  CpuLibraries(const std::string& use, int threads);

  struct Offer {
    std::string library;  // "oneDNN 2.6.3"
    std::shared_ptr<LibraryCall> call;
    LibraryEpilogue left;  // what the call leaves to our kernels
  };
  // What libraries offer for the problem; equal problems share calls. `widens`: whether our products of bf16 are those of
  // floats; a library that multiplies otherwise offers nothing.
  const std::vector<Offer>& offers(const LibraryProblem& problem, bool widens);

  struct Candidate {
    std::string kernels;  // "avx512", "oneDNN 2.6.3"
    CompiledNode node;
  };
  // One of the candidates, which do the same: ours, then one for each offer. The memory that they read is zero, so timing them
  // leaves variables zero. `work`: the node's op and problem; equal work is timed once.
  CompiledNode choose(const std::string& work, std::vector<Candidate> candidates);

 private:
  struct Decision {
    std::size_t chosen;
    std::string how;  // "[avx512 1.35 ms, oneDNN 2.6.3 1.20 ms]"
  };
  Decision decide(const std::vector<Candidate>& candidates);

  struct Loaded {
    std::string name;
    std::unique_ptr<Library> library;
  };
  bool timed_;
  int threads_;
  std::vector<Loaded> libraries_;
  std::map<std::string, std::vector<Offer>> offers_;  // by problem
  std::map<std::string, Decision> decisions_;         // by work
  double seconds_ = 0;                                // spent on timing
};

}  // namespace epochbench
