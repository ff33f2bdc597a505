#include "src/report/profile_text.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "src/report/table.h"
#include "src/report/units.h"

namespace epochbench {
namespace {

constexpr std::size_t kSlowestNodes = 10;

std::string cell(const std::optional<double>& value, std::string (*format)(double)) { return value ? format(*value) : ""; }
std::string flops_rate(double value) { return format_si(value, "FLOP/s"); }
std::string bytes_rate(double value) { return format_si(value, "B/s"); }

std::string classes_text(const Profile& profile) {
  constexpr auto kRight = Table::Align::right;
  Table table({{"op"},
               {"nodes", kRight},
               {"time", kRight},
               {"share", kRight},
               {"compute", kRight},
               {"memory", kRight},
               {"of its limit", kRight}});
  for (const ProfileClass& group : profile.classes)
    table.add({group.op, format_count(group.nodes), format_seconds(group.seconds), format_percent(group.share),
               cell(group.flops_per_second, flops_rate), cell(group.bytes_per_second, bytes_rate),
               cell(group.limit_fraction, format_percent)});
  return table.to_string();
}

std::string slowest_text(const Profile& profile) {
  constexpr auto kRight = Table::Align::right;
  std::vector<std::size_t> order(profile.nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return profile.nodes[a].seconds > profile.nodes[b].seconds; });
  order.resize(std::min(order.size(), kSlowestNodes));
  Table table({{"slowest nodes"}, {"op"}, {"time", kRight}, {"limit", kRight}, {"by"}, {"of it", kRight}, {"kernel"}});
  for (const std::size_t index : order) {
    const ProfileNode& node = profile.nodes[index];
    table.add({node.name, node.op, format_seconds(node.seconds), cell(node.limit_seconds, format_seconds),
               node.limit.value_or(""), cell(node.limit_fraction, format_percent), node.implementation});
  }
  return table.to_string();
}

}  // namespace

std::string profile_text(const Run& run) {
  const Profile& profile = *run.profile;
  return run.name + (run.repetition > 0 ? " #" + std::to_string(run.repetition) : "") + ": a step node by node, " +
         format_seconds(profile.seconds) + " in all\n" + classes_text(profile) + "\n" + slowest_text(profile);
}

}  // namespace epochbench
