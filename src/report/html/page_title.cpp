// The page's title, by its subject: "ResNet-50 and BERT-base on an AMD EPYC, 2 cores".
#include <string_view>
#include <utility>

#include "src/base/cpu_name.h"
#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/report/html/page_head.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxNamed = 3;  // models; if there are more, the largest two
constexpr std::size_t kMaxDevices = 3;

std::string listed(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return joined(parts);
  return joined(std::vector(parts.begin(), parts.end() - 1)) + " and " + parts.back();
}

std::string models_text(const std::vector<std::string>& families) {
  std::vector<std::string> names;
  const std::size_t named = families.size() > kMaxNamed ? kMaxNamed - 1 : families.size();
  for (std::size_t i = 0; i < named; ++i) names.push_back(model_title(families[i]));
  if (families.size() > named) names.push_back(std::to_string(families.size() - named) + " smaller models");
  return listed(names);
}

std::string with_article(const std::string& name) {
  const bool vowel = name.starts_with("AMD") || name.starts_with("Intel") || name.starts_with("NVIDIA") ||
                     name.starts_with("Arm") || name.starts_with("Ampere") || name.starts_with("unknown");
  return (vowel ? "an " : "a ") + name;
}

std::string cpu_text(const Context& context) {
  const std::string model = context.cpu.model.empty() ? "CPU" : short_cpu_name(context.cpu.model);
  if (!context.cpu.cores) return model;
  return model + ", " + cores_text(context.cpu);
}

// "an NVIDIA H100 and an AMD EPYC, 8 cores": what ran, each once, GPUs first.
std::string devices_text(const AllSeries& all, const std::vector<NamedTurns>& turns) {
  std::vector<std::string> gpus, cpus;
  const auto add = [](std::vector<std::string>& list, const std::string& name) {
    if (!contains(list, name)) list.push_back(name);
  };
  for (const Series& series : all.series)
    if (series.on_gpu())
      add(gpus, with_article(series.first().device.name));
    else
      add(cpus, with_article(cpu_text(series.source->result.context)));
  if (all.series.empty())
    for (const NamedTurns& named : turns) add(cpus, with_article(cpu_text(named.document.context)));
  gpus.insert(gpus.end(), cpus.begin(), cpus.end());
  return gpus.size() > kMaxDevices ? std::to_string(gpus.size()) + " devices" : listed(gpus);
}

}  // namespace

std::string model_title(const std::string& family) {
  constexpr std::pair<std::string_view, std::string_view> kStyles[] = {
      {"resnet", "ResNet-"}, {"bert-", "BERT-"}, {"lenet", "LeNet-"}, {"mlp", "MLP"}};
  for (const auto& [plain, style] : kStyles)
    if (family.starts_with(plain)) return std::string(style) + family.substr(plain.size());
  return family;
}

std::string page_title(const std::vector<std::string>& families, const AllSeries& all, const std::vector<NamedTurns>& turns) {
  if (all.series.empty() && turns.empty()) return "No run succeeded";
  const std::string subject = all.series.empty() ? "Two builds of epochbench" : models_text(families);
  return subject + " on " + devices_text(all, turns);
}

}  // namespace epochbench
