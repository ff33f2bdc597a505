// Memory-bound kernels. relu, relu_grad, add, sgd, adamw: n=; bias_add, bias_add_grad, batch_norm, batch_norm_grad: rows=
// channels=. Bytes count every operand once.
#include "bench/kernel_bench.h"

namespace epochbench::bench {
namespace {

using Run = std::function<void(benchmark::State&)>;

constexpr double kFloatBytes = sizeof(float);

// A benchmark of a call that moves `streams` arrays of n floats.
Run flat(const Options& options, std::int64_t n, int streams,
         std::function<void(const cpu::Kernels<float>&, float* out, float* second, float* third, float* fourth)> call) {
  return [=](benchmark::State& state) {
    Floats out(n), second(n, 1), third(n, 2), fourth(n, 3);
    time_beside_peak(state, options.threads, 0, streams * kFloatBytes * static_cast<double>(n),
                     [&] { call(*options.kernels, out.data(), second.data(), third.data(), fourth.data()); });
  };
}

Run make_flat(const Problem& problem, const Options& options) {
  const std::int64_t n = size_of(problem, "n");
  const int threads = options.threads;
  const std::string& op = problem.operation;
  if (op == "relu")
    return flat(options, n, 2,
                [=](const cpu::Kernels<float>& k, float* y, float* x, float*, float*) { k.relu(y, x, n, threads); });
  if (op == "relu_grad")
    return flat(options, n, 3, [=](const cpu::Kernels<float>& k, float* dx, float* dy, float* y, float*) {
      k.relu_grad(dx, dy, y, n, threads);
    });
  if (op == "add")
    return flat(options, n, 3,
                [=](const cpu::Kernels<float>& k, float* y, float* a, float* b, float*) { k.add(y, a, b, n, threads); });
  if (op == "sgd")  // reads weight, velocity and gradient, writes the first two
    return flat(options, n, 5, [=](const cpu::Kernels<float>& k, float* weight, float* velocity, float* gradient, float*) {
      const SgdTensor tensor{weight, velocity, gradient, n};
      const float learning_rate = 1e-3f;
      k.sgd(&tensor, 1, &learning_rate, {0.9, 1e-4}, threads);
    });
  return flat(options, n, 7, [=](const cpu::Kernels<float>& k, float* weight, float* moment1, float* gradient, float* moment2) {
    const AdamwTensor tensor{weight, moment1, moment2, gradient, n, 0.01};
    const float learning_rate = 1e-3f;
    const std::int32_t step = 10;
    k.adamw(&tensor, 1, &learning_rate, &step, {0.9, 0.999, 1e-8}, threads);
  });
}

Run make_by_channel(const Problem& problem, const Options& options) {
  const std::int64_t rows = size_of(problem, "rows"), channels = size_of(problem, "channels"), n = rows * channels;
  const std::string op = problem.operation;
  return [=](benchmark::State& state) {
    const cpu::Kernels<float>& k = *options.kernels;
    const int threads = options.threads;
    Floats y(n), x(n, 1), dy(n, 2), scale(channels, 3), bias(channels, 4), mean(channels), inv_std(channels, 5);
    Floats running_mean(channels), running_variance(channels), dscale(channels), dbias(channels);
    Floats workspace = Floats::workspace(k.reduction_workspace_bytes(channels, threads));
    double streams = 0;
    std::function<void()> call;
    if (op == "bias_add") {
      streams = 2;
      call = [&] { k.bias_add(y.data(), x.data(), bias.data(), rows, channels, threads); };
    } else if (op == "bias_add_grad") {
      streams = 1;
      call = [&] { k.bias_add_grad(dbias.data(), dy.data(), rows, channels, workspace.data(), threads); };
    } else if (op == "batch_norm") {
      streams = 2;
      call = [&] {
        k.batch_norm(y.data(), nullptr, mean.data(), inv_std.data(), running_mean.data(), running_variance.data(), x.data(),
                     scale.data(), bias.data(), nullptr, rows, channels, 1e-5, 0.1, true, workspace.data(), threads);
      };
    } else {
      streams = 3;
      call = [&] {
        k.batch_norm_grad(y.data(), dscale.data(), dbias.data(), nullptr, dy.data(), nullptr, nullptr, nullptr, x.data(),
                          scale.data(), mean.data(), inv_std.data(), rows, channels, workspace.data(), threads);
      };
    }
    time_beside_peak(state, threads, 0, streams * kFloatBytes * static_cast<double>(n), call);
  };
}

}  // namespace

bool register_elementwise(const Problem& problem, const Options& options) {
  const std::string& op = problem.operation;
  Run run;
  if (op == "relu" || op == "relu_grad" || op == "add" || op == "sgd" || op == "adamw") {
    expect_only(problem, {"n"});
    run = make_flat(problem, options);
  } else if (op == "bias_add" || op == "bias_add_grad" || op == "batch_norm" || op == "batch_norm_grad") {
    expect_only(problem, {"rows", "channels"});
    run = make_by_channel(problem, options);
  } else {
    return false;
  }
  benchmark::RegisterBenchmark(name_of(problem, options).c_str(), run)->UseManualTime();
  return true;
}

}  // namespace epochbench::bench
