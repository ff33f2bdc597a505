// epochbench plan: what a model needs, without running it.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "epochbench/program.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/machine/environment.h"
#include "src/report/text/text_parts.h"
#include "src/workload/traffic.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

constexpr const char* kPlanExamples = R"(Examples:
  epochbench plan resnet20
  epochbench plan --model mlp:width=4096,depth=3 --batch 256 --json
  epochbench plan --model resnet50,bert-base --precision fp32,bf16 --batch 8,16    a table
  epochbench plan --model resnet50,bert-base --batch max --memory 24GiB            the largest batch that fits
  epochbench plan --model bert-base --precision bf16 --device cuda:0 --by-op       bytes and launches of a step
  epochbench plan --model bert-base --device cuda:0 --by-op --without none,fusion  the same with fusion and without
  epochbench plan --model resnet50:height=2160,width=3840 --batch 1 --mode forward

Lists multiply out. With --batch max each model and precision has the largest batch whose planned memory is at most --memory, or
what is free on the device: the CPU, if --device does not name another one. With --by-op every operand of a node counts once in
bytes, and every plan of a library is one launch. --without takes what a plan shows: fusion, and winograd on a CPU.)";

struct PlanOptions {
  CaseBlock cases;                           // model, batch, precision, mode, device, without
  std::optional<std::int64_t> memory_bytes;  // that --batch max may take
  bool by_op = false;
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
  std::optional<std::int64_t> limit_bytes = {};  // of --batch max
  bool fits = true;                              // batch 1 into it
  std::vector<OpTraffic> ops = {};               // of a step, if they are asked for
};

Program program_of(const Backend& backend, const Plan& plan, const std::vector<Entry>& entries) {
  return make_program(plan.workload, backend, entries, plan.spec.precision, !plan.spec.without.fusion);
}
ProgramMemory memory_on(const Backend& backend, const Plan& plan) {
  return memory(program_of(backend, plan, entries_of_mode(plan.spec.mode)));
}

// The CPU, unless the call names GPUs or the CPU lacks the precision. Errors: CallError where it is named and lacks it.
bool is_on_cpu(const Plan& plan, std::optional<DeviceKind> device) {
  if (device == DeviceKind::cuda) return false;
  const auto reason =
      unsupported(plan.workload, *make_backend({}, default_threads()), entries_of_mode(plan.spec.mode), plan.spec.precision);
  if (device == DeviceKind::cpu && reason)
    throw CallError(std::string("--precision ") + name(plan.spec.precision) + ": " + *reason +
                    "; leave out --device cpu to plan for a GPU");
  return !reason;
}

std::unique_ptr<Backend> planner(bool on_cpu, const CaseSpec& spec) {
  return on_cpu ? make_backend({}, default_threads(), backend_options(spec)) : make_cuda_planner();
}

// Errors: CallError where a plan shows nothing of what is left out.
void check_without(const Plan& plan, bool on_cpu) {
  const Without& without = plan.spec.without;
  if (without.graph_capture || without.prefetch)
    throw CallError(std::string("--without ") + (without.graph_capture ? "graph-capture" : "prefetch") +
                    ": changes neither memory nor the work of a step; leave it out, or measure it with `epochbench run`");
  if (!without.winograd) return;
  const std::unique_ptr<Backend> complete = on_cpu ? make_backend({}, default_threads()) : make_cuda_planner();
  if (const auto nothing = nothing_to_leave_out(plan.spec, *complete)) throw CallError(*nothing);
}

// On the CPU where it has the precision, then on every GPU; `device` (or empty) leaves one kind out.
void plan_memory_of(Plan& plan, std::optional<DeviceKind> device) {
  const bool on_cpu = is_on_cpu(plan, device);
  check_without(plan, on_cpu);
  if (on_cpu) {
    plan.memory = memory_on(*planner(true, plan.spec), plan);
    plan.devices.push_back(
        {name(DeviceKind::cpu), cpu_info().memory_bytes.value_or(0), plan.memory.total() <= available_memory_bytes()});
  }
  const std::vector<GpuInfo> gpus = list_gpus();
  if (on_cpu && gpus.empty()) return;
  const ProgramMemory on_gpu = memory_on(*planner(false, plan.spec), plan);
  if (!on_cpu) plan.memory = on_gpu;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    plan.devices.push_back(
        {to_string(cuda_device(static_cast<int>(i))), gpus[i].memory_bytes, on_gpu.total() <= gpus[i].memory_bytes});
}

void plan_ops_of(Plan& plan, std::optional<DeviceKind> device) {
  const auto backend = planner(is_on_cpu(plan, device), plan.spec);
  const Entry entry = entries_of_mode(plan.spec.mode).front();
  const Program program = program_of(*backend, plan, {entry});
  plan.ops = traffic_by_op(program.entry(entry)->graph, *backend);
}

Plan with_batch(const CaseSpec& spec, std::int64_t batch) {
  CaseSpec with = spec;
  with.batch = batch;
  return {with, workload_spec(with), {}, {}, {}};
}

std::int64_t memory_limit(const PlanOptions& options, bool on_cpu) {
  if (options.memory_bytes) return *options.memory_bytes;
  if (on_cpu) return available_memory_bytes();
  const std::vector<GpuInfo> gpus = list_gpus();
  if (gpus.empty()) throw CallError("--batch max: this machine has no GPU; give the memory of one, such as --memory 24GiB");
  return gpus.front().memory_bytes;
}

// The plan of the largest batch whose memory is within the limit; of batch 1 where that is not.
Plan largest_plan(const PlanOptions& options, const CaseSpec& spec, std::optional<DeviceKind> device) {
  Plan largest = with_batch(spec, 1);
  const bool on_cpu = is_on_cpu(largest, device);
  const std::int64_t limit = memory_limit(options, on_cpu);
  const auto backend = planner(on_cpu, spec);
  const auto fits = [&](std::int64_t batch) { return memory_on(*backend, with_batch(spec, batch)).total() <= limit; };
  std::int64_t fitting = 0, beyond = 1;
  while (beyond <= kMaxBatch && fits(beyond)) fitting = std::exchange(beyond, 2 * beyond);
  beyond = std::min(beyond, kMaxBatch + 1);
  while (beyond - fitting > 1) {
    const std::int64_t middle = fitting + (beyond - fitting) / 2;
    (fits(middle) ? fitting : beyond) = middle;
  }
  largest = with_batch(spec, std::max<std::int64_t>(fitting, 1));
  largest.limit_bytes = limit;
  largest.fits = fitting > 0;
  return largest;
}

std::vector<Plan> plans_of(const PlanOptions& options) {
  CaseBlock cases = options.cases;
  const auto batch = cases.find("batch");
  const bool largest = batch != cases.end() && contains(batch->second.values, "max");
  if (largest && batch->second.values.size() > 1) throw CallError("--batch: max stands alone; leave out the other batches");
  if (options.memory_bytes && !largest) throw CallError("--memory: holds for --batch max; add it");
  if (largest) cases.erase(batch);
  std::vector<Plan> plans;
  for (const CaseSpec& spec : expand(cases)) {
    const auto device = cases.contains("device") ? std::optional(spec.device.kind) : std::nullopt;
    Plan plan = largest ? largest_plan(options, spec, device) : Plan{spec, workload_spec(spec), {}, {}, {}};
    plan.counts = count(plan.workload);
    plan_memory_of(plan, device);
    if (options.by_op) plan_ops_of(plan, device);
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::string bytes(std::int64_t value) { return format_bytes(static_cast<double>(value)); }

std::string limit_text(const Plan& plan) {
  return plan.fits ? "the largest batch within " + bytes(*plan.limit_bytes)
                   : "not even batch 1 is within " + bytes(*plan.limit_bytes);
}

// One row per op, most bytes first, then the sums.
std::string ops_text(const std::vector<OpTraffic>& ops) {
  Table table({"op", "->nodes", ">launches", ">bytes per step", "-->FLOPs per step"});
  const auto row = [&table](const std::string& title, const OpTraffic& op) {
    table.add({title, format_count(op.nodes), format_count(op.launches), format_bytes(op.bytes),
               op.flops > 0 ? format_si(op.flops, "FLOP") : ""});
  };
  for (const OpTraffic& op : ops) row(name(op.op), op);
  row("ops with FLOPs", traffic_of(ops, true));
  row("all others", traffic_of(ops, false));
  return table.to_string();
}

void print_plan(const Plan& plan) {
  std::string text;
  const auto row = [&text](std::string title, const std::string& value) {
    title.resize(std::max<std::size_t>(title.size(), 13), ' ');
    for (const std::string& line : wrapped_lines(title + " ", std::string(14, ' '), value)) text += line + "\n";
  };
  row("model", plan.workload.model.name + ", batch " + format_count(plan.workload.config.batch) + ", " +
                   name(plan.spec.precision) + ", " + name(plan.spec.mode));
  if (plan.spec.without != Without{}) row("without", to_string(plan.spec.without));
  row("parameters", format_count(plan.counts.parameters));
  row("FLOPs/sample", format_si(plan.counts.forward_flops_per_sample, "FLOP") + " forward, " +
                          format_si(plan.counts.train_flops_per_sample, "FLOP") + " training");
  row("memory", bytes(plan.memory.total()) + ": parameters " + bytes(plan.memory.parameters) + ", gradients " +
                    bytes(plan.memory.gradients) + " (activations reuse it), optimizer " + bytes(plan.memory.optimizer) +
                    ", further activations " + bytes(plan.memory.activations) + ", workspace " + bytes(plan.memory.workspace));
  row("fingerprint", plan.counts.fingerprint);
  if (plan.limit_bytes) row("limit", limit_text(plan));
  for (const DeviceMemory& device : plan.devices)
    row(device.name,
        bytes(device.bytes) + " of memory, " + (device.fits ? "fits into what is free" : "does not fit into what is free"));
  if (plan.devices.empty()) row("GPUs", "none here; the memory is what a GPU would need");
  if (!plan.ops.empty()) text += "\n" + ops_text(plan.ops);
  print_fitted(text);
}

void print_each(const std::vector<Plan>& plans) {
  for (const Plan& plan : plans) {
    if (&plan != &plans.front()) print("\n");
    print_plan(plan);
  }
}

// One row per plan, with what is free on each device.
void print_plans(const std::vector<Plan>& plans) {
  std::vector<std::string> titles{"model", "precision", "-mode", ">batch", ">parameters", "->FLOPs/sample", ">memory"};
  const bool ablated = std::ranges::any_of(plans, [](const Plan& plan) { return plan.spec.without != Without{}; });
  if (ablated) titles.emplace_back("without");
  const std::size_t first_device = titles.size();
  for (const DeviceMemory& device : plans.front().devices) titles.push_back("fits " + device.name);
  Table table(titles);
  std::string notes;
  for (const Plan& plan : plans) {
    const double flops =
        plan.spec.mode == Mode::train ? plan.counts.train_flops_per_sample : plan.counts.forward_flops_per_sample;
    std::vector<std::string> cells{plan.workload.model.name,
                                   name(plan.spec.precision),
                                   name(plan.spec.mode),
                                   plan.fits ? format_count(plan.workload.config.batch) : "none",
                                   format_count(plan.counts.parameters),
                                   format_si(flops, "FLOP"),
                                   bytes(plan.memory.total())};
    if (ablated) cells.push_back(plan.spec.without == Without{} ? "none" : to_string(plan.spec.without));
    for (std::size_t i = first_device; i < titles.size(); ++i) {
      const auto device = std::ranges::find(plan.devices, plans.front().devices[i - first_device].name, &DeviceMemory::name);
      cells.emplace_back(device == plan.devices.end() ? "no such kernels" : device->fits ? "yes" : "no");
    }
    table.add(cells);
    if (plan.limit_bytes && plan.fits) notes = limit_text(plan) + "\n";
    if (!plan.fits)
      notes += plan.workload.model.name + ": " + limit_text(plan) + "; it needs " + bytes(plan.memory.total()) + "\n";
  }
  print_fitted(table.to_string() + notes);
}

Json plan_json(const Plan& plan) {
  const Json memory = {{"parameters", plan.memory.parameters}, {"gradients", plan.memory.gradients},
                       {"optimizer", plan.memory.optimizer},   {"activations", plan.memory.activations},
                       {"workspace", plan.memory.workspace},   {"total", plan.memory.total()}};
  Json devices = Json::array();
  for (const DeviceMemory& device : plan.devices)
    devices.push_back({{"name", device.name}, {"memory_bytes", device.bytes}, {"fits", device.fits}});
  const Model& model = plan.workload.model;
  const SampleSpec sample = model.family->sample(plan.workload.config);
  Json document = {{"model", model.name},
                   {"batch", plan.workload.config.batch},
                   {"precision", name(plan.spec.precision)},
                   {"mode", name(plan.spec.mode)},
                   {"parameters", plan.counts.parameters},
                   {"forward_flops_per_sample", plan.counts.forward_flops_per_sample},
                   {"train_flops_per_sample", plan.counts.train_flops_per_sample},
                   {"tokens_per_sample", sample.text() ? Json(sample.sequence) : Json(nullptr)},
                   {"fingerprint", plan.counts.fingerprint},
                   {"optimizer", plan.workload.optimizer.to_string()},
                   {"options", model.options},
                   {"nominal_samples_per_epoch", model.family->nominal_samples_per_epoch},
                   {"memory_bytes", memory},
                   {"devices", devices}};
  if (plan.spec.without != Without{}) document["without"] = to_string(plan.spec.without);
  if (plan.limit_bytes) {
    document["memory_limit_bytes"] = *plan.limit_bytes;
    document["fits"] = plan.fits;
  }
  for (const OpTraffic& op : plan.ops)
    document["ops"].push_back(
        {{"op", name(op.op)}, {"nodes", op.nodes}, {"launches", op.launches}, {"flops", op.flops}, {"bytes", op.bytes}});
  return document;
}

int plan(const PlanOptions& options) {
  if (!options.cases.contains("model"))
    throw CallError("plan: --model is missing; give one, such as `epochbench plan resnet20`");
  const std::vector<Plan> plans = plans_of(options);
  if (options.json)
    print(print_json(plans.size() == 1 ? plan_json(plans.front()) : json_list(plans, plan_json)));
  else if (plans.size() == 1 || options.by_op)
    print_each(plans);
  else
    print_plans(plans);
  return kExitDone;
}

// "24GiB", "500 MiB", "80GB". Errors: CallError.
std::int64_t parse_memory(const std::string& text) {
  constexpr std::pair<const char*, double> kUnits[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"GB", 1e9}, {"MB", 1e6}};
  constexpr double kMost = 1e6;
  for (const auto& [unit, size] : kUnits)
    if (text.ends_with(unit)) {
      const std::string number = std::string(trimmed(std::string_view(text).substr(0, text.size() - std::string(unit).size())));
      return static_cast<std::int64_t>(parse_real(number, {0, kMost, false, true}) * size);
    }
  throw CallError("'" + text + "' has no unit; give a number in GiB, MiB, GB or MB, such as 24GiB");
}

}  // namespace

void add_plan(Commands& commands) {
  auto [command, options] =
      commands.add("plan", "show parameters, FLOPs and memory of a model; runs nothing", kPlanExamples, plan);
  commands.add_case_options(command, options.cases, OfferedTo::calls,
                            {"model", "batch", "precision", "mode", "device", "without"});
  commands.add_model_argument(command, options.cases);
  add_parsed(command, "--memory", options.memory_bytes, parse_memory,
             "memory that --batch max may take (default: the device's)")
      ->type_name("BYTES");
  command.add_flag("--by-op", options.by_op, "add bytes, launches and FLOPs of a step by op");
  command.add_flag("--json", options.json, "as JSON");
}

}  // namespace epochbench
