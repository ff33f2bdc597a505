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

struct Sum {
  double flops = 0, bytes = 0, limit_seconds = 0;
  bool limit_known = true;
};

}  // namespace

void complete_profile(Profile& profile, const DeviceLimits& limits) {
  std::erase_if(profile.nodes, [](const ProfileNode& node) { return node.flops == 0 && node.bytes == 0; });
  std::map<std::string, std::pair<ProfileClass, Sum>> classes;
  profile.seconds = 0;
  for (ProfileNode& node : profile.nodes) {
    set_limit(node, limits);
    profile.seconds += node.seconds;
    auto& [group, sum] = classes[node.op];
    group.op = node.op;
    ++group.nodes;
    group.seconds += node.seconds;
    sum.flops += node.flops;
    sum.bytes += node.bytes;
    sum.limit_seconds += node.limit_seconds.value_or(0);
    sum.limit_known = sum.limit_known && node.limit_seconds;
  }
  profile.classes.clear();
  for (auto& [op, entry] : classes) {
    auto& [group, sum] = entry;
    if (group.seconds > 0) {
      group.share = group.seconds / profile.seconds;
      if (sum.flops > 0) group.flops_per_second = sum.flops / group.seconds;
      group.bytes_per_second = sum.bytes / group.seconds;
      if (sum.limit_known) group.limit_fraction = sum.limit_seconds / group.seconds;
    }
    profile.classes.push_back(std::move(group));
  }
  std::stable_sort(profile.classes.begin(), profile.classes.end(),
                   [](const ProfileClass& a, const ProfileClass& b) { return a.seconds > b.seconds; });
}

}  // namespace epochbench
