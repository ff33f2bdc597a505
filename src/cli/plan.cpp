// epochbench plan: what a model needs, without running it.
#include <algorithm>
#include <optional>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "epochbench/program.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/machine/environment.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

constexpr const char* kPlanExamples = R"(Examples:
  epochbench plan resnet20
  epochbench plan --model mlp:width=4096,depth=3 --batch 256 --json
  epochbench plan --model resnet50:height=2160,width=3840 --batch 1 --mode forward)";

struct PlanOptions {
  CaseBlock cases;  // model, batch, precision, mode, device
  bool json = false;
};

struct DeviceMemory {
  std::string name;
  std::int64_t bytes = 0;
  bool fits = false;
};

struct Plan {
  CaseSpec spec;
  WorkloadSpec workload;
  Counts counts;
  ProgramMemory memory;  // on the first of the devices, or on a GPU where there is none
  std::vector<DeviceMemory> devices;
};

ProgramMemory memory_on(const Backend& backend, const Plan& plan) {
  return memory(make_program(plan.workload, backend, entries_of_mode(plan.spec.mode), plan.spec.precision));
}

// On the CPU where it has the precision, then on every GPU; `device` (or empty) leaves one kind out.
void plan_memory_of(Plan& plan, std::optional<DeviceKind> device) {
  const auto cpu = make_backend({}, default_threads());
  const auto reason = unsupported(plan.workload, *cpu, entries_of_mode(plan.spec.mode), plan.spec.precision);
  if (device == DeviceKind::cpu && reason)
    throw CallError(std::string("--precision ") + name(plan.spec.precision) + ": " + *reason +
                    "; leave out --device cpu to plan for a GPU");
  const bool on_cpu = !reason && device != DeviceKind::cuda;
  if (on_cpu) {
    plan.memory = memory_on(*cpu, plan);
    plan.devices.push_back(
        {name(DeviceKind::cpu), cpu_info().memory_bytes.value_or(0), plan.memory.total() <= available_memory_bytes()});
  }
  const std::vector<GpuInfo> gpus = list_gpus();
  if (on_cpu && gpus.empty()) return;
  const ProgramMemory on_gpu = memory_on(*make_cuda_planner(), plan);
  if (!on_cpu) plan.memory = on_gpu;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    plan.devices.push_back(
        {to_string(cuda_device(static_cast<int>(i))), gpus[i].memory_bytes, on_gpu.total() <= gpus[i].memory_bytes});
}

void print_plan(const Plan& plan) {
  const auto bytes = [](std::int64_t value) { return format_bytes(static_cast<double>(value)); };
  std::string text;
  const auto row = [&text](std::string title, const std::string& value) {
    title.resize(std::max<std::size_t>(title.size(), 13), ' ');
    for (const std::string& line : wrapped_lines(title + " ", std::string(14, ' '), value)) text += line + "\n";
  };
  row("model", plan.workload.model.name + ", batch " + format_count(plan.workload.config.batch) + ", " +
                   name(plan.spec.precision) + ", " + name(plan.spec.mode));
  row("parameters", format_count(plan.counts.parameters));
  row("FLOPs/sample", format_si(plan.counts.forward_flops_per_sample, "FLOP") + " forward, " +
                          format_si(plan.counts.train_flops_per_sample, "FLOP") + " training");
  row("memory", bytes(plan.memory.total()) + ": parameters " + bytes(plan.memory.parameters) + ", gradients " +
                    bytes(plan.memory.gradients) + " (activations reuse it), optimizer " + bytes(plan.memory.optimizer) +
                    ", further activations " + bytes(plan.memory.activations) + ", workspace " + bytes(plan.memory.workspace));
  row("fingerprint", plan.counts.fingerprint);
  for (const DeviceMemory& device : plan.devices)
    row(device.name,
        bytes(device.bytes) + " of memory, " + (device.fits ? "fits into what is free" : "does not fit into what is free"));
  if (plan.devices.empty()) row("GPUs", "none here; the memory is what a GPU would need");
  print_fitted(text);
}

int plan(const PlanOptions& options) {
  if (!options.cases.contains("model"))
    throw CallError("plan: --model is missing; give one, such as `epochbench plan resnet20`");
  const std::vector<CaseSpec> specs = expand(options.cases);
  if (specs.size() != 1) throw CallError("plan: takes one model, one batch, one precision, one mode and one device");
  Plan answer{specs[0], workload_spec(specs[0]), {}, {}, {}};
  answer.counts = count(answer.workload);
  plan_memory_of(answer, options.cases.contains("device") ? std::optional(specs[0].device.kind) : std::nullopt);
  if (!options.json) {
    print_plan(answer);
    return kExitDone;
  }
  const Json memory = {{"parameters", answer.memory.parameters}, {"gradients", answer.memory.gradients},
                       {"optimizer", answer.memory.optimizer},   {"activations", answer.memory.activations},
                       {"workspace", answer.memory.workspace},   {"total", answer.memory.total()}};
  Json devices = Json::array();
  for (const DeviceMemory& device : answer.devices)
    devices.push_back({{"name", device.name}, {"memory_bytes", device.bytes}, {"fits", device.fits}});
  const Model& model = answer.workload.model;
  const SampleSpec sample = model.family->sample(answer.workload.config);
  const Json document = {{"model", model.name},
                         {"batch", answer.workload.config.batch},
                         {"precision", name(answer.spec.precision)},
                         {"mode", name(answer.spec.mode)},
                         {"parameters", answer.counts.parameters},
                         {"forward_flops_per_sample", answer.counts.forward_flops_per_sample},
                         {"train_flops_per_sample", answer.counts.train_flops_per_sample},
                         {"tokens_per_sample", sample.text() ? Json(sample.sequence) : Json(nullptr)},
                         {"fingerprint", answer.counts.fingerprint},
                         {"optimizer", answer.workload.optimizer.to_string()},
                         {"options", model.options},
                         {"nominal_samples_per_epoch", model.family->nominal_samples_per_epoch},
                         {"memory_bytes", memory},
                         {"devices", devices}};
  print(print_json(document));
  return kExitDone;
}

}  // namespace

void add_plan(Commands& commands) {
  auto [command, options] =
      commands.add("plan", "show parameters, FLOPs and memory of a model; runs nothing", kPlanExamples, plan);
  commands.add_case_options(command, options.cases, OfferedTo::calls, {"model", "batch", "precision", "mode", "device"});
  commands.add_model_argument(command, options.cases);
  command.add_flag("--json", options.json, "as JSON");
}

}  // namespace epochbench
