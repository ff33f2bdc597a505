// oneDNN, from the package onednn, on its CPU engine. Products use plain layouts. Convolutions use plain NHWC activations, and
// weights in a layout that oneDNN chooses, reordered outside the timed part (variant "plain": weights come and go in plain
// layout and their reordering is timed, as in frameworks that keep them so; its convolutions on plain weights themselves are a
// naive loop). Strict fp32; scratch memory and primitives are made beforehand.
//
// This build of oneDNN runs on SYCL's CPU device, thus on OpenCL's with TBB threads: each run passes through their queue.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include "bench/peer.h"

namespace epochbench::bench {
namespace {

using dnnl::memory;

memory::data_type type_of(Element element) {
  return element == Element::bf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

class Call final : public PeerCall {
 public:
  Call(const dnnl::engine& engine, const dnnl::stream& stream, bool reorders_in_run)
      : engine_(engine), stream_(stream), reorders_in_run_(reorders_in_run) {}

  // An operand that is read: the caller's memory, or a copy in the layout that the primitive wants.
  void input(int argument, const memory::desc& wanted, const memory::desc& plain, void* data) {
    arguments_.insert_or_assign(argument, wanted == plain ? memory(plain, engine_, data) : own(wanted));
    if (wanted != plain) before_.emplace_back(memory(plain, engine_, data), arguments_.at(argument));
  }
  // The operand that is written: likewise, and copied back.
  void output(int argument, const memory::desc& wanted, const memory::desc& plain, void* data) {
    arguments_.insert_or_assign(argument, wanted == plain ? memory(plain, engine_, data) : own(wanted));
    if (wanted != plain) after_.emplace_back(arguments_.at(argument), memory(plain, engine_, data));
  }
  // Call it after the operands.
  template <typename Primitive>
  void prepare(const typename Primitive::primitive_desc& desc) {
    arguments_.insert_or_assign(DNNL_ARG_SCRATCHPAD, own(desc.scratchpad_desc()));
    primitive_ = Primitive(desc);
    reorder(before_);
  }

  void run() override {
    if (reorders_in_run_) reorder(before_);
    primitive_.execute(stream_, arguments_);
    stream_.wait();
    if (reorders_in_run_) reorder(after_);
  }
  void finish() override { reorder(after_); }

 private:
  struct Reorder {
    Reorder(const memory& from, const memory& to) : from(from), to(to), primitive(from, to) {}
    memory from, to;
    dnnl::reorder primitive;
  };
  struct Free {
    void operator()(char* p) const { ::operator delete (p, std::align_val_t{64}); }
  };

  // The library's own memory, in ordinary pages: SYCL buffers would be mapped again at every use.
  memory own(const memory::desc& desc) {
    const std::size_t bytes = (desc.get_size() + 64) / 64 * 64;
    storage_.emplace_back(static_cast<char*>(::operator new (bytes, std::align_val_t{64})));
    std::fill_n(storage_.back().get(), bytes, '\0');
    return {desc, engine_, storage_.back().get()};
  }
  void reorder(std::vector<Reorder>& reorders) {
    for (Reorder& r : reorders) {
      r.primitive.execute(stream_, r.from, r.to);
      stream_.wait();
    }
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  bool reorders_in_run_;
  std::vector<std::unique_ptr<char, Free>> storage_;
  std::unordered_map<int, memory> arguments_;
  std::vector<Reorder> before_, after_;
  dnnl::primitive primitive_;
};

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

class OneDnn final : public Peer {
 public:
  OneDnn(bool plain_weights, int threads)
      : plain_weights_(plain_weights),
        threads_(oneapi::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)),
        arena_(threads),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_) {}

  std::string version() const override {
    const dnnl_version_t* version = dnnl_version();
    return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
           std::to_string(version->patch);
  }

  std::unique_ptr<PeerCall> gemm(void* c, const void* a, const void* b, const GemmShape& shape, Element element) override {
    if (plain_weights_) return nullptr;  // the same as without the variant
    using tag = memory::format_tag;
    const memory::desc a_desc({shape.m, shape.k}, type_of(element), shape.transpose_a ? tag::ba : tag::ab);
    const memory::desc b_desc({shape.k, shape.n}, type_of(element), shape.transpose_b ? tag::ba : tag::ab);
    const memory::desc c_desc({shape.m, shape.n}, type_of(element), tag::ab);
    auto call = std::make_unique<Call>(engine_, stream_, plain_weights_);
    call->input(DNNL_ARG_SRC, a_desc, a_desc, const_cast<void*>(a));
    call->input(DNNL_ARG_WEIGHTS, b_desc, b_desc, const_cast<void*>(b));
    call->output(DNNL_ARG_DST, c_desc, c_desc, c);
    arena_.execute(
        [&] { call->prepare<dnnl::matmul>(dnnl::matmul::primitive_desc(engine_, a_desc, b_desc, c_desc, attributes())); });
    return call;
  }

  std::unique_ptr<PeerCall> conv2d(void* y, void* x, void* weight, const Conv2dShape& shape, Pass pass,
                                   Element element) override {
    return arena_.execute([&] { return prepare_conv2d(y, x, weight, shape, pass, element); });
  }

 private:
  std::unique_ptr<Call> prepare_conv2d(void* y, void* x, void* weight, const Conv2dShape& s, Pass pass, Element element) {
    using tag = memory::format_tag;
    const memory::dims x_dims{s.batch, s.channels, s.height, s.width};
    const memory::dims y_dims{s.batch, s.out_channels, s.out_height, s.out_width};
    const memory::dims weight_dims{s.out_channels, s.channels, s.kernel_height, s.kernel_width};
    const memory::desc x_desc(x_dims, type_of(element), tag::nhwc), y_desc(y_dims, type_of(element), tag::nhwc);
    const memory::desc weight_desc(weight_dims, type_of(element), tag::ohwi);
    const memory::desc wanted(weight_dims, type_of(element), tag::any);
    const memory::dims stride{s.stride, s.stride}, padding{s.padding, s.padding};
    const auto algorithm = dnnl::algorithm::convolution_auto;
    const dnnl::convolution_forward::primitive_desc forward(engine_, dnnl::prop_kind::forward_training, algorithm, x_desc,
                                                            wanted, y_desc, stride, padding, padding, attributes());
    auto call = std::make_unique<Call>(engine_, stream_, plain_weights_);
    switch (pass) {
      case Pass::forward:
        call->input(DNNL_ARG_SRC, x_desc, x_desc, x);
        call->input(DNNL_ARG_WEIGHTS, forward.weights_desc(), weight_desc, weight);
        call->output(DNNL_ARG_DST, y_desc, y_desc, y);
        call->prepare<dnnl::convolution_forward>(forward);
        break;
      case Pass::grad_input: {
        const dnnl::convolution_backward_data::primitive_desc desc(engine_, algorithm, x_desc, wanted, y_desc, stride, padding,
                                                                   padding, forward, attributes());
        call->input(DNNL_ARG_DIFF_DST, y_desc, y_desc, y);
        call->input(DNNL_ARG_WEIGHTS, desc.weights_desc(), weight_desc, weight);
        call->output(DNNL_ARG_DIFF_SRC, x_desc, x_desc, x);
        call->prepare<dnnl::convolution_backward_data>(desc);
        break;
      }
      case Pass::grad_weight: {
        const dnnl::convolution_backward_weights::primitive_desc desc(engine_, algorithm, x_desc, wanted, y_desc, stride,
                                                                      padding, padding, forward, attributes());
        call->input(DNNL_ARG_SRC, x_desc, x_desc, x);
        call->input(DNNL_ARG_DIFF_DST, y_desc, y_desc, y);
        call->output(DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc(), weight_desc, weight);
        call->prepare<dnnl::convolution_backward_weights>(desc);
        break;
      }
    }
    return call;
  }

  bool plain_weights_;
  oneapi::tbb::global_control threads_;
  oneapi::tbb::task_arena arena_;  // in it the library sees the number of threads, and divides a primitive's work by it
  dnnl::engine engine_;
  dnnl::stream stream_;
};

// OpenCL's loader finds no driver by itself, because the package puts it only beside oneDNN.
void name_driver() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(&dnnl_version), &library) == 0) return;
  const std::filesystem::path driver = std::filesystem::path(library.dli_fname).parent_path() / "libintelocl.so";
  if (std::filesystem::exists(driver)) setenv("OCL_ICD_FILENAMES", driver.c_str(), 0);
}

}  // namespace
}  // namespace epochbench::bench

extern "C" epochbench::bench::Peer* epochbench_peer(const std::string& variant, int threads) {
  if (!variant.empty() && variant != "plain") throw std::runtime_error("onednn has no variant '" + variant + "'");
  epochbench::bench::name_driver();
  return new epochbench::bench::OneDnn(variant == "plain", threads);
}
