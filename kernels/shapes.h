// Sizes that the kernels of all devices share. Row-major, channels last.
#pragma once

#include <cstdint>

namespace epochbench {

enum class Element : std::uint8_t { f32, bf16, f16 };  // element type of a tensor

struct Bf16 {  // the upper half of a float
  std::uint16_t bits;
};

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;  // c [m,n] = a [m,k] times b [k,n]
  bool transpose_a = false;          // a is stored [k,m]
  bool transpose_b = false;          // b is stored [n,k]
  bool packed_b = false;             // b is what the CPU's pack_gemm has made of it
};

struct Conv2dShape {  // x [batch,height,width,channels], weight [out_channels,kernel_height,kernel_width,channels]
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;
  std::int64_t out_height = 0, out_width = 0, out_channels = 0;
  std::int64_t kernel_height = 0, kernel_width = 0, stride = 1, padding = 0;
  bool winograd = true;        // whether Winograd's transforms are allowed
  bool packed_weight = false;  // weight is what the CPU's pack_conv2d has made of it
};
// A depthwise convolution has out_channels = channels and weight [kernel_height,kernel_width,channels].

struct PoolShape {  // x [batch,height,width,channels], y [batch,out_height,out_width,channels]
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;
  std::int64_t out_height = 0, out_width = 0;
  std::int64_t window = 1, stride = 1, padding = 0;  // padding never wins the maximum; window * window <= 256
  bool zeros = false;  // for means: pixels outside count as zeros; then windows may be outside and padding negative
};

// Rows of all parts side by side: part i is [rows,channels[i]], at part[i].
static constexpr int kMaxChannelParts = 8;
template <typename Pointer>
struct ChannelParts {
  Pointer part[kMaxChannelParts] = {};
  std::int64_t channels[kMaxChannelParts] = {};
  int count = 0;
};

// Rows are mixed in pairs of neighbors, 0 and 1, 2 and 3 and so on; with an odd number of rows, the last is its own neighbor.
constexpr std::int64_t neighbor_of(std::int64_t row, std::int64_t rows) {
  const std::int64_t other = row % 2 == 0 ? row + 1 : row - 1;
  return other < rows ? other : row;
}

// The target of the softmax of a row of logits: 1 - smoothing for its label, plus an equal share of `smoothing` for every class
// (Szegedy et al. 2015). mean: the loss is the mean over the rows with a label; else their sum. share [rows], for rows mixed
// from two samples (Zhang et al., "mixup", 2018): a row's own label gets this share of 1 - smoothing, and its neighbor's the
// rest.
struct Targets {
  bool mean = true;
  float smoothing = 0;
  const float* share = nullptr;                                                                          // null: 1
  constexpr Targets(bool mean_of_rows, float smoothed = 0) : mean(mean_of_rows), smoothing(smoothed) {}  // NOLINT: from a bool
  constexpr Targets with_share(const float* of_rows) const {
    Targets targets = *this;
    targets.share = of_rows;
    return targets;
  }
};

// The activation after a normalization: none, relu, or relu6 = min(relu(x), 6).
struct Activation {
  enum Kind : std::uint8_t { none, relu, relu6 };
  Kind kind = none;
  constexpr Activation(bool rectified) : kind(rectified ? relu : none) {}  // NOLINT: from a bool
  constexpr Activation(Kind of) : kind(of) {}                              // NOLINT: from a member of the enumeration
};
static constexpr float kSix = 6;

template <typename Real>
struct Epilogue {              // y = relu(y + bias), each part optional
  const Real* bias = nullptr;  // [n] or [out_channels]
  bool relu = false;
  // Or null. A convolution on the CPU leaves the statistics of y's channels here, for batch_norm_of_moments.
  void* moments = nullptr;
};

// q, y [batch,sequence,heads,width], k, v [batch,sequence,kv_heads,width], log_sum_exp [batch,heads,sequence]
struct AttentionShape {
  std::int64_t batch = 0, sequence = 0, heads = 0, width = 0;  // width of one head; scores are divided by its square root
  bool joint = false;         // q, k and v, and their gradients too, are side by side in the rows of one tensor
  bool causal = false;        // a query sees only the keys up to its own position
  std::int64_t kv_heads = 0;  // of k and v; head h reads head h / (heads / kv_heads). 0: as many as heads
};
static constexpr std::int64_t key_heads(const AttentionShape& s) { return s.kv_heads > 0 ? s.kv_heads : s.heads; }
static constexpr std::int64_t group_size(const AttentionShape& s) { return s.heads / key_heads(s); }  // heads that share keys
// The number of keys that the queries before `query_end` see; for query i, query_end is i + 1.
static constexpr std::int64_t keys_before(const AttentionShape& s, std::int64_t query_end) {
  return s.causal ? query_end : s.sequence;
}
// Elements from one row (the heads of a position) to the next in y, q, k and v and their gradients. Static because the CPU's
// kernels are compiled for several instruction sets (kernels/cpu/isa.h).
static constexpr std::int64_t row_stride(const AttentionShape& s) { return s.heads * s.width; }
static constexpr std::int64_t joint_stride(const AttentionShape& s) { return (s.heads + 2 * key_heads(s)) * s.width; }
static constexpr std::int64_t input_stride(const AttentionShape& s) { return s.joint ? joint_stride(s) : row_stride(s); }
static constexpr std::int64_t key_stride(const AttentionShape& s) { return s.joint ? joint_stride(s) : key_heads(s) * s.width; }
// Elements before q (0), k (1) or v (2) in a joint row.
static constexpr std::int64_t joint_offset(const AttentionShape& s, int part) {
  return part == 0 ? 0 : (s.heads + (part - 1) * key_heads(s)) * s.width;
}

struct RotaryShape {  // x, y [rows,columns], table [sequence,width]; the position of a row is row % sequence
  std::int64_t rows = 0, columns = 0, sequence = 0, width = 0;
  std::int64_t heads = 0;  // rotated: heads * width <= columns
  bool inverse = false;
};

struct SwigluShape {  // y [rows,width]; gate, up and their gradients likewise, or side by side in [rows,2*width] if joint
  std::int64_t rows = 0, width = 0;
  bool joint = false;
};
static constexpr std::int64_t input_stride(const SwigluShape& s) { return (s.joint ? 2 : 1) * s.width; }

struct LstmShape {  // one row per position, [batch,sequence], of 4*units gates i, f, g, o or of units; weight [4*units,units]
  std::int64_t batch = 0, sequence = 0, units = 0;
};

// Element i of a tensor with dropout is kept if word i % 4 of philox(seed, {i / 4, step, ordinal, stream}) is at least
// `threshold`, and then multiplied by `scale`; stream is RandomStream::dropout. i counts the elements in logical order (for
// attention weights [batch,heads,query,key]), starting at `first`: the number of elements in earlier parts of a divided batch.
struct Dropout {
  std::uint64_t seed = 0;
  std::uint32_t ordinal = 0;
  std::uint32_t threshold = 0;  // round(probability * 2^32); 0: no dropout
  float scale = 1;              // 1 / (1 - probability)
  std::int64_t first = 0;
};

struct SgdTensor {  // one parameter, n elements
  float* weight;
  float* velocity;
  const float* gradient;
  std::int64_t n;
  const Bf16* gradient_bf16 = nullptr;  // used in place of gradient if not null
};
struct SgdNumbers {
  double momentum, weight_decay;
  const float* clip = nullptr;  // [1]: multiplies the gradients; null: 1
};

struct AdamwTensor {
  float* weight;
  float* moment1;
  float* moment2;
  const float* gradient;
  std::int64_t n;
  double weight_decay;
  const Bf16* gradient_bf16 = nullptr;  // used in place of gradient if not null
};
struct AdamwNumbers {
  double beta1, beta2, epsilon;
  const float* clip = nullptr;  // as SgdNumbers
};

struct GradientTensor {  // n elements
  const float* gradient;
  std::int64_t n;
  const Bf16* gradient_bf16 = nullptr;  // used in place of gradient if not null
};
// The factor for gradients of this norm, as in PyTorch's clip_grad_norm_. If the norm is not finite, neither is the gradient: 0
// times infinity, or NaN.
static inline double clip_factor_of(double norm, double largest_norm) {
  const double factor = largest_norm / (norm + 1e-6);
  return factor > 1 ? 1 : factor;
}

}  // namespace epochbench
