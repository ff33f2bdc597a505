#include "src/analysis/handicap.h"

#include <set>

#include "src/analysis/case_settings.h"

namespace epochbench {
namespace {

struct Handicaps {
  std::set<std::string> without;  // parts that were left out
  bool portable_kernels = false;  // though the CPU may have better instructions
  double decode_cost_seconds = 0;
  bool decodes_in_time = false;  // decoding that was made dear goes on while steps run
  bool loads_in_step = false;    // no loader thread: steps wait while their batch is made
};

Handicaps handicaps_of(const Series& series) {
  const Run& run = series.first();
  Handicaps handicaps;
  for (const std::string& part : left_out_parts(series.conditions)) handicaps.without.insert(part);
  const auto kernels = series.conditions.find("kernels");
  handicaps.portable_kernels = kernels != series.conditions.end() && kernels->second == SettingValue("portable");
  if (!run.input) return handicaps;
  handicaps.decode_cost_seconds = run.input->decode_cost_seconds;
  handicaps.decodes_in_time = run.input->decode_cost_seconds > 0 && run.input->cache != "decoded";
  handicaps.loads_in_step = run.input->loader_threads == 0;
  return handicaps;
}

std::string beyond(const Handicaps& baseline, const Handicaps& contender) {
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

std::string handicap_of(const Series& series) { return beyond(handicaps_of(series), {}); }

std::string handicap_of(const Series& baseline, const Series& contender) {
  return beyond(handicaps_of(baseline), handicaps_of(contender));
}

}  // namespace epochbench
