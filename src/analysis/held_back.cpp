#include "src/analysis/held_back.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace epochbench {
namespace {

struct Conditions {
  std::set<std::string> without;  // parts that were left out
  bool portable_kernels = false;  // though the CPU may have better instructions
  double decode_cost_seconds = 0;
  bool decodes_in_time = false;  // decoding that was made dear goes on while steps run
  bool loads_in_step = false;    // no loader thread: steps wait while their batch is made
};

// "fusion+prefetch" of "/gemm=portable/without=fusion+prefetch" for "/without="; "" without it.
std::string value_of(const std::string& settings, std::string_view key) {
  const auto begin = settings.find(key);
  if (begin == std::string::npos) return "";
  const auto from = begin + key.size();
  return settings.substr(from, settings.find('/', from) - from);
}

void add_parts(std::set<std::string>& parts, const std::string& list) {
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find('+', begin), list.size());
    parts.insert(list.substr(begin, end - begin));
    begin = end + 1;
  }
}

Conditions conditions_of(const Series& series) {
  const Run& run = series.first();
  Conditions conditions;
  add_parts(conditions.without, run.device.without.value_or(""));
  add_parts(conditions.without, value_of(series.settings, "/without="));
  conditions.portable_kernels = value_of(series.settings, "/gemm=") == "portable";
  if (!run.input) return conditions;
  conditions.decode_cost_seconds = run.input->decode_cost_seconds;
  conditions.decodes_in_time = run.input->decode_cost_seconds > 0 && run.input->cache != "decoded";
  conditions.loads_in_step = run.input->loader_threads == 0;
  return conditions;
}

std::string beyond(const Conditions& baseline, const Conditions& contender) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const std::string& part : baseline.without)
    if (!contender.without.contains(part)) add("without " + part);
  if (baseline.portable_kernels && !contender.portable_kernels) add("portable kernels");
  if (baseline.decode_cost_seconds > contender.decode_cost_seconds)
    add("decoding made slower");
  else if (baseline.decodes_in_time && !contender.decodes_in_time)
    add("slow decoding while steps run");
  if (baseline.loads_in_step && !contender.loads_in_step) add("no loader thread");
  return text;
}

}  // namespace

std::string held_back(const Series& series) { return beyond(conditions_of(series), {}); }

std::string held_back(const Series& baseline, const Series& contender) {
  return beyond(conditions_of(baseline), conditions_of(contender));
}

}  // namespace epochbench
