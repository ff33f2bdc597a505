// Convolution and its input gradient with AMX tiles: packs the weights, then multiplies strips of pixels (taps_amx.h). Windows
// of single pixels are matrix products.
#include <omp.h>

#include "kernels/cpu/conv2d/conv2d.h"
#include "kernels/cpu/conv2d/taps_amx.h"
#include "kernels/cpu/kernels.h"

namespace epochbench::cpu::EPOCHBENCH_ISA {

namespace {

GemmShape product_of(const Conv2dShape& s, TapsOf of) {
  return of == TapsOf::forward ? forward_product(s) : grad_input_product(s);
}

// Words of weights in the workspace: none if they were packed before.
std::int64_t own_words(const TapPlan& plan) {
  return plan.of == TapsOf::forward && plan.shape.packed_weight ? 0 : plan.weight_words;
}

std::size_t workspace_bytes(const Conv2dShape& shape, TapsOf of, int threads) {
  if (is_matrix_product(shape)) return gemm_workspace_bytes(product_of(shape, of), threads);
  const TapPlan plan = make_tap_plan(shape, of, threads);
  return static_cast<std::size_t>(own_words(plan)) * sizeof(Word) +
         static_cast<std::size_t>(plan.team * plan.images_at_once * plan.strip_reals) * sizeof(Real);
}

void convolve(Real* y, const Real* images, const Real* weight, const Conv2dShape& shape, TapsOf of,
              const Epilogue<Real>& epilogue, void* workspace, int threads) {
  if (is_matrix_product(shape)) {
    gemm(y, images, weight, product_of(shape, of), epilogue, workspace, threads);
    return;
  }
  const TapPlan plan = make_tap_plan(shape, of, threads);
  Word* const own = static_cast<Word*>(workspace);
  const Word* const packed = own_words(plan) > 0 ? own : reinterpret_cast<const Word*>(weight);
  Real* const strips = reinterpret_cast<Real*>(own + own_words(plan));
#pragma omp parallel num_threads(plan.team) if (plan.team > 1)
  {
    // The runtime may grant fewer threads than there are parts.
    const int thread = omp_get_thread_num(), granted = omp_get_num_threads();
    const MicrokernelScope scope;
    if (packed == own) {
      for (std::int64_t i = 0; i < plan.phases; ++i) {
        const Phase phase = make_phase(plan, i);
        for (int part = thread; part < plan.team; part += granted) pack_taps(plan, phase, weight, own + phase.first_word, part);
      }
#pragma omp barrier
    }
    for (int part = thread; part < plan.team; part += granted)
      multiply_taps(plan, y, images, packed, epilogue, strips + part * plan.images_at_once * plan.strip_reals, part);
  }
}

}  // namespace

std::size_t conv2d_packed_bytes(const Conv2dShape& shape, int threads) {
  if (is_matrix_product(shape)) return gemm_packed_bytes(forward_product(shape), threads);
  return static_cast<std::size_t>(make_tap_plan(shape, TapsOf::forward, threads).weight_words) * sizeof(Word);
}

void pack_conv2d(Real* packed, const Real* weight, const Conv2dShape& shape, int threads) {
  if (is_matrix_product(shape)) {
    pack_gemm(packed, weight, forward_product(shape), threads);
    return;
  }
  const TapPlan plan = make_tap_plan(shape, TapsOf::forward, threads);
  const Phase phase = make_phase(plan, 0);
#pragma omp parallel for num_threads(plan.team) if (plan.team > 1)
  for (int part = 0; part < plan.team; ++part) pack_taps(plan, phase, weight, reinterpret_cast<Word*>(packed), part);
}

std::size_t conv2d_workspace_bytes(const Conv2dShape& shape, int threads) {
  return workspace_bytes(shape, TapsOf::forward, threads);
}

void conv2d(Real* y, const Real* x, const Real* weight, const Conv2dShape& shape, const Epilogue<Real>& epilogue,
            void* workspace, int threads) {
  convolve(y, x, weight, shape, TapsOf::forward, epilogue, workspace, threads);
}

std::size_t conv2d_grad_input_workspace_bytes(const Conv2dShape& shape, int threads) {
  return workspace_bytes(shape, TapsOf::grad_input, threads);
}

void conv2d_grad_input(Real* dx, const Real* dy, const Real* weight, const Conv2dShape& shape, void* workspace, int threads) {
  convolve(dx, dy, weight, shape, TapsOf::grad_input, {}, workspace, threads);
}

}  // namespace epochbench::cpu::EPOCHBENCH_ISA
