// The functions of cuBLASLt, cuDNN and NVRTC that are used.
#include "kernels/cuda/libraries/loaded_libraries.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nvrtc.h>

#include "kernels/cuda/libraries/loaded_library.h"

namespace epochbench::cuda {
namespace {

const Library& cublas_lt() {
  static const Library library("cuBLASLt", "libcublasLt.so." EPOCHBENCH_TEXT(CUBLAS_VER_MAJOR));
  return library;
}

// cuDNN compiles some kernels during planning, and finds the compiler by name if it is already loaded; it may be in another
// folder than cuDNN. Without a compiler cuDNN has fewer plans.
const Library& nvrtc() {
  static const Library library("NVRTC", CUDART_VERSION / 1000 == 12 ? "libnvrtc.so.12" : "libnvrtc.so.13");
  return library;
}

const Library& cudnn() {
  nvrtc();
  static const Library library("cuDNN", "libcudnn.so." EPOCHBENCH_TEXT(CUDNN_MAJOR));
  return library;
}

std::string version_text(std::size_t version) {  // 91900 is 9.19.0, the encoding of cuBLASLt and cuDNN 9
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

}  // namespace

void load_libraries() {
  cublas_lt().require();
  cudnn().require();
}

LibraryVersions library_versions() { return {version_text(cublasLtGetVersion()), version_text(cudnnGetVersion())}; }

}  // namespace epochbench::cuda

#define FUNCTION EPOCHBENCH_LOADED

FUNCTION(cublas_lt, cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle), (handle))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle), (handle))
FUNCTION(cublas_lt, const char*, cublasLtGetStatusString, (cublasStatus_t status), (status))
FUNCTION(cublas_lt, std::size_t, cublasLtGetVersion, (), ())
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmul,
         (cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
          cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
          cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
          void* workspace, std::size_t workspace_bytes, cudaStream_t stream),
         (handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algorithm, workspace,
          workspace_bytes, stream))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulAlgoCapGetAttribute,
         (const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoCapAttributes_t attribute, void* value, std::size_t bytes,
          std::size_t* written),
         (algorithm, attribute, value, bytes, written))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulAlgoConfigGetAttribute,
         (const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute, void* value, std::size_t bytes,
          std::size_t* written),
         (algorithm, attribute, value, bytes, written))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,
         (cublasLtHandle_t handle, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,
          cublasLtMatmulHeuristicResult_t found[], int* count),
         (handle, description, a, b, c, d, preference, wanted, found, count))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulAlgoCheck,
         (cublasLtHandle_t handle, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
          cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
          cublasLtMatmulHeuristicResult_t* result),
         (handle, description, a, b, c, d, algorithm, result))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulDescCreate,
         (cublasLtMatmulDesc_t * description, cublasComputeType_t compute, cudaDataType_t scale), (description, compute, scale))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t description), (description))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulDescSetAttribute,
         (cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const void* value, std::size_t bytes),
         (description, attribute, value, bytes))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference), (preference))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference), (preference))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,
         (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
          std::size_t bytes),
         (preference, attribute, value, bytes))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatrixLayoutCreate,
         (cublasLtMatrixLayout_t * layout, cudaDataType type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading),
         (layout, type, rows, columns, leading))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout), (layout))
FUNCTION(cublas_lt, cublasStatus_t, cublasLtMatrixLayoutSetAttribute,
         (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value, std::size_t bytes),
         (layout, attribute, value, bytes))

FUNCTION(cudnn, cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle), (handle))
FUNCTION(cudnn, cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle), (handle))
FUNCTION(cudnn, const char*, cudnnGetErrorString, (cudnnStatus_t status), (status))
FUNCTION(cudnn, void, cudnnGetLastErrorString, (char* text, std::size_t size), (text, size))
FUNCTION(cudnn, std::size_t, cudnnGetVersion, (), ())
FUNCTION(cudnn, cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream), (handle, stream))
FUNCTION(cudnn, cudnnStatus_t, cudnnGetStream, (cudnnHandle_t handle, cudaStream_t* stream), (handle, stream))
FUNCTION(cudnn, cudnnStatus_t, cudnnBackendCreateDescriptor,
         (cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor), (type, descriptor))
FUNCTION(cudnn, cudnnStatus_t, cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t descriptor), (descriptor))
FUNCTION(cudnn, cudnnStatus_t, cudnnBackendFinalize, (cudnnBackendDescriptor_t descriptor), (descriptor))
FUNCTION(cudnn, cudnnStatus_t, cudnnBackendSetAttribute,
         (cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
          std::int64_t count, const void* elements),
         (descriptor, name, type, count, elements))
FUNCTION(cudnn, cudnnStatus_t, cudnnBackendGetAttribute,
         (const cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
          std::int64_t wanted, std::int64_t* count, void* elements),
         (descriptor, name, type, wanted, count, elements))
FUNCTION(cudnn, cudnnStatus_t, cudnnBackendExecute,
         (cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t tensors), (handle, plan, tensors))

// An engine inside cudnn_frontend references these; this program does not use it.
FUNCTION(nvrtc, nvrtcResult, nvrtcCreateProgram,
         (nvrtcProgram * program, const char* source, const char* name, int count, const char* const* headers,
          const char* const* names),
         (program, source, name, count, headers, names))
FUNCTION(nvrtc, nvrtcResult, nvrtcCompileProgram, (nvrtcProgram program, int count, const char* const* options),
         (program, count, options))
FUNCTION(nvrtc, nvrtcResult, nvrtcDestroyProgram, (nvrtcProgram * program), (program))
FUNCTION(nvrtc, nvrtcResult, nvrtcGetProgramLogSize, (nvrtcProgram program, std::size_t* size), (program, size))
FUNCTION(nvrtc, nvrtcResult, nvrtcGetProgramLog, (nvrtcProgram program, char* log), (program, log))
FUNCTION(nvrtc, nvrtcResult, nvrtcGetCUBINSize, (nvrtcProgram program, std::size_t* size), (program, size))
FUNCTION(nvrtc, nvrtcResult, nvrtcGetCUBIN, (nvrtcProgram program, char* cubin), (program, cubin))
