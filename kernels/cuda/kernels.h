// Our own CUDA kernels: what cuBLASLt and cuDNN lack. Matrix products, convolutions and fused attention are in libraries.h.
//
// Arguments: outputs, inputs, dimensions, stream, as in host_kernels.inc, whose comments define each kernel.
// Pointers are device memory, aligned to 64 bytes; `element` is how the void* tensors are stored, all of them alike; every
// sum, statistic and transcendental is computed in float at least. Each call enqueues on `stream` and returns; what it
// enqueues holds nothing of the host, so it can be captured. Element-wise outputs may alias their inputs exactly. Equal
// arguments give bit-equal results, but for embedding_grad, whose float sums go by atomics. `workspace` is scratch of the size
// that the *_workspace_bytes function states. Errors: cuda::Error where a launch is refused.
//
// This header needs no CUDA header, so the backend that calls it is also built over the kernels compiled for the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/shapes.h"

struct CUstream_st;

namespace epochbench::cuda {

using Stream = CUstream_st*;

class Error : public std::runtime_error {  // of CUDA, cuBLAS or cuDNN: what was tried, and the library's words
 public:
  using std::runtime_error::runtime_error;
};

// activation.cu
void bias_add(void* y, const void* x, const void* bias, std::int64_t rows, std::int64_t channels, Element element,
              Stream stream);
std::size_t reduction_workspace_bytes(std::int64_t rows, std::int64_t channels);  // of every reduction over rows
void bias_add_grad(void* dbias, const void* dy, std::int64_t rows, std::int64_t channels, Element element, void* workspace,
                   Stream stream);
void relu(void* y, const void* x, std::int64_t n, Element element, Stream stream);
void relu_grad(void* dx, const void* dy, const void* y, std::int64_t n, Element element, Stream stream);
void add(void* y, const void* a, const void* b, std::int64_t n, Element element, Stream stream);
void gelu(void* y, const void* x, std::int64_t n, Element element, Stream stream);
void gelu_grad(void* dx, const void* dy, const void* x, std::int64_t n, Element element, Stream stream);
void dropout(void* y, const void* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n, Element element,
             Stream stream);

// Several tensors in one launch. The tensors' descriptions and the chunks lie in device memory; a chunk is kChunkElements
// elements (fewer at the end) of one tensor, and one block works on it.
inline constexpr std::int64_t kChunkElements = 32768;
struct Chunk {
  std::int32_t tensor;
  std::int64_t first;  // element
};
struct CastTensor {
  void* y;
  const void* x;
  std::int64_t n;
  Element to, from;
};
void cast(const CastTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, Stream stream);

// batch_norm.cu and batch_norm_grad.cu. x, y, shortcut, dy, dx, dz [rows, channels] of `element`; all else float.
// mask (or null): bit i % 32 of word i / 32 says whether element i of y is above 0; needs relu.
constexpr std::size_t mask_bytes(std::int64_t elements) { return static_cast<std::size_t>((elements + 31) / 32 * 4); }
void batch_norm(void* y, std::uint32_t* mask, float* mean, float* inv_std, float* running_mean, float* running_variance,
                const void* x, const float* scale, const float* bias, const void* shortcut, std::int64_t rows,
                std::int64_t channels, double epsilon, double momentum, bool relu, Element element, void* workspace,
                Stream stream);
void batch_norm_inference(void* y, const void* x, const float* scale, const float* bias, const float* running_mean,
                          const float* running_variance, const void* shortcut, std::int64_t rows, std::int64_t channels,
                          double epsilon, bool relu, Element element, Stream stream);
// The gradient that comes in is dy + dy2 (dy2 or null), where y was above 0: by the mask, else by y, else everywhere. It is
// what dz (or null) gets. dx may be dy or x.
void batch_norm_grad(void* dx, float* dscale, float* dbias, void* dz, const void* dy, const void* dy2,
                     const std::uint32_t* mask, const void* y, const void* x, const float* scale, const float* mean,
                     const float* inv_std, std::int64_t rows, std::int64_t channels, Element element, void* workspace,
                     Stream stream);

// layer_norm.cu
void layer_norm(void* y, float* mean, float* inv_std, const void* x, const float* scale, const float* bias, std::int64_t rows,
                std::int64_t channels, double epsilon, Element element, Stream stream);
void layer_norm_grad(void* dx, float* dscale, float* dbias, const void* dy, const void* x, const float* scale,
                     const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels, Element element,
                     void* workspace, Stream stream);

// cross_entropy.cu. `workspace`: cross_entropy_workspace_bytes(rows).
std::size_t cross_entropy_workspace_bytes(std::int64_t rows);
void cross_entropy(float* loss, float* log_sum_exp, const void* logits, const std::int32_t* labels, std::int64_t rows,
                   std::int64_t classes, bool mean, Element element, void* workspace, Stream stream);
// loss_scale (or null: 1) multiplies the gradient.
void cross_entropy_grad(void* dlogits, const void* logits, const std::int32_t* labels, const float* log_sum_exp,
                        const float* loss_scale, std::int64_t rows, std::int64_t classes, bool mean, Element element,
                        void* workspace, Stream stream);
void count_correct(float* count, const void* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes,
                   Element element, void* workspace, Stream stream);

// pool.cu
void max_pool(void* y, std::uint8_t* index, const void* x, const PoolShape& shape, Element element, Stream stream);
void max_pool_grad(void* dx, const void* dy, const std::uint8_t* index, const PoolShape& shape, Element element, Stream stream);
void global_average_pool(void* y, const void* x, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                         Element element, Stream stream);
void global_average_pool_grad(void* dx, const void* dy, std::int64_t batch, std::int64_t pixels, std::int64_t channels,
                              Element element, Stream stream);

// embedding.cu. Tables, y and dy of `element`; dtable is float, base (or null) of `base_element`.
void embedding(void* y, const void* table, const std::int32_t* ids, std::int64_t rows, std::int64_t width, Element element,
               Stream stream);
void embedding_grad(float* dtable, const void* dy, const std::int32_t* ids, const void* base, Element base_element,
                    std::int64_t rows, std::int64_t vocabulary, std::int64_t width, Element element, Stream stream);
void add_rows(void* y, const void* x, const void* table, std::int64_t rows, std::int64_t width, std::int64_t period,
              Element element, Stream stream);
// workspace: reduction_workspace_bytes(rows, period * width)
void add_rows_grad(float* dtable, const void* dy, std::int64_t rows, std::int64_t width, std::int64_t period,
                   std::int64_t table_rows, Element element, void* workspace, Stream stream);
void gather_rows(void* y, const void* x, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                 std::int64_t count, std::int64_t width, Element element, Stream stream);
void gather_rows_grad(void* dx, const void* dy, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                      std::int64_t count, std::int64_t width, Element element, Stream stream);

// attention.cu: what the unfused attention needs beside matrix products. Heads apart: [batch, heads, sequence, width].
void split_heads(void* y, const void* x, const AttentionShape& shape, Element element, Stream stream);
void merge_heads(void* y, const void* x, const AttentionShape& shape, Element element, Stream stream);  // and back
// weights = dropout(softmax(scores)) of rows [batch*heads*sequence, sequence]; scores, already scaled, are float; weights are
// of `element` and may be scores where that is float. log_sum_exp [rows].
void attention_softmax(void* weights, float* log_sum_exp, const float* scores, const std::int32_t* step,
                       const AttentionShape& shape, const Dropout& dropout, Element element, Stream stream);
// From scores, log_sum_exp and dweights (float, the gradient of what attention_softmax gave): weights as forward, and
// dscores = p (m dweights - rowsum(weights dweights)), p the softmax and m the mask's factors. weights may be scores and
// dscores may be dweights where `element` is float.
void attention_softmax_grad(void* weights, void* dscores, const float* scores, const float* dweights, const float* log_sum_exp,
                            const std::int32_t* step, const AttentionShape& shape, const Dropout& dropout, Element element,
                            Stream stream);
// seed_offset [2]: what cuDNN's dropout starts from in this step: a hash of seed, ordinal and step, and 0.
void attention_seed(std::int64_t* seed_offset, const std::int32_t* step, std::uint64_t seed, std::uint32_t ordinal,
                    Stream stream);

// im2col.cu: convolution as a matrix product, where cuDNN has no plan. columns [images * out_height * out_width,
// kernel_height * kernel_width * channels], of the images from first_image on.
void im2col(void* columns, const void* x, const Conv2dShape& shape, std::int64_t first_image, std::int64_t images,
            Element element, Stream stream);
void col2im(void* dx, const void* columns, const Conv2dShape& shape, std::int64_t first_image, std::int64_t images,
            Element element, Stream stream);

// optimizer.cu. Tensors and chunks as in cast.
struct OptimizerTensor {  // one parameter
  float* weight;
  float* state1;  // sgd: velocity; adamw: first moment
  float* state2;  // adamw: second moment
  const void* gradient;
  std::int64_t n;
  Element gradient_element;
  double weight_decay;  // adamw's alone
};
// Dynamic loss scaling (Micikevicius et al. 2018): gradients are divided by *scale, and nothing changes where *finite is 0.
// AdamW counts its updates as *step + 1 - *skipped. All null without loss scaling.
struct LossScale {
  const float* scale = nullptr;
  const std::int32_t* finite = nullptr;
  const std::int32_t* skipped = nullptr;
};
void sgd(const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, const float* learning_rate,
         const SgdNumbers& numbers, const LossScale& loss_scale, Stream stream);
void adamw(const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, const float* learning_rate,
           const std::int32_t* step, const AdamwNumbers& numbers, const LossScale& loss_scale, Stream stream);
void all_finite(std::int32_t* finite, const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count,
                Stream stream);  // of the gradients: 1 or 0
struct LossScaleNumbers {
  float growth, backoff;
  std::int32_t growth_interval;  // finite steps in a row until the scale grows
  float smallest, largest;       // the scale stays between the two
};
void update_loss_scale(float* scale, std::int32_t* finite_steps, std::int32_t* skipped, const std::int32_t* finite,
                       const LossScaleNumbers& numbers, Stream stream);
void increment(std::int32_t* counter, Stream stream);

// Writes loss and correct (each or null: 0) of this step to ring[*cursor % capacity] and counts the cursor on. The ring may
// be pinned host memory.
struct StepScalars {
  float loss, correct;
};
void record_step(StepScalars* ring, std::uint32_t* cursor, std::uint32_t capacity, const float* loss, const float* correct,
                 Stream stream);

}  // namespace epochbench::cuda
