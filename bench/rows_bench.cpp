// The kernels of a transformer other than products. gelu, gelu_grad, dropout: n=; layer_norm, layer_norm_grad, cross_entropy,
// cross_entropy_grad: rows= channels=. Bytes count every operand once.
#include "bench/kernel_bench.h"

namespace epochbench::bench {
namespace {

using Run = std::function<void(benchmark::State&)>;

constexpr double kFloatBytes = sizeof(float);

Run make_flat(const Problem& problem, const Options& options) {
  const std::int64_t n = size_of(problem, "n");
  const std::string op = problem.operation;
  return [=](benchmark::State& state) {
    const cpu::Kernels<float>& k = *options.kernels;
    const int threads = options.threads;
    Floats y(n), x(n, 1), dy(n, 2);
    const std::int32_t step = 3;
    const Dropout mask{1, 2, 0x1999999A, 1 / 0.9f};  // drops a tenth
    const auto call = [&] {
      if (op == "gelu") k.gelu(y.data(), x.data(), n, threads);
      if (op == "gelu_grad") k.gelu_grad(y.data(), dy.data(), x.data(), n, threads);
      if (op == "dropout") k.dropout(y.data(), x.data(), &step, mask, n, threads);
    };
    time_beside_peak(state, threads, 0, (op == "gelu_grad" ? 3 : 2) * kFloatBytes * static_cast<double>(n), call);
  };
}

Run make_by_row(const Problem& problem, const Options& options) {
  const std::int64_t rows = size_of(problem, "rows"), channels = size_of(problem, "channels"), n = rows * channels;
  const std::string op = problem.operation;
  return [=](benchmark::State& state) {
    const cpu::Kernels<float>& k = *options.kernels;
    const int threads = options.threads;
    Floats y(n), x(n, 1), dy(n, 2), scale(channels, 3), bias(channels, 4), dscale(channels), dbias(channels);
    Floats mean(rows), inv_std(rows, 5), log_sum_exp(rows), loss(1);
    Floats workspace = Floats::workspace(k.reduction_workspace_bytes(channels, threads));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
    for (std::size_t r = 0; r < labels.size(); ++r) labels[r] = static_cast<std::int32_t>(r * 7919 % channels);
    double streams = 2;
    std::function<void()> call;
    if (op == "layer_norm") {
      call = [&] {
        k.layer_norm(y.data(), mean.data(), inv_std.data(), x.data(), scale.data(), bias.data(), rows, channels, 1e-12,
                     threads);
      };
    } else if (op == "layer_norm_grad") {
      streams = 3;
      call = [&] {
        k.layer_norm_grad(y.data(), dscale.data(), dbias.data(), dy.data(), x.data(), scale.data(), mean.data(), inv_std.data(),
                          rows, channels, workspace.data(), threads);
      };
    } else if (op == "cross_entropy") {
      streams = 1;
      call = [&] { k.cross_entropy(loss.data(), log_sum_exp.data(), x.data(), labels.data(), rows, channels, true, threads); };
    } else {
      k.cross_entropy(loss.data(), log_sum_exp.data(), x.data(), labels.data(), rows, channels, true, threads);
      call = [&] {
        k.cross_entropy_grad(y.data(), x.data(), labels.data(), log_sum_exp.data(), rows, channels, true, threads);
      };
    }
    time_beside_peak(state, threads, 0, streams * kFloatBytes * static_cast<double>(n), call);
  };
}

}  // namespace

bool register_rows(const Problem& problem, const Options& options) {
  const std::string& op = problem.operation;
  Run run;
  if (op == "gelu" || op == "gelu_grad" || op == "dropout") {
    expect_only(problem, {"n"});
    run = make_flat(problem, options);
  } else if (op == "layer_norm" || op == "layer_norm_grad" || op == "cross_entropy" || op == "cross_entropy_grad") {
    expect_only(problem, {"rows", "channels"});
    run = make_by_row(problem, options);
  } else {
    return false;
  }
  benchmark::RegisterBenchmark(name_of(problem, options).c_str(), run)->UseManualTime();
  return true;
}

}  // namespace epochbench::bench
