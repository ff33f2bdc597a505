// The oracle that every other kernel is compared with: naive loops, accumulation in double, one thread. Never timed.
//
// Arguments: outputs, inputs, dimensions. Outputs are overwritten; "updated" ones are read first. A null output is not
// written. Layouts are those of op.h; rows = product of all extents but the last.
#pragma once

#include <cstdint>

#include "kernels/shapes.h"

namespace epochbench::reference {

void gemm(float* c, const float* a, const float* b, const GemmShape& shape, const Epilogue& epilogue);
void conv2d(float* y, const float* x, const float* weight, const Conv2dShape& shape, const Epilogue& epilogue);
void conv2d_grad_input(float* dx, const float* dy, const float* weight, const Conv2dShape& shape);
void conv2d_grad_weight(float* dweight, const float* dy, const float* x, const Conv2dShape& shape);

void bias_add(float* y, const float* x, const float* bias, std::int64_t rows, std::int64_t channels);
void bias_add_grad(float* dbias, const float* dy, std::int64_t rows, std::int64_t channels);
void relu(float* y, const float* x, std::int64_t n);
void relu_grad(float* dx, const float* dy, const float* y, std::int64_t n);  // dx = dy where y > 0
void add(float* y, const float* a, const float* b, std::int64_t n);

// mean, inv_std [channels]: of this batch (biased variance). running_mean, running_variance: updated (unbiased variance).
// shortcut (or null) is added before the optional relu.
void batch_norm(float* y, float* mean, float* inv_std, float* running_mean, float* running_variance, const float* x,
                const float* scale, const float* bias, const float* shortcut, std::int64_t rows, std::int64_t channels,
                double epsilon, double momentum, bool relu);
void batch_norm_inference(float* y, const float* x, const float* scale, const float* bias, const float* running_mean,
                          const float* running_variance, const float* shortcut, std::int64_t rows, std::int64_t channels,
                          double epsilon, bool relu);
// y: the output of the fused relu, or null when there was none. dz (or null): dy where y > 0, the shortcut's gradient.
void batch_norm_grad(float* dx, float* dscale, float* dbias, float* dz, const float* dy, const float* y, const float* x,
                     const float* scale, const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels);

void max_pool(float* y, std::uint8_t* index, const float* x, const PoolShape& shape);  // the first of equal maxima
void max_pool_grad(float* dx, const float* dy, const std::uint8_t* index, const PoolShape& shape);
void global_average_pool(float* y, const float* x, std::int64_t batch, std::int64_t pixels, std::int64_t channels);
void global_average_pool_grad(float* dx, const float* dy, std::int64_t batch, std::int64_t pixels, std::int64_t channels);

// loss [1]: mean (or sum) over rows with labels >= 0; log_sum_exp [rows]. No such row: loss 0.
void cross_entropy(float* loss, float* log_sum_exp, const float* logits, const std::int32_t* labels, std::int64_t rows,
                   std::int64_t classes, bool mean);
void cross_entropy_grad(float* dlogits, const float* logits, const std::int32_t* labels, const float* log_sum_exp,
                        std::int64_t rows, std::int64_t classes, bool mean);
void count_correct(float* count, const float* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t classes);

void sgd(const SgdTensor* tensors, int count, const float* learning_rate, const SgdNumbers& numbers);
// step [1]: the number of finished steps before this one; bias correction uses step + 1.
void adamw(const AdamwTensor* tensors, int count, const float* learning_rate, const std::int32_t* step,
           const AdamwNumbers& numbers);

}  // namespace epochbench::reference
