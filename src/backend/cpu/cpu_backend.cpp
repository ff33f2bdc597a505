// The CPU backend: OpenMP kernels for the best instruction sets of the CPU, in strict fp32, in bf16, and in int8 if it has
// instructions for products of it.
#include <algorithm>
#include <span>
#include <stdexcept>

#include "epochbench/communicator.h"
#include "epochbench/precision.h"
#include "src/backend/cpu/cpu_int8_nodes.h"
#include "src/backend/cpu/cpu_nodes.h"
#include "src/backend/host/exchange_order.h"
#include "src/base/cpu_name.h"

namespace epochbench {
namespace {

std::string name_of(Precision precision) { return name(precision); }

// Whether a tensor of the node has this type.
bool has_any(const Graph& graph, const Node& node, DType dtype) {
  const auto is_one = [&](ValueId id) { return graph.desc(id).dtype == dtype; };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_one) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_one);
}

class CpuBackend final : public Backend {
  // Calls use(nodes) with the kernels of the node's element type.
  template <typename Use>
  auto visit(const Graph& graph, const Node& node, Use use) const {
    return has_any(graph, node, DType::bf16) ? use(bf16_.value()) : use(fp32_);
  }

 public:
  CpuBackend(int threads, const BackendOptions& options, Communicator* communicator)
      : threads_(threads),
        communicator_(communicator),
        only_(options.kernels),
        exchange_thread_(options.exchange_thread),
        packed_weights_(options.packed_weights),
        libraries_(options.libraries.empty() ? nullptr : std::make_unique<CpuLibraries>(options.libraries, threads)),
        fp32_(fp32_kernels(options), threads, options.winograd, communicator, libraries_.get()) {
    if (const auto* kernels = kernels_of_build<Bf16>(options))
      bf16_.emplace(*kernels, threads, options.winograd, communicator, libraries_.get());
    if (const auto* kernels = int8_kernels(options)) int8_.emplace(*kernels, threads);
  }

  DeviceInfo device() const override {
    const std::string name = this_cpu_name();
    DeviceInfo info{.name = name.empty() ? "CPU" : name, .threads = threads_, .isa = fp32_.isa()};
    if (bf16_) info.bf16_isa = bf16_->isa(), info.widens_bf16 = bf16_->widens();
    if (int8_) info.int8_isa = int8_->isa();
    return info;
  }

  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const override {
    const bool scales_losses = node.op == Op::all_finite || node.op == Op::update_loss_scale;  // as only fp16 needs
    if (scales_losses || has_any(graph, node, DType::f16))
      return "the CPU backend does not compute in " + name_of(Precision::fp16) + "; use " +
             name_of(bf16_ ? Precision::bf16 : Precision::fp32);
    if (is_int8(graph, node)) return int8_ ? std::nullopt : no_products(Precision::int8, cpu::kInt8Isas);
    if (has_any(graph, node, DType::bf16) && !bf16_) return no_products(Precision::bf16, cpu::kIsas<Bf16>);
    return visit(graph, node, [&](const auto& nodes) { return nodes.unsupported(graph, node); });
  }

  std::size_t workspace_bytes(const Graph& graph, const Node& node) const override {
    if (is_int8(graph, node)) return int8_.value().workspace_bytes(graph, node);
    return visit(graph, node, [&](const auto& nodes) { return nodes.workspace_bytes(graph, node); });
  }

  std::string algorithm(const Graph& graph, const Node& node) const override {
    if (is_int8(graph, node)) return "";
    return visit(graph, node, [&](const auto& nodes) { return nodes.algorithm(graph, node); });
  }

  std::int64_t packed_weight_elements(const Graph& graph, const Node& node) const override {
    if (!packed_weights_ || is_int8(graph, node)) return 0;
    return visit(graph, node, [&](const auto& nodes) { return nodes.packed_weight_elements(graph, node); });
  }

  std::unique_ptr<Executable> compile(const Program& program) const override {
    return std::make_unique<HostExecutable>(
        program, threads_,
        [this, seed = program.seed](const Graph& graph, const Node& node, const ValueMemory& memory, void* workspace) {
          if (is_collective(node.op)) return collective(graph, node, memory);
          if (is_int8(graph, node)) return int8_.value().compile(graph, node, memory, workspace);
          return visit(graph, node, [&](const auto& nodes) { return nodes.compile(graph, node, memory, workspace, seed); });
        },
        communicator_ && exchange_thread_ ? std::make_unique<BackgroundExchange>(*communicator_) : nullptr);
  }

 private:
  CompiledNode collective(const Graph& graph, const Node& node, const ValueMemory& memory) const {
    if (communicator_ == nullptr) throw std::logic_error("a graph for ranks is compiled without a communicator");
    return {step_of(node.op, exchanged_pieces(graph, node, memory)), name(node.op)};
  }

  HostStep step_of(Op op, std::vector<std::span<float>> pieces) const {
    Communicator* const ranks = communicator_;
    switch (op) {
      case Op::reduce_scatter:
        return [ranks, pieces = std::move(pieces)] { ranks->reduce_scatter(pieces); };
      case Op::all_gather:
        return [ranks, pieces = std::move(pieces)] { ranks->all_gather(pieces); };
      default:
        return [ranks, pieces = std::move(pieces)] {
          for (std::span<float> piece : pieces) ranks->all_reduce(piece);
        };
    }
  }

  // Null if this build lacks them.
  template <typename Real>
  static const cpu::Kernels<Real>* kernels_of_build(const BackendOptions& options) {
    if (options.kernels.empty()) return cpu::best_kernels<Real>();
    const auto wanted = [&](cpu::Isa isa) { return cpu::name(isa) == options.kernels; };
    const auto found = std::ranges::find_if(cpu::kIsas<Real>, wanted);
    const bool can = found != std::end(cpu::kIsas<Real>) && cpu::supported(*found);
    if (!can) throw DeviceError("this CPU does not run " + options.kernels + " kernels; use the best, or portable ones");
    return cpu::compiled<cpu::Kernels<Real>>(*found) ? &cpu::kernels<Real>(*found) : nullptr;
  }
  static const cpu::Kernels<float>& fp32_kernels(const BackendOptions& options) {
    if (const auto* kernels = kernels_of_build<float>(options)) return *kernels;
    throw DeviceError("this build has no " + options.kernels + " kernels; use the best, or build with EPOCHBENCH_KERNELS=all");
  }

  // Null if there are none.
  static const cpu::Int8Kernels* int8_kernels(const BackendOptions& options) {
    if (options.kernels.empty()) return cpu::best_int8_kernels();
    for (const cpu::Isa isa : cpu::kInt8Isas)
      if (cpu::name(isa) == options.kernels && cpu::available<cpu::Int8Kernels>(isa)) return &cpu::int8_kernels(isa);
    return nullptr;
  }

  // Why products in this precision are unavailable; `isas`: those with kernels for it.
  std::optional<std::string> no_products(Precision precision, std::span<const cpu::Isa> isas) const {
    const std::string use = "; use " + name_of(Precision::fp32);
    if (std::ranges::any_of(isas, [&](cpu::Isa isa) { return cpu::name(isa) == only_; }))
      return "this build has no " + only_ + " kernels for " + name_of(precision) + use +
             " with them, or build with EPOCHBENCH_KERNELS=all";
    if (!only_.empty()) return "the " + only_ + " kernels have no " + name_of(precision) + use + " with them";
    if (std::ranges::any_of(isas, cpu::supported))
      return "this build has no kernels for the " + name_of(precision) + " products of this CPU" + use +
             " on it, or build here with scripts/run";
    return "this CPU has no AVX2, which " + name_of(precision) + " products need" + use + " on it";
  }

  int threads_;
  Communicator* communicator_;  // null: a single rank
  std::string only_;            // the instruction set of all kernels; empty: the best
  bool exchange_thread_, packed_weights_;
  std::unique_ptr<CpuLibraries> libraries_;  // null: our kernels alone
  CpuNodes<float> fp32_;
  std::optional<CpuNodes<Bf16>> bf16_;  // set if this build has kernels that may be used
  std::optional<CpuInt8Nodes> int8_;    // set if the CPU has the instructions and they may be used
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int threads, const BackendOptions& options, Communicator* communicator) {
  return std::make_unique<CpuBackend>(threads, options, communicator);
}

}  // namespace epochbench
