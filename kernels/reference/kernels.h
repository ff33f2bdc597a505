// The oracle that every other kernel is compared with: naive loops, accumulation in double, one thread. Never timed.
//
// Arguments: outputs, inputs, dimensions. Outputs are overwritten; "updated" ones are read first. A null output is not
// written. Layouts are those of op.h; rows = product of all extents but the last.
#pragma once

#include <cstdint>

#include "kernels/shapes.h"

namespace epochbench::reference {

void gemm(float* c, const float* a, const float* b, const GemmShape& shape, const Epilogue<float>& epilogue);
void conv2d(float* y, const float* x, const float* weight, const Conv2dShape& shape, const Epilogue<float>& epilogue);
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

// x [n,c]; mean, inv_std [n]: of each row (biased variance), for the gradient.
void layer_norm(float* y, float* mean, float* inv_std, const float* x, const float* scale, const float* bias, std::int64_t rows,
                std::int64_t channels, double epsilon);
void layer_norm_grad(float* dx, float* dscale, float* dbias, const float* dy, const float* x, const float* scale,
                     const float* mean, const float* inv_std, std::int64_t rows, std::int64_t channels);
void gelu(float* y, const float* x, std::int64_t n);  // x Phi(x), erf form
void gelu_grad(float* dx, const float* dy, const float* x, std::int64_t n);
void dropout(float* y, const float* x, const std::int32_t* step, const Dropout& dropout, std::int64_t n);

// table [vocabulary,width], ids [rows], y [rows,width]. Ids lie in the table; the caller has seen to it.
void embedding(float* y, const float* table, const std::int32_t* ids, std::int64_t rows, std::int64_t width);
// dtable = base (null: 0) + the rows of dy at their ids. dtable may be base.
void embedding_grad(float* dtable, const float* dy, const std::int32_t* ids, const float* base, std::int64_t rows,
                    std::int64_t vocabulary, std::int64_t width);
// y [rows,width]: row i of x plus row i % period of table.
void add_rows(float* y, const float* x, const float* table, std::int64_t rows, std::int64_t width, std::int64_t period);
// dtable [table_rows,width]: row r < period is the sum of dy's rows i with i % period = r; the others are 0.
void add_rows_grad(float* dtable, const float* dy, std::int64_t rows, std::int64_t width, std::int64_t period,
                   std::int64_t table_rows);
// x [batch,sequence,width], positions [batch,count] (distinct in a sequence), y [batch,count,width].
void gather_rows(float* y, const float* x, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                 std::int64_t count, std::int64_t width);
void gather_rows_grad(float* dx, const float* dy, const std::int32_t* positions, std::int64_t batch, std::int64_t sequence,
                      std::int64_t count, std::int64_t width);

// y = dropout(softmax(q k^T / sqrt(width))) v, a head at a time. log_sum_exp: of each row of scaled scores, may be null.
void attention(float* y, float* log_sum_exp, const float* q, const float* k, const float* v, const std::int32_t* step,
               const AttentionShape& shape, const Dropout& dropout);
void attention_grad(float* dq, float* dk, float* dv, const float* dy, const float* q, const float* k, const float* v,
                    const float* y, const float* log_sum_exp, const std::int32_t* step, const AttentionShape& shape,
                    const Dropout& dropout);

// n elements of one type as another, rounded to nearest even; what is too large for f16 becomes infinite.
void cast(void* y, const void* x, Element to, Element from, std::int64_t n);
void round_to_tf32(float* y, const float* x, std::int64_t n);  // to 10 bits of mantissa, to nearest even; y may be x

void sgd(const SgdTensor* tensors, int count, const float* learning_rate, const SgdNumbers& numbers);
// step [1]: the number of finished steps before this one; bias correction uses step + 1.
void adamw(const AdamwTensor* tensors, int count, const float* learning_rate, const std::int32_t* step,
           const AdamwNumbers& numbers);

bool all_finite(const void* gradient, Element element, std::int64_t n);
struct LossScaleNumbers {
  double growth, backoff;
  std::int64_t growth_interval;  // finite steps in a row until the scale grows
  double smallest, largest;      // the scale stays between the two
};
// After a step; all but finite are updated. finite_steps starts again where the scale moves.
void update_loss_scale(float* scale, std::int32_t* finite_steps, std::int32_t* skipped_steps, const std::int32_t* finite,
                       const LossScaleNumbers& numbers);

}  // namespace epochbench::reference
