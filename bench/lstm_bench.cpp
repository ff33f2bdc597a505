// lstm batch= sequence= units=: the recurrence of a layer, without the products of its inputs. Two benchmarks, forward and
// grad, each with the FLOPs of its products: one of [batch,units] by [units,4*units] per position.
#include "bench/kernel_bench.h"

namespace epochbench::bench {
namespace {

template <typename Real>
struct Operands {
  Operands(const LstmShape& shape, const Options<Real>& options)
      : s(shape), workspace(Floats::workspace(options.kernels->lstm_workspace_bytes(shape, options.threads))) {
    forward(options);  // the gradient needs gates and cells
  }
  void forward(const Options<Real>& options) {
    options.kernels->lstm(gates, cells, h, previous, x, weight, s, workspace, options.threads);
  }
  void grad(const Options<Real>& options) {
    options.kernels->lstm_grad(dx, dh, weight, gates, cells, s, workspace, options.threads);
  }

  LstmShape s;
  std::int64_t states = s.batch * s.sequence * s.units;
  Buffer<Real> x{4 * states, 1}, dh{states, 2}, weight{4 * s.units * s.units, 3};
  Buffer<Real> gates{4 * states}, h{states}, previous{states}, dx{4 * states};
  Floats cells{states}, workspace;
};

}  // namespace

template <typename Real>
bool register_lstm(const Problem& problem, const Options<Real>& options) {
  if (problem.operation != "lstm") return false;
  expect_only(problem, {"batch", "sequence", "units"});
  const LstmShape s{size_of(problem, "batch"), size_of(problem, "sequence"), size_of(problem, "units")};
  const double flops = 2 * static_cast<double>(s.batch * s.sequence) * 4 * static_cast<double>(s.units * s.units);
  const auto add = [&](const char* direction, void (Operands<Real>::*call)(const Options<Real>&)) {
    register_timed(problem.text + direction, options.kernels->isa, options.threads, [=](benchmark::State& state) {
      Operands<Real> operands(s, options);
      time_beside_peak(state, product_precision(*options.kernels), options.threads, flops, 0,
                       [&] { (operands.*call)(options); });
    });
  };
  add(" forward", &Operands<Real>::forward);
  add(" grad", &Operands<Real>::grad);
  return true;
}

template bool register_lstm(const Problem& problem, const Options<float>& options);
template bool register_lstm(const Problem& problem, const Options<Bf16>& options);

}  // namespace epochbench::bench
