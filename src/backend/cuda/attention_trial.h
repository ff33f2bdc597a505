// Runs a compiled attention on given numbers, in the memory of its nodes, for attention_identities.h.
#pragma once

#include <cstdint>
#include <functional>

#include "epochbench/tensor.h"
#include "src/backend/cuda/attention_identities.h"
#include "src/backend/cuda/cuda_device.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

struct AttentionTrial {
  cuda::Device& device;
  cuda::Stream stream;
  std::function<void(cuda::Stream)> await;  // returns once everything on the stream is done
  AttentionShape shape;
  DType dtype;
  AttentionTensors<void> forward;
  std::function<void(cuda::Stream)> enqueue_forward;
  AttentionGradTensors<void> gradient = {};
  std::function<void(cuda::Stream)> enqueue_gradient = {};  // only if there is a gradient

  // As RunAttention. Overwrites the tensors and the step. Errors: cuda::Error of the device.
  AttentionOutputs run(const AttentionInputs& inputs, std::int32_t step) const;

 private:
  void fill(const AttentionInputs& inputs) const;
  void fill_samples(void* tensor, const std::vector<float>& sample) const;
  void append_rows(std::vector<float>& values, const void* from, std::int64_t columns, std::int64_t stride) const;
};

}  // namespace epochbench
