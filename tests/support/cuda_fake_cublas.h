// A fake cuBLASLt on the host, with the parts of the CUDA runtime that choosing an algorithm needs: the functions that
// kernels/cuda/libraries/cublas_product.cpp and tuning.cpp call, as documented in cublasLt.h. Column-major, sums in double.
// Only products advance its clock, so an algorithm takes exactly the time stated here.
#pragma once

#include <cstdint>
#include <vector>

namespace epochbench::test {

struct FakeAlgorithm {
  int id = 0;
  double seconds = 1e-3;        // long enough to be timed call by call
  std::uint32_t alignment = 1;  // of every operand, in bytes
  bool tensor_cores = false;
  bool runs = true;  // if false, its products fail
  int split_k = 1;
  std::uint32_t reduction_scheme = 0;  // cublasLtReductionScheme_t
};

struct FakeCublas {
  std::vector<FakeAlgorithm> algorithms = {{}};
  bool heeds_masks = true;  // whether heuristics respect the masks of the preference
  bool knows_bias_gradient = true;
  // From the last query for algorithms.
  std::uint32_t asked_alignment[4] = {};  // a, b, c, d as cuBLASLt counts them
  bool tensor_cores_allowed = false, tf32 = false;
  std::uint32_t reduction_schemes_allowed = 0;
  std::uint64_t asked_workspace_bytes = 0;
  int questions = 0;
  int last_algorithm = -1;  // used by the last product
  int handles = 0;          // not released: handles, descriptors, preferences
};
FakeCublas& fake_cublas();

}  // namespace epochbench::test
