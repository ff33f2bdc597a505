// cuBLASLt is column-major, so a row-major c = a b is computed as c^T = b^T a^T: its first operand is our b, its rows are our
// columns, and a bias along its rows is a bias along our columns.
#include "kernels/cuda/libraries/cublas_product.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cuda/libraries/library_error.h"
#include "kernels/cuda/specs.h"

namespace epochbench::cuda {
namespace {

constexpr int kCandidates = 16;
constexpr std::uint64_t kMaxAlignment = 64;  // bytes; of every tensor (kernels.h), and no algorithm requires more than 16
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

using Alignments = std::array<std::uint32_t, 3>;  // c, a, b in bytes

std::uint32_t alignment(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | kMaxAlignment;
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

// `batch` contiguous row-major [rows, columns] matrices, or one whose rows have row_elements in memory.
void describe_matrix(Layout& layout, Element element, std::int64_t rows, std::int64_t columns, std::int64_t row_elements,
                     std::int64_t batch) {
  check(cublasLtMatrixLayoutCreate(&layout.value, type_of(element), static_cast<std::uint64_t>(columns),
                                   static_cast<std::uint64_t>(rows), row_elements > 0 ? row_elements : columns),
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
    const auto [m, n, k, transpose_a, transpose_b, packed_b] = spec.shape;
    describe_matrix(a, spec.element, transpose_a ? k : m, transpose_a ? m : k, spec.a_row, spec.batch);
    describe_matrix(b, spec.element, transpose_b ? n : k, transpose_b ? k : n, spec.b_row, spec.batch);
    describe_matrix(c, spec.out, m, n, spec.c_row, spec.batch);
  }

  void set_bias(void* bias) const {
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

// The algorithms that the library's heuristics list, the most promising first.
std::vector<cublasLtMatmulHeuristicResult_t> candidates(cublasLtHandle_t handle, const Problem& problem,
                                                        const Alignments& alignments) {
  Preference preference;
  check(cublasLtMatmulPreferenceCreate(&preference.value), "choosing an algorithm");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kProductWorkspaceBytes});
  const auto [of_c, of_a, of_b] = alignments;
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, of_b);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, of_a);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_c);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_c);
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

// Whether the algorithm meets the guarantees of the precision; heuristics receive the same restrictions.
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
  if (spec.batch != 1 && spec.a_row + spec.b_row + spec.c_row > 0) throw Error(describe(spec) + ": a batch is packed densely");
  if (spec.batch < 1 || spec.batch > std::numeric_limits<std::int32_t>::max())
    throw Error(describe(spec) + ": cuBLASLt does not support this batch");
}

// An algorithm's description as text: opaque, and valid for this version of the library only.
std::string tag_of(const cublasLtMatmulAlgo_t& algorithm) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, sizeof algorithm> bytes{};
  std::memcpy(bytes.data(), &algorithm, sizeof algorithm);
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

cublasLtMatmulAlgo_t algorithm_of(const std::string& tag) {
  std::array<unsigned char, sizeof(cublasLtMatmulAlgo_t)> bytes{};
  const bool is_hex = tag.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex || tag.size() != 2 * bytes.size()) throw Error("'" + tag + "' is not an algorithm of cuBLASLt");
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(std::stoi(tag.substr(2 * i, 2), nullptr, 16));
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, bytes.data(), sizeof algorithm);
  return algorithm;
}

class CublasProduct : public Product {
 public:
  CublasProduct(cublasLtHandle_t handle, std::shared_ptr<const Problem> problem, const Alignments& alignments,
                const cublasLtMatmulAlgo_t& algorithm)
      : handle_(handle), problem_(std::move(problem)), alignments_(alignments), algorithm_(algorithm) {}

  void run(void* c, const void* a, const void* b, void* bias, void* workspace, Stream stream) override {
    if (alignment(c) < alignments_[0] || alignment(a) < alignments_[1] || alignment(b) < alignments_[2])
      throw Error(describe(problem_->spec) + ": memory is less aligned than its algorithm requires");
    problem_->set_bias(bias);
    const cublasStatus_t status = problem_->enqueue(handle_, algorithm_, c, a, b, workspace, stream);
    if (status != CUBLAS_STATUS_SUCCESS) check(status, describe(problem_->spec).c_str());
  }

  std::string implementation() const override { return algorithm_name(algorithm_); }

 private:
  cublasLtHandle_t handle_;
  std::shared_ptr<const Problem> problem_;
  Alignments alignments_;
  cublasLtMatmulAlgo_t algorithm_;
};

class CublasAlgorithms final : public Algorithms<Product> {
 public:
  CublasAlgorithms(cublasLtHandle_t handle, const ProductSpec& spec, const ProductOperands& operands)
      : handle_(handle),
        problem_(std::make_shared<const Problem>(spec)),
        alignments_{alignment(operands.c), alignment(operands.a), alignment(operands.b)},
        text_(describe(spec) + " aligned") {
    problem_->set_bias(operands.bias);
    for (const std::uint32_t bytes : alignments_) text_ += " " + std::to_string(bytes);
    if (operands.bias) text_ += " " + std::to_string(alignment(operands.bias));
  }

  std::string problem() const override { return text_; }

  std::vector<Offer> offers() override {
    std::vector<Offer> offers;
    for (const cublasLtMatmulHeuristicResult_t& candidate : candidates(handle_, *problem_, alignments_))
      if (candidate.state == CUBLAS_STATUS_SUCCESS && keeps_precision(candidate.algo, problem_->spec))
        offers.push_back({tag_of(candidate.algo)});
    if (offers.empty()) throw Error("cuBLASLt has no algorithm for the " + describe(problem_->spec));
    return offers;
  }

  std::shared_ptr<Product> build(const std::string& tag) override {
    const cublasLtMatmulAlgo_t algorithm = algorithm_of(tag);
    const Problem& p = *problem_;
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status =
        cublasLtMatmulAlgoCheck(handle_, p.description.value, p.b.value, p.a.value, p.c.value, p.c.value, &algorithm, &result);
    if (status != CUBLAS_STATUS_SUCCESS) check(status, describe(p.spec).c_str());
    if (result.workspaceSize > kProductWorkspaceBytes)
      throw Error(describe(p.spec) + ": the algorithm needs " + std::to_string(result.workspaceSize >> 20) + " MiB of scratch");
    if (!keeps_precision(algorithm, p.spec)) throw Error(describe(p.spec) + ": the algorithm rounds more than its precision");
    return std::make_shared<CublasProduct>(handle_, problem_, alignments_, algorithm);
  }

 private:
  cublasLtHandle_t handle_;
  std::shared_ptr<const Problem> problem_;
  Alignments alignments_;
  std::string text_;
};

}  // namespace

CublasProducts::CublasProducts() { check(cublasLtCreate(&handle_), "starting cuBLASLt"); }
CublasProducts::~CublasProducts() { cublasLtDestroy(handle_); }

std::unique_ptr<Algorithms<Product>> CublasProducts::product(const ProductSpec& spec, const ProductOperands& operands) {
  check_spec(spec);
  return std::make_unique<CublasAlgorithms>(handle_, spec, operands);
}

}  // namespace epochbench::cuda
