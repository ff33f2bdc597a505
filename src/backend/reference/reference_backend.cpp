// The reference backend: runs the graph without fusion, in every precision, on naive kernels that accumulate in double and
// round only to the graph's 16-bit values and for tf32 products. Tests use it as the oracle.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/reference/kernels.h"
#include "src/backend/host/int8_steps.h"
#include "src/backend/host/node_steps.h"

namespace epochbench {
namespace {

constexpr const char* kNoComposites = "the reference backend runs the parts, not the composite";

// `update` takes one parameter's tensor with its unscaled, clipped gradient in float, the learning rate and the number of
// earlier updates.
template <typename Tensor, typename Update>
HostStep optimizer_step(const Graph& graph, const Node& node, const ValueMemory& memory, std::vector<Tensor> tensors,
                        Update update) {
  const OptimizerLayout layout = optimizer_layout(node);
  std::vector<Element> elements;  // of the gradients
  for (int i = 0; i < layout.parameters; ++i) {
    const int gradient = layout.first + i * layout.group + OptimizerLayout::kGradient;
    elements.push_back(element_of(graph.desc(node.inputs[static_cast<std::size_t>(gradient)]).dtype));
  }
  const ValueMemory* m = &memory;
  auto input = [in = node.inputs](int index) { return in[static_cast<std::size_t>(index)]; };
  return [=, tensors = std::move(tensors)] {
    if (layout.finite >= 0 && *m->get<std::int32_t>(input(layout.finite)) == 0) return;
    const float scale = layout.loss_scale >= 0 ? *m->get(input(layout.loss_scale)) : 1;
    const float clip = layout.clip >= 0 ? *m->get(input(layout.clip)) : 1;
    std::int32_t updates = layout.step >= 0 ? *m->get<std::int32_t>(input(layout.step)) : 0;
    if (layout.skipped_steps >= 0) updates -= *m->get<std::int32_t>(input(layout.skipped_steps));
    std::vector<float> gradient;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Tensor tensor = tensors[i];
      gradient.resize(static_cast<std::size_t>(tensor.n));
      reference::cast(gradient.data(), tensor.gradient, Element::f32, elements[i], tensor.n);
      for (float& value : gradient) value = value / scale * clip;
      tensor.gradient = gradient.data();
      update(tensor, *m->get(input(layout.learning_rate)), updates);
    }
  };
}

HostStep all_finite_step(const Graph& graph, const Node& node, const ValueMemory& memory) {
  std::vector<TensorDesc> descs;
  for (ValueId id : node.inputs) descs.push_back(graph.desc(id));
  return [=, m = &memory, in = node.inputs, out = node.outputs[0]] {
    bool finite = true;
    for (std::size_t i = 0; i < in.size(); ++i)
      finite = finite && reference::all_finite(m->get(in[i]), element_of(descs[i].dtype), descs[i].elements());
    *m->get<std::int32_t>(out) = finite;
  };
}

HostStep clip_factor_step(const Graph& graph, const Node& node, const ValueMemory& memory) {
  std::vector<TensorDesc> descs;
  for (ValueId id : node.inputs) descs.push_back(graph.desc(id));
  return [=, m = &memory, in = node.inputs, out = node.outputs[0], a = attributes<ClipFactorAttributes>(node)] {
    double sum = 0;
    for (std::size_t i = a.loss_scaled ? 1 : 0; i < in.size(); ++i)
      sum += reference::sum_of_squares(m->get(in[i]), element_of(descs[i].dtype), descs[i].elements());
    const double scale = a.loss_scaled ? *m->get(in[0]) : 1;
    *m->get(out) = static_cast<float>(clip_factor_of(std::sqrt(sum) / scale, a.largest_norm));
  };
}

HostStep cast_step(const Graph& graph, const Node& node, const ValueMemory& memory) {
  std::vector<TensorDesc> descs;
  for (ValueId id : node.inputs) descs.push_back(graph.desc(id));
  const Element to = element_of(attributes<CastAttributes>(node).to);
  return [=, m = &memory, in = node.inputs, out = node.outputs] {
    for (std::size_t i = 0; i < in.size(); ++i)
      if (m->get(out[i]) != nullptr)
        reference::cast(m->get(out[i]), m->get(in[i]), to, element_of(descs[i].dtype), descs[i].elements());
  };
}

// Whether this input is a factor of the node's products; the others are saved results, or added to the product.
bool is_factor(const Node& node, std::size_t input) {
  switch (node.op) {
    case Op::attention:
      return input < 3;  // q, k, v
    case Op::attention_grad:
      return input < 4;  // dy, q, k, v
    case Op::lstm:
    case Op::lstm_grad:
      return input == 1;  // the weight
    default:
      return input < 2;
  }
}

// The operands of a node's kernel, as floats: 16-bit inputs are widened before the kernel runs, 16-bit outputs are rounded
// after it, and the factors of a tf32 product are rounded before it.
class Operands {
 public:
  Operands(const Graph& graph, const Node& node, const ValueMemory& memory) : memory_(memory) {
    const bool tf32 = is_tf32(node.attributes);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) add(graph, node.inputs[i], false, tf32 && is_factor(node, i));
    for (ValueId id : node.outputs) add(graph, id, true, false);
  }

  template <typename T = float>
  T* get(ValueId id) {  // while the node runs; null: no node reads this value
    for (Shadow& shadow : shadows_)
      if (shadow.id == id) return memory_.get(id) == nullptr ? nullptr : reinterpret_cast<T*>(shadow.values.data());
    return memory_.get<T>(id);
  }

  int part() const { return memory_.part(); }
  int part_of_batch() const { return memory_.part_of_batch(); }
  bool converts() const { return !shadows_.empty(); }

  void load() {  // before the kernel
    for (Shadow& shadow : shadows_) {
      shadow.values.resize(static_cast<std::size_t>(shadow.n));
      if (shadow.output) continue;
      float* values = shadow.values.data();
      reference::cast(values, memory_.get<std::byte>(shadow.id), Element::f32, shadow.element, shadow.n);
      if (shadow.tf32) reference::round_to_tf32(values, values, shadow.n);
    }
  }

  void store() {  // after it
    for (Shadow& shadow : shadows_) {
      std::byte* memory = memory_.get<std::byte>(shadow.id);
      if (shadow.output && memory != nullptr)
        reference::cast(memory, shadow.values.data(), shadow.element, Element::f32, shadow.n);
      std::vector<float>().swap(shadow.values);
    }
  }

 private:
  struct Shadow {
    ValueId id;
    Element element;
    std::int64_t n;
    bool output, tf32;
    std::vector<float> values;  // empty between steps
  };

  void add(const Graph& graph, ValueId id, bool output, bool tf32) {
    const TensorDesc& desc = graph.desc(id);
    const bool is_16_bit = desc.dtype == DType::bf16 || desc.dtype == DType::f16;
    if (!is_16_bit && !(tf32 && desc.dtype == DType::f32)) return;
    if (std::any_of(shadows_.begin(), shadows_.end(), [id](const Shadow& shadow) { return shadow.id == id; })) return;
    shadows_.push_back({id, element_of(desc.dtype), desc.elements(), output, tf32, {}});
  }

  const ValueMemory& memory_;
  std::vector<Shadow> shadows_;
};

struct Kernels {  // with the same arguments as those of the CPU backend
  using Real = float;
#define REFERENCE_KERNEL(name, arguments) void(*name) arguments = reference::name;
#include "kernels/kernel_list.inc"
};

struct Int8Kernels {
  decltype(&reference::observe_range) observe_range = reference::observe_range;
  decltype(&reference::quantize) quantize = reference::quantize;
  decltype(&reference::int8_product) int8_product = reference::int8_product;
  decltype(&reference::int8_max_pool) int8_max_pool = reference::int8_max_pool;
};

// Runs the kernel on float operands.
HostStep kernel_step(const Graph& graph, const Node& node, const std::shared_ptr<Operands>& operands, std::uint64_t seed) {
  const NodeOperands<float, std::shared_ptr<Operands>> o{operands, node.inputs, node.outputs};
  const RowsChannels size = rows_channels(graph.desc(node.inputs[0]));
  const std::int64_t rows = size.rows, channels = size.channels;
  const auto make = [](auto kernel, auto call) -> HostStep { return [=] { call(kernel); }; };
  switch (node.op) {
    case Op::batch_norm:
      return [=, a = attributes<BatchNormAttributes>(node)] {
        reference::batch_norm(o.y(0), o.y(1), o.y(2), o.y(3), o.y(4), o.x(0), o.x(1), o.x(2), nullptr, rows, channels,
                              a.epsilon, a.momentum, false);
      };
    case Op::batch_norm_grad:
      return [=] {
        reference::batch_norm_grad(o.y(0), o.y(1), o.y(2), nullptr, o.x(0), nullptr, o.x(1), o.x(2), o.x(3), o.x(4), rows,
                                   channels);
      };
    case Op::cross_entropy_grad:
      return [=, targets = targets_of(node), at = cross_entropy_operands(node)] {
        float* dlogits = o.y(0);
        reference::cross_entropy_grad(dlogits, o.x(0), o.integers(1), o.x(at.log_sum_exp), rows, channels,
                                      targets.with_share(at.share ? o.x(at.share) : nullptr));
        const float scale = at.loss_scale ? *o.x(at.loss_scale) : 1;
        for (std::int64_t i = 0; i < rows * channels; ++i) dlogits[i] *= scale;
      };
    case Op::decode_pixels:
      return [=] { reference::decode_pixels(o.y(0), o.index(0), o.x(1), rows, channels); };
    case Op::increment:
      return [=] { ++*o.y_integers(0); };
    case Op::update_loss_scale:
      return [=, a = attributes<LossScaleAttributes>(node)] {
        reference::update_loss_scale(o.y(0), o.y_integers(1), o.y_integers(2), o.integers(0),
                                     {a.growth, a.backoff, a.growth_interval, kMinLossScale, kMaxLossScale});
      };
    default:
      if (is_int8(graph, node)) return int8_step(graph, node, Int8Kernels{}, o, make);
      if (is_composite(node.op)) throw std::invalid_argument(std::string(name(node.op)) + ": " + kNoComposites);
      return host_step(graph, node, seed, true, Kernels{}, o, make);
  }
}

HostStep compile_node(const Graph& graph, const Node& node, const ValueMemory& memory, std::uint64_t seed) {
  switch (node.op) {
    case Op::sgd:
      return optimizer_step(graph, node, memory, sgd_tensors(graph, node, memory),
                            [a = attributes<SgdAttributes>(node)](const SgdTensor& tensor, float rate, std::int32_t) {
                              reference::sgd(&tensor, 1, &rate, {a.momentum, a.weight_decay});
                            });
    case Op::adamw:
      return optimizer_step(
          graph, node, memory, adamw_tensors(graph, node, memory),
          [a = attributes<AdamwAttributes>(node)](const AdamwTensor& tensor, float rate, std::int32_t updates) {
            reference::adamw(&tensor, 1, &rate, &updates, {a.beta1, a.beta2, a.epsilon});
          });
    case Op::cast:
      return cast_step(graph, node, memory);
    case Op::all_finite:
      return all_finite_step(graph, node, memory);
    case Op::clip_factor:
      return clip_factor_step(graph, node, memory);
    default: {
      const auto operands = std::make_shared<Operands>(graph, node, memory);
      const HostStep kernel = kernel_step(graph, node, operands, seed);
      if (!kernel || !operands->converts()) return kernel;
      return [=] {
        operands->load();
        kernel();
        operands->store();
      };
    }
  }
}

class ReferenceBackend final : public Backend {
 public:
  DeviceInfo device() const override { return {"naive loops in double precision", 1, "portable", 0}; }

  std::optional<std::string> unsupported(const Graph&, const Node& node) const override {
    if (is_collective(node.op)) return "the reference backend is one rank; use --device cpu with --ranks";
    const auto* adamw = std::get_if<AdamwAttributes>(&node.attributes);
    const bool copies = adamw != nullptr && !adamw->copies.empty();
    return is_composite(node.op) || copies ? std::optional<std::string>(kNoComposites) : std::nullopt;
  }
  std::size_t workspace_bytes(const Graph&, const Node&) const override { return 0; }

  std::unique_ptr<Executable> compile(const Program& program) const override {
    return std::make_unique<HostExecutable>(
        program, 1, [seed = program.seed](const Graph& graph, const Node& node, const ValueMemory& memory, void*) {
          return CompiledNode{compile_node(graph, node, memory, seed), std::string("reference ") + name(node.op)};
        });
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace epochbench
