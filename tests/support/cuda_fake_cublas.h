// A fake cuBLASLt on the host: the functions that kernels/cuda/libraries/cublas_product.cpp calls, as documented in cublasLt.h.
// Column-major, sums in double. A product is enqueued on the stream's fake device, where it takes exactly the time stated here;
// without a stream it runs at once.
#pragma once

#include <cstdint>
#include <vector>

namespace epochbench::test {

struct FakeAlgorithm {
  int id = 0;
  double seconds = 1e-3;        // long enough to be timed call by call
  double epilogue_seconds = 0;  // that a bias, ReLU or bias gradient takes in addition
  std::uint32_t alignment = 1;  // of every operand, in bytes
  bool tensor_cores = false;
  bool runs = true;    // if false, its products fail
  bool checks = true;  // if false, cublasLtMatmulAlgoCheck() refuses it
  int split_k = 1;
  std::uint32_t reduction_scheme = 0;  // cublasLtReductionScheme_t
};

struct FakeCublas {
  std::vector<FakeAlgorithm> algorithms = {{}};
  bool heeds_masks = true;  // whether heuristics respect the masks of the preference
  bool knows_bias_gradient = true, knows_bias = true, knows_relu = true;  // epilogues; without one, no algorithm has it
  // From the last query for algorithms.
  std::uint32_t asked_alignment[4] = {};  // a, b, c, d as cuBLASLt counts them
  bool tensor_cores_allowed = false, tf32 = false;
  std::uint32_t reduction_schemes_allowed = 0;
  std::uint64_t asked_workspace_bytes = 0;
  int questions = 0;
  int products = 0;         // started
  int last_algorithm = -1;  // used by the last product
  int handles = 0;          // not released: handles, descriptors, preferences
};
FakeCublas& fake_cublas();

}  // namespace epochbench::test
