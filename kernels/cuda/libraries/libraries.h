// Matrix products (cuBLASLt), convolutions and fused attention (cuDNN) behind plain interfaces, so that the backend above can
// be built and tested without these libraries. A library lists the algorithms that solve a problem; the backend above
// chooses one. A plan enqueues the same work repeatedly: run() neither allocates nor waits, and can be captured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/kernels.h"
#include "kernels/shapes.h"

namespace epochbench::cuda {

struct Offer {
  std::string tag;           // identifies the algorithm among those of its problem
  bool last_resort = false;  // only if nothing before it works, because it rounds more often
  bool compiles = false;     // building it takes a second or so, in place of milliseconds
};

// What is known about the algorithms that solve one problem before any is built. A tag means the same in every process for the
// same version of the same library on the same kind of device, so it can be stored.
class AlgorithmList {
 public:
  virtual ~AlgorithmList() = default;
  // Equal texts mean equal algorithms, equally fast.
  virtual std::string problem() const = 0;
  virtual std::vector<Offer> offers() = 0;  // the most promising first. Throws Error with the reason if there is none
  // How many the library listed, and why the others are not offered: "of 29; 24 use tensor cores, 4 need 980 MiB". Empty if all
  // are. Throws as offers().
  virtual std::string left_out() { return ""; }
  // Compiles an algorithm for build() to take, and returns what keeps it until then. Runs on any thread, beside others of this
  // and other problems, while nothing else uses the library. Throws Error. Empty if build() takes milliseconds.
  virtual std::function<std::shared_ptr<void>()> compiling(const std::string& /*tag*/) { return {}; }
};

template <typename T>
class Algorithms : public AlgorithmList {  // T: a built one
 public:
  // Equal algorithms may share what they hold. Throws Error if it does not work here or needs more scratch than is available.
  virtual std::shared_ptr<T> build(const std::string& tag) = 0;
};

// Scratch that every plan may use. Its size is fixed, because memory is planned before plans exist.
inline constexpr std::size_t kProductWorkspaceBytes = std::size_t{64} << 20;
inline constexpr std::size_t kConvolutionWorkspaceBytes = std::size_t{256} << 20;  // at least: convolution_workspace_bytes()
// For one direction of fused attention. The graph of the gradient stores dq and a sum per row in float, and most engines store
// dq once more, and dk and dv of every head where heads share keys; those of Blackwell store one bit per score with dropout,
// for sequences in multiples of 128. Engines may use the rest.
constexpr std::size_t attention_workspace_bytes(const AttentionShape& s, bool gradient) {
  constexpr std::size_t kRest = std::size_t{64} << 20;
  const std::int64_t heads = s.batch * s.heads, sequence = (s.sequence + 127) / 128 * 128;
  const std::int64_t tensors = group_size(s) == 1 ? 2 : 4;
  const std::int64_t kept = heads * s.sequence * (tensors * s.width + 1) * std::int64_t{sizeof(float)};
  return kRest + static_cast<std::size_t>(heads * sequence * sequence / 8 + (gradient ? kept : 0));
}

enum class Math : std::uint8_t { exact, tf32 };  // of float operands; exact: strict fp32. Ignored for 16-bit operands

struct ProductSpec {  // c = alpha a b [+ c] [+ bias] [relu], float accumulation, rounded once, or also before c is added
  GemmShape shape;
  Element element = Element::f32;  // of a and b
  Element out = Element::f32;      // of c and bias
  Math math = Math::exact;
  float alpha = 1;
  bool accumulate = false;  // add to c
  bool bias = false, relu = false;
  bool bias_gradient = false;  // also dbias [m] = the sums of a's rows over k, of type out (a [m,k] is dy transposed)
  std::int64_t batch = 1;      // independent products: a, b, c each densely packed
  // Elements between the starts of consecutive rows in memory; 0: the number of columns. Only with batch 1.
  std::int64_t a_row = 0, b_row = 0, c_row = 0;
};
class Product {
 public:
  virtual ~Product() = default;
  // bias: read, or written if spec.bias_gradient; null otherwise.
  virtual void run(void* c, const void* a, const void* b, void* bias, void* workspace, Stream stream) = 0;
  virtual std::string implementation() const = 0;  // "cublasLt 128x256x64 split-k 2"
};

struct GeluProductSpec {  // float accumulation
  GemmShape shape;
  Element element = Element::bf16;  // of all tensors
  Math math = Math::exact;
  bool gradient = false;  // out = a b gelu'(x); otherwise out = gelu(x) of x = a b + bias
  bool x = false;         // forward: also write x
  bool tanh = false;      // the form of gelu
};
class GeluProduct {
 public:
  struct Tensors {  // out, x: [m,n]; a, b: as Product's; bias [n]
    void* out;
    const void *a, *b, *bias;  // bias: null in the gradient
    void* x;                   // read in the gradient; null if it is not written
  };
  virtual ~GeluProduct() = default;
  virtual void run(const Tensors& tensors, void* workspace, Stream stream) = 0;  // kProductWorkspaceBytes
  virtual std::string implementation() const = 0;                                // "cudnn eng47 ..."
};

enum class ConvolutionPass : std::uint8_t { forward, grad_input, grad_weight };
struct ConvolutionSpec {
  Conv2dShape shape;
  ConvolutionPass pass = ConvolutionPass::forward;
  Element element = Element::f32;
  Math math = Math::exact;
  bool bias = false, relu = false;  // only forward; bias of `element`
  bool sums = false;                // for the batch norm next to it, forward and grad_input: Convolution::NormTensors
  bool depthwise = false;           // each channel by itself: weight [channels, kernel_height, kernel_width]
};
constexpr bool is_strict(const ConvolutionSpec& spec) { return spec.element == Element::f32 && spec.math == Math::exact; }
// For one convolution. In strict fp32 nearly all engines of cuDNN for channels-last tensors transpose both tensors, and for
// some gradients the weight too, and engines may use the rest.
constexpr std::size_t convolution_workspace_bytes(const ConvolutionSpec& spec) {
  if (!is_strict(spec) || spec.depthwise) return kConvolutionWorkspaceBytes;
  constexpr std::int64_t kRest = std::int64_t{64} << 20;
  const Conv2dShape& s = spec.shape;
  const std::int64_t x = s.batch * s.height * s.width * s.channels, y = s.batch * s.out_height * s.out_width * s.out_channels;
  const std::int64_t weight = s.kernel_height * s.kernel_width * s.out_channels * s.channels;
  const std::int64_t transposed = (x + y + 2 * weight) * std::int64_t{sizeof(float)} + kRest;
  return std::max(kConvolutionWorkspaceBytes, static_cast<std::size_t>(transposed));
}
class Convolution {
 public:
  // Tensors of the batch norm next to a convolution with sums [2, channels of out]; all but x are per channel. Forward, whose
  // norm reads y: the sums of y - mean and of its square over all pixels. grad_input, where the norm's relu wrote the
  // convolution's input: dx is zeroed where (x - mean) * inv_std * scale + bias <= 0; the sums of dx and of dx * (x - mean).
  struct NormTensors {
    float* sums = nullptr;
    const float* mean = nullptr;
    const void* x = nullptr;  // this and all below: grad_input only
    const float *inv_std = nullptr, *scale = nullptr, *bias = nullptr;
  };
  struct Tensors {  // forward: y, x, weight, bias; grad_input: dx, dy, weight; grad_weight: dweight, dy, x
    void* out;
    const void *a, *b, *bias;
    NormTensors norm = {};
  };
  virtual ~Convolution() = default;
  virtual void run(const Tensors& tensors, void* workspace, Stream stream) = 0;
  virtual std::string implementation() const = 0;  // "cudnn eng47 ..."
  // "winograd" if it multiplies less than a direct sum, otherwise "".
  virtual std::string algorithm() const { return ""; }
};

struct AttentionSpec {
  AttentionShape shape;  // tensors are 16-bit
  Element element = Element::bf16;
  double dropout = 0;
};
// Each direction has its own plan. From the same seed two plans are meant to draw the same masks, with a share of `dropout` of
// the weights; attention_identities.h of the backend checks that they do.
class AttentionForward {
 public:
  struct Tensors {
    void* y;
    float* log_sum_exp;  // [batch, heads, sequence]
    const void *q, *k, *v;
    const std::int64_t* seed_offset;  // as attention_seed writes it; null without dropout
  };
  virtual ~AttentionForward() = default;
  virtual void run(const Tensors& tensors, void* workspace, Stream stream) = 0;
  virtual std::string implementation() const = 0;
};
class AttentionBackward {
 public:
  struct Tensors {
    void *dq, *dk, *dv;
    const void *dy, *q, *k, *v, *y;
    const float* log_sum_exp;
    const std::int64_t* seed_offset;
  };
  virtual ~AttentionBackward() = default;
  virtual void run(const Tensors& tensors, void* workspace, Stream stream) = 0;
  virtual std::string implementation() const = 0;
};

struct ProductOperands {  // as Product::run() receives them first; later ones are at least as aligned
  void* c;
  const void *a, *b;
  void* bias;
};

struct LibraryVersions {
  std::string cublas, cudnn;  // "13.1.0", "9.19.0"
};

// The algorithms that the libraries offer must not outlive them. Throws Error if a library cannot be loaded, or for a
// contradictory specification; whether there is one is known only from the result.
class Libraries {
 public:
  virtual ~Libraries() = default;
  virtual LibraryVersions versions() const = 0;
  virtual std::unique_ptr<Algorithms<Product>> product(const ProductSpec& spec, const ProductOperands& operands) = 0;
  virtual std::unique_ptr<Algorithms<GeluProduct>> gelu_product(const GeluProductSpec& spec) = 0;
  virtual std::unique_ptr<Algorithms<Convolution>> convolution(const ConvolutionSpec& spec) = 0;
  virtual std::unique_ptr<Algorithms<AttentionForward>> attention_forward(const AttentionSpec& spec) = 0;
  virtual std::unique_ptr<Algorithms<AttentionBackward>> attention_backward(const AttentionSpec& spec) = 0;
};

// The real libraries, on the current device. Clears NVIDIA_TF32_OVERRIDE and cuBLAS's emulation settings from the environment.
std::unique_ptr<Libraries> make_libraries();

}  // namespace epochbench::cuda
