// Transposes heads for unfused attention: from rows that hold all heads to one matrix per head, and back.
#include <initializer_list>

#include "kernels/cuda/register_pack.cuh"
#include "kernels/cuda/specs.h"

namespace epochbench::cuda {
namespace {

constexpr int kCopyThreads = 256, kCopies = 4;  // packs in flight per thread

template <typename T>
struct SwapTensors {  // by blockIdx.y
  T* to[3];
  const T* from[3];
};

// A non-constant index would copy the parameters to local memory.
template <typename T>
__device__ inline T* one_of(T* const (&three)[3], unsigned index) {
  return index == 0 ? three[0] : index == 1 ? three[1] : three[2];
}

// to [batch, middle_to, middle_from, packs] = from [batch, middle_from, middle_to, packs]; Index holds `count`, the number of
// packs. Strides, in packs: between successive indices of the first middle extent of `to` or `from`.
template <typename Index>
struct SwapShape {
  Index middle_to, middle_from, packs, count, to_stride, from_stride;
};

template <typename T, int kSize, typename Index>
__global__ void __launch_bounds__(kCopyThreads) swap_kernel(SwapTensors<T> tensors, SwapShape<Index> s) {
  T* const to = one_of(tensors.to, blockIdx.y);
  const T* const from = one_of(tensors.from, blockIdx.y);
  const Index first = static_cast<Index>(blockIdx.x) * (kCopyThreads * kCopies) + threadIdx.x;
  RegisterPack<T, kSize> registers[kCopies];
  Index targets[kCopies];
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const Index at = first + i * kCopyThreads;
    if (at >= s.count) continue;
    const Index pack = at % s.packs, group = at / s.packs, a = group % s.middle_from, outer = group / s.middle_from;
    const Index b = outer % s.middle_to, batch = outer / s.middle_to;
    targets[i] = outer * s.to_stride + a * s.packs + pack;
    const Index source = (batch * s.middle_from + a) * s.from_stride + b * s.packs + pack;
    registers[i] = load_registers<kSize>(from + static_cast<std::int64_t>(source) * kSize);
  }
#pragma unroll
  for (int i = 0; i < kCopies; ++i)
    if (first + i * kCopyThreads < s.count) store_registers(to + static_cast<std::int64_t>(targets[i]) * kSize, registers[i]);
}

// Strides in elements.
struct SwapSizes {
  std::int64_t middle_to, middle_from, to_stride, from_stride;
};

void swap(std::initializer_list<void*> to, std::initializer_list<const void*> from, const SwapSizes& sizes,
          const AttentionShape& shape, Element element, Stream stream) {
  with_pack(element, shape.width, [&](auto zero, auto size) {
    using T = decltype(zero);
    SwapTensors<T> tensors{};
    for (std::size_t i = 0; i < to.size(); ++i) {
      tensors.to[i] = static_cast<T*>(to.begin()[i]);
      tensors.from[i] = static_cast<const T*>(from.begin()[i]);
    }
    const std::int64_t packs = shape.width / size(), count = shape.batch * sizes.middle_to * sizes.middle_from * packs;
    const dim3 grid(static_cast<unsigned>(ceil_div(count, kCopyThreads * kCopies)), static_cast<unsigned>(to.size()));
    const auto run = [&]<typename Index>(Index) {
      const auto index = [](std::int64_t value) { return static_cast<Index>(value); };
      launch(swap_kernel<T, size(), Index>, grid, dim3(kCopyThreads), 0, stream, tensors,
             SwapShape<Index>{index(sizes.middle_to), index(sizes.middle_from), index(packs), index(count),
                              index(sizes.to_stride / size()), index(sizes.from_stride / size())});
    };
    const std::int64_t most = shape.batch * shape.sequence * joint_stride(shape) / size();  // packs of the widest tensor
    if (most < std::int64_t{1} << 31)  // 32-bit divisions take a quarter of the time
      run(std::uint32_t{});
    else
      run(std::int64_t{});
  });
}

SwapSizes split_sizes(const AttentionShape& s) { return {s.heads, s.sequence, s.sequence * s.width, input_stride(s)}; }
SwapSizes merge_sizes(const AttentionShape& s) { return {s.sequence, s.heads, input_stride(s), s.sequence * s.width}; }
// The same for k and v.
SwapSizes split_key_sizes(const AttentionShape& s) { return {key_heads(s), s.sequence, s.sequence * s.width, key_stride(s)}; }
SwapSizes merge_key_sizes(const AttentionShape& s) { return {s.sequence, key_heads(s), key_stride(s), s.sequence * s.width}; }

AttentionShape separate(AttentionShape shape) {
  shape.joint = false;
  return shape;
}

}  // namespace

void split_heads(void* y, const void* x, const AttentionShape& shape, Element element, Stream stream) {
  swap({y}, {x}, split_sizes(separate(shape)), shape, element, stream);
}

void merge_heads(void* y, const void* x, const AttentionShape& shape, Element element, Stream stream) {
  swap({y}, {x}, merge_sizes(separate(shape)), shape, element, stream);
}

void split_joint_heads(void* q, void* k, void* v, const void* qkv, const AttentionShape& shape, Element element,
                       Stream stream) {
  const auto part = [&](int index) {
    return static_cast<const std::byte*>(qkv) + static_cast<std::size_t>(joint_offset(shape, index)) * bytes_of(element);
  };
  if (group_size(shape) == 1) return swap({q, k, v}, {qkv, part(1), part(2)}, split_sizes(shape), shape, element, stream);
  swap({q}, {qkv}, split_sizes(shape), shape, element, stream);
  swap({k, v}, {part(1), part(2)}, split_key_sizes(shape), shape, element, stream);
}

void merge_joint_heads(void* qkv, const void* q, const void* k, const void* v, const AttentionShape& shape, Element element,
                       Stream stream) {
  const auto part = [&](int index) {
    return static_cast<std::byte*>(qkv) + static_cast<std::size_t>(joint_offset(shape, index)) * bytes_of(element);
  };
  if (group_size(shape) == 1) return swap({qkv, part(1), part(2)}, {q, k, v}, merge_sizes(shape), shape, element, stream);
  swap({qkv}, {q}, merge_sizes(shape), shape, element, stream);
  swap({part(1), part(2)}, {k, v}, merge_key_sizes(shape), shape, element, stream);
}

}  // namespace epochbench::cuda
