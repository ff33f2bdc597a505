// oneDNN on its CPU engine, version 2 or 3. Products use plain layouts. Convolutions use plain NHWC activations, and weights in
// a layout that oneDNN chooses: its convolutions on plain weights are a naive loop. With the variant "plain" weights come and
// go in plain layout, and a run includes their reordering, as in training, where every step changes them; else it happens
// outside of runs. Strict fp32. Primitives are made beforehand.
//
// Debian's build runs on this program's own OpenMP. That of the package onednn runs on SYCL's CPU device, thus on OpenCL's with
// TBB threads: each run passes through their queue.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include <oneapi/dnnl/dnnl.hpp>
#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#else
#include <dlfcn.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#endif

#include "kernels/libraries/library.h"

namespace epochbench {
namespace {

using dnnl::memory;

memory::data_type type_of(Element element) {
  return element == Element::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

class Call final : public LibraryCall {
 public:
  Call(const dnnl::engine& engine, const dnnl::stream& stream, bool reorders_in_run)
      : engine_(engine), stream_(stream), reorders_in_run_(reorders_in_run) {}

  // Operand `index` of bind(), in the layout `plain`; the primitive wants it in another, perhaps.
  void operand(std::size_t index, int argument, const memory::desc& wanted, const memory::desc& plain, bool written) {
    const memory theirs(plain, engine_, nullptr);
    operands_[index] = theirs;
    arguments_.insert_or_assign(argument, theirs);
    if (wanted == plain) return;
    written_ = written;
    own_ = memory(wanted, engine_, nullptr);
    arguments_.insert_or_assign(argument, own_);
    reorder_.emplace(written ? own_ : theirs, written ? theirs : own_);
    reordered_ = theirs;
  }
  void bias(const memory::desc& desc) {
    bias_ = memory(desc, engine_, nullptr);
    arguments_.insert_or_assign(DNNL_ARG_BIAS, bias_);
  }
  // Call it after the operands.
  template <typename Primitive>
  void prepare(const typename Primitive::primitive_desc& desc) {
    winograd_ = std::string_view(desc.impl_info_str()).find("wino") != std::string_view::npos;
    scratch_ = memory(desc.scratchpad_desc(), engine_, nullptr);
    arguments_.insert_or_assign(DNNL_ARG_SCRATCHPAD, scratch_);
    primitive_ = Primitive(desc);
  }

  std::size_t workspace_bytes() const override { return scratch_bytes() + (reorder_ ? own_.get_desc().get_size() : 0); }
  bool winograd() const override { return winograd_; }

  void bind(void* first, void* second, void* third, const void* bias, void* workspace) override {
    const std::array<void*, 3> given{first, second, third};
    for (std::size_t i = 0; i < given.size(); ++i) set(operands_[i], given[i]);
    if (bias_) set(bias_, const_cast<void*>(bias));
    set(scratch_, workspace);
    if (reorder_) set(own_, static_cast<char*>(workspace) + scratch_bytes());
    if (!reorders_in_run_ && !written_) reorder();
  }
  void run() override {
    if (reorders_in_run_ && !written_) reorder();
    primitive_.execute(stream_, arguments_);
    stream_.wait();
    if (reorders_in_run_ && written_) reorder();
  }
  void finish() override {
    if (!reorders_in_run_ && written_) reorder();
  }

 private:
  static void set(memory& operand, void* data) {  // which may write padding, so only where it moves
    if (operand.get_data_handle() != data) operand.set_data_handle(data);
  }
  std::size_t scratch_bytes() const { return (scratch_.get_desc().get_size() + 63) / 64 * 64; }
  void reorder() {
    if (!reorder_) return;
    reorder_->execute(stream_, written_ ? own_ : reordered_, written_ ? reordered_ : own_);
    stream_.wait();
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  bool reorders_in_run_, written_ = false, winograd_ = false;
  std::array<memory, 3> operands_;  // as bind() gets them
  memory bias_, scratch_;
  memory own_, reordered_;  // of at most one operand: the weights in the primitive's layout, and as the caller has them
  std::optional<dnnl::reorder> reorder_;
  std::unordered_map<int, memory> arguments_;
  dnnl::primitive primitive_;
};

dnnl::primitive_attr attributes(const LibraryEpilogue& epilogue = {}) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  if (!epilogue.relu) return attributes;
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR < 3
  after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
#else
  after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#endif
  attributes.set_post_ops(after);
  return attributes;
}

// The description of a primitive. Before version 3, that of the operation is an object of its own. Hint: nothing, or the
// description of the forward pass.
template <typename Primitive, typename... Hint>
auto describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const auto& operation, const Hint&... hint) {
  return std::apply(
      [&](const auto&... arguments) {
#if DNNL_VERSION_MAJOR < 3
        return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attributes, engine, hint...);
#else
        return typename Primitive::primitive_desc(engine, arguments..., hint..., attributes);
#endif
      },
      operation);
}

#if DNNL_CPU_RUNTIME == DNNL_RUNTIME_OMP
class Threads {
 public:
  explicit Threads(int threads) { omp_set_num_threads(threads); }
  auto execute(const auto& make) { return make(); }
};
#else
// OpenCL's loader finds no driver by itself, because the package puts it only beside oneDNN.
void name_driver() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(&dnnl_version), &library) == 0) return;
  const std::filesystem::path driver = std::filesystem::path(library.dli_fname).parent_path() / "libintelocl.so";
  if (std::filesystem::exists(driver)) setenv("OCL_ICD_FILENAMES", driver.c_str(), 0);
}

class Threads {
 public:
  explicit Threads(int threads)
      : limit_(oneapi::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)), arena_(threads) {
    name_driver();
  }
  auto execute(const auto& make) { return arena_.execute(make); }

 private:
  oneapi::tbb::global_control limit_;
  oneapi::tbb::task_arena arena_;  // in it the library sees the number of threads, and divides a primitive's work by it
};
#endif

class OneDnn final : public Library {
 public:
  OneDnn(bool plain_weights, int threads)
      : plain_weights_(plain_weights), threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  std::string version() const override {
    const dnnl_version_t* version = dnnl_version();
    return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
           std::to_string(version->patch);
  }
  bool widens() const override {
    const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
    const unsigned bf16 = bits(dnnl::cpu_isa::avx512_core_bf16);
    return (bits(dnnl::get_effective_cpu_isa()) & bf16) != bf16;
  }

  std::unique_ptr<LibraryCall> gemm(const GemmShape& shape, Element element, const LibraryEpilogue& epilogue) override {
    return made([&] { return prepare_gemm(shape, element, epilogue); });
  }
  std::unique_ptr<LibraryCall> conv2d(const Conv2dShape& shape, Pass pass, Element element,
                                      const LibraryEpilogue& epilogue) override {
    return made([&] { return prepare_conv2d(shape, pass, element, epilogue); });
  }

 private:
  using Made = std::unique_ptr<LibraryCall>;

  Made made(const auto& prepare) {
    try {
      return threads_.execute(prepare);
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented) return nullptr;
      throw;
    }
  }
  std::unique_ptr<Call> call() const { return std::make_unique<Call>(engine_, stream_, plain_weights_); }

  Made prepare_gemm(const GemmShape& s, Element element, const LibraryEpilogue& epilogue) const {
    using tag = memory::format_tag;
    const memory::data_type type = type_of(element);
    const memory::desc a({s.m, s.k}, type, s.transpose_a ? tag::ba : tag::ab);
    const memory::desc b({s.k, s.n}, type, s.transpose_b ? tag::ba : tag::ab);
    const memory::desc c({s.m, s.n}, type, tag::ab), bias({1, s.n}, type, tag::ab);
    const auto after = attributes(epilogue);
    const auto desc = epilogue.bias ? describe<dnnl::matmul>(engine_, after, std::tuple(a, b, bias, c))
                                    : describe<dnnl::matmul>(engine_, after, std::tuple(a, b, c));
    if (naive(desc)) return nullptr;
    auto made = call();
    made->operand(0, DNNL_ARG_DST, c, c, true);
    made->operand(1, DNNL_ARG_SRC, a, a, false);
    made->operand(2, DNNL_ARG_WEIGHTS, b, b, false);
    if (epilogue.bias) made->bias(bias);
    made->prepare<dnnl::matmul>(desc);
    return made;
  }

  Made prepare_conv2d(const Conv2dShape& s, Pass pass, Element element, const LibraryEpilogue& epilogue) const {
    using tag = memory::format_tag;
    const memory::data_type type = type_of(element);
    const memory::dims weight_dims{s.out_channels, s.channels, s.kernel_height, s.kernel_width};
    const memory::desc x({s.batch, s.channels, s.height, s.width}, type, tag::nhwc);
    const memory::desc y({s.batch, s.out_channels, s.out_height, s.out_width}, type, tag::nhwc);
    const memory::desc weight(weight_dims, type, tag::ohwi), wanted(weight_dims, type, tag::any);
    const memory::desc bias({s.out_channels}, type, tag::x);
    const memory::dims stride{s.stride, s.stride}, padding{s.padding, s.padding};
    const auto algorithm = s.winograd ? dnnl::algorithm::convolution_auto : dnnl::algorithm::convolution_direct;
    const auto training = dnnl::prop_kind::forward_training;
    using Forward = dnnl::convolution_forward;
    const auto after = attributes(epilogue);
    const auto forward =
        epilogue.bias
            ? describe<Forward>(engine_, after, std::tuple(training, algorithm, x, wanted, bias, y, stride, padding, padding))
            : describe<Forward>(engine_, after, std::tuple(training, algorithm, x, wanted, y, stride, padding, padding));
    auto made = call();
    const auto finish = [&]<typename Primitive>(int y_argument, int x_argument, int weight_argument, const auto& weight_desc,
                                                const typename Primitive::primitive_desc& desc) -> Made {
      if (naive(desc)) return nullptr;
      made->operand(0, y_argument, y, y, pass == Pass::forward);
      made->operand(1, x_argument, x, x, pass == Pass::grad_input);
      made->operand(2, weight_argument, weight_desc, weight, pass == Pass::grad_weight);
      if (epilogue.bias) made->bias(bias);
      made->template prepare<Primitive>(desc);
      return std::move(made);
    };
    switch (pass) {
      case Pass::forward:
        return finish.template operator()<Forward>(DNNL_ARG_DST, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, forward.weights_desc(),
                                                   forward);
      case Pass::grad_input: {
        using Gradient = dnnl::convolution_backward_data;
        const auto desc =
            describe<Gradient>(engine_, attributes(), std::tuple(algorithm, x, wanted, y, stride, padding, padding), forward);
        return finish.template operator()<Gradient>(DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, desc.weights_desc(),
                                                    desc);
      }
      case Pass::grad_weight: {
        using Gradient = dnnl::convolution_backward_weights;
        const auto desc =
            describe<Gradient>(engine_, attributes(), std::tuple(algorithm, x, wanted, y, stride, padding, padding), forward);
        return finish.template operator()<Gradient>(DNNL_ARG_DIFF_DST, DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS,
                                                    desc.diff_weights_desc(), desc);
      }
    }
    return nullptr;
  }

  // oneDNN's reference implementations are loops over single numbers.
  static bool naive(const auto& desc) { return std::string_view(desc.impl_info_str()).find("ref") != std::string_view::npos; }

  bool plain_weights_;
  Threads threads_;
  dnnl::engine engine_;
  dnnl::stream stream_;
};

}  // namespace
}  // namespace epochbench

extern "C" epochbench::Library* epochbench_library(const std::string& variant, int threads) {
  if (!variant.empty() && variant != "plain") throw std::runtime_error("onednn has no variant '" + variant + "'");
  return new epochbench::OneDnn(variant == "plain", threads);
}
