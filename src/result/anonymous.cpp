#include "src/result/anonymous.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <vector>

#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::string_view kOfTheKernel[] = {"/dev/nvidia", "/proc/", "/sys/"};

// The path part of "idx:DIR"; empty for an embedded or synthetic data set.
std::string path_of(const std::string& dataset) {
  const auto colon = dataset.find(':');
  return colon == std::string::npos ? "" : dataset.substr(colon + 1);
}

// Calls `change` on every text of the answers that may name a curve.
template <typename Change>
void for_each_curve(SweepAnswers& answers, const Change& change) {
  for (CurveBest& best : answers.best) change(best.curve);
  for (CurveFlattening& flattening : answers.flattens_at) change(flattening.curve);
  for (std::vector<Crossing>* crossings : {&answers.crossover, &answers.no_crossover})
    for (Crossing& crossing : *crossings) {
      change(crossing.baseline);
      change(crossing.contender);
      if (crossing.better_above) change(*crossing.better_above);
      if (crossing.reason) change(*crossing.reason);
    }
  for (RankScaling& scaling : answers.rank_scaling) change(scaling.curve);
  for (ScalingAnswer& scaling : answers.scaling) {
    change(scaling.curve);
    for (CoresNeeded& cores : scaling.extrapolations) change(cores.contender);
  }
}

}  // namespace

std::string without_paths(const std::string& text) {
  const auto ends = [](char c) {
    return std::isspace(static_cast<unsigned char>(c)) || c == '\'' || c == '"' || c == ',' || c == ';';
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = i == 0 || std::isspace(static_cast<unsigned char>(text[i - 1])) ||
                        std::ispunct(static_cast<unsigned char>(text[i - 1]));
    if (text[i] != '/' || !starts || i + 1 == text.size() || ends(text[i + 1])) {
      result += text[i];
      continue;
    }
    const std::size_t begin = i;
    while (i + 1 < text.size() && !ends(text[i + 1])) ++i;
    const std::string path = text.substr(begin, i + 1 - begin);
    const bool kept = std::ranges::any_of(kOfTheKernel, [&](std::string_view folder) { return path.starts_with(folder); });
    // A path may close a clause: "cannot read /data/x: no such file".
    result += kept ? path : text[i] == ':' ? "<path>:" : "<path>";
  }
  return result;
}

Context anonymous(Context context) {
  context.host_name.reset();
  context.command_line.reset();
  for (auto& [name, value] : context.environment) value = without_paths(value);
  for (EarlierCall& call : context.earlier_calls) call.command_line.reset();
  for (GpuInfo& gpu : context.gpus) {
    gpu.uuid.clear();
    gpu.pci_bus_id.clear();
  }
  return context;
}

Result anonymous(Result result) {
  result.context = anonymous(std::move(result.context));

  std::map<std::string, std::string> datasets, names;
  std::map<std::string, int> of_kind;
  for (Run& run : result.runs) {
    const std::string dataset = run.workload.dataset, path = path_of(dataset);
    if (path.empty()) continue;
    if (datasets.find(dataset) == datasets.end()) {
      const std::string kind = dataset.substr(0, dataset.size() - path.size());
      const int number = ++of_kind[kind];
      datasets[dataset] = number == 1 ? kind : kind + std::to_string(number);
    }
    run.workload.dataset = datasets[dataset];
    const std::string name = run.name;
    replace_all(run.name, dataset, datasets[dataset]);
    if (const auto data = run.settings.find("data"); data != run.settings.end()) data->second = datasets[dataset];
    names[name] = run.name;
    if (run.message) replace_all(*run.message, path, "<path>");
  }
  if (result.answers)
    for_each_curve(*result.answers, [&](std::string& text) {
      for (const auto& [dataset, anonymous_name] : datasets) replace_all(text, dataset, anonymous_name);
    });
  for (Run& run : result.runs) {
    if (run.message) run.message = without_paths(*run.message);
    if (run.energy && run.energy->reason) run.energy->reason = without_paths(*run.energy->reason);
    if (run.gpu && run.gpu->reason) run.gpu->reason = without_paths(*run.gpu->reason);
    if (!run.quality || !run.quality->parity_with) continue;
    const auto renamed = names.find(*run.quality->parity_with);
    if (renamed != names.end()) run.quality->parity_with = renamed->second;
  }
  return result;
}

}  // namespace epochbench
