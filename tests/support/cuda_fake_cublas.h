// cuBLASLt made up on the host, with as much of the CUDA runtime as choosing among its algorithms takes: the functions that
// kernels/cuda/cublas_product.cpp and tuning.cpp call, after the words of cublasLt.h. Columns first, sums in double. Its clock
// is moved by products alone, so an algorithm takes exactly as long as is said here.
#pragma once

#include <cstdint>
#include <vector>

namespace epochbench::test {

struct FakeAlgorithm {
  int id = 0;
  double seconds = 1e-3;        // long enough that it is timed call by call
  std::uint32_t alignment = 1;  // of every operand, in bytes
  bool tensor_cores = false;
  bool runs = true;  // else its products fail
  int split_k = 1;
  std::uint32_t reduction_scheme = 0;  // cublasLtReductionScheme_t
};

struct FakeCublas {
  std::vector<FakeAlgorithm> algorithms = {{}};
  bool heeds_masks = true;  // whether heuristics leave out what the preference's masks forbid
  bool knows_bias_gradient = true;
  // Of the last question for algorithms.
  std::uint32_t asked_alignment[4] = {};  // a, b, c, d as cuBLASLt counts them
  bool tensor_cores_allowed = false, tf32 = false;
  std::uint32_t reduction_schemes_allowed = 0;
  std::uint64_t asked_workspace_bytes = 0;
  int questions = 0;
  int last_algorithm = -1;  // that a product ran with
  int handles = 0;          // not given back: handles, descriptions, preferences
};
FakeCublas& fake_cublas();

}  // namespace epochbench::test
