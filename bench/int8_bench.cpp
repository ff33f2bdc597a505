// Products of bytes: the forward passes of linear layers and convolutions, the only ones in inference. Operands and results are
// codes, as between two layers.
#include "bench/kernel_bench.h"
#include "bench/work.h"
#include "src/machine/peaks.h"

namespace epochbench::bench {
namespace {

constexpr float kRange[] = {-1, 1};

struct Bytes {
  explicit Bytes(std::size_t size) : memory(size) {}
  template <typename T>
  T* data() {
    return reinterpret_cast<T*>(memory.data());
  }
  HostMemory memory;
};

struct Operands {
  Operands(const Conv2dShape& s, const std::array<std::int64_t, 3>& elements, const cpu::Int8Kernels& kernels, int threads)
      : y(static_cast<std::size_t>(elements[0])),
        x(static_cast<std::size_t>(elements[1])),
        weights(static_cast<std::size_t>(int8_weight_bytes(s))),
        workspace(kernels.int8_product_workspace_bytes(s, threads)),
        multiplier(s.out_channels),
        offset(s.out_channels) {
    kernels.quantize(x.data<std::uint8_t>(), Floats(elements[1], 1), kRange, elements[1], threads);
    pack_int8_weights(weights.data<std::int8_t>(), multiplier, offset, Floats(elements[2], 2), kRange, s, {});
    epilogue.multiplier = multiplier;
    epilogue.offset = offset;
    epilogue.y_range = kRange;
    touch_first(y.memory.data(), y.memory.size(), threads);
    touch_first(workspace.memory.data(), workspace.memory.size(), threads);
  }
  Bytes y, x, weights, workspace;
  Floats multiplier, offset;
  Int8Epilogue epilogue;
};

}  // namespace

bool register_int8(const Problem& problem, const cpu::Int8Kernels& kernels, int threads) {
  const std::vector<Work> works = works_of(problem);
  if (works.empty()) return false;
  const Work& work = works.front();
  if (work.gemm && (work.gemm->transpose_a || !work.gemm->transpose_b)) return false;
  Conv2dShape shape = work.conv2d;
  if (work.gemm) shape = {work.gemm->m, 1, 1, work.gemm->k, 1, 1, work.gemm->n, 1, 1, 1, 0};
  register_timed(work.name, kernels.isa, threads, [=, &kernels](benchmark::State& state) {
    Operands o(shape, elements_of(shape), kernels, threads);
    const auto burst = [&](double seconds) { return peak_burst(Precision::int8, threads, seconds).value(); };
    time_beside_peak(state, burst, threads, work.flops, 0, [&] {
      kernels.int8_product(o.y.data<void>(), o.x.data<std::uint8_t>(), o.weights.data<std::int8_t>(), kRange, shape, o.epilogue,
                           o.workspace.data<void>(), threads);
    });
  });
  return true;
}

}  // namespace epochbench::bench
