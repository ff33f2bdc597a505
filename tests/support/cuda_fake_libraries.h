// Fake cuBLASLt and cuDNN on the host: the reference kernels on the stored values, results rounded to the stored type, enqueued
// on a fake device. Options make them lack plans. Tuning leaves NaN in its scratch memory; running leaves NaN at both ends of
// the workspace that a plan may use.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "kernels/cuda/libraries/libraries.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench::test {

struct FakeLibrariesOptions {
  bool convolution = true, convolution_bias = true, attention = true, bias_gradient = true;  // which plans exist
  bool winograd = false;  // whether convolutions use Winograd where allowed
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
  const std::set<std::int64_t>& seeds() const { return seeds_; }  // seeds of the dropout masks of attention

 private:
  FakeDevice& device_;
  FakeLibrariesOptions options_;
  std::int64_t plans_ = 0;
  std::set<std::int64_t> seeds_;
};

}  // namespace epochbench::test
