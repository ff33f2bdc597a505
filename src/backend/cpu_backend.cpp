// The CPU backend: OpenMP kernels of the best instruction set, in strict fp32.
#include <stdexcept>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstring>

#include "kernels/cpu/kernels.h"
#include "src/backend/host_executable.h"
#include "src/backend/kernel_shapes.h"

namespace epochbench {
namespace {

template <typename AttributesType>
const AttributesType& attributes(const Node& node) {
  return std::get<AttributesType>(node.attributes);
}

// The processor's own name, "AMD EPYC 9R14 ..."; "CPU" where it does not tell.
std::string processor_name() {
#if defined(__x86_64__)
  unsigned words[12] = {};
  if (__get_cpuid_max(0x80000000, nullptr) >= 0x80000004) {
    for (unsigned leaf = 0; leaf < 3; ++leaf)
      __get_cpuid(0x80000002 + leaf, &words[4 * leaf], &words[4 * leaf + 1], &words[4 * leaf + 2], &words[4 * leaf + 3]);
    char text[sizeof words + 1] = {};
    std::memcpy(text, words, sizeof words);
    std::string name(text);
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (!name.empty()) return name;
  }
#endif
  return "CPU";
}

class Compiler {
 public:
  Compiler(const cpu::Kernels<float>& kernels, int threads) : k_(&kernels), threads_(threads) {}

  std::size_t workspace_bytes(const Graph& graph, const Node& node) const {
    switch (node.op) {
      case Op::matmul:
      case Op::linear:
        return k_->gemm_workspace_bytes(gemm_shape(graph, node), threads_);
      case Op::conv2d:
      case Op::conv2d_bias:
        return k_->conv2d_workspace_bytes(conv2d_shape(graph, node), threads_);
      case Op::conv2d_grad_input:
        return k_->conv2d_grad_input_workspace_bytes(conv2d_shape(graph, node), threads_);
      case Op::conv2d_grad_weight:
        return k_->conv2d_grad_weight_workspace_bytes(conv2d_shape(graph, node), threads_);
      case Op::bias_add_grad:
      case Op::layer_norm_grad:
      case Op::batch_norm:
      case Op::batch_norm_relu:
      case Op::batch_norm_inference:
      case Op::batch_norm_inference_relu:
      case Op::batch_norm_grad:
      case Op::batch_norm_relu_grad:
        return k_->reduction_workspace_bytes(rows_channels(graph.desc(node.inputs[0])).channels, threads_);
      case Op::attention:
      case Op::attention_grad:
        return k_->attention_workspace_bytes(attention_shape(graph, node), threads_);
      case Op::layer_norm:
      case Op::gelu:
      case Op::gelu_grad:
      case Op::dropout:
      case Op::embedding:
      case Op::embedding_grad:
      case Op::add_rows:
      case Op::add_rows_grad:
      case Op::gather_rows:
      case Op::gather_rows_grad:
      case Op::bias_add:
      case Op::relu:
      case Op::relu_grad:
      case Op::add:
      case Op::reshape:
      case Op::max_pool:
      case Op::max_pool_grad:
      case Op::global_average_pool:
      case Op::global_average_pool_grad:
      case Op::cross_entropy:
      case Op::cross_entropy_grad:
      case Op::count_correct:
      case Op::sgd:
      case Op::adamw:
      case Op::increment:
      case Op::cast:
      case Op::all_finite:
      case Op::update_loss_scale:
      case Op::linear_grad_weight:
        return 0;
    }
    return 0;
  }

  CompiledNode compile(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace,
                       std::uint64_t seed) const {
    return {step(graph, node, memory, workspace, seed), std::string(k_->isa) + " " + name(node.op)};
  }

 private:
  HostStep step(const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace, std::uint64_t seed) const {
    const cpu::Kernels<float>* k = k_;
    const int threads = threads_;
    const ValueMemory* m = &memory;
    const std::vector<ValueId> in = node.inputs, out = node.outputs;
    const TensorDesc first = graph.desc(in[0]);
    const std::int64_t n = first.elements();
    const auto [rows_, channels_] = rows_channels(first);
    const std::int64_t rows = rows_, channels = channels_;
    switch (node.op) {
      case Op::matmul:
        return [=, s = gemm_shape(graph, node)] {
          k->gemm(m->get(out[0]), m->get(in[0]), m->get(in[1]), s, {}, workspace, threads);
        };
      case Op::linear:
        return [=, s = gemm_shape(graph, node), relu = attributes<LinearAttributes>(node).relu] {
          k->gemm(m->get(out[0]), m->get(in[0]), m->get(in[1]), s, {m->get(in[2]), relu}, workspace, threads);
        };
      case Op::conv2d:
        return [=, s = conv2d_shape(graph, node)] {
          k->conv2d(m->get(out[0]), m->get(in[0]), m->get(in[1]), s, {}, workspace, threads);
        };
      case Op::conv2d_bias:
        return [=, s = conv2d_shape(graph, node), relu = attributes<Conv2dBiasAttributes>(node).relu] {
          k->conv2d(m->get(out[0]), m->get(in[0]), m->get(in[1]), s, {m->get(in[2]), relu}, workspace, threads);
        };
      case Op::conv2d_grad_input:
        return [=, s = conv2d_shape(graph, node)] {
          k->conv2d_grad_input(m->get(out[0]), m->get(in[0]), m->get(in[1]), s, workspace, threads);
        };
      case Op::conv2d_grad_weight:
        return [=, s = conv2d_shape(graph, node)] {
          k->conv2d_grad_weight(m->get(out[0]), m->get(in[0]), m->get(in[1]), s, workspace, threads);
        };
      case Op::bias_add:
        return [=] { k->bias_add(m->get(out[0]), m->get(in[0]), m->get(in[1]), rows, channels, threads); };
      case Op::bias_add_grad:
        return [=] { k->bias_add_grad(m->get(out[0]), m->get(in[0]), rows, channels, workspace, threads); };
      case Op::relu:
        return [=] { k->relu(m->get(out[0]), m->get(in[0]), n, threads); };
      case Op::relu_grad:
        return [=] { k->relu_grad(m->get(out[0]), m->get(in[0]), m->get(in[1]), n, threads); };
      case Op::add:
        return [=] { k->add(m->get(out[0]), m->get(in[0]), m->get(in[1]), n, threads); };
      case Op::reshape:
        return {};
      case Op::batch_norm:
      case Op::batch_norm_relu: {
        const bool relu = node.op == Op::batch_norm_relu, shortcut = in.size() > 5;
        const BatchNormAttributes a =
            relu ? attributes<BatchNormReluAttributes>(node).batch_norm : attributes<BatchNormAttributes>(node);
        return [=] {
          k->batch_norm(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(out[3]), m->get(out[4]), m->get(in[0]),
                        m->get(in[1]), m->get(in[2]), shortcut ? m->get(in[5]) : nullptr, rows, channels, a.epsilon, a.momentum,
                        relu, workspace, threads);
        };
      }
      case Op::batch_norm_inference:
      case Op::batch_norm_inference_relu: {
        const bool relu = node.op == Op::batch_norm_inference_relu, shortcut = in.size() > 5;
        return [=, a = attributes<BatchNormAttributes>(node)] {
          k->batch_norm_inference(m->get(out[0]), m->get(in[0]), m->get(in[1]), m->get(in[2]), m->get(in[3]), m->get(in[4]),
                                  shortcut ? m->get(in[5]) : nullptr, rows, channels, a.epsilon, relu, workspace, threads);
        };
      }
      case Op::batch_norm_grad:
        return [=] {
          k->batch_norm_grad(m->get(out[0]), m->get(out[1]), m->get(out[2]), nullptr, m->get(in[0]), nullptr, m->get(in[1]),
                             m->get(in[2]), m->get(in[3]), m->get(in[4]), rows, channels, workspace, threads);
        };
      case Op::batch_norm_relu_grad:
        return [=] {
          k->batch_norm_grad(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(out[3]), m->get(in[0]), m->get(in[1]),
                             m->get(in[2]), m->get(in[3]), m->get(in[4]), m->get(in[5]), rows, channels, workspace, threads);
        };
      case Op::max_pool:
        return [=, s = pool_shape(graph, node)] {
          k->max_pool(m->get(out[0]), m->get<std::uint8_t>(out[1]), m->get(in[0]), s, threads);
        };
      case Op::max_pool_grad:
        return [=, s = pool_shape(graph, node)] {
          k->max_pool_grad(m->get(out[0]), m->get(in[0]), m->get<std::uint8_t>(in[1]), s, threads);
        };
      case Op::global_average_pool:
        return
            [=, x = first.shape] { k->global_average_pool(m->get(out[0]), m->get(in[0]), x[0], x[1] * x[2], x[3], threads); };
      case Op::global_average_pool_grad:
        return [=, x = graph.desc(out[0]).shape] {
          k->global_average_pool_grad(m->get(out[0]), m->get(in[0]), x[0], x[1] * x[2], x[3], threads);
        };
      case Op::cross_entropy:
        return [=, mean = attributes<CrossEntropyAttributes>(node).mean] {
          k->cross_entropy(m->get(out[0]), m->get(out[1]), m->get(in[0]), m->get<std::int32_t>(in[1]), rows, channels, mean,
                           threads);
        };
      case Op::cross_entropy_grad:
        return [=, mean = attributes<CrossEntropyAttributes>(node).mean] {
          k->cross_entropy_grad(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), m->get(in[2]), rows, channels, mean,
                                threads);
        };
      case Op::count_correct:
        return [=] { k->count_correct(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), rows, channels, threads); };
      case Op::layer_norm:
        return [=, epsilon = attributes<LayerNormAttributes>(node).epsilon] {
          k->layer_norm(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(in[0]), m->get(in[1]), m->get(in[2]), rows,
                        channels, epsilon, threads);
        };
      case Op::layer_norm_grad:
        return [=] {
          k->layer_norm_grad(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(in[0]), m->get(in[1]), m->get(in[2]),
                             m->get(in[3]), m->get(in[4]), rows, channels, workspace, threads);
        };
      case Op::gelu:
        return [=] { k->gelu(m->get(out[0]), m->get(in[0]), n, threads); };
      case Op::gelu_grad:
        return [=] { k->gelu_grad(m->get(out[0]), m->get(in[0]), m->get(in[1]), n, threads); };
      case Op::dropout:
        return [=, dropout = dropout_of(node, seed)] {
          k->dropout(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), dropout, n, threads);
        };
      case Op::embedding:
        return [=, ids = graph.desc(in[1]).elements(), width = channels] {
          k->embedding(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), ids, width, threads);
        };
      case Op::embedding_grad:
        return [=, table = graph.desc(out[0]).shape, base = in.size() > 2] {
          k->embedding_grad(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), base ? m->get(in[2]) : nullptr, rows,
                            table[0], table[1], threads);
        };
      case Op::add_rows:
        return [=, period = attributes<AddRowsAttributes>(node).period] {
          k->add_rows(m->get(out[0]), m->get(in[0]), m->get(in[1]), rows, channels, period, threads);
        };
      case Op::add_rows_grad:
        return [=, a = attributes<AddRowsAttributes>(node)] {
          k->add_rows_grad(m->get(out[0]), m->get(in[0]), rows, channels, a.period, a.table_rows, threads);
        };
      case Op::gather_rows:
        return [=, p = graph.desc(in[1]).shape, sequence = attributes<GatherRowsAttributes>(node).sequence, width = channels] {
          k->gather_rows(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), p[0], sequence, p[1], width, threads);
        };
      case Op::gather_rows_grad:
        return [=, p = graph.desc(in[1]).shape, sequence = attributes<GatherRowsAttributes>(node).sequence, width = channels] {
          k->gather_rows_grad(m->get(out[0]), m->get(in[0]), m->get<std::int32_t>(in[1]), p[0], sequence, p[1], width, threads);
        };
      case Op::attention:
        return [=, s = attention_shape(graph, node), dropout = dropout_of(node, seed)] {
          k->attention(m->get(out[0]), m->get(out[1]), m->get(in[0]), m->get(in[1]), m->get(in[2]), m->get<std::int32_t>(in[3]),
                       s, dropout, workspace, threads);
        };
      case Op::attention_grad:
        return [=, s = attention_shape(graph, node), dropout = dropout_of(node, seed)] {
          k->attention_grad(m->get(out[0]), m->get(out[1]), m->get(out[2]), m->get(in[0]), m->get(in[1]), m->get(in[2]),
                            m->get(in[3]), m->get(in[4]), m->get(in[5]), m->get<std::int32_t>(in[6]), s, dropout, workspace,
                            threads);
        };
      case Op::sgd:
        return [=, tensors = sgd_tensors(graph, node, memory), a = attributes<SgdAttributes>(node)] {
          k->sgd(tensors.data(), static_cast<int>(tensors.size()), m->get(in[0]), {a.momentum, a.weight_decay}, threads);
        };
      case Op::adamw:
        return [=, tensors = adamw_tensors(graph, node, memory), a = attributes<AdamwAttributes>(node)] {
          k->adamw(tensors.data(), static_cast<int>(tensors.size()), m->get(in[0]), m->get<std::int32_t>(in[1]),
                   {a.beta1, a.beta2, a.epsilon}, threads);
        };
      case Op::increment:
        return [=] { ++*m->get<std::int32_t>(out[0]); };
      case Op::cast:
      case Op::all_finite:
      case Op::update_loss_scale:
      case Op::linear_grad_weight:
        break;  // refused by why_not()
    }
    throw std::logic_error("op without a CPU kernel");
  }

  const cpu::Kernels<float>* k_;
  int threads_;
};

// The reason why strict fp32 kernels do not do what the node's attributes ask for; empty where they do.
std::string why_not(const Node& node) {
  const std::string name = epochbench::name(node.op);
  if (is_tf32(node.attributes)) return "the CPU backend has no tf32 kernel for " + name;
  switch (node.op) {
    case Op::cast:
    case Op::all_finite:
    case Op::update_loss_scale:
    case Op::linear_grad_weight:
      return "the CPU backend has no kernel for " + name;
    case Op::batch_norm_relu:
      return attributes<BatchNormReluAttributes>(node).mask ? "the CPU backend writes no mask in " + name : "";
    case Op::batch_norm_relu_grad: {
      const auto& a = attributes<BatchNormReluGradAttributes>(node);
      return a.mask || a.second ? "the CPU backend reads neither mask nor second gradient in " + name : "";
    }
    case Op::sgd:
      return attributes<SgdAttributes>(node).loss_scaled ? "the CPU backend does not scale losses" : "";
    case Op::adamw:
      return attributes<AdamwAttributes>(node).loss_scaled ? "the CPU backend does not scale losses" : "";
    case Op::cross_entropy_grad:
      return node.inputs.size() > 3 ? "the CPU backend does not scale losses" : "";
    default:
      return "";
  }
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads) : kernels_(*cpu::best_kernels<float>()), threads_(threads), compiler_(kernels_, threads) {}

  DeviceInfo device() const override { return {"cpu", processor_name(), threads_, kernels_.isa, 0}; }

  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const override {
    for (ValueId id : node.inputs) {
      const DType dtype = graph.desc(id).dtype;
      if (dtype == DType::bf16 || dtype == DType::f16)
        return std::string("the CPU backend has no ") + epochbench::name(dtype) + " kernel for " + epochbench::name(node.op);
    }
    const std::string reason = why_not(node);
    return reason.empty() ? std::nullopt : std::optional(reason);
  }

  std::size_t workspace_bytes(const Graph& graph, const Node& node) const override {
    return compiler_.workspace_bytes(graph, node);
  }

  std::unique_ptr<Executable> compile(const Program& program) const override {
    return std::make_unique<HostExecutable>(
        program, threads_,
        [this, seed = program.seed](const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace) {
          return compiler_.compile(graph, node, memory, workspace, seed);
        });
  }

 private:
  const cpu::Kernels<float>& kernels_;
  int threads_;
  Compiler compiler_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int threads) { return std::make_unique<CpuBackend>(threads); }

}  // namespace epochbench
