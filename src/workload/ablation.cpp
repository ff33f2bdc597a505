// Whether what a case leaves out is there to leave out.
#include <algorithm>

#include "src/workload/workload.h"

namespace epochbench {
namespace {

bool has_algorithm(const char* algorithm, const Backend& backend, const CaseSpec& spec) {
  const WorkloadSpec workload = workload_spec(spec);
  const Program program = make_program(workload, backend, entries_of_mode(spec.mode), spec.precision, false);
  return std::any_of(program.entries.begin(), program.entries.end(), [&](const std::optional<EntryGraph>& entry) {
    return entry && std::any_of(entry->graph.nodes.begin(), entry->graph.nodes.end(),
                                [&](const Node& node) { return backend.algorithm(entry->graph, node) == algorithm; });
  });
}

bool packs_weights(const WorkloadSpec& workload, const Backend& backend, const CaseSpec& spec) {
  return spec.mode == Mode::forward && spec.precision != Precision::int8 &&
         make_program(workload, backend, {Entry::forward}, spec.precision).entry(Entry::prepare) != nullptr;
}

std::optional<std::string> nothing_to_drop(const CaseSpec& spec, const Backend& backend) {
  const auto activations = [&](const WorkloadSpec& workload) {
    return memory(make_program(workload, backend, {Entry::train}, spec.precision, !spec.without.fusion)).activations;
  };
  WorkloadSpec workload = workload_spec(spec);
  const std::int64_t recomputing = activations(workload);
  workload.checkpoint = Checkpoint::none;
  if (recomputing < activations(workload)) return std::nullopt;
  return "--checkpoint blocks does not make a step of " + spec.model.name + " with batch " +
         std::to_string(workload.config.batch) + " smaller; leave it out";
}

}  // namespace

std::optional<std::string> nothing_to_leave_out(const CaseSpec& spec, const Backend& backend) {
  const bool on_cpu = spec.device.kind == DeviceKind::cpu;
  if (spec.kernels != Kernels::best && !on_cpu)
    return std::string("--kernels ") + name(spec.kernels) + " on " + to_string(spec.device) +
           ": these kernels are the CPU's; use it with --device cpu";
  if (spec.kernels == Kernels::fastest && spec.precision == Precision::int8)
    return std::string("--kernels fastest: the libraries run no int8; leave it out, or use another precision");
  if (spec.without.graph_capture && on_cpu)
    return std::string("--without graph-capture: only CUDA captures a step as a graph; leave it out on a CPU");
  if (spec.without.packed_weights && !packs_weights(workload_spec(spec), backend, spec))
    return "--without packed-weights: " + spec.model.name + " on " + to_string(spec.device) +
           " packs no weights before its steps; leave it out (the CPU packs them with --mode forward)";
  if (spec.without.prefetch && spec.data == "synthetic")
    return std::string(
        "--without prefetch: synthetic data is prepared before the clock starts, so nothing is prefetched; leave it out, or "
        "choose other --data");
  if (spec.without.prefetch && spec.loader_threads == 0)
    return std::string("--without prefetch: with --loader-threads 0 nothing is prefetched; leave out one of the two");
  if (spec.without.library_attention && !has_algorithm("library-attention", backend, spec))
    return "--without library-attention: " + spec.model.name + " has no attention by a library on " + to_string(spec.device) +
           " in " + name(spec.precision) + "; leave it out (cuDNN has one in bf16 and fp16)";
  if (spec.without.winograd && !has_algorithm("winograd", backend, spec))
    return "--without winograd: " + spec.model.name + " has no convolution that runs so on " + to_string(spec.device) + " in " +
           name(spec.precision) + "; leave it out";
  if (spec.checkpoint != Checkpoint::none) return nothing_to_drop(spec, backend);
  return std::nullopt;
}

}  // namespace epochbench
