// epochbench plan: what a model needs, without running it.
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "epochbench/program.h"
#include "src/base/errors.h"
#include "src/base/json.h"
#include "src/base/units.h"
#include "src/cli/commands.h"
#include "src/machine/environment.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

struct DeviceMemory {
  std::string name;
  std::int64_t bytes = 0;
  bool fits = false;
};

struct Plan {
  CaseSpec spec;
  std::string model, optimizer;
  std::int64_t batch = 0, nominal_samples_per_epoch = 0;
  std::optional<std::int64_t> tokens_per_sample;
  std::map<std::string, std::int64_t> options;  // all of the model's, defaults included
  Counts counts;
  ProgramMemory memory;  // on the first of the devices, or on a GPU where there is none
  std::vector<DeviceMemory> devices;
};

ProgramMemory memory_on(const Backend& backend, const WorkloadSpec& workload, const Plan& plan) {
  return memory(make_program(workload, backend, entries_of_mode(plan.spec.mode), plan.spec.precision));
}

// On the CPU where it has the precision, then on every GPU; `device` (or empty) leaves one kind out.
void plan_memory_of(Plan& plan, const WorkloadSpec& workload, std::optional<DeviceKind> device) {
  const auto cpu = make_backend({}, default_threads());
  const auto reason = unsupported(workload, *cpu, entries_of_mode(plan.spec.mode), plan.spec.precision);
  if (device == DeviceKind::cpu && reason)
    throw CallError(std::string("--precision ") + name(plan.spec.precision) + ": " + *reason +
                    "; leave out --device cpu to plan for a GPU");
  const bool on_cpu = !reason && device != DeviceKind::cuda;
  if (on_cpu) {
    plan.memory = memory_on(*cpu, workload, plan);
    plan.devices.push_back(
        {name(DeviceKind::cpu), cpu_info().memory_bytes.value_or(0), plan.memory.total() <= available_memory_bytes()});
  }
  const std::vector<GpuInfo> gpus = list_gpus();
  if (on_cpu && gpus.empty()) return;
  const ProgramMemory on_gpu = memory_on(*make_cuda_planner(), workload, plan);
  if (!on_cpu) plan.memory = on_gpu;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    plan.devices.push_back(
        {to_string(cuda_device(static_cast<int>(i))), gpus[i].memory_bytes, on_gpu.total() <= gpus[i].memory_bytes});
}

Plan make_plan(const CaseSpec& spec, std::optional<DeviceKind> device) {
  const WorkloadSpec workload = workload_spec(spec);
  Plan plan;
  plan.spec = spec;
  plan.model = workload.model.name;
  plan.options = workload.model.options;
  plan.batch = workload.config.batch;
  plan.optimizer = workload.optimizer.to_string();
  plan.nominal_samples_per_epoch = workload.model.family->nominal_samples_per_epoch;
  const SampleSpec sample = workload.model.family->sample(workload.config);
  if (sample.text()) plan.tokens_per_sample = sample.sequence;
  plan.counts = count(workload);
  plan_memory_of(plan, workload, device);
  return plan;
}

void print_text(const Plan& plan) {
  const auto bytes = [](std::int64_t value) { return format_bytes(static_cast<double>(value)); };
  std::printf("model         %s, batch %s, %s, %s\n", plan.model.c_str(), format_count(plan.batch).c_str(),
              name(plan.spec.precision), name(plan.spec.mode));
  std::printf("parameters    %s\n", format_count(plan.counts.parameters).c_str());
  std::printf("FLOPs/sample  %s forward, %s training\n", format_si(plan.counts.forward_flops_per_sample, "FLOP").c_str(),
              format_si(plan.counts.train_flops_per_sample, "FLOP").c_str());
  std::printf(
      "memory        %s: parameters %s, gradients %s (activations reuse it), optimizer %s, further activations %s, workspace "
      "%s\n",
      bytes(plan.memory.total()).c_str(), bytes(plan.memory.parameters).c_str(), bytes(plan.memory.gradients).c_str(),
      bytes(plan.memory.optimizer).c_str(), bytes(plan.memory.activations).c_str(), bytes(plan.memory.workspace).c_str());
  std::printf("fingerprint   %s\n", plan.counts.fingerprint.c_str());
  for (const DeviceMemory& device : plan.devices)
    std::printf("%-13s %s of memory, %s\n", device.name.c_str(), bytes(device.bytes).c_str(),
                device.fits ? "fits into what is free" : "does not fit into what is free");
  if (plan.devices.empty()) std::printf("%-13s none here; the memory is what a GPU would need\n", "GPUs");
}

}  // namespace

int plan_command(const PlanOptions& options) {
  if (!options.cases.contains("model")) throw CallError("plan: --model is missing; give one, such as --model resnet20");
  const std::vector<CaseSpec> specs = expand(options.cases);
  if (specs.size() != 1) throw CallError("plan: takes one model, one batch, one precision, one mode and one device");
  const Plan plan = make_plan(specs[0], options.cases.contains("device") ? std::optional(specs[0].device.kind) : std::nullopt);
  if (!options.json) {
    print_text(plan);
    return kExitDone;
  }
  const Json memory = {{"parameters", plan.memory.parameters}, {"gradients", plan.memory.gradients},
                       {"optimizer", plan.memory.optimizer},   {"activations", plan.memory.activations},
                       {"workspace", plan.memory.workspace},   {"total", plan.memory.total()}};
  Json devices = Json::array();
  for (const DeviceMemory& device : plan.devices)
    devices.push_back({{"name", device.name}, {"memory_bytes", device.bytes}, {"fits", device.fits}});
  const Json document = {{"model", plan.model},
                         {"batch", plan.batch},
                         {"precision", name(plan.spec.precision)},
                         {"mode", name(plan.spec.mode)},
                         {"parameters", plan.counts.parameters},
                         {"forward_flops_per_sample", plan.counts.forward_flops_per_sample},
                         {"train_flops_per_sample", plan.counts.train_flops_per_sample},
                         {"tokens_per_sample", plan.tokens_per_sample ? Json(*plan.tokens_per_sample) : Json(nullptr)},
                         {"fingerprint", plan.counts.fingerprint},
                         {"optimizer", plan.optimizer},
                         {"options", plan.options},
                         {"nominal_samples_per_epoch", plan.nominal_samples_per_epoch},
                         {"memory_bytes", memory},
                         {"devices", devices}};
  std::fputs(print_json(document).c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
