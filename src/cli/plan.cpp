// epochbench plan: what a model needs, without running it.
#include "src/cli/plan.h"

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
#include "src/case/case_option.h"
#include "src/cli/commands.h"
#include "src/cli/elsewhere.h"
#include "src/cli/result_arguments.h"
#include "src/machine/environment.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/text_parts.h"
#include "src/session/capabilities.h"
#include "src/session/planned_case.h"
#include "src/session/predicting.h"
#include "src/session/prices.h"
#include "src/workload/traffic.h"
#include "src/workload/workload.h"

namespace epochbench {

bool takes_largest_batch(CaseBlock& cases) {
  const auto batch = cases.find("batch");
  if (batch == cases.end() || !contains(batch->second.values, "max")) return false;
  if (batch->second.values.size() > 1) throw CallError("--batch: max stands alone; leave out the other batches");
  cases.erase(batch);
  return true;
}

PredictionRequest prediction_request(std::vector<std::string> on, CaseBlock cases, std::optional<std::int64_t> epochs,
                                     std::optional<std::int64_t> tokens) {
  PredictionRequest request{std::move(on), {}, takes_largest_batch(cases), epochs, tokens};
  request.halve_batch = !request.largest_batch && !cases.contains("batch");
  if (!cases.contains("precision")) request.fastest_of.assign(std::begin(kPrecisions), std::end(kPrecisions));
  request.cases = expand(cases);
  if (request.halve_batch)
    for (CaseSpec& spec : request.cases) spec.batch = std::max<std::int64_t>(1, kGpuBatch / spec.accumulate) * spec.accumulate;
  return request;
}

namespace {

constexpr const char* kPlanExamples = R"(Examples:
  epochbench plan resnet20
  epochbench plan resnet50 --on T4,a100-80gb,h100-sxm,"RTX 3060" --batch max       on other devices, predicted
  epochbench plan resnet50 --on T4,L4,c7i.24xlarge --batch 64 --epochs 90          with hours and costs
  epochbench plan mine.json --on T4,a100,h100-sxm --price cpu=0.09                 a measured CPU beside them
  epochbench plan --model mlp:width=4096,depth=3 --batch 256 --json
  epochbench plan --model resnet50,bert-base --precision fp32,bf16 --batch 8,16    a table
  epochbench plan --model resnet50,bert-base --batch max --memory 24GiB            the largest batch that fits
  epochbench plan bert-base --batch 32 --accumulate 4 --checkpoint blocks          less memory per update
  epochbench plan bert-base --ranks 4 --shard none,optimizer                       memory of a rank
  epochbench plan --model bert-base --precision bf16 --device cuda:0 --by-op       bytes and launches of a step
  epochbench plan --model bert-base --device cuda:0 --by-op --without none,fusion  the same with fusion and without
  epochbench plan gpt2 --batch 32 --on a100-80gb,h100-sxm --precision bf16 --tokens 10e9
  epochbench plan --model resnet50:height=2160,width=3840 --batch 1 --mode forward

Lists are combined: every combination is planned. With --batch max each model and precision has the largest batch whose planned memory
is at most --memory, or what is free on the device: the CPU, if --device does not name another one. --by-op counts each operand of a
node once in bytes, and each plan of a library as one launch. --without leaves out only what a plan shows: fusion, and winograd on a CPU.

With --on the answer is predicted from the rated figures of devices (list devices --catalog) and from what others measured on such
devices; only --on cpu uses this machine: its measured peaks. Without --batch a batch is 256, halved until it fits; without --precision each
device uses its fastest one, as in `epochbench rent`. Each time has an 80 % interval, the error on devices that the fit did not see, and a
lower bound. With --epochs or --tokens the cheapest comes first, priced for the whole instance, using one of its GPUs; `epochbench rent`
compares all instances. A result instead of a model adds what it measured and
what others published: ratios to its CPU, times and costs of an epoch.)";

struct PlanOptions {
  CaseBlock cases;                           // model, batch, precision, mode, device, without
  std::optional<std::int64_t> memory_bytes;  // that --batch max may use
  bool by_op = false, verbose = false;
  std::vector<std::string> on;         // devices of the catalog, in place of those here
  std::optional<std::int64_t> epochs;  // for --on, like tokens
  std::optional<std::int64_t> tokens;
  std::string result;      // a file in place of the model
  PriceOptions prices;     // of its machine, and of devices of the catalog
  std::string price_file;  // of these
  bool json = false;
};

Program program_of(const Backend& backend, const Plan& plan, const std::vector<Entry>& entries) {
  return make_program(plan.workload, backend, entries, plan.spec.precision, !plan.spec.without.fusion);
}
ProgramMemory memory_on(const Backend& backend, const Plan& plan) {
  return memory(program_of(backend, plan, entries_of_mode(plan.spec.mode)));
}

// Sets the plan's memory, and what activations would take without recomputation and the optimizer's state undivided.
void set_memory(Plan& plan, const Backend& backend) {
  plan.memory = memory_on(backend, plan);
  Plan keeping = plan;
  if (plan.spec.checkpoint != Checkpoint::none) {
    keeping.workload.checkpoint = Checkpoint::none;
    plan.kept_activations_bytes = memory_on(backend, keeping).activations;
  }
  if (plan.spec.ranks > 1 && plan.spec.shard != Shard::none) {
    keeping.workload.shard = Shard::none;
    plan.whole_optimizer_bytes = memory_on(backend, keeping).optimizer;
  }
}

// The CPU, unless the call names GPUs or the CPU lacks the precision. Errors: CallError where it is named and lacks it.
bool is_on_cpu(const Plan& plan, std::optional<DeviceKind> device) {
  if (device == DeviceKind::cuda) return false;
  const auto reason =
      unsupported(plan.workload, *make_backend({}, default_threads()), entries_of_mode(plan.spec.mode), plan.spec.precision);
  if (device == DeviceKind::cpu && reason)
    throw CallError(std::string("--precision ") + name(plan.spec.precision) + ": " + *reason +
                    (plans_for_gpus() ? "; leave out --device cpu to plan for a GPU" : ""));
  return !reason;
}

std::unique_ptr<Backend> planner(bool on_cpu, const CaseSpec& spec) {
  return on_cpu ? make_backend({}, default_threads(), backend_options(spec)) : make_cuda_planner();
}

// Errors: CallError if a plan does not show what is left out.
void check_without(const Plan& plan, bool on_cpu) {
  const Without& without = plan.spec.without;
  Without unseen = without;
  unseen.fusion = unseen.packed_weights = unseen.winograd = false;
  if (unseen != Without{})
    throw CallError("--without " + to_string(unseen) +
                    ": changes neither memory nor the work of a step; leave it out, or measure it with `epochbench run`");
  if (!without.winograd && !without.packed_weights) return;
  const std::unique_ptr<Backend> complete = on_cpu ? make_backend({}, default_threads()) : make_cuda_planner();
  if (const auto nothing = nothing_to_leave_out(plan.spec, *complete)) throw CallError(*nothing);
}

// On the CPU if it has the precision and `device` is not cuda, then on every GPU.
void plan_memory_of(Plan& plan, std::optional<DeviceKind> device) {
  const bool on_cpu = is_on_cpu(plan, device);
  if (const auto reason = shard_obstacle(plan.spec)) throw CallError(*reason);
  check_without(plan, on_cpu);
  if (on_cpu) {
    set_memory(plan, *planner(true, plan.spec));
    plan.devices.push_back({name(DeviceKind::cpu), cpu_info().memory_bytes.value_or(0),
                            plan.spec.ranks * plan.memory.total() <= available_memory_bytes()});
  }
  const std::vector<GpuInfo> gpus = list_gpus();
  if (on_cpu && gpus.empty()) return;
  const auto gpu = planner(false, plan.spec);
  const ProgramMemory on_gpu = memory_on(*gpu, plan);
  if (!on_cpu) set_memory(plan, *gpu);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    plan.devices.push_back(
        {to_string(cuda_device(static_cast<int>(i))), gpus[i].memory_bytes, on_gpu.total() <= gpus[i].memory_bytes});
}

void plan_ops_of(Plan& plan, std::optional<DeviceKind> device) {
  const auto backend = planner(is_on_cpu(plan, device), plan.spec);
  const Entry entry = entries_of_mode(plan.spec.mode).front();
  const Program program = program_of(*backend, plan, {entry});
  plan.ops = traffic_by_op(program, entry, *backend);
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

// The plan of the largest batch whose memory is within the limit; of the smallest if none is. Batches have equal parts.
Plan largest_plan(const PlanOptions& options, const CaseSpec& spec, std::optional<DeviceKind> device) {
  const auto with_part_samples = [&](std::int64_t samples) { return with_batch(spec, samples * spec.accumulate * spec.ranks); };
  Plan largest = with_part_samples(1);
  const bool on_cpu = is_on_cpu(largest, device);
  const std::int64_t limit = memory_limit(options, on_cpu);
  const auto backend = planner(on_cpu, spec);
  const auto fits = [&](std::int64_t samples) {
    return (on_cpu ? spec.ranks : 1) * memory_on(*backend, with_part_samples(samples)).total() <= limit;
  };
  const std::int64_t fitting = largest_batch(fits);
  largest = with_part_samples(std::max<std::int64_t>(fitting, 1));
  largest.limit_bytes = limit;
  largest.fits = fitting > 0;
  return largest;
}

std::vector<Plan> plans_of(const PlanOptions& options) {
  CaseBlock cases = options.cases;
  const bool largest = takes_largest_batch(cases);
  if (options.memory_bytes && !largest) throw CallError("--memory needs --batch max; add it");
  std::vector<Plan> plans;
  const std::vector<CaseSpec> specs = expand(cases);
  check_rank_options(specs);
  for (const CaseSpec& spec : specs) {
    const auto device = cases.contains("device") ? std::optional(spec.device.kind) : std::nullopt;
    Plan plan = largest ? largest_plan(options, spec, device) : Plan{spec, workload_spec(spec), {}, {}, {}};
    plan.counts = count(plan.workload);
    plan_memory_of(plan, device);
    if (options.by_op) plan_ops_of(plan, device);
    plans.push_back(std::move(plan));
  }
  return plans;
}

// Checks options that are meaningless with --on, or without it. Errors: CallError.
void check_on(const PlanOptions& options) {
  if (options.on.empty()) {
    if (!options.price_file.empty() || !options.prices.price.empty())
      throw CallError("--price, --price-file: are of the devices of --on, with --epochs or --tokens; add them");
    if (options.epochs) throw CallError("--epochs needs --on, whose devices it predicts hours and costs for; add it");
    if (options.tokens) throw CallError("--tokens needs --on, whose devices it predicts hours and costs for; add it");
    if (options.cases.contains("epoch_samples")) throw CallError("--epoch-samples needs --on and --epochs; add both");
    return;
  }
  if (options.cases.contains("epoch_samples") && !options.epochs) throw CallError("--epoch-samples needs --epochs; add it");
  if (options.epochs && options.tokens) throw CallError("--tokens replaces --epochs; give one of them");
  if (options.cases.contains("device")) throw CallError("--device: --on names the devices; leave out one of the two");
  if (options.cases.contains("without")) throw CallError("--without: --on predicts the complete program; leave it out");
  if (options.memory_bytes) throw CallError("--memory: --on knows the memory of its devices; leave it out");
  if (options.cases.contains("ranks") || options.cases.contains("shard"))
    throw CallError("--ranks, --shard: --on predicts one device that has the batch to itself; leave them out");
  if (options.by_op) throw CallError("--by-op: shows the plan of a backend, and --on has none; leave out one of the two");
}

// --price of the machine of a result, and of devices of the catalog.
struct SplitPrices {
  std::string machine, devices;
};
SplitPrices split_prices(const std::string& prices) {
  SplitPrices both;
  for (const std::string& part : prices.empty() ? std::vector<std::string>() : split_list(prices)) {
    const std::string device = part.substr(0, part.find_first_of("=:"));
    const bool of_machine = device == name(DeviceKind::cpu) || device == name(DeviceKind::cuda);
    append(of_machine ? both.machine : both.devices, part, ",");
  }
  return both;
}

int plan_on(const PlanOptions& options) {
  PredictionRequest request = prediction_request(options.on, options.cases, options.epochs, options.tokens);
  request.prices = price_list({options.price_file, options.prices.price});
  const std::vector<Prediction> predictions = predictions_of(request);
  if (options.json)
    print(print_json(predictions_json(predictions)));
  else
    print_fitted(predictions_text(predictions, options.verbose));
  return kExitDone;
}

// Errors: CallError.
int plan_result(const PlanOptions& options) {
  const std::string& path = options.result;
  if (options.on.empty()) throw CallError("plan " + path + ": --on is missing; name devices, such as --on T4,a100,h100-sxm");
  for (const auto& [key, value] : options.cases)
    if (key != "batch" && key != "precision")
      throw CallError(flag(*find_case_option(key)) + ": " + path + " has its own; leave it out");
  if (options.epochs || options.tokens)
    throw CallError("--epochs, --tokens: the answer for a result is one epoch of its own; leave them out");
  if (options.memory_bytes || options.by_op)
    throw CallError("--memory, --by-op: are of a model, not of a result; leave them out");
  const SplitPrices prices = split_prices(options.prices.price);
  ElsewhereRequest request{options.on, {}, {}, price_list({options.price_file, prices.devices})};
  const auto only_value = [&](const char* key, auto parse) {
    const auto found = options.cases.find(key);
    if (found == options.cases.end()) return;
    located(flag(*find_case_option(key)), [&] {
      if (found->second.values.size() > 1) throw CallError("takes one value here, for all devices; leave out the others");
      parse(found->second.values.front());
    });
  };
  only_value("batch", [&](const std::string& text) { request.batch = whole(1, kMaxBatch)(text); });
  only_value("precision", [&](const std::string& text) { request.precision = parse_choice<Precision>(text); });
  NamedResult named = read_result_argument(path);
  reprice_one(named, {prices.machine, options.prices.scaling});
  return print_elsewhere({named}, request, options.verbose, options.json);
}

int plan(const PlanOptions& options) {
  if (!options.result.empty()) return plan_result(options);
  if (!options.cases.contains("model"))
    throw CallError("plan: --model is missing; give one, such as `epochbench plan resnet20`");
  if (!split_prices(options.prices.price).machine.empty() || options.prices.scaling)
    throw CallError(
        "--price cpu, --price-scaling: are of the machine of a result; give a result, such as `epochbench plan mine.json --on "
        "T4 --price cpu=0.09`");
  check_on(options);
  if (!options.on.empty()) return plan_on(options);
  const std::vector<Plan> plans = plans_of(options);
  if (options.json)
    print(print_json(plans.size() == 1 ? plan_json(plans.front()) : json_list(plans, plan_json)));
  else if (plans.size() == 1 || options.by_op)
    print_fitted(joined(plans, plan_text, "\n"));
  else
    print_fitted(plans_text(plans));
  return kExitDone;
}

// "24GiB", "500 MiB", "80GB". Errors: CallError.
std::int64_t parse_memory(const std::string& text) {
  constexpr std::pair<const char*, double> kUnits[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"GB", 1e9}, {"MB", 1e6}};
  constexpr double kMax = 1e6;
  for (const auto& [unit, size] : kUnits)
    if (text.ends_with(unit)) {
      const std::string number = std::string(trimmed(std::string_view(text).substr(0, text.size() - std::string(unit).size())));
      return static_cast<std::int64_t>(parse_real(number, {0, kMax, false, true}) * size);
    }
  throw CallError("'" + text + "' has no unit; give a number in GiB, MiB, GB or MB, such as 24GiB");
}

}  // namespace

void add_plan(Commands& commands) {
  auto [command, options] =
      commands.add("plan", "show parameters, FLOPs and memory of a model; runs nothing", kPlanExamples, plan);
  commands.add_case_options(command, options.cases, OfferedTo::calls,
                            {"model", "batch", "accumulate", "checkpoint", "ranks", "shard", "precision", "mode", "device",
                             "without", "epoch_samples"});
  command.get_option("--precision")
      ->description("fp32, tf32, bf16, fp16, int8 (default fp32; with --on the fastest of each device)");
  commands.add_model_argument(command, options.cases, &options.result);
  add_parsed(command, "--memory", options.memory_bytes, parse_memory, "memory that --batch max may use (default: the device's)")
      ->type_name("BYTES");
  add_parsed(
      command, "--on", options.on, split_list,
      "predict for GPUs and instances of the catalog, such as T4,h100-sxm,c7i.24xlarge, for all of them, or for cpu, this one")
      ->type_name("DEVICE,...");
  add_parsed(command, "--epochs", options.epochs, whole(1, kMaxEpochs), "with --on: hours and costs of N epochs")
      ->type_name("N");
  add_parsed(command, "--tokens", options.tokens, parse_tokens, "with --on: hours and costs of N tokens, such as 10e9")
      ->type_name("N");
  add_price_options(command, options.prices);
  command.get_option("--price")->description(
      "USD per hour of the devices of --on, such as t4=0.35,c7i.24xlarge=3.10; with a result also of its machine: cpu=0.09");
  add_price_file(command, options.price_file);
  command.add_flag("--by-op", options.by_op, "add bytes, launches and FLOPs of a step by op");
  command.add_flag("-v,--verbose", options.verbose, "with --on: print all notes, also on a terminal");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
