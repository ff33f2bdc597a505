// Operations on each channel separately, with windows over the image: bytes count every operand once.
//   depthwise n= h= w= c= r= s= [stride=1] [pad=0]     a convolution, as of conv2d otherwise: forward and both gradients
//   average_pool n= h= w= c= window= [stride=1] [pad=0] [zeros=0], max_pool without zeros: forward and gradient
#include <stdexcept>

#include "bench/kernel_bench.h"
#include "bench/work.h"

namespace epochbench::bench {
namespace {

template <typename Shape>
double bytes_of(const Shape& s, std::size_t element) {
  return static_cast<double>(s.batch * s.channels) * static_cast<double>(s.height * s.width + s.out_height * s.out_width) *
         static_cast<double>(element);
}

template <typename Shape, typename Real>
struct Images {
  explicit Images(const Shape& shape) : s(shape) {}
  Shape s;
  Buffer<Real> x{s.batch * s.height * s.width * s.channels, 1}, y{s.batch * s.out_height * s.out_width * s.channels, 2};
};

template <typename Real>
struct Depthwise : Images<Conv2dShape, Real> {
  Depthwise(const Conv2dShape& shape, const Options<Real>& options)
      : Images<Conv2dShape, Real>(shape),
        workspace(Floats::workspace(options.kernels->depthwise_conv2d_grad_weight_workspace_bytes(shape, options.threads))) {}
  void forward(const cpu::Kernels<Real>& k, int threads) { k.depthwise_conv2d(this->y, this->x, weight, this->s, threads); }
  void grad_input(const cpu::Kernels<Real>& k, int threads) {
    k.depthwise_conv2d_grad_input(this->x, this->y, weight, this->s, threads);
  }
  void grad_weight(const cpu::Kernels<Real>& k, int threads) {
    k.depthwise_conv2d_grad_weight(weight, this->y, this->x, this->s, workspace, threads);
  }

  Buffer<Real> weight{this->s.kernel_height * this->s.kernel_width * this->s.channels, 3};
  Floats workspace;
};

template <typename Real>
struct AveragePool : Images<PoolShape, Real> {
  AveragePool(const PoolShape& shape, const Options<Real>&) : Images<PoolShape, Real>(shape) {}
  void forward(const cpu::Kernels<Real>& k, int threads) { k.average_pool(this->y, this->x, this->s, threads); }
  void grad(const cpu::Kernels<Real>& k, int threads) { k.average_pool_grad(this->x, this->y, this->s, threads); }
};

template <typename Real>
struct MaxPool : Images<PoolShape, Real> {
  MaxPool(const PoolShape& shape, const Options<Real>& options) : Images<PoolShape, Real>(shape) {
    forward(*options.kernels, options.threads);  // the gradient needs the places of the maxima
  }
  void forward(const cpu::Kernels<Real>& k, int threads) { k.max_pool(this->y, index.data(), this->x, this->s, threads); }
  void grad(const cpu::Kernels<Real>& k, int threads) { k.max_pool_grad(this->x, this->y, index.data(), this->s, threads); }

  std::vector<std::uint8_t> index = std::vector<std::uint8_t>(static_cast<std::size_t>(this->y.size()));
};

template <typename Operands, typename Real, typename Shape>
void add(const Problem& problem, const char* pass, const Shape& shape, const Options<Real>& options,
         void (Operands::*call)(const cpu::Kernels<Real>&, int)) {
  register_timed(problem.text + pass, options.kernels->isa, options.threads, [=](benchmark::State& state) {
    Operands operands(shape, options);
    time_beside_peak(state, product_precision(*options.kernels), options.threads, 0, bytes_of(shape, sizeof(Real)),
                     [&] { (operands.*call)(*options.kernels, options.threads); });
  });
}

Conv2dShape depthwise_shape(Problem problem) {
  expect_only(problem, {"n", "h", "w", "c", "r", "s", "stride", "pad"});
  problem.sizes["k"] = size_of(problem, "c");
  return conv2d_shape(problem);
}

PoolShape pool_shape(const Problem& problem, bool average) {
  std::vector<std::string> names{"n", "h", "w", "c", "window", "stride", "pad"};
  if (average) names.emplace_back("zeros");
  expect_only(problem, names);
  PoolShape s;
  s.batch = size_of(problem, "n"), s.height = size_of(problem, "h"), s.width = size_of(problem, "w");
  s.channels = size_of(problem, "c"), s.window = size_of(problem, "window");
  s.stride = size_of(problem, "stride", 1, 1), s.padding = size_of(problem, "pad", 0, 0);
  s.zeros = size_of(problem, "zeros", 0, 0) != 0;
  constexpr std::int64_t kLargest = 16;
  if (s.window > kLargest) throw std::runtime_error(problem.where + ": window=" + std::to_string(s.window) + " is above 16");
  if (2 * s.padding > s.window) throw std::runtime_error(problem.where + ": pad is above half the window");
  if (s.height + 2 * s.padding < s.window || s.width + 2 * s.padding < s.window)
    throw std::runtime_error(problem.where + ": the window is larger than the padded image");
  s.out_height = (s.height + 2 * s.padding - s.window) / s.stride + 1;
  s.out_width = (s.width + 2 * s.padding - s.window) / s.stride + 1;
  return s;
}

template <typename Pool, typename Real>
void add_pool(const Problem& problem, const PoolShape& shape, const Options<Real>& options) {
  add<Pool>(problem, " forward", shape, options, &Pool::forward);
  add<Pool>(problem, " grad", shape, options, &Pool::grad);
}

}  // namespace

template <typename Real>
bool register_windows(const Problem& problem, const Options<Real>& options) {
  if (problem.operation == "depthwise") {
    const Conv2dShape shape = depthwise_shape(problem);
    add<Depthwise<Real>>(problem, " forward", shape, options, &Depthwise<Real>::forward);
    add<Depthwise<Real>>(problem, " grad_input", shape, options, &Depthwise<Real>::grad_input);
    add<Depthwise<Real>>(problem, " grad_weight", shape, options, &Depthwise<Real>::grad_weight);
  } else if (problem.operation == "average_pool") {
    add_pool<AveragePool<Real>>(problem, pool_shape(problem, true), options);
  } else if (problem.operation == "max_pool") {
    add_pool<MaxPool<Real>>(problem, pool_shape(problem, false), options);
  } else {
    return false;
  }
  return true;
}

template bool register_windows(const Problem& problem, const Options<float>& options);
template bool register_windows(const Problem& problem, const Options<Bf16>& options);

}  // namespace epochbench::bench
