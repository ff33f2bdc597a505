// Our CUDA kernels: operations that cuBLASLt and cuDNN lack. Matrix products, convolutions and fused attention are in
// libraries.h.
//
// kernel_list.inc declares the kernels that the CPU has too, and defines them. Arguments: outputs, inputs, dimensions, stream.
// Pointers are device memory, aligned to 64 bytes; `element` is the element type of all void* tensors; every sum, statistic and
// transcendental function is computed in float at least. Each call enqueues on `stream` and returns; what it enqueues does not
// depend on host memory, so it can be captured. Element-wise outputs may alias their inputs exactly. Equal arguments give
// bit-equal results on devices with the same number of multiprocessors, except for embedding_grad, whose float sums use
// atomics. `workspace` is scratch of the size that the *_workspace_bytes function returns, which is enough on every device.
// `row_elements` is the distance between the starts of consecutive rows of a matrix, at least its number of columns. Throws
// cuda::Error if a launch fails.
//
// This header includes no CUDA header, so that tests can build the backend with the kernels compiled for the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/shapes.h"

struct CUstream_st;

namespace epochbench::cuda {

using Stream = CUstream_st*;

class Error : public std::runtime_error {  // from CUDA, cuBLAS or cuDNN: what was attempted, and the library's message
 public:
  using std::runtime_error::runtime_error;
};

int multiprocessors();  // of the current device, from which launches derive their blocks. Errors: Error

using Real = void;  // tensors of an Element
#define CUDA_KERNEL(name, arguments) void name arguments;
#include "kernels/kernel_list.inc"

// Workspace of batch_norm and of the gradients that sum over rows: of the elements between the starts of rows for
// bias_add_grad, of period * width for add_rows_grad, else of channels.
std::size_t reduction_workspace_bytes(std::int64_t rows, std::int64_t channels);
std::size_t depthwise_conv2d_grad_weight_workspace_bytes(const Conv2dShape& shape);
std::size_t cross_entropy_workspace_bytes(std::int64_t rows);  // of count_correct, too

// bias_gelu.cu. y, x, product [rows, channels], bias [channels]: x = product + bias, y = gelu(x) in its erf or its tanh form. x
// may be null. Either output may be the product.
void bias_gelu(void* y, void* x, const void* product, const void* bias, std::int64_t rows, std::int64_t channels, bool tanh,
               Element element, Stream stream);

// depthwise_conv2d.cu. y [columns, rows] = x [rows, columns], for small matrices.
void transpose(void* y, const void* x, std::int64_t rows, std::int64_t columns, Element element, Stream stream);

// Several tensors in one launch. The descriptions of tensors and chunks are in device memory; a chunk is kChunkElements
// elements (fewer at the end) of one tensor and is processed by one block.
inline constexpr std::int64_t kChunkElements = 32768;
struct Chunk {
  std::int32_t tensor;
  std::int64_t first;  // index of its first element
};
struct CastTensor {
  void* y;
  const void* x;
  std::int64_t n;
  Element to, from;
};
void cast(const CastTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, Stream stream);

// decode_pixels.cu. y [pixels, channels] of `element` = table[channel][x], rounded to nearest even; table [channels, 256].
void decode_pixels(void* y, const std::uint8_t* x, const float* table, std::int64_t pixels, std::int64_t channels,
                   Element element, Stream stream);

// batch_norm.cu and batch_norm_grad.cu
constexpr std::size_t mask_bytes(std::int64_t elements) { return static_cast<std::size_t>((elements + 31) / 32 * 4); }
// batch_norm and batch_norm_grad after a convolution that summed [2, channels] while it wrote x or dz. sums, in batch_norm: of
// x - running_mean and of its square; in the gradient: of dz and of dz * (x - mean), where dz is the incoming gradient. dx may
// be dz.
void batch_norm_of_sums(void* y, std::uint32_t* mask, float* mean, float* inv_std, float* running_mean, float* running_variance,
                        const void* x, const float* sums, const float* scale, const float* bias, const void* shortcut,
                        std::int64_t rows, std::int64_t channels, double epsilon, double momentum, Activation activation,
                        Element element, void* workspace, Stream stream);
void batch_norm_grad_of_sums(void* dx, float* dscale, float* dbias, const void* dz, const void* x, const float* sums,
                             const float* scale, const float* mean, const float* inv_std, std::int64_t rows,
                             std::int64_t channels, Element element, void* workspace, Stream stream);

// cross_entropy.cu. loss_scale (or null: 1) multiplies the gradient.
void cross_entropy_grad(void* dlogits, const void* logits, const std::int32_t* labels, const float* log_sum_exp,
                        const float* loss_scale, std::int64_t rows, std::int64_t classes, const Targets& targets,
                        std::int64_t row_elements, Element element, void* workspace, Stream stream);

// embedding.cu. The base is of `base_element`.
void embedding_grad(float* dtable, const void* dy, const std::int32_t* ids, const void* base, Element base_element,
                    std::int64_t rows, std::int64_t vocabulary, std::int64_t width, Element element, Stream stream);

// attention.cu, attention_heads.cu: the parts of unfused attention other than matrix products. Separated heads are [batch,
// heads, sequence, width], with kv_heads heads for k and v.
void split_heads(void* y, const void* x, const AttentionShape& shape, Element element, Stream stream);  // of as many heads as q
void merge_heads(void* y, const void* x, const AttentionShape& shape, Element element, Stream stream);  // the inverse
// The same for q, k and v in one kernel, or, if k and v have fewer heads, in one for q and one for both. They are side by side
// in the rows of qkv if the shape is joint.
void split_joint_heads(void* q, void* k, void* v, const void* qkv, const AttentionShape& shape, Element element, Stream stream);
void merge_joint_heads(void* qkv, const void* q, const void* k, const void* v, const AttentionShape& shape, Element element,
                       Stream stream);
// weights = dropout(softmax(scores)) of rows [batch*heads*sequence, sequence]. scores, already scaled, are float; weights are
// of `element` and may be scores if that is float. In a causal row, the scores after its position count as -infinity.
// log_sum_exp [rows]. The mask is that of the rows from first_row on in a tensor of more samples.
void attention_softmax(void* weights, float* log_sum_exp, const float* scores, const std::int32_t* step,
                       const AttentionShape& shape, std::int64_t first_row, const Dropout& dropout, Element element,
                       Stream stream);
// From scores, log_sum_exp and dweights (float, the gradient of the output of attention_softmax): weights as in forward, and
// dscores = p (m dweights - rowsum(weights dweights)), with p the softmax and m the mask's factors. If `element` is float,
// weights may be scores and dscores may be dweights.
void attention_softmax_grad(void* weights, void* dscores, const float* scores, const float* dweights, const float* log_sum_exp,
                            const std::int32_t* step, const AttentionShape& shape, std::int64_t first_row,
                            const Dropout& dropout, Element element, Stream stream);
// seed_offset [2]: the dropout seed that cuDNN uses in this step (a hash of seed, ordinal, step and part of the batch), and 0.
void attention_seed(std::int64_t* seed_offset, const std::int32_t* step, const Dropout& dropout, Stream stream);

// lstm.cu: a step after its matrix product. sums [batch, 4*units], or in the gradient [batch, units]: the product in float, or
// null for 0. For the next step: state, dense rows of `element`, the other factor of its product (h, or the gates' gradients),
// and cell, float [batch, units]. The others are whole tensors. gates, cells and previous may be null; gates may be x, and dx
// may be gates.
void lstm_step(void* gates, float* cells, void* h, void* previous, void* state, float* cell, const void* x, const float* sums,
               const LstmShape& shape, std::int64_t step, Element element, Stream stream);
void lstm_step_grad(void* dx, void* state, float* dcell, const void* dh, const float* sums, const void* gates,
                    const float* cells, const LstmShape& shape, std::int64_t step, Element element, Stream stream);

// im2col.cu: convolution as a matrix product, where cuDNN has no plan. columns [images * out_height * out_width, kernel_height
// * kernel_width * channels], for the images from first_image on.
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
  float weight_decay;    // adamw only
  void* copy = nullptr;  // adamw only; null, or receives the weights in 16 bits, rounded to nearest even
  Element copy_element = Element::bf16;
};
// Dynamic loss scaling (Micikevicius et al. 2018): gradients are divided by *scale, and nothing changes if *finite is 0. AdamW
// counts its updates as *step + 1 - *skipped. All are null without loss scaling.
struct LossScale {
  const float* scale = nullptr;
  const std::int32_t* finite = nullptr;
  const std::int32_t* skipped = nullptr;
};
void sgd(const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, const float* learning_rate,
         const SgdNumbers& numbers, const LossScale& loss_scale, Stream stream);
void adamw(const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count, const float* learning_rate,
           const std::int32_t* step, const AdamwNumbers& numbers, const LossScale& loss_scale, Stream stream);
// factor [1] = min(1, largest_norm / (norm + 1e-6)), with the norm of all gradients divided by *loss_scale (null: 1) as one
// vector. workspace: clip_workspace_bytes(chunk_count)
std::size_t clip_workspace_bytes(std::int64_t chunk_count);
void clip_factor(float* factor, const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count,
                 const float* loss_scale, float largest_norm, void* workspace, Stream stream);
void all_finite(std::int32_t* finite, const OptimizerTensor* tensors, const Chunk* chunks, std::int64_t chunk_count,
                Stream stream);  // whether the gradients are finite: 1 or 0
struct LossScaleNumbers {
  float growth, backoff;
  std::int32_t growth_interval;  // consecutive finite steps before the scale grows
  float smallest, largest;       // limits of the scale
};
void update_loss_scale(float* scale, std::int32_t* finite_steps, std::int32_t* skipped, const std::int32_t* finite,
                       const LossScaleNumbers& numbers, Stream stream);
void increment(std::int32_t* counter, Stream stream);

// Writes loss and correct (null counts as 0) of this step to ring[*cursor % capacity] and increments the cursor. The ring may
// be pinned host memory.
struct StepScalars {
  float loss, correct;
};
void record_step(StepScalars* ring, std::uint32_t* cursor, std::uint32_t capacity, const float* loss, const float* correct,
                 Stream stream);

}  // namespace epochbench::cuda
