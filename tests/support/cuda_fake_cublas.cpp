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

#include "tests/support/cuda_fake_device.h"

using epochbench::test::fake_cublas;
using epochbench::test::FakeAlgorithm;

namespace {

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

bool knows(int epilogue) {
  const auto& fake = fake_cublas();
  const bool bias = epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  const bool relu = epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
  return (!bias || fake.knows_bias) && (!relu || fake.knows_relu) &&
         (epilogue != CUBLASLT_EPILOGUE_BGRADB || fake.knows_bias_gradient);
}

const FakeAlgorithm* find(const cublasLtMatmulAlgo_t* algorithm) {
  for (const FakeAlgorithm& one : fake_cublas().algorithms)
    if (static_cast<std::uint64_t>(one.id) == algorithm->data[0]) return &one;
  return nullptr;
}

bool fits(const FakeAlgorithm& algorithm, const void* operand) {
  return reinterpret_cast<std::uintptr_t>(operand) % algorithm.alignment == 0;
}

// What a call of cublasLtMatmul computes, later.
struct Product {
  static constexpr std::int64_t kRows = 8;  // at a time
  Description description;
  Layout a_layout, b_layout, c_layout, d_layout;
  const void *a, *b, *c;
  void* d;
  float alpha, beta;

  bool transposes_a() const { return description.get<int>(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T; }
  bool transposes_b() const { return description.get<int>(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) == CUBLAS_OP_T; }
  std::int64_t depth() const { return transposes_a() ? a_layout.rows : a_layout.columns; }
  int epilogue() const { return description.get<int>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT); }

  bool matches() const {
    return depth() == (transposes_b() ? b_layout.columns : b_layout.rows) &&
           d_layout.rows == (transposes_a() ? a_layout.columns : a_layout.rows) &&
           d_layout.columns == (transposes_b() ? b_layout.rows : b_layout.columns);
  }

  void operator()() const {
    auto* bias = description.get<void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr);
    const auto bias_type = static_cast<cudaDataType>(description.get<int>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, d_layout.type));
    const bool adds_bias = epilogue() == CUBLASLT_EPILOGUE_BIAS || epilogue() == CUBLASLT_EPILOGUE_RELU_BIAS;
    const bool relu = epilogue() == CUBLASLT_EPILOGUE_RELU || epilogue() == CUBLASLT_EPILOGUE_RELU_BIAS;
    const std::int64_t stride = d_layout.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
    const std::int64_t rows = d_layout.rows, deep = depth(),
                       batches = d_layout.get<std::int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1);
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      // By depth and row, and by column and depth: several rows at a time, each sum in order of depth.
      const std::vector<double> left = matrix(a, a_layout, !transposes_a(), batch),
                                right = matrix(b, b_layout, !transposes_b(), batch);
      for (std::int64_t column = 0; column < d_layout.columns; ++column) {
        const double* const of_column = right.data() + column * deep;
        for (std::int64_t first = 0; first < rows; first += kRows) {
          const std::int64_t count = std::min(kRows, rows - first);
          double sums[kRows] = {};
          const double* of_rows = left.data() + first;
          if (count == kRows) {
            double full[kRows] = {};  // in registers
            for (std::int64_t k = 0; k < deep; ++k, of_rows += rows)
              for (std::int64_t i = 0; i < kRows; ++i) full[i] += of_rows[i] * of_column[k];
            std::copy(full, full + kRows, sums);
          } else {
            for (std::int64_t k = 0; k < deep; ++k, of_rows += rows)
              for (std::int64_t i = 0; i < count; ++i) sums[i] += of_rows[i] * of_column[k];
          }
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t row = first + i;
            double sum = sums[i] * alpha;
            if (beta != 0) sum += beta * load(c, c_layout.type, batch * stride + row + column * c_layout.leading);
            if (adds_bias) sum += load(bias, bias_type, row);
            if (relu) sum = std::max(sum, 0.0);
            store(d, d_layout.type, batch * stride + row + column * d_layout.leading, sum);
          }
        }
        if (epilogue() != CUBLASLT_EPILOGUE_BGRADB) continue;
        double sum = 0;
        for (std::int64_t k = 0; k < deep; ++k) sum += of_column[k];
        store(bias, bias_type, column, sum);
      }
    }
  }

  // Row-major, of the transposed matrix if requested.
  static std::vector<double> matrix(const void* memory, const Layout& layout, bool transposed, std::int64_t batch) {
    const std::int64_t rows = transposed ? layout.columns : layout.rows, columns = transposed ? layout.rows : layout.columns;
    const std::int64_t first = batch * layout.get<std::int64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0);
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(rows * columns));
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        values.push_back(
            load(memory, layout.type, first + (transposed ? column + row * layout.leading : row + column * layout.leading)));
    return values;
  }
};

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
  if (!knows(epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
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

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulHeuristicResult_t* result) {
  *result = {};
  const FakeAlgorithm* const found = find(algorithm);
  const int epilogue = as<Description>(operation).get<int>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  if (!found || !found->checks || !knows(epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  result->algo = *algorithm;
  return CUBLAS_STATUS_SUCCESS;
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
                              const cublasLtMatmulAlgo_t* algorithm, void*, std::size_t, cudaStream_t stream) {
  const FakeAlgorithm& chosen = *find(algorithm);
  if (!chosen.runs) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const void* operand : {a, b, c, static_cast<const void*>(d)})
    if (!fits(chosen, operand)) return CUBLAS_STATUS_INVALID_VALUE;
  const Product product{as<Description>(operation),
                        as<Layout>(a_layout),
                        as<Layout>(b_layout),
                        as<Layout>(c_layout),
                        as<Layout>(d_layout),
                        a,
                        b,
                        c,
                        d,
                        *static_cast<const float*>(alpha),
                        *static_cast<const float*>(beta)};
  if (!product.matches()) return CUBLAS_STATUS_INVALID_VALUE;
  ++fake_cublas().products;
  fake_cublas().last_algorithm = chosen.id;
  const double seconds = chosen.seconds + (product.epilogue() == CUBLASLT_EPILOGUE_DEFAULT ? 0 : chosen.epilogue_seconds);
  if (stream)
    stream->device->enqueue(stream, product, seconds);
  else
    product();
  return CUBLAS_STATUS_SUCCESS;
}

// The part of the runtime that errors need.
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaError"; }

// Also called by library_error.cpp.
const char* cudnnGetErrorString(cudnnStatus_t) { return "a status"; }
void cudnnGetLastErrorString(char* text, std::size_t) { *text = '\0'; }

}  // extern "C"
