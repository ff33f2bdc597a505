// cuBLASLt is column-major, so a row-major c = a b is computed as c^T = b^T a^T: its first operand is our b, its rows are our
// columns, and a bias along its rows is a bias along our columns.
#include "kernels/cuda/libraries/cublas_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "kernels/cuda/libraries/library_error.h"
#include "kernels/cuda/libraries/tuning.h"
#include "kernels/cuda/specs.h"

namespace epochbench::cuda {
namespace {

constexpr int kCandidates = 16;
constexpr std::uint64_t kLargestAlignment = 64;  // bytes; of every tensor (kernels.h), and no algorithm requires more than 16
// How the partial sums of a split-k product with 16-bit output may be added: not in the output type.
constexpr std::uint32_t kSumsInFloat = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

cudaDataType_t type_of(Element element) {
  switch (element) {
    case Element::f32:
      return CUDA_R_32F;
    case Element::bf16:
      return CUDA_R_16BF;
    case Element::f16:
      return CUDA_R_16F;
  }
  return CUDA_R_32F;
}

std::uint32_t alignment(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | kLargestAlignment;
  return std::uint32_t{1} << std::countr_zero(bits);
}

bool strict(const ProductSpec& spec) { return spec.element == Element::f32 && spec.math == Math::exact; }

// Owns a cublasLt object and destroys it.
template <typename T, cublasStatus_t (*kDestroy)(T)>
class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (value) kDestroy(value);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  T value = nullptr;
};
using Description = Handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <typename T>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(cublasLtMatmulDescSetAttribute(description.value, attribute, &value, sizeof value), "describing a product");
}
template <typename T>
void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
  check(cublasLtMatrixLayoutSetAttribute(layout.value, attribute, &value, sizeof value), "describing a matrix");
}
template <typename T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.value, attribute, &value, sizeof value), "choosing an algorithm");
}

// `batch` contiguous row-major [rows, columns] matrices.
void describe_matrix(Layout& layout, Element element, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  check(cublasLtMatrixLayoutCreate(&layout.value, type_of(element), static_cast<std::uint64_t>(columns),
                                   static_cast<std::uint64_t>(rows), columns),
        "describing a matrix");
  if (batch == 1) return;
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, rows * columns);
}

cublasLtEpilogue_t epilogue(const ProductSpec& spec) {
  if (spec.bias_gradient) return CUBLASLT_EPILOGUE_BGRADB;
  if (spec.bias) return spec.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return spec.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

// The description of a product that cuBLASLt receives, whatever the algorithm.
struct Problem {
  explicit Problem(const ProductSpec& of) : spec(of) {
    const bool tf32 = spec.element == Element::f32 && spec.math == Math::tf32;
    check(cublasLtMatmulDescCreate(&description.value, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "describing a product");
    set(description, CUBLASLT_MATMUL_DESC_TRANSA, spec.shape.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_TRANSB, spec.shape.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(spec));
    if (spec.bias || spec.bias_gradient) set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(spec.out));
    const auto [m, n, k, transpose_a, transpose_b] = spec.shape;
    describe_matrix(a, spec.element, transpose_a ? k : m, transpose_a ? m : k, spec.batch);
    describe_matrix(b, spec.element, transpose_b ? n : k, transpose_b ? k : n, spec.batch);
    describe_matrix(c, spec.out, m, n, spec.batch);
  }

  void set_bias(void* bias) {
    if (spec.bias || spec.bias_gradient) set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }

  cublasStatus_t enqueue(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm, void* out, const void* left,
                         const void* right, void* workspace, Stream stream) const {
    const float beta = spec.accumulate ? 1.0f : 0.0f;
    return cublasLtMatmul(handle, description.value, &spec.alpha, right, b.value, left, a.value, &beta, out, c.value, out,
                          c.value, &algorithm, workspace, kProductWorkspaceBytes, stream);
  }

  ProductSpec spec;
  Description description;
  Layout a, b, c;
};

std::vector<cublasLtMatmulHeuristicResult_t> candidates(cublasLtHandle_t handle, const Problem& problem,
                                                        const Scratch& scratch) {
  Preference preference;
  check(cublasLtMatmulPreferenceCreate(&preference.value), "choosing an algorithm");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kProductWorkspaceBytes});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(scratch.b));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(scratch.a));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(scratch.out));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(scratch.out));
  // Strict fp32 uses no tensor cores, even if the library's defaults change.
  constexpr std::uint64_t kNoTensorCores = ~std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK};
  if (strict(problem.spec)) set(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, kNoTensorCores);
  if (problem.spec.out != Element::f32) set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kSumsInFloat);

  std::vector<cublasLtMatmulHeuristicResult_t> found(kCandidates);
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, problem.description.value, problem.b.value, problem.a.value, problem.c.value,
                                     problem.c.value, preference.value, kCandidates, found.data(), &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "choosing an algorithm");
  found.resize(static_cast<std::size_t>(count));
  return found;
}

bool uses_tensor_cores(const cublasLtMatmulAlgo_t& algorithm) {
  std::uint64_t flags = 0;
  std::size_t written = 0;
  check(cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof flags, &written),
        "reading an algorithm's properties");
  return (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0;
}

template <typename T>
T configuration(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  check(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written),
        "reading an algorithm's configuration");
  return value;
}

// Whether partial sums are rounded to the output type.
bool rounds_partial_sums(const cublasLtMatmulAlgo_t& algorithm) {
  return (configuration<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) & ~kSumsInFloat) != 0;
}

// Whether the algorithm keeps what the precision promises; heuristics receive the same restrictions.
bool keeps_precision(const cublasLtMatmulAlgo_t& algorithm, const ProductSpec& spec) {
  if (strict(spec) && uses_tensor_cores(algorithm)) return false;
  return spec.out == Element::f32 || !rounds_partial_sums(algorithm);
}

// The tiles that cublasLt.h numbers from 1 on, in its order; higher numbers appear as numbers.
constexpr std::array<const char*, 36> kTiles = {
    "?",       "8x8",    "8x16",   "16x8",  "8x32",   "16x16",   "32x8",    "8x64",    "16x32",   "32x16",  "64x8",   "32x32",
    "32x64",   "64x32",  "32x128", "64x64", "128x32", "64x128",  "128x64",  "64x256",  "128x128", "256x64", "64x512", "128x256",
    "256x128", "512x64", "64x96",  "96x64", "96x128", "128x160", "160x128", "192x128", "128x192", "128x96", "32x256", "256x32"};
static_assert(CUBLASLT_MATMUL_TILE_8x8 == 1 && CUBLASLT_MATMUL_TILE_64x64 == 15 && CUBLASLT_MATMUL_TILE_128x256 == 23 &&
              CUBLASLT_MATMUL_TILE_256x32 == 35);

std::string algorithm_name(const cublasLtMatmulAlgo_t& algorithm) {
  const auto tile = configuration<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID);
  const auto splits = configuration<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  std::string text = "cublasLt " + (tile < kTiles.size() ? kTiles[tile] : "tile " + std::to_string(tile)) + " stages " +
                     std::to_string(configuration<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID));
  if (splits > 1) text += " split-k " + std::to_string(splits);
  return text + " algorithm " + std::to_string(configuration<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID));
}

void check_spec(const ProductSpec& spec) {
  if (spec.bias && spec.bias_gradient) throw Error(describe(spec) + ": a bias and a bias gradient cannot be combined");
  if (spec.bias_gradient && (spec.relu || spec.batch != 1))
    throw Error(describe(spec) + ": a bias gradient cannot be combined with ReLU or a batch");
  if (spec.batch < 1 || spec.batch > std::numeric_limits<std::int32_t>::max())
    throw Error(describe(spec) + ": cuBLASLt does not support this batch");
}

}  // namespace

struct CublasChoice {
  cublasLtMatmulAlgo_t algorithm;
  std::string name;
};

namespace {

std::shared_ptr<const CublasChoice> fastest(cublasLtHandle_t handle, Problem& problem, const Scratch& scratch, Stream stream) {
  const ProductSpec& spec = problem.spec;
  const auto [m, n, k, transpose_a, transpose_b] = spec.shape;
  const auto batch = static_cast<std::size_t>(spec.batch);
  fill_random(scratch.a, batch * static_cast<std::size_t>(m * k) * bytes_of(spec.element), spec.element, stream);
  fill_random(scratch.b, batch * static_cast<std::size_t>(k * n) * bytes_of(spec.element), spec.element, stream);
  problem.set_bias(scratch.bias);

  std::shared_ptr<CublasChoice> best;
  double best_seconds = std::numeric_limits<double>::infinity();
  Stopwatch stopwatch(stream);
  std::string refusals;
  for (const cublasLtMatmulHeuristicResult_t& candidate : candidates(handle, problem, scratch)) {
    if (candidate.state != CUBLAS_STATUS_SUCCESS || candidate.workspaceSize > kProductWorkspaceBytes) continue;
    if (!keeps_precision(candidate.algo, spec)) continue;
    auto enqueue = [&] {
      return problem.enqueue(handle, candidate.algo, scratch.out, scratch.a, scratch.b, scratch.workspace, stream);
    };
    if (const cublasStatus_t status = enqueue(); status != CUBLAS_STATUS_SUCCESS) {
      refusals = std::string(": ") + cublasLtGetStatusString(status);
      continue;
    }
    const double seconds = stopwatch.seconds([&] { check(enqueue(), "timing an algorithm"); }, best_seconds);
    if (seconds >= best_seconds) continue;
    best_seconds = seconds;
    best = std::make_shared<CublasChoice>(CublasChoice{candidate.algo, {}});
  }
  if (!best) throw Error("cuBLASLt has no algorithm for the " + describe(spec) + refusals);
  best->name = algorithm_name(best->algorithm);
  return best;
}

class CublasProduct : public Product {
 public:
  CublasProduct(cublasLtHandle_t handle, const ProductSpec& spec) : handle_(handle), problem_(spec) {}

  void choose(std::shared_ptr<const CublasChoice>& choice, const Scratch& scratch, Stream stream) {
    if (!choice) choice = fastest(handle_, problem_, scratch, stream);
    choice_ = choice;
    alignments_ = {alignment(scratch.out), alignment(scratch.a), alignment(scratch.b)};
  }

  void run(void* c, const void* a, const void* b, void* bias, void* workspace, Stream stream) override {
    if (alignment(c) < alignments_[0] || alignment(a) < alignments_[1] || alignment(b) < alignments_[2])
      throw Error(describe(problem_.spec) + ": memory is less aligned than its algorithm requires");
    problem_.set_bias(bias);
    const cublasStatus_t status = problem_.enqueue(handle_, choice_->algorithm, c, a, b, workspace, stream);
    if (status != CUBLAS_STATUS_SUCCESS) check(status, describe(problem_.spec).c_str());
  }

  std::string implementation() const override { return choice_->name; }

 private:
  cublasLtHandle_t handle_;
  Problem problem_;
  std::shared_ptr<const CublasChoice> choice_;
  std::array<std::uint32_t, 3> alignments_{};
};

}  // namespace

CublasProducts::CublasProducts() { check(cublasLtCreate(&handle_), "starting cuBLASLt"); }
CublasProducts::~CublasProducts() { cublasLtDestroy(handle_); }

std::unique_ptr<Product> CublasProducts::make(const ProductSpec& spec, const Scratch& scratch, Stream stream) {
  check_spec(spec);
  auto product = std::make_unique<CublasProduct>(handle_, spec);
  std::string key = describe(spec);
  for (void* operand : {scratch.out, scratch.a, scratch.b, scratch.bias}) key += " " + std::to_string(alignment(operand));
  product->choose(choices_[key], scratch, stream);
  return product;
}

}  // namespace epochbench::cuda
