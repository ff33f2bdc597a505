#include "tests/support/cuda_fake_cublas.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

using epochbench::test::fake_cublas;
using epochbench::test::FakeAlgorithm;

namespace {

double now_seconds = 0;

struct Attributes {  // of a descriptor, layout or preference
  std::map<int, std::vector<unsigned char>> values;
  template <typename T>
  T get(int attribute, T otherwise) const {
    const auto found = values.find(attribute);
    if (found == values.end()) return otherwise;
    T value{};
    std::memcpy(&value, found->second.data(), std::min(sizeof value, found->second.size()));
    return value;
  }
};
struct Layout : Attributes {
  cudaDataType type;
  std::int64_t rows, columns, leading;
};
struct Description : Attributes {
  cublasComputeType_t compute;
};

template <typename T, typename Opaque>
cublasStatus_t give(Opaque** to, T object) {
  *to = reinterpret_cast<Opaque*>(new T(std::move(object)));
  ++fake_cublas().handles;
  return CUBLAS_STATUS_SUCCESS;
}
template <typename T, typename Opaque>
cublasStatus_t take_back(Opaque* object) {
  delete reinterpret_cast<T*>(object);
  --fake_cublas().handles;
  return CUBLAS_STATUS_SUCCESS;
}
template <typename T, typename Opaque>
const T& as(Opaque* object) {
  return *reinterpret_cast<const T*>(object);
}
template <typename T, typename Opaque>
cublasStatus_t set(Opaque* object, int attribute, const void* value, std::size_t bytes) {
  const auto* begin = static_cast<const unsigned char*>(value);
  reinterpret_cast<T*>(object)->values[attribute].assign(begin, begin + bytes);
  return CUBLAS_STATUS_SUCCESS;
}

double load(const void* memory, cudaDataType type, std::int64_t i) {
  if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(memory)[i]);
  if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(memory)[i]);
  return static_cast<const float*>(memory)[i];
}
void store(void* memory, cudaDataType type, std::int64_t i, double value) {
  const auto number = static_cast<float>(value);
  if (type == CUDA_R_16BF)
    static_cast<__nv_bfloat16*>(memory)[i] = __float2bfloat16_rn(number);
  else if (type == CUDA_R_16F)
    static_cast<__half*>(memory)[i] = __float2half_rn(number);
  else
    static_cast<float*>(memory)[i] = number;
}

// Element (row, column) of matrix `batch`, transposed if requested.
double at(const void* memory, const Layout& layout, bool transposed, std::int64_t batch, std::int64_t row,
          std::int64_t column) {
  if (transposed) std::swap(row, column);
  const std::int64_t stride = layout.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
  return load(memory, layout.type, batch * stride + row + column * layout.leading);
}

const FakeAlgorithm* find(const cublasLtMatmulAlgo_t* algorithm) {
  for (const FakeAlgorithm& one : fake_cublas().algorithms)
    if (static_cast<std::uint64_t>(one.id) == algorithm->data[0]) return &one;
  return nullptr;
}

bool fits(const FakeAlgorithm& algorithm, const void* operand) {
  return reinterpret_cast<std::uintptr_t>(operand) % algorithm.alignment == 0;
}

}  // namespace

namespace epochbench::test {
FakeCublas& fake_cublas() {
  static FakeCublas fake;
  return fake;
}
}  // namespace epochbench::test

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return give(handle, 0); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return take_back<int>(handle); }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "another status";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* to, cublasComputeType_t compute, cudaDataType_t) {
  Description description;
  description.compute = compute;
  return give(to, description);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t object) { return take_back<Description>(object); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t object, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return set<Description>(object, attribute, value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* to, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  Layout layout;
  layout.type = type;
  layout.rows = static_cast<std::int64_t>(rows);
  layout.columns = static_cast<std::int64_t>(columns);
  layout.leading = leading;
  if (leading < layout.rows) return CUBLAS_STATUS_INVALID_VALUE;
  return give(to, layout);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t object) { return take_back<Layout>(object); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t object, cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, std::size_t bytes) {
  return set<Layout>(object, attribute, value, bytes);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* to) { return give(to, Attributes{}); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t object) { return take_back<Attributes>(object); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t object,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    std::size_t bytes) {
  return set<Attributes>(object, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t found[], int* count) {
  auto& fake = fake_cublas();
  const Attributes& asked = as<Attributes>(preference);
  for (int i = 0; i < 4; ++i)
    fake.asked_alignment[i] = asked.get<std::uint32_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i, 256);
  const auto mask = asked.get<std::uint64_t>(CUBLASLT_MATMUL_PREF_IMPL_MASK, ~std::uint64_t{0});
  fake.tensor_cores_allowed = (mask & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0;
  fake.reduction_schemes_allowed =
      asked.get<std::uint32_t>(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_REDUCTION_SCHEME_MASK);
  fake.tf32 = as<Description>(operation).compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  fake.asked_workspace_bytes = asked.get<std::uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0);
  ++fake.questions;
  *count = 0;
  const int epilogue = as<Description>(operation).get<int>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  if (epilogue == CUBLASLT_EPILOGUE_BGRADB && !fake.knows_bias_gradient) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const FakeAlgorithm& algorithm : fake.algorithms) {
    const bool forbidden = (algorithm.tensor_cores && !fake.tensor_cores_allowed) ||
                           (algorithm.reduction_scheme & ~fake.reduction_schemes_allowed) != 0;
    if (*count == wanted || (forbidden && fake.heeds_masks)) continue;
    if (*std::min_element(fake.asked_alignment, fake.asked_alignment + 4) < algorithm.alignment) continue;
    cublasLtMatmulHeuristicResult_t& result = found[(*count)++];
    result = {};
    result.algo.data[0] = static_cast<std::uint64_t>(algorithm.id);
    result.state = CUBLAS_STATUS_SUCCESS;
  }
  return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoCapAttributes_t,
                                                 void* value, std::size_t, std::size_t* written) {
  const std::uint64_t flags =
      find(algorithm)->tensor_cores ? CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA : CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;
  std::memcpy(value, &flags, sizeof flags);
  *written = sizeof flags;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value, std::size_t,
                                                    std::size_t* written) {
  std::int32_t number = 0;
  if (attribute == CUBLASLT_ALGO_CONFIG_ID) number = find(algorithm)->id;
  if (attribute == CUBLASLT_ALGO_CONFIG_TILE_ID) number = CUBLASLT_MATMUL_TILE_128x64;
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) number = find(algorithm)->split_k;
  if (attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) number = static_cast<std::int32_t>(find(algorithm)->reduction_scheme);
  std::memcpy(value, &number, sizeof number);
  *written = sizeof number;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, std::size_t, cudaStream_t) {
  const FakeAlgorithm& chosen = *find(algorithm);
  if (!chosen.runs) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const void* operand : {a, b, c, static_cast<const void*>(d)})
    if (!fits(chosen, operand)) return CUBLAS_STATUS_INVALID_VALUE;
  const auto& description = as<Description>(operation);
  const bool transpose_a = description.get<int>(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T;
  const bool transpose_b = description.get<int>(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) == CUBLAS_OP_T;
  const Layout &la = as<Layout>(a_layout), &lb = as<Layout>(b_layout), &lc = as<Layout>(c_layout), &ld = as<Layout>(d_layout);
  const std::int64_t depth = transpose_a ? la.rows : la.columns;
  if (depth != (transpose_b ? lb.columns : lb.rows) || ld.rows != (transpose_a ? la.columns : la.rows) ||
      ld.columns != (transpose_b ? lb.rows : lb.columns))
    return CUBLAS_STATUS_INVALID_VALUE;
  const int epilogue = description.get<int>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  auto* bias = description.get<void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
  const auto bias_type = static_cast<cudaDataType>(description.get<int>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, ld.type));
  const bool adds_bias = epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const bool relu = epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const float scale = *static_cast<const float*>(alpha), keep = *static_cast<const float*>(beta);
  for (std::int64_t batch = 0; batch < ld.get<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1); ++batch)
    for (std::int64_t column = 0; column < ld.columns; ++column) {
      for (std::int64_t row = 0; row < ld.rows; ++row) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += at(a, la, transpose_a, batch, row, k) * at(b, lb, transpose_b, batch, k, column);
        sum *= scale;
        if (keep != 0) sum += keep * at(c, lc, false, batch, row, column);
        if (adds_bias) sum += load(bias, bias_type, row);
        if (relu) sum = std::max(sum, 0.0);
        store(d, ld.type,
              batch * ld.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0) + row + column * ld.leading, sum);
      }
      if (epilogue != CUBLASLT_EPILOGUE_BGRADB) continue;
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += at(b, lb, transpose_b, batch, k, column);
      store(bias, bias_type, column, sum);
    }
  now_seconds += chosen.seconds;
  fake_cublas().last_algorithm = chosen.id;
  return CUBLAS_STATUS_SUCCESS;
}

// The runtime: an event is the time at which it was recorded.
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = reinterpret_cast<cudaEvent_t>(new double(0));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<double*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *reinterpret_cast<double*>(event) = now_seconds;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = static_cast<float>((*reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(begin)) * 1e3);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaError"; }

// Also called by library_error.cpp.
const char* cudnnGetErrorString(cudnnStatus_t) { return "a status"; }
void cudnnGetLastErrorString(char* text, std::size_t) { *text = '\0'; }

}  // extern "C"
