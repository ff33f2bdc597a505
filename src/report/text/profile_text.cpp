// Tables of a profile: op classes, then single nodes, ordered by the time to gain.
#include <algorithm>
#include <vector>

#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "src/report/view.h"

namespace epochbench {
namespace {

constexpr std::size_t kShownNodes = 10;

std::string flops_text(double value) { return value > 0 ? format_si(value, "FLOP") : ""; }
std::string bytes_text(double value) { return format_si(value, "B"); }

// The time beyond the limit; all of it if no limit is known. Below 0 if operands came from caches.
double lost_seconds(double seconds, const std::optional<double>& limit_seconds) { return seconds - limit_seconds.value_or(0); }
std::string lost_text(double seconds, const std::optional<double>& limit_seconds) {
  return limit_seconds ? format_seconds(std::max(0.0, seconds - *limit_seconds)) : "";
}

template <typename Timed>  // ProfileClass or ProfileNode
std::vector<const Timed*> most_lost_first(const std::vector<Timed>& all) {
  std::vector<const Timed*> order;
  for (const Timed& each : all) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(), [](const Timed* a, const Timed* b) {
    return lost_seconds(a->seconds, a->limit_seconds) > lost_seconds(b->seconds, b->limit_seconds);
  });
  return order;
}

std::string classes_text(const Profile& profile) {
  View table{"", columns("op|->nodes|>time|>share|-->FLOPs|-->bytes|->limit|>of it|>lost")};
  std::int64_t nodes = 0;
  double flops = 0, bytes = 0;
  for (const ProfileClass* group : most_lost_first(profile.classes)) {
    table.rows.push_back({group->op, format_count(group->nodes), format_seconds(group->seconds), format_percent(group->share),
                          cell(group->flops, flops_text), cell(group->bytes, bytes_text),
                          cell(group->limit_seconds, format_seconds), cell(group->limit_fraction, format_percent),
                          lost_text(group->seconds, group->limit_seconds)});
    nodes += group->nodes;
    flops += group->flops.value_or(0);
    bytes += group->bytes.value_or(0);
  }
  table.rows.push_back({"all", format_count(nodes), format_seconds(profile.seconds), format_percent(1), flops_text(flops),
                        bytes_text(bytes), cell(profile.limit_seconds, format_seconds),
                        cell(profile.limit_fraction, format_percent), lost_text(profile.seconds, profile.limit_seconds)});
  return terminal_table(table);
}

std::string nodes_text(const Profile& profile) {
  std::vector<const ProfileNode*> order = most_lost_first(profile.nodes);
  order.resize(std::min(order.size(), kShownNodes));
  View table{"", columns("node|--op|>time|->limit|-by|>of it|>lost|---kernel")};
  for (const ProfileNode* node : order)
    table.rows.push_back({node->name, node->op, format_seconds(node->seconds), cell(node->limit_seconds, format_seconds),
                          node->limit ? name(*node->limit) : "", cell(node->limit_fraction, format_percent),
                          lost_text(node->seconds, node->limit_seconds), node->implementation});
  return terminal_table(table);
}

std::string head_text(const Run& run) {
  const Profile& profile = *run.profile;
  std::string text = label_of(run) + ": a step node by node, " + format_seconds(profile.seconds) + " in all";
  if (profile.passes) text += ", each node the median of " + std::to_string(*profile.passes) + " passes";
  if (run.timing) {
    constexpr double kNoticeable = 0.1;
    const double step = run.timing->step_seconds_median, apart = step / profile.seconds - 1;
    text += "; the timed steps' median is " + format_seconds(step);
    if (apart > kNoticeable) text += ": a disturbance lengthens any step that it meets, but hardly the median of a node";
    if (apart < -kNoticeable) text += ": timing the nodes one by one takes time, too";
  }
  return wrapped("", "  ", text);
}

}  // namespace

std::string profile_text(const Run& run) {
  const Profile& profile = *run.profile;
  std::string text = head_text(run);
  const auto above_limit = [](const auto& timed) { return timed.limit_fraction.value_or(0) > 1; };
  if (profile.limit_seconds) {
    const bool cached = std::ranges::any_of(profile.classes, above_limit) || std::ranges::any_of(profile.nodes, above_limit);
    text +=
        wrapped("", "  ",
                std::string("limit: FLOPs at the measured peak or bytes at the measured bandwidth, whichever takes longer; ") +
                    "of it: the limit over the time" +
                    (cached ? ", above 100 % where the bytes came from a cache, which is faster than memory" : "") +
                    "; lost: time beyond the limit");
  }
  return text + classes_text(profile) + "\n" + nodes_text(profile);
}

}  // namespace epochbench
