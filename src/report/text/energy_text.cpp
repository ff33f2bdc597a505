#include "src/report/text/energy_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/units.h"

namespace epochbench {
namespace {

constexpr std::size_t kMostLines = 3;  // of one kind; the result has them all

struct Line {
  std::string text;
  std::vector<std::string> names;  // of the runs that it is about
};

void add(std::vector<Line>& lines, const std::string& text, const std::string& name) {
  auto found = std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.text == text; });
  if (found == lines.end())
    lines.push_back({text, {name}});
  else
    found->names.push_back(name);
}

// "mlp/cpu/fp32/b64 and 3 more"; empty where it is about all `runs`.
std::string about(const Line& line, std::size_t runs) {
  if (line.names.size() == runs) return "";
  const std::size_t more = line.names.size() - 1;
  return line.names.front() + (more > 0 ? " and " + std::to_string(more) + " more" : "") + ": ";
}

std::string to_text(const std::vector<Line>& lines, const char* head, std::size_t runs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostLines); ++i)
    text += head + about(lines[i], runs) + lines[i].text + "\n";
  if (lines.size() > kMostLines) text += head + std::to_string(lines.size() - kMostLines) + " more such lines in the result\n";
  return text;
}

// The run with the largest share of throttled steps, and how many runs have any.
std::string throttling(const Result& result) {
  const Run* worst = nullptr;
  double most = 0;
  int count = 0;
  for (const Run& run : result.runs) {
    if (run.status != RunStatus::ok || !run.gpu || !run.timing || run.timing->step_seconds.empty()) continue;
    const double share =
        static_cast<double>(run.gpu->throttled_steps.value_or(0)) / static_cast<double>(run.timing->step_seconds.size());
    count += share > 0;
    if (share <= most) continue;
    most = share;
    worst = &run;
  }
  if (!worst) return "";
  std::string reasons;
  for (const std::string& reason : worst->gpu->throttle_reasons) reasons += (reasons.empty() ? "" : ", ") + reason;
  return "throttled: the GPU's clock was held down in " +
         (count == 1 ? std::string("a run") : std::to_string(count) + " runs") + ", during " + format_percent(most) +
         " of the steps of " + worst->name + " (" + reasons + ")\n";
}

}  // namespace

std::string energy_cell(const Run& run) {
  if (!run.energy) return "";
  const Energy& energy = *run.energy;
  if (energy.joules_per_epoch) return format_si(*energy.joules_per_epoch, "J");
  if (energy.gpu_joules_per_epoch) return "GPU " + format_si(*energy.gpu_joules_per_epoch, "J");
  return energy.cpu_joules_per_epoch ? "CPU " + format_si(*energy.cpu_joules_per_epoch, "J") : "";
}

std::string energy_remarks(const Result& result) {
  std::vector<Line> reasons, remarks, idle;
  std::size_t runs = 0;
  for (const Run& run : result.runs) {
    if (run.status != RunStatus::ok || !run.energy) continue;
    ++runs;
    if (run.energy->reason) add(reasons, "not known: " + *run.energy->reason, run.name);
    for (const std::string& remark : run.energy->remarks) add(remarks, remark, run.name);
    if (run.energy->idle_watts)
      add(idle, "idle draw before the first run " + format_si(*run.energy->idle_watts, "W") + ", not subtracted", run.name);
  }
  return to_text(reasons, "energy: ", runs) + to_text(remarks, "energy: ", runs) + to_text(idle, "energy: ", runs) +
         throttling(result);
}

}  // namespace epochbench
