// The attention of the simulated libraries: the reference kernels, with dropout masks of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "kernels/cuda/libraries/libraries.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench::test {

// What the plans of both directions of a layer share.
struct FakeAttention {
  FakeDevice& device;
  std::map<const void*, std::int64_t>& seed_of;  // of the last forward pass, by its q
  std::set<std::int64_t>& seeds;
  cuda::AttentionSpec spec;
  double seconds;
  bool rounds_dropout, masks_differ;
};

std::shared_ptr<cuda::AttentionForward> make_fake_forward(const FakeAttention& layer);
std::shared_ptr<cuda::AttentionBackward> make_fake_backward(const FakeAttention& layer);

}  // namespace epochbench::test
