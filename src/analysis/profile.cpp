#include "src/analysis/profile.h"

#include <algorithm>
#include <map>

namespace epochbench {
namespace {

// The roofline model (Williams, Waterman and Patterson, 2009): whichever of the two ceilings takes longer.
void set_limit(ProfileNode& node, const DeviceLimits& limits) {
  if (!limits.bytes_per_second || (node.flops > 0 && !limits.flops_per_second)) return;
  const double memory = node.bytes / *limits.bytes_per_second;
  const double compute = node.flops > 0 ? node.flops / *limits.flops_per_second : 0;
  node.limit_seconds = std::max(memory, compute);
  node.limit = compute > memory ? "compute" : "memory";
  if (node.seconds > 0) node.limit_fraction = *node.limit_seconds / node.seconds;
}

std::optional<double> sum_where_known(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

}  // namespace

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
  std::stable_sort(profile.classes.begin(), profile.classes.end(),
                   [](const ProfileClass& a, const ProfileClass& b) { return a.seconds > b.seconds; });
}

}  // namespace epochbench
