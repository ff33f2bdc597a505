// The reference backend: the graph without fusion, in every precision, on naive kernels that accumulate in double and round
// only to the graph's 16-bit values and for tf32 products. The oracle of the tests.
#include <stdexcept>

#include "kernels/reference/kernels.h"
#include "src/backend/host/host_executable.h"
#include "src/backend/host/kernel_shapes.h"
#include "src/backend/reference/reference_operands.h"

namespace epochbench {
namespace {

constexpr const char* kNoComposites = "the reference backend runs the parts, not the composite";

template <typename AttributesType>
const AttributesType& attributes(const Node& node) {
  return std::get<AttributesType>(node.attributes);
}

// `update` takes one parameter's tensor with its unscaled gradient in float, the learning rate and the number of earlier
// updates.
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
    std::int32_t updates = layout.step >= 0 ? *m->get<std::int32_t>(input(layout.step)) : 0;
    if (layout.skipped_steps >= 0) updates -= *m->get<std::int32_t>(input(layout.skipped_steps));
    std::vector<float> gradient;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Tensor tensor = tensors[i];
      gradient.resize(static_cast<std::size_t>(tensor.n));
      reference::cast(gradient.data(), tensor.gradient, Element::f32, elements[i], tensor.n);
      for (float& value : gradient) value /= scale;
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

// The kernel, on operands in float.
HostStep kernel_step(const Graph& graph, const Node& node, const std::shared_ptr<ReferenceOperands>& m, std::uint64_t seed) {
  namespace k = reference;
  const std::vector<ValueId> in = node.inputs, out = node.outputs;
  const TensorDesc first = graph.desc(in[0]);
  const std::int64_t n = first.elements();
  const auto [rows, channels] = rows_channels(first);
  switch (node.op) {
    case Op::matmul:
      return [=, s = gemm_shape(graph, node)] { k::gemm(m->get(out[0]), m->get(in[0]), m->get(in[1]), s, {}); };
    case Op::bias_add:
      return
          [=, rows = rows, channels = channels] { k::bias_add(m->get(out[0]), m->get(in[0]), m->get(in[1]), rows, channels); };
    case Op::bias_add_grad:
      return [=, rows = rows, channels = channels] { k::bias_add_grad(m->get(out[0]), m->get(in[0]), rows, channels); };
    case Op::relu:
      return [=] { k::relu(m->get(out[0]), m->get(in[0]), n); };
    case Op::relu_grad:
      return [=] { k::relu_grad(m->get(out[0]), m->get(in[0]), m->get(in[1]), n); };
    case Op::add:
      return [=] { k::add(m->get(out[0]), m->get(in[0]), m->get(in[1]), n); };
    case Op::reshape:
      return {};
    case Op::conv2d:
      return [=, s = conv2d_shape(graph, node)] { k::conv2d(m->get(out[0]), m->get(in[0]), m->get(in[1]), s, {}); };
    case Op::conv2d_grad_input:
      return [=, s = conv2d_shape(graph, node)] { k::conv2d_grad_input(m->get(out[0]), m->get(in[0]), m->get(in[1]), s); };
    case Op::conv2d_grad_weight:
      return [=, s = conv2d_shape(graph, node)] { k::conv2d_grad_weight(m->get(out[0]), m->get(in[0]), m->get(in[1]), s); };
    case Op::batch_norm:
      return [=, rows = rows, channels = channels, a = attributes<BatchNormAttributes>(node)] {
        k::batch_norm(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(out[3]), m->get(out[4]), m->get(in[0]),
                      m->get(in[1]), m->get(in[2]), nullptr, rows, channels, a.epsilon, a.momentum, false);
      };
    case Op::batch_norm_inference:
      return [=, rows = rows, channels = channels, a = attributes<BatchNormAttributes>(node)] {
        k::batch_norm_inference(m->get(out[0]), m->get(in[0]), m->get(in[1]), m->get(in[2]), m->get(in[3]), m->get(in[4]),
                                nullptr, rows, channels, a.epsilon, false);
      };
    case Op::batch_norm_grad:
      return [=, rows = rows, channels = channels] {
        k::batch_norm_grad(m->get(out[0]), m->get(out[1]), m->get(out[2]), nullptr, m->get(in[0]), nullptr, m->get(in[1]),
                           m->get(in[2]), m->get(in[3]), m->get(in[4]), rows, channels);
      };
    case Op::max_pool:
      return [=, s = pool_shape(graph, node)] { k::max_pool(m->get(out[0]), m->get<std::uint8_t>(out[1]), m->get(in[0]), s); };
    case Op::max_pool_grad:
      return
          [=, s = pool_shape(graph, node)] { k::max_pool_grad(m->get(out[0]), m->get(in[0]), m->get<std::uint8_t>(in[1]), s); };
    case Op::global_average_pool:
      return [=, x = first.shape] { k::global_average_pool(m->get(out[0]), m->get(in[0]), x[0], x[1] * x[2], x[3]); };
    case Op::global_average_pool_grad:
      return [=, x = graph.desc(out[0]).shape] {
        k::global_average_pool_grad(m->get(out[0]), m->get(in[0]), x[0], x[1] * x[2], x[3]);
      };
    case Op::cross_entropy:
      return [=, rows = rows, channels = channels, mean = attributes<CrossEntropyAttributes>(node).mean] {
        k::cross_entropy(m->get(out[0]), m->get(out[1]), m->get(in[0]), m->get<std::int32_t>(in[1]), rows, channels, mean);
      };
    case Op::cross_entropy_grad:
      return [=, rows = rows, channels = channels, mean = attributes<CrossEntropyAttributes>(node).mean] {
        float* dlogits = m->get(out[0]);
        k::cross_entropy_grad(dlogits, m->get(in[0]), m->get<std::int32_t>(in[1]), m->get(in[2]), rows, channels, mean);
        const float scale = in.size() > 3 ? *m->get(in[3]) : 1;
        for (std::int64_t i = 0; i < n; ++i) dlogits[i] *= scale;
      };
    case Op::count_correct:
      return [=, rows = rows, channels = channels] {
        k::count_correct(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), rows, channels);
      };
    case Op::layer_norm:
      return [=, rows = rows, channels = channels, epsilon = attributes<LayerNormAttributes>(node).epsilon] {
        k::layer_norm(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(in[0]), m->get(in[1]), m->get(in[2]), rows,
                      channels, epsilon);
      };
    case Op::layer_norm_grad:
      return [=, rows = rows, channels = channels] {
        k::layer_norm_grad(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(in[0]), m->get(in[1]), m->get(in[2]),
                           m->get(in[3]), m->get(in[4]), rows, channels);
      };
    case Op::gelu:
      return [=] { k::gelu(m->get(out[0]), m->get(in[0]), n); };
    case Op::gelu_grad:
      return [=] { k::gelu_grad(m->get(out[0]), m->get(in[0]), m->get(in[1]), n); };
    case Op::dropout:
      return [=, dropout = dropout_of(node, seed)] {
        k::dropout(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), dropout, n);
      };
    case Op::embedding:
      return [=, ids = graph.desc(in[1]).elements(), width = channels] {
        k::embedding(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), ids, width);
      };
    case Op::embedding_grad:
      return [=, rows = rows, channels = channels, table = graph.desc(out[0]).shape, base = in.size() > 2] {
        k::embedding_grad(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), base ? m->get(in[2]) : nullptr, rows,
                          table[0], table[1]);
      };
    case Op::add_rows:
      return [=, rows = rows, channels = channels, period = attributes<AddRowsAttributes>(node).period] {
        k::add_rows(m->get(out[0]), m->get(in[0]), m->get(in[1]), rows, channels, period);
      };
    case Op::add_rows_grad:
      return [=, rows = rows, channels = channels, a = attributes<AddRowsAttributes>(node)] {
        k::add_rows_grad(m->get(out[0]), m->get(in[0]), rows, channels, a.period, a.table_rows);
      };
    case Op::gather_rows:
      return [=, p = graph.desc(in[1]).shape, sequence = attributes<GatherRowsAttributes>(node).sequence, width = channels] {
        k::gather_rows(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), p[0], sequence, p[1], width);
      };
    case Op::gather_rows_grad:
      return [=, p = graph.desc(in[1]).shape, sequence = attributes<GatherRowsAttributes>(node).sequence, width = channels] {
        k::gather_rows_grad(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), p[0], sequence, p[1], width);
      };
    case Op::attention:
      return [=, s = attention_shape(graph, node), dropout = dropout_of(node, seed)] {
        k::attention(m->get(out[0]), m->get(out[1]), m->get(in[0]), m->get(in[1]), m->get(in[2]), m->get<std::int32_t>(in[3]),
                     s, dropout);
      };
    case Op::attention_grad:
      return [=, s = attention_shape(graph, node), dropout = dropout_of(node, seed)] {
        k::attention_grad(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(in[0]), m->get(in[1]), m->get(in[2]),
                          m->get(in[3]), m->get(in[4]), m->get(in[5]), m->get<std::int32_t>(in[6]), s, dropout);
      };
    case Op::increment:
      return [=] { ++*m->get<std::int32_t>(out[0]); };
    case Op::update_loss_scale:
      return [=, a = attributes<LossScaleAttributes>(node)] {
        k::update_loss_scale(m->get(out[0]), m->get<std::int32_t>(out[1]), m->get<std::int32_t>(out[2]),
                             m->get<std::int32_t>(in[0]),
                             {a.growth, a.backoff, a.growth_interval, kSmallestLossScale, kLargestLossScale});
      };
    case Op::sgd:
    case Op::adamw:
    case Op::cast:
    case Op::all_finite:
      break;  // compile_node() handles them: many tensors of any type
    case Op::linear:
    case Op::linear_grad_weight:
    case Op::conv2d_bias:
    case Op::batch_norm_relu:
    case Op::batch_norm_inference_relu:
    case Op::batch_norm_relu_grad:
      throw std::invalid_argument(std::string(name(node.op)) + ": " + kNoComposites);
  }
  throw std::logic_error("op without a reference kernel");
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
    default: {
      const auto operands = std::make_shared<ReferenceOperands>(graph, node, memory);
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
  DeviceInfo device() const override { return {"reference", "naive loops in double precision", 1, "portable", 0}; }

  std::optional<std::string> unsupported(const Graph&, const Node& node) const override {
    return is_composite(node.op) ? std::optional<std::string>(kNoComposites) : std::nullopt;
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
