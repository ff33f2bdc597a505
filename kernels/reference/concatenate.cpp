// Joins rows side by side, and splits them again.
#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

// Calls copy(part, index in the part, index in the whole) for every element.
template <typename Pointer, typename Copy>
void for_each_element(const ChannelParts<Pointer>& parts, std::int64_t rows, Copy copy) {
  std::int64_t whole = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (int i = 0; i < parts.count; ++i)
      for (std::int64_t c = 0; c < parts.channels[i]; ++c) copy(parts.part[i], row * parts.channels[i] + c, whole++);
}

}  // namespace

void concatenate(float* y, const ChannelParts<const float*>& x, std::int64_t rows) {
  for_each_element(x, rows, [=](const float* part, std::int64_t at, std::int64_t whole) { y[whole] = part[at]; });
}

void concatenate_grad(const ChannelParts<float*>& dx, const float* dy, std::int64_t rows) {
  for_each_element(dx, rows, [=](float* part, std::int64_t at, std::int64_t whole) {
    if (part != nullptr) part[at] = dy[whole];
  });
}

}  // namespace epochbench::reference
