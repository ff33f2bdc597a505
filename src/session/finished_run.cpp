#include "src/session/finished_run.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "src/worker/case_driver.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

// The roofline model (Williams, Waterman and Patterson, 2009): whichever of the two ceilings takes longer.
void set_limit(ProfileNode& node, const DeviceLimits& limits) {
  if (!limits.bytes_per_second || (node.flops > 0 && !limits.flops_per_second)) return;
  const double memory = node.bytes / *limits.bytes_per_second;
  const double compute = node.flops > 0 ? node.flops / *limits.flops_per_second : 0;
  node.limit_seconds = std::max(memory, compute);
  node.limit = compute > memory ? NodeLimit::compute : NodeLimit::memory;
  if (node.seconds > 0) node.limit_fraction = *node.limit_seconds / node.seconds;
}

std::optional<double> sum_where_known(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

}  // namespace

DeviceLimits limits_of(const Context& context, const PlannedCase& planned) {
  const auto limits = [&](const auto& device) {
    return DeviceLimits{peak_in(device.peak_flops_per_second, product_precision(planned.spec)),
                        device.memory_bandwidth_bytes_per_second};
  };
  if (planned.spec.device.kind != DeviceKind::cuda) return limits(context.cpu);
  DeviceLimits all{0, 0};
  for (int rank = 0; rank < planned.spec.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(planned.spec.device.index + rank);
    const DeviceLimits one = index < context.gpus.size() ? limits(context.gpus[index]) : DeviceLimits{};
    all.flops_per_second = sum_where_known(all.flops_per_second, one.flops_per_second);
    all.bytes_per_second = sum_where_known(all.bytes_per_second, one.bytes_per_second);
  }
  return all;
}

void complete_profile(Profile& profile, const DeviceLimits& limits) {
  std::erase_if(profile.nodes, [](const ProfileNode& node) { return node.flops == 0 && node.bytes == 0; });
  std::map<std::string, ProfileClass> classes;
  profile.seconds = 0;
  profile.limit_seconds = 0;
  for (ProfileNode& node : profile.nodes) {
    set_limit(node, limits);
    profile.seconds += node.seconds;
    profile.limit_seconds = sum_where_known(profile.limit_seconds, node.limit_seconds);
    ProfileClass& group = classes[node.op];
    if (group.nodes++ == 0) group.flops = group.bytes = group.limit_seconds = 0;
    group.op = node.op;
    group.seconds += node.seconds;
    *group.flops += node.flops;
    *group.bytes += node.bytes;
    group.limit_seconds = sum_where_known(group.limit_seconds, node.limit_seconds);
  }
  if (profile.seconds > 0 && profile.limit_seconds) profile.limit_fraction = *profile.limit_seconds / profile.seconds;
  profile.classes.clear();
  for (auto& [op, group] : classes) {
    if (group.seconds > 0) {
      group.share = group.seconds / profile.seconds;
      if (*group.flops > 0) group.flops_per_second = *group.flops / group.seconds;
      group.bytes_per_second = *group.bytes / group.seconds;
      if (group.limit_seconds) group.limit_fraction = *group.limit_seconds / group.seconds;
    }
    profile.classes.push_back(std::move(group));
  }
  std::ranges::stable_sort(profile.classes, std::greater(), &ProfileClass::seconds);
}

Run skipped_run(const PlannedCase& planned, const std::string& reason) {
  Run run;
  run.status = RunStatus::skipped;
  run.message = reason;
  run.device = planned_device(planned.spec);
  return run;
}

Run finished_run(Run run, const PlannedCase& planned, const DeviceLimits& limits, const Prices* prices) {
  run.name = planned.spec.name;
  run.repetition = planned.spec.repetition;
  run.workload = planned.workload;
  run.precision = planned.spec.precision;
  run.settings = planned.settings;
  if (run.status != RunStatus::ok) return run;
  const double rate = run.throughput->samples_per_second;
  if (run.workload.tokens_per_sample)
    run.throughput->tokens_per_second = static_cast<double>(*run.workload.tokens_per_sample) * rate;
  run.efficiency->flops_per_second = planned.flops_per_sample * rate;
  if (limits.flops_per_second) run.efficiency->peak_fraction = run.efficiency->flops_per_second / *limits.flops_per_second;
  if (run.profile) complete_profile(*run.profile, limits);
  if (prices) run.cost = prices->cost(planned.spec.device, *run.timing, planned.spec.ranks);
  return run;
}

}  // namespace epochbench
