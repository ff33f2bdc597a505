// epochbench plan: what a model needs, without running it.
#include <cstdio>
#include <optional>

#include "epochbench/backend.h"
#include "epochbench/program.h"
#include "src/cli/commands.h"
#include "src/cli/errors.h"
#include "src/measure/environment.h"
#include "src/report/json_text.h"
#include "src/report/units.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

struct Plan {
  std::string model, precision, optimizer;
  std::int64_t batch = 0, nominal_samples_per_epoch = 0;
  std::optional<std::int64_t> tokens_per_sample;
  Counts counts;
  ProgramMemory memory;
  std::string device;
  std::int64_t device_bytes = 0;
  bool fits = false;
};

Plan make_plan(const CaseDraft& draft) {
  if (draft.precision != "fp32")
    throw CallError("--precision " + draft.precision + ": this build plans for the CPU, in fp32 only");
  CaseSpec spec;
  spec.model = draft.model.name;
  spec.batch = draft.batch.value_or(draft.model.family->default_batch);
  const WorkloadSpec workload = workload_spec(spec);
  const auto backend = make_backend("cpu", default_threads());
  const Program program = make_program(workload, *backend, entries_of_mode("train"));
  Plan plan;
  plan.model = draft.model.name;
  plan.precision = draft.precision;
  plan.batch = spec.batch;
  plan.optimizer = workload.optimizer.to_string();
  plan.nominal_samples_per_epoch = draft.model.family->nominal_samples_per_epoch;
  const SampleSpec sample = workload.model.family->sample(workload.config);
  if (sample.text()) plan.tokens_per_sample = sample.sequence;
  plan.counts = count(workload);
  plan.memory = memory(program);
  plan.device = "cpu";
  plan.device_bytes = cpu_info().memory_bytes.value_or(0);
  plan.fits = plan.memory.total() <= available_memory_bytes();
  return plan;
}

void print_text(const Plan& plan) {
  const auto bytes = [](std::int64_t value) { return format_bytes(static_cast<double>(value)); };
  std::printf("model         %s, batch %s, %s\n", plan.model.c_str(), format_count(plan.batch).c_str(), plan.precision.c_str());
  std::printf("parameters    %s\n", format_count(plan.counts.parameters).c_str());
  std::printf("FLOPs/sample  %s forward, %s training\n", format_si(plan.counts.forward_flops_per_sample, "FLOP").c_str(),
              format_si(plan.counts.train_flops_per_sample, "FLOP").c_str());
  std::printf(
      "memory        %s: parameters %s, gradients %s (activations reuse it), optimizer %s, further activations %s, workspace "
      "%s\n",
      bytes(plan.memory.total()).c_str(), bytes(plan.memory.parameters).c_str(), bytes(plan.memory.gradients).c_str(),
      bytes(plan.memory.optimizer).c_str(), bytes(plan.memory.activations).c_str(), bytes(plan.memory.workspace).c_str());
  std::printf("fingerprint   %s\n", plan.counts.fingerprint.c_str());
  std::printf("%-13s %s of memory, %s\n", plan.device.c_str(), bytes(plan.device_bytes).c_str(),
              plan.fits ? "fits into what is free" : "does not fit into what is free");
}

}  // namespace

int plan_command(const PlanOptions& options) {
  if (!options.cases.contains("model")) throw CallError("plan: --model is missing; give one, such as --model resnet20");
  const std::vector<CaseDraft> drafts = expand(options.cases);
  if (drafts.size() != 1) throw CallError("plan: takes one model, one batch and one precision");
  const Plan plan = make_plan(drafts[0]);
  if (!options.json) {
    print_text(plan);
    return kExitDone;
  }
  const Json memory = {{"parameters", plan.memory.parameters}, {"gradients", plan.memory.gradients},
                       {"optimizer", plan.memory.optimizer},   {"activations", plan.memory.activations},
                       {"workspace", plan.memory.workspace},   {"total", plan.memory.total()}};
  Json devices = Json::array();
  devices.push_back({{"name", plan.device}, {"memory_bytes", plan.device_bytes}, {"fits", plan.fits}});
  const Json document = {{"model", plan.model},
                         {"batch", plan.batch},
                         {"precision", plan.precision},
                         {"parameters", plan.counts.parameters},
                         {"forward_flops_per_sample", plan.counts.forward_flops_per_sample},
                         {"train_flops_per_sample", plan.counts.train_flops_per_sample},
                         {"tokens_per_sample", plan.tokens_per_sample ? Json(*plan.tokens_per_sample) : Json(nullptr)},
                         {"fingerprint", plan.counts.fingerprint},
                         {"optimizer", plan.optimizer},
                         {"nominal_samples_per_epoch", plan.nominal_samples_per_epoch},
                         {"memory_bytes", memory},
                         {"devices", devices}};
  std::fputs(print_json(document).c_str(), stdout);
  return kExitDone;
}

}  // namespace epochbench
