// cuBLASLt and cuDNN made up on the host: the reference kernels on the values as they are stored, results rounded to how they
// are stored, enqueued on a made-up device. They can be told to lack plans. Tuning leaves NaN in the scratch that it is given;
// running leaves NaN in all of the workspace that a plan may use, at both ends.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "kernels/cuda/libraries.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench::test {

struct FakeLibrariesOptions {
  bool convolution = true, convolution_bias = true, attention = true, bias_gradient = true;  // what there are plans for
  bool winograd = false;  // whether convolutions are by Winograd's transforms, where they may
};

class FakeLibraries final : public cuda::Libraries {
 public:
  explicit FakeLibraries(FakeDevice& device, FakeLibrariesOptions options = {}) : device_(device), options_(options) {}

  std::unique_ptr<cuda::Product> product(const cuda::ProductSpec& spec, const cuda::Scratch& scratch,
                                         cuda::Stream stream) override;
  std::unique_ptr<cuda::Convolution> convolution(const cuda::ConvolutionSpec& spec, const cuda::Scratch& scratch,
                                                 cuda::Stream stream, std::string& reason) override;
  std::unique_ptr<cuda::Attention> attention(const cuda::AttentionSpec& spec, cuda::Stream stream,
                                             std::string& reason) override;

  std::int64_t plans() const { return plans_; }
  const std::set<std::int64_t>& seeds() const { return seeds_; }  // that attention drew dropout masks from

 private:
  FakeDevice& device_;
  FakeLibrariesOptions options_;
  std::int64_t plans_ = 0;
  std::set<std::int64_t> seeds_;
};

}  // namespace epochbench::test
