// attention batch= sequence= heads= width= [dropout=PERCENT] [joint=1] [causal=1]: width is that of one head; rows of joint
// tensors are three rows apart. Two benchmarks, forward and grad. FLOPs follow from the definition, two products forward and
// four backward; recomputed and masked scores do not count.
#include <cmath>

#include "bench/kernel_bench.h"

namespace epochbench::bench {
namespace {

struct Sizes {
  AttentionShape shape;
  Dropout dropout;
};

Sizes sizes_of(const Problem& problem) {
  expect_only(problem, {"batch", "sequence", "heads", "width", "dropout", "joint", "causal"});
  Sizes sizes;
  sizes.shape = {size_of(problem, "batch"), size_of(problem, "sequence"),         size_of(problem, "heads"),
                 size_of(problem, "width"), size_of(problem, "joint", 0, 0) != 0, size_of(problem, "causal", 0, 0) != 0};
  const std::int64_t percent = size_of(problem, "dropout", 0, 0);
  if (percent > 99) throw std::runtime_error(problem.where + ": dropout is a percentage below 100");
  const double probability = static_cast<double>(percent) / 100;
  sizes.dropout.threshold = static_cast<std::uint32_t>(std::lround(probability * 0x1p32));
  sizes.dropout.scale = static_cast<float>(1 / (1 - probability));
  return sizes;
}

template <typename Real>
struct Operands {
  explicit Operands(const Sizes& sizes, const Options<Real>& options)
      : elements(sizes.shape.batch * sizes.shape.sequence * row_stride(sizes.shape)),
        inputs(sizes.shape.batch * sizes.shape.sequence * input_stride(sizes.shape)),
        log_sum_exp(sizes.shape.batch * sizes.shape.heads * sizes.shape.sequence),
        workspace(Floats::workspace(options.kernels->attention_workspace_bytes(sizes.shape, options.threads))) {
    forward(sizes, options);  // the gradient needs y and log_sum_exp
  }
  void forward(const Sizes& sizes, const Options<Real>& options) {
    options.kernels->attention(y, log_sum_exp, q, k, v, &step, sizes.shape, sizes.dropout, workspace, options.threads);
  }
  void grad(const Sizes& sizes, const Options<Real>& options) {
    options.kernels->attention_grad(dq, dk, dv, dy, q, k, v, y, log_sum_exp, &step, sizes.shape, sizes.dropout, workspace,
                                    options.threads);
  }

  std::int64_t elements, inputs;  // inputs: including what lies between the rows
  std::int32_t step = 0;
  Buffer<Real> q{inputs, 1}, k{inputs, 2}, v{inputs, 3}, dy{elements, 4}, y{elements}, dq{inputs}, dk{inputs}, dv{inputs};
  Floats log_sum_exp, workspace;
};

}  // namespace

template <typename Real>
bool register_attention(const Problem& problem, const Options<Real>& options) {
  if (problem.operation != "attention") return false;
  const Sizes sizes = sizes_of(problem);
  const AttentionShape& s = sizes.shape;
  const auto sequence = static_cast<double>(s.sequence);
  const double product = 2 * static_cast<double>(s.batch * s.heads) * sequence * (s.causal ? (sequence + 1) / 2 : sequence) *
                         static_cast<double>(s.width);
  const auto add = [&](const char* direction, void (Operands<Real>::*call)(const Sizes&, const Options<Real>&), double flops) {
    register_timed(problem.text + direction, options.kernels->isa, options.threads, [=](benchmark::State& state) {
      Operands<Real> operands(sizes, options);
      time_beside_peak(state, product_precision(*options.kernels), options.threads, flops, 0,
                       [&] { (operands.*call)(sizes, options); });
    });
  };
  add(" forward", &Operands<Real>::forward, 2 * product);
  add(" grad", &Operands<Real>::grad, 4 * product);
  return true;
}

template bool register_attention(const Problem& problem, const Options<float>& options);
template bool register_attention(const Problem& problem, const Options<Bf16>& options);

}  // namespace epochbench::bench
