// The tables of parameters that CUDA's optimizers read, in the device's memory.
#pragma once

#include <vector>

#include "kernels/cuda/kernels.h"
#include "tests/support/parameters.h"

namespace epochbench::test {

// Tensors of these sizes in chunks, which are in reverse order.
inline DeviceBuffer<cuda::Chunk> chunks_on_device(const std::vector<std::int64_t>& sizes) {
  std::vector<cuda::Chunk> chunks;
  for (std::size_t tensor = sizes.size(); tensor-- > 0;)
    for (std::int64_t end = (sizes[tensor] + cuda::kChunkElements - 1) / cuda::kChunkElements; end-- > 0;)
      chunks.push_back({static_cast<std::int32_t>(tensor), end * cuda::kChunkElements});
  return on_device<cuda::Chunk>(chunks);
}

class CudaParameters {
 public:
  // copies: none, or one for each parameter, of as many elements as its weight or of none.
  explicit CudaParameters(Parameters& parameters, std::vector<Tensor>* copies = nullptr) : tensors_(0), chunks_(0) {
    std::vector<cuda::OptimizerTensor> tensors;
    std::vector<std::int64_t> sizes;
    for (Parameter& p : parameters) {
      sizes.push_back(p.n());
      Tensor* const copy = copies == nullptr ? nullptr : &(*copies)[tensors.size()];
      const bool copied = copy != nullptr && copy->size() > 0;
      tensors.push_back({p.weight.data(), p.state1.data(), p.state2.data(), p.gradient.data(), p.n(), p.gradient.element(),
                         static_cast<float>(p.weight_decay), copied ? copy->data() : nullptr,
                         copied ? copy->element() : Element::bf16});
    }
    tensors_ = on_device<cuda::OptimizerTensor>(tensors);
    chunks_ = chunks_on_device(sizes);
  }

  const cuda::OptimizerTensor* tensors() const { return tensors_.data(); }
  const cuda::Chunk* chunks() const { return chunks_.data(); }
  std::int64_t chunk_count() const { return static_cast<std::int64_t>(chunks_.size()); }

 private:
  DeviceBuffer<cuda::OptimizerTensor> tensors_;
  DeviceBuffer<cuda::Chunk> chunks_;
};

}  // namespace epochbench::test
