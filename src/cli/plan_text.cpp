// What `plan` prints about a plan.
#include <algorithm>

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/plan.h"

namespace epochbench {
namespace {

std::string bytes(std::int64_t value) { return format_bytes(static_cast<double>(value)); }

std::string limit_text(const Plan& plan) {
  return plan.fits ? "the largest batch within " + bytes(*plan.limit_bytes)
                   : "not even batch " + format_count(plan.workload.config.batch) + " is within " + bytes(*plan.limit_bytes);
}

// "8", or "8 in 4 parts".
std::string batch_text(const Plan& plan) {
  const std::int64_t parts = plan.workload.accumulate;
  return format_count(plan.workload.config.batch) + (parts > 1 ? " in " + format_count(parts) + " parts" : "");
}

std::string checkpoint_text(const Plan& plan) {
  const double kept = static_cast<double>(*plan.kept_activations_bytes);
  const double saved = 1 - static_cast<double>(plan.memory.activations) / kept;
  return std::string(name(plan.spec.checkpoint)) + ": further activations " + bytes(plan.memory.activations) + " instead of " +
         format_bytes(kept) + ", " + format_percent(saved) + " less; what is recomputed does not count as FLOPs per sample";
}

std::string shard_text(const Plan& plan) {
  return std::string(name(plan.spec.shard)) + ": its state " + bytes(plan.memory.optimizer) + " per rank instead of " +
         bytes(*plan.whole_optimizer_bytes);
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

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string text;
  const auto row = [&text](std::string title, const std::string& value) {
    title.resize(std::max<std::size_t>(title.size(), 13), ' ');
    for (const std::string& line : wrapped_lines(title + " ", std::string(14, ' '), value)) text += line + "\n";
  };
  row("model", plan.workload.model.name + ", batch " + batch_text(plan) + ", " + name(plan.spec.precision) + ", " +
                   name(plan.spec.mode));
  if (plan.spec.without != Without{}) row("without", to_string(plan.spec.without));
  row("parameters", format_count(plan.counts.parameters));
  row("FLOPs/sample", format_si(plan.counts.forward_flops_per_sample, "FLOP") + " forward, " +
                          format_si(plan.counts.train_flops_per_sample, "FLOP") + " training");
  row("memory", bytes(plan.memory.total()) + (plan.spec.ranks > 1 ? " per rank of " + std::to_string(plan.spec.ranks) : "") +
                    ": parameters " + bytes(plan.memory.parameters) + ", gradients " + bytes(plan.memory.gradients) +
                    " (activations reuse it), optimizer " + bytes(plan.memory.optimizer) + ", further activations " +
                    bytes(plan.memory.activations) + ", workspace " + bytes(plan.memory.workspace));
  if (plan.kept_activations_bytes) row("checkpoint", checkpoint_text(plan));
  if (plan.whole_optimizer_bytes) row("shard", shard_text(plan));
  row("fingerprint", plan.counts.fingerprint);
  if (plan.limit_bytes) row("limit", limit_text(plan));
  for (const DeviceMemory& device : plan.devices)
    row(device.name,
        bytes(device.bytes) + " of memory, " + (device.fits ? "fits into what is free" : "does not fit into what is free"));
  if (plan.devices.empty()) row("GPUs", "none here; the memory is what a GPU would need");
  if (!plan.ops.empty()) text += "\n" + ops_text(plan.ops);
  return text;
}

std::string plans_text(const std::vector<Plan>& plans) {
  std::vector<std::string> titles{"model", "precision", "-mode", ">batch", ">parameters", "->FLOPs/sample", ">memory"};
  const bool ablated = std::ranges::any_of(plans, [](const Plan& plan) { return plan.spec.without != Without{}; });
  if (ablated) titles.emplace_back("without");
  const bool checkpoints = std::ranges::any_of(plans, [](const Plan& plan) { return plan.kept_activations_bytes.has_value(); });
  if (checkpoints) titles.emplace_back("checkpoint");
  const bool ranks = std::ranges::any_of(plans, [](const Plan& plan) { return plan.spec.ranks > 1; });
  const bool shards = std::ranges::any_of(plans, [](const Plan& plan) { return plan.whole_optimizer_bytes.has_value(); });
  if (ranks) titles.emplace_back(">ranks");
  if (shards) titles.emplace_back("shard");
  const std::size_t first_device = titles.size();
  for (const DeviceMemory& device : plans.front().devices) titles.push_back("fits " + device.name);
  Table table(titles);
  std::string limits, notes = ranks ? "the memory of several ranks is that of one of them\n" : "";
  for (const Plan& plan : plans) {
    const double flops =
        plan.spec.mode == Mode::train ? plan.counts.train_flops_per_sample : plan.counts.forward_flops_per_sample;
    std::vector<std::string> cells{plan.workload.model.name,
                                   name(plan.spec.precision),
                                   name(plan.spec.mode),
                                   plan.fits ? batch_text(plan) : "none",
                                   format_count(plan.counts.parameters),
                                   format_si(flops, "FLOP"),
                                   bytes(plan.memory.total())};
    if (ablated) cells.push_back(plan.spec.without == Without{} ? "none" : to_string(plan.spec.without));
    if (checkpoints) cells.emplace_back(name(plan.spec.checkpoint));
    if (ranks) cells.push_back(std::to_string(plan.spec.ranks));
    if (shards) cells.emplace_back(name(plan.whole_optimizer_bytes ? plan.spec.shard : Shard::none));
    for (std::size_t i = first_device; i < titles.size(); ++i) {
      const auto device = std::ranges::find(plan.devices, plans.front().devices[i - first_device].name, &DeviceMemory::name);
      cells.emplace_back(device == plan.devices.end() ? "no such kernels" : device->fits ? "yes" : "no");
    }
    table.add(cells);
    if (plan.limit_bytes && plan.fits) limits = limit_text(plan) + "\n";
    if (!plan.fits)
      limits += plan.workload.model.name + ": " + limit_text(plan) + "; it needs " + bytes(plan.memory.total()) + "\n";
  }
  return table.to_string() + notes + limits;
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
                   {"nominal_samples_per_epoch", model.family->nominal_epoch.samples},
                   {"nominal_dataset", model.family->nominal_epoch.dataset},
                   {"memory_bytes", memory},
                   {"devices", devices}};
  if (plan.workload.accumulate > 1) document["accumulate"] = plan.workload.accumulate;
  if (plan.kept_activations_bytes) {
    document["checkpoint"] = name(plan.spec.checkpoint);
    document["activations_bytes_without_checkpoint"] = *plan.kept_activations_bytes;
  }
  if (plan.spec.ranks > 1) document["ranks"] = plan.spec.ranks;
  if (plan.whole_optimizer_bytes) {
    document["shard"] = name(plan.spec.shard);
    document["optimizer_bytes_without_shard"] = *plan.whole_optimizer_bytes;
  }
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

}  // namespace epochbench
