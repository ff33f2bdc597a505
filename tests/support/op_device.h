// The devices under test of one program: each has the kernels that the CPU and CUDA both have (kernels/kernel_list.inc),
// without their further arguments, on tensors of one element type. Scratch memory, of exactly the size that the kernel requests
// and full of NaN, is checked after every call.
//
// cpu_op_devices.cpp has every instruction set of this CPU with several teams, cuda_op_devices.cpp the CUDA kernels compiled
// for the CPU in every thread order, or those of a GPU. A program links one of them.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "tests/support/op_tensor.h"
#include "tests/support/parameters.h"

namespace epochbench::test {

struct OpDevice {
  using Real = void;
#define COMMON_KERNEL(name, arguments) std::function<void arguments> name;
#include "kernels/kernel_list.inc"
  // In CUDA with further arguments among these: a scale of the loss, and the type of the base.
  std::function<void(Real* dlogits, const Real* logits, const std::int32_t* labels, const float* log_sum_exp, std::int64_t rows,
                     std::int64_t classes, const Targets& targets)>
      cross_entropy_grad;
  std::function<void(float* dtable, const Real* dy, const std::int32_t* ids, const Real* base, std::int64_t rows,
                     std::int64_t vocabulary, std::int64_t width)>
      embedding_grad;

  // In CUDA of several kernels, with products of the reference between them.
  std::function<void(Real* y, float* log_sum_exp, const Real* q, const Real* k, const Real* v, const std::int32_t* step,
                     const AttentionShape& shape, const Dropout& dropout)>
      attention;
  std::function<void(Real* dq, Real* dk, Real* dv, const Real* dy, const Real* q, const Real* k, const Real* v, const Real* y,
                     const float* log_sum_exp, const std::int32_t* step, const AttentionShape& shape, const Dropout& dropout)>
      attention_grad;
  std::function<void(Real* gates, float* cells, Real* h, Real* previous, const Real* x, const Real* weight,
                     const LstmShape& shape)>
      lstm;
  std::function<void(Real* dx, const Real* dh, const Real* weight, const Real* gates, const float* cells,
                     const LstmShape& shape)>
      lstm_grad;
  // With descriptions of tensors that differ between devices. Casts are all in one call. clip_factor returns what gradients are
  // multiplied by.
  std::function<void(std::vector<Tensor>& y, const std::vector<Tensor>& x)> cast;
  std::function<void(Parameters& parameters, const float* learning_rate, const SgdNumbers& numbers)> sgd;
  std::function<void(Parameters& parameters, const float* learning_rate, const std::int32_t* step, const AdamwNumbers& numbers)>
      adamw;
  std::function<float(Parameters& parameters, double largest_norm)> clip_factor;

  std::vector<std::pair<Element, Element>> casts;  // types from and to which it casts

  // Null in CUDA. Devices with the same code give the same bits, unless they divide a sum among different numbers of threads.
  const void* code = nullptr;
  int threads = 1;
  double exponential_error = 0;    // relative, of exp, where it is larger than a few roundings of a float
  int mask_channels = 1;           // batch_norm has masks where these divide the channels; 0: it has none
  bool products_in_float = false;  // whether it multiplies matrices itself, else the reference does
  int squares_in_float = 32;       // of a row, that a normalization adds up at most before it goes on in double
};

// The types that the devices of the program compute with.
std::vector<Element> op_elements();
std::vector<Element> gradient_elements();  // that its optimizers read
bool op_large();                           // whether they are fast enough for large tensors of every type

// The usual sizes, and those of large tensors where the devices are fast enough.
template <class Size, std::size_t kSizes, std::size_t kLargeSizes>
std::vector<Size> op_sizes(const Size (&usual)[kSizes], const Size (&large)[kLargeSizes]) {
  std::vector<Size> all(usual, usual + kSizes);
  if (op_large()) all.insert(all.end(), large, large + kLargeSizes);
  return all;
}

// Runs check(device) for every device with tensors of this type.
void for_each_device(Element element, const std::function<void(const OpDevice&)>& check);
// For optimizers, whose tensors have types of their own: for every table of the CPU, and every order of CUDA's threads.
void for_each_device(const std::function<void(const OpDevice&)>& check);

// Runs check(element) for every type; `what` names the case in a failure.
template <typename Check>
void for_each_op_element(const std::string& what, Check check) {
  for (Element element : op_elements()) {
    SCOPED_TRACE(what + " " + name_of(element));
    check(element);
  }
}

// The result of the same call on several devices, or repeated.
class SameBits {
 public:
  explicit SameBits(bool divided) : divided_(divided) {}  // whether a sum is divided among threads

  void expect(const OpDevice& device, std::span<const float> result) {
    const std::vector<float> values(result.begin(), result.end());
    const auto [known, added] = first_.try_emplace({device.code, divided_ ? device.threads : 0}, values);
    EXPECT_TRUE(bit_equal(known->second, values));
  }

 private:
  bool divided_;
  std::map<std::pair<const void*, int>, std::vector<float>> first_;
};

// What a kernel's scratch memory depends on.
struct WorkspaceExtents {
  std::vector<std::int64_t> sizes;  // the arguments that are numbers of rows, channels, ...
  const Conv2dShape* convolution = nullptr;
  const AttentionShape* attention = nullptr;
  const LstmShape* lstm = nullptr;

  template <typename... Arguments>
  explicit WorkspaceExtents(const Arguments&... arguments) {
    (add(arguments), ...);
  }

 private:
  void add(std::int64_t size) { sizes.push_back(size); }
  void add(const Conv2dShape& shape) { convolution = &shape; }
  void add(const AttentionShape& shape) { attention = &shape; }
  void add(const LstmShape& shape) { lstm = &shape; }
  template <typename Other>
  void add(const Other&) {}
};

}  // namespace epochbench::test
