// Fake cuBLASLt and cuDNN on the host: the reference kernels on the stored values, results rounded to the stored type, enqueued
// on a fake device. Options make them lack plans, or offer several that compute the same in other times. Running leaves NaN at
// both ends of the workspace that a plan may use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/libraries/libraries.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench::test {

struct FakeAttention;

struct FakeLibrariesOptions {
  // Which plans exist.
  bool convolution = true, convolution_bias = true, convolution_sums = true, attention = true, bias_gradient = true;
  bool gelu = true;
  bool attention_rounds_dropout = false;  // attention drops a multiple of 1/16 of its weights
  bool attention_masks_differ = false;    // attention's gradient draws other masks than its forward pass
  bool winograd = false;                  // whether convolutions use Winograd where allowed
  // What one run of each plan that is offered for a problem takes, the first listed first, and building one.
  std::vector<double> seconds = {FakeDevice::kSecondsOfWork};
  double build_seconds = 0;
  double compile_seconds = 0;  // that building one takes in addition if it is compiled: with a GELU or sums, or of attention
  double bias_gradient_seconds = 0;   // that the sums in a product's epilogue take in addition
  double gelu_seconds = 0;            // that a GELU in a product takes in addition
  double sums_seconds = 0;            // that the sums for a batch norm take in addition
  double depthwise_seconds = 0;       // that a depthwise convolution takes in addition; its weight is transposed besides
  std::set<std::string> broken = {};  // tags of plans that can no longer be built: "fake 1"
  std::string version = "1.0";
};

class FakeLibraries final : public cuda::Libraries {
 public:
  explicit FakeLibraries(FakeDevice& device, FakeLibrariesOptions options = {})
      : device_(device), options_(std::move(options)) {}

  cuda::LibraryVersions versions() const override { return {options_.version, options_.version}; }
  std::unique_ptr<cuda::Algorithms<cuda::Product>> product(const cuda::ProductSpec& spec,
                                                           const cuda::ProductOperands& operands) override;
  std::unique_ptr<cuda::Algorithms<cuda::GeluProduct>> gelu_product(const cuda::GeluProductSpec& spec) override;
  std::unique_ptr<cuda::Algorithms<cuda::Convolution>> convolution(const cuda::ConvolutionSpec& spec) override;
  std::unique_ptr<cuda::Algorithms<cuda::AttentionForward>> attention_forward(const cuda::AttentionSpec& spec) override;
  std::unique_ptr<cuda::Algorithms<cuda::AttentionBackward>> attention_backward(const cuda::AttentionSpec& spec) override;

  std::int64_t plans() const { return plans_; }          // built so far
  std::int64_t questions() const { return questions_; }  // how often plans were listed
  // When the first plan was compiled, by the device's clock; empty if none was.
  const std::optional<double>& compiled_at() const { return compiled_at_; }
  const std::set<std::int64_t>& seeds() const { return seeds_; }  // seeds of the dropout masks of attention
  void forget_seeds() { seeds_.clear(); }

 private:
  FakeAttention attention(const cuda::AttentionSpec& spec, double seconds);
  template <typename T, typename Make>
  std::unique_ptr<cuda::Algorithms<T>> offer(const std::string& problem, bool exists, bool compiles, Make make);

  FakeDevice& device_;
  FakeLibrariesOptions options_;
  std::int64_t plans_ = 0, questions_ = 0;
  std::optional<double> compiled_at_;
  std::map<std::string, std::weak_ptr<void>> compiled_;  // by problem and tag
  std::map<const void*, std::int64_t> seed_of_;          // of the last forward pass of attention, by its q
  std::set<std::int64_t> seeds_;
};

}  // namespace epochbench::test
