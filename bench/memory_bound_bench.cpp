// Memory-bound kernels: n= for those over all elements, rows= channels= for the others. Bytes count every operand once.
#include <algorithm>
#include <stdexcept>

#include "bench/kernel_bench.h"

namespace epochbench::bench {
namespace {

constexpr Dropout kMask{1, 2, 0x1999999A, 1 / 0.9f};  // drops a tenth
constexpr std::int64_t kHead = 64;                    // columns of a head that rotary rotates

struct Sizes {
  std::int64_t rows = 1, channels = 1, n = 1;
  std::int64_t state = 1, further = 1,
               rotation = 1;  // elements of an optimizer's state, of further operands, of rotary's table
};

template <typename Real>
struct Operands : Sizes {
  Operands(const Sizes& sizes, const cpu::Kernels<Real>& k, int threads) : Sizes(sizes) {
    for (std::int64_t r = 0; r < rows; ++r)
      labels[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r * 7919 % channels);
    k.cross_entropy(loss, log_sum_exp, x, labels.data(), rows, channels, true, threads);  // the gradient needs log_sum_exp
  }

  Buffer<Real> y{n}, x{n, 1}, dy{n, 2}, sum{further}, up{further, 3};
  Buffer<Real> real_bias{channels, 4}, real_dbias{channels};
  Floats table{rotation, 5};
  Floats weight{state, 1}, moment1{state, 2}, moment2{state, 3};
  Floats scale{channels, 3}, bias{channels, 4}, dscale{channels}, dbias{channels};
  Floats running_mean{channels}, running_variance{channels};
  Floats mean{std::max(rows, channels)}, inv_std{std::max(rows, channels), 5}, log_sum_exp{rows}, loss{1};
  template <typename Tensor>
  Tensor tensor(Tensor tensor) {  // with dy as its gradient
    if constexpr (std::is_same_v<Real, float>)
      tensor.gradient = dy;
    else
      tensor.gradient_bf16 = dy;
    return tensor;
  }

  std::vector<std::int32_t> labels = std::vector<std::int32_t>(static_cast<std::size_t>(rows));
  const float learning_rate = 1e-3f;
  const std::int32_t step = 3;
};

template <typename Real>
struct Kernel {
  const char* name;
  bool by_row;
  int streams;  // arrays of n Reals that it reads or writes
  void (*run)(Operands<Real>& o, const cpu::Kernels<Real>& k, float* workspace, int threads);
  int floats = 0;        // arrays of n floats
  bool further = false;  // whether it has further operands of n Reals
};

template <typename Real, typename O = Operands<Real>, typename K = cpu::Kernels<Real>>
constexpr Kernel<Real> kKernels[] = {
    {"relu", false, 2, [](O& o, const K& k, float*, int threads) { k.relu(o.y, o.x, o.n, threads); }},
    {"relu_grad", false, 3, [](O& o, const K& k, float*, int threads) { k.relu_grad(o.y, o.dy, o.x, o.n, threads); }},
    {"add", false, 3, [](O& o, const K& k, float*, int threads) { k.add(o.y, o.x, o.dy, o.n, threads); }},
    {"gelu", false, 2, [](O& o, const K& k, float*, int threads) { k.gelu(o.y, o.x, o.n, threads); }},
    {"gelu_grad", false, 3, [](O& o, const K& k, float*, int threads) { k.gelu_grad(o.y, o.dy, o.x, o.n, threads); }},
    {"gelu_tanh", false, 2, [](O& o, const K& k, float*, int threads) { k.gelu_tanh(o.y, o.x, o.n, threads); }},
    {"gelu_tanh_grad", false, 3, [](O& o, const K& k, float*, int threads) { k.gelu_tanh_grad(o.y, o.dy, o.x, o.n, threads); }},
    {"relu6", false, 2, [](O& o, const K& k, float*, int threads) { k.relu6(o.y, o.x, o.n, threads); }},
    {"relu6_grad", false, 3, [](O& o, const K& k, float*, int threads) { k.relu6_grad(o.y, o.dy, o.x, o.n, threads); }},
    {"sigmoid", false, 2, [](O& o, const K& k, float*, int threads) { k.sigmoid(o.y, o.x, o.n, threads); }},
    {"sigmoid_grad", false, 3, [](O& o, const K& k, float*, int threads) { k.sigmoid_grad(o.y, o.dy, o.x, o.n, threads); }},
    {"silu", false, 2, [](O& o, const K& k, float*, int threads) { k.silu(o.y, o.x, o.n, threads); }},
    {"silu_grad", false, 3, [](O& o, const K& k, float*, int threads) { k.silu_grad(o.y, o.dy, o.x, o.n, threads); }},
    {"dropout", false, 2, [](O& o, const K& k, float*, int threads) { k.dropout(o.y, o.x, &o.step, kMask, o.n, threads); }},
    {"sgd", false, 1,
     [](O& o, const K& k, float*, int threads) {
       const SgdTensor tensor = o.tensor(SgdTensor{o.weight, o.moment1, nullptr, o.n});
       k.sgd(&tensor, 1, &o.learning_rate, {0.9, 1e-4}, threads);
     },
     4},  // reads and writes weight and velocity
    {"adamw", false, 1,
     [](O& o, const K& k, float*, int threads) {
       const AdamwTensor tensor = o.tensor(AdamwTensor{o.weight, o.moment1, o.moment2, nullptr, o.n, 0.01});
       k.adamw(&tensor, 1, &o.learning_rate, &o.step, {0.9, 0.999, 1e-8}, threads);
     },
     6},
    {"bias_add", true, 2,
     [](O& o, const K& k, float*, int threads) { k.bias_add(o.y, o.x, o.real_bias, o.rows, o.channels, threads); }},
    {"bias_add_grad", true, 1,
     [](O& o, const K& k, float* workspace, int threads) {
       k.bias_add_grad(o.real_dbias, o.dy, o.rows, o.channels, workspace, threads);
     }},
    {"batch_norm", true, 2,
     [](O& o, const K& k, float* workspace, int threads) {
       k.batch_norm(o.y, nullptr, o.mean, o.inv_std, o.running_mean, o.running_variance, o.x, o.scale, o.bias, nullptr, o.rows,
                    o.channels, 1e-5, 0.1, true, workspace, threads);
     }},
    {"batch_norm_grad", true, 3,
     [](O& o, const K& k, float* workspace, int threads) {
       k.batch_norm_grad(o.y, o.dscale, o.dbias, nullptr, o.dy, nullptr, nullptr, nullptr, o.x, o.scale, o.mean, o.inv_std,
                         o.rows, o.channels, workspace, threads);
     }},
    {"layer_norm", true, 2,
     [](O& o, const K& k, float*, int threads) {
       k.layer_norm(o.y, o.mean, o.inv_std, o.x, o.scale, o.bias, o.rows, o.channels, 1e-12, threads);
     }},
    {"layer_norm_grad", true, 3,
     [](O& o, const K& k, float* workspace, int threads) {
       k.layer_norm_grad(o.y, o.dscale, o.dbias, o.dy, o.x, o.scale, o.mean, o.inv_std, o.rows, o.channels, workspace, threads);
     }},
    {"add_layer_norm", true, 4,
     [](O& o, const K& k, float*, int threads) {
       k.add_layer_norm(o.y, o.mean, o.inv_std, o.sum, o.x, o.dy, o.scale, o.bias, &o.step, kMask, o.rows, o.channels, 1e-12,
                        threads);
     },
     0, true},
    {"add_layer_norm_grad", true, 4,
     [](O& o, const K& k, float* workspace, int threads) {
       k.add_layer_norm_grad(o.y, o.dscale, o.dbias, o.sum, o.dy, o.x, o.scale, o.mean, o.inv_std, &o.step, kMask, o.rows,
                             o.channels, workspace, threads);
     },
     0, true},
    {"rms_norm", true, 2,
     [](O& o, const K& k, float*, int threads) {
       k.rms_norm(o.y, o.inv_std, o.x, o.scale, o.rows, o.channels, 1e-5, threads);
     }},
    {"rms_norm_grad", true, 3,
     [](O& o, const K& k, float* workspace, int threads) {
       k.rms_norm_grad(o.y, o.dscale, o.dy, o.x, o.scale, o.inv_std, o.rows, o.channels, workspace, threads);
     }},
    {"add_rms_norm", true, 4,
     [](O& o, const K& k, float*, int threads) {
       k.add_rms_norm(o.y, o.inv_std, o.sum, o.x, o.dy, o.scale, o.rows, o.channels, 1e-5, threads);
     },
     0, true},
    {"swiglu", true, 3,
     [](O& o, const K& k, float*, int threads) {
       k.swiglu(o.y, o.x, o.dy, {o.rows, o.channels}, threads);
     }},
    {"swiglu_grad", true, 5,
     [](O& o, const K& k, float*, int threads) {
       k.swiglu_grad(o.y, o.sum, o.dy, o.x, o.up, {o.rows, o.channels}, threads);
     },
     0, true},
    {"rotary", true, 2,  // all heads of 64
     [](O& o, const K& k, float*, int threads) {
       k.rotary(o.y, o.x, o.table, {o.rows, o.channels, o.rows, kHead, o.channels / kHead}, threads);
     }},
    {"scale_channels", true, 2,  // one image
     [](O& o, const K& k, float*, int threads) { k.scale_channels(o.y, o.x, o.real_bias, 1, o.rows, o.channels, threads); }},
    {"scale_channels_grad", true, 2,
     [](O& o, const K& k, float*, int threads) {
       k.scale_channels_grad(o.real_dbias, o.dy, o.x, 1, o.rows, o.channels, threads);
     }},
    {"squeeze_excite_grad", true, 3,
     [](O& o, const K& k, float*, int threads) {
       k.squeeze_excite_grad(o.y, o.dy, o.real_bias, o.real_dbias, o.x, 1, o.rows, o.channels, threads);
     }},
    {"cross_entropy", true, 1,
     [](O& o, const K& k, float*, int threads) {
       k.cross_entropy(o.loss, o.log_sum_exp, o.x, o.labels.data(), o.rows, o.channels, true, threads);
     }},
    {"cross_entropy_grad", true, 2,
     [](O& o, const K& k, float*, int threads) {
       k.cross_entropy_grad(o.y, o.x, o.labels.data(), o.log_sum_exp, o.rows, o.channels, true, threads);
     }},
};

}  // namespace

std::vector<std::string> memory_bound_operations() {
  std::vector<std::string> names;
  for (const auto& kernel : kKernels<float>) names.emplace_back(kernel.name);
  return names;
}

template <typename Real>
bool register_memory_bound(const Problem& problem, const Options<Real>& options) {
  const auto kernel = std::find_if(std::begin(kKernels<Real>), std::end(kKernels<Real>),
                                   [&](const Kernel<Real>& known) { return known.name == problem.operation; });
  if (kernel == std::end(kKernels<Real>)) return false;
  Sizes sizes;
  if (kernel->by_row) {
    expect_only(problem, {"rows", "channels"});
    sizes = {size_of(problem, "rows"), size_of(problem, "channels")};
    sizes.n = sizes.rows * sizes.channels;
    if (kernel->further) sizes.further = sizes.n;
    if (problem.operation == "rotary") {
      if (sizes.channels % kHead != 0) throw std::runtime_error(problem.where + ": channels is not a multiple of 64");
      sizes.rotation = sizes.rows * kHead;
    }
  } else {
    expect_only(problem, {"n"});
    sizes.n = size_of(problem, "n");
    if (kernel->floats > 0) sizes.state = sizes.n;
  }
  register_timed(problem.text, options.kernels->isa, options.threads, [=](benchmark::State& state) {
    const int threads = options.threads;
    Operands<Real> operands(sizes, *options.kernels, threads);
    Floats workspace = Floats::workspace(options.kernels->reduction_workspace_bytes(sizes.channels, threads));
    const double bytes =
        static_cast<double>(sizes.n) * static_cast<double>(kernel->streams * sizeof(Real) + kernel->floats * sizeof(float));
    time_beside_peak(state, product_precision(*options.kernels), threads, 0, bytes,
                     [&] { kernel->run(operands, *options.kernels, workspace, threads); });
  });
  return true;
}

template bool register_memory_bound(const Problem& problem, const Options<float>& options);
template bool register_memory_bound(const Problem& problem, const Options<Bf16>& options);

}  // namespace epochbench::bench
