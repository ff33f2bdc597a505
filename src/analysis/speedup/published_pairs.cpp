#include "src/analysis/speedup/published_pairs.h"

#include <cctype>

#include "src/base/lookup.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

// A model of ours that DAWNBench entries have too, at the size for which their throughput is known: an entry that changes the
// size during training has none.
struct SharedModel {
  const char *model, *benchmark, *size;
  const char* names[3];  // letters and digits of what entries call it
};
constexpr SharedModel kShared[] = {{"resnet50", "ImageNet", "224x224", {"resnet50", "resnet50v15", ""}}};

std::string letters_and_digits(const std::string& text) {
  std::string kept;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c))) kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return kept;
}

bool has_model(const SharedModel& shared, const PublishedEntry& entry) {
  const std::string name = letters_and_digits(entry.model.value_or(""));
  return entry.task == PublishedTask::train && entry.benchmark == shared.benchmark && entry.throughput && !name.empty() &&
         contains(shared.names, name);
}

std::string or_unknown(const std::optional<std::string>& text) { return text.value_or("not stated"); }

std::vector<std::string> differences(const Run& run, const PublishedEntry& entry) {
  const Workload& work = run.workload;
  std::vector<std::string> list{
      "framework: epochbench, there " + or_unknown(entry.framework),
      "machine: " + run.device.name + (run.device.threads ? ", " + std::to_string(*run.device.threads) + " threads" : "") +
          ", there " + or_unknown(entry.machine.description),
      "batch: " + std::to_string(work.batch) + ", there " + (entry.batch ? std::to_string(*entry.batch) : "not stated"),
      "input: " + work.dataset + ", there " + or_unknown(entry.data) + ", read and decoded",
      std::string("precision: ") + name(run.precision) + ", there not stated"};
  return list;
}

}  // namespace

PublishedPairs published_pairs(const std::vector<NamedResult>& results, std::span<const PublishedDocument> documents) {
  PublishedPairs found;
  const AllSeries all = series_of(results);
  for (const SharedModel& shared : kShared) {
    found.known.push_back(std::string(shared.model) + " at " + shared.size);
    for (const Series& series : all.series) {
      const Run& run = series.first();
      if (run.workload.model != shared.model || run.workload.mode != Mode::train) continue;
      for (const PublishedDocument& document : documents) {
        if (document.source != PublishedSource::dawnbench) continue;
        for (const PublishedEntry& entry : document.entries) {
          if (!has_model(shared, entry)) continue;
          const double rate = series.rate(), published = entry.throughput->rate;
          found.pairs.push_back({series.name(), series.source->path, rate, series.runs.size(), entry.name,
                                 or_unknown(entry.machine.description), entry.citation, entry.link.value_or(""), published,
                                 rate / published, differences(run, entry)});
          found.notice = document.notice;
        }
      }
    }
  }
  return found;
}

}  // namespace epochbench
