#include "src/backend/cuda/attention_trial.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "src/backend/host/stored_values.h"

namespace epochbench {

// Writes one sample's rows to every sample of the batch.
void AttentionTrial::fill_samples(void* tensor, const std::vector<float>& sample) const {
  std::vector<std::byte> bits(sample.size() * size_bytes(dtype));
  store_values(bits.data(), sample, dtype);
  auto* const to = static_cast<std::byte*>(tensor);
  device.copy_to_device(to, bits.data(), bits.size(), stream);
  for (std::int64_t i = 1; i < shape.batch; ++i)
    device.copy_on_device(to + static_cast<std::size_t>(i) * bits.size(), to, bits.size(), stream);
  device.synchronize(stream);  // the bits are read until then
}

void AttentionTrial::fill(const AttentionInputs& in) const {
  if (enqueue_gradient) fill_samples(gradient.dy, in.dy);
  if (!shape.joint) {
    fill_samples(forward.q, in.q);
    fill_samples(forward.k, in.k);
    return fill_samples(forward.v, in.v);
  }
  std::vector<float> rows;
  const std::int64_t keys = key_heads(shape) * shape.width;
  for (std::int64_t row = 0; row < shape.sequence; ++row)
    for (const auto& [values, columns] : {std::pair{&in.q, row_stride(shape)}, {&in.k, keys}, {&in.v, keys}})
      rows.insert(rows.end(), values->begin() + row * columns, values->begin() + (row + 1) * columns);
  fill_samples(forward.q, rows);
}

// Appends a sample's rows, which begin `stride` elements apart.
void AttentionTrial::append_rows(std::vector<float>& values, const void* from, std::int64_t columns,
                                 std::int64_t stride) const {
  std::vector<float> block(static_cast<std::size_t>((shape.sequence - 1) * stride + columns));
  std::vector<std::byte> bits(block.size() * size_bytes(dtype));
  device.copy_to_host(bits.data(), from, bits.size(), stream);
  device.synchronize(stream);
  load_values(block, bits.data(), dtype);
  for (std::int64_t row = 0; row < shape.sequence; ++row)
    values.insert(values.end(), block.begin() + row * stride, block.begin() + row * stride + columns);
}

AttentionOutputs AttentionTrial::run(const AttentionInputs& in, std::int32_t step) const {
  constexpr std::int64_t kMaxSamples = 16;  // enough heads for chance to play no part, and quick to read
  fill(in);
  device.copy_to_device(forward.step, &step, sizeof step, stream);
  enqueue_forward(stream);
  if (enqueue_gradient) enqueue_gradient(stream);
  await(stream);
  AttentionOutputs out;
  const std::int64_t looked_at = std::min(kMaxSamples, shape.batch);
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const std::int64_t row = shape.sequence * (looked_at < 2 ? 0 : i * (shape.batch - 1) / (looked_at - 1));
    append_rows(out.y, elements_on(forward.y, row * row_stride(shape), size_bytes(dtype)), row_stride(shape),
                row_stride(shape));
    if (enqueue_gradient)
      append_rows(out.dv, elements_on(gradient.dv, row * key_stride(shape), size_bytes(dtype)), key_heads(shape) * shape.width,
                  key_stride(shape));
  }
  return out;
}

}  // namespace epochbench
