// What an epoch is: once for a table, a card or a page.
#include <algorithm>

#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

struct EpochsOfData {  // epochs of one data set and unit
  std::string key;
  std::string data, unit;
  std::int64_t min_samples = 0, max_samples = 0;
  std::vector<std::string> models;
};

std::string epoch_unit(const Workload& work) {
  if (!work.tokens_per_sample) return work.samples_per_epoch == 1 ? "image" : "images";
  return std::string(work.samples_per_epoch == 1 ? "sequence" : "sequences") + " of " + format_count(*work.tokens_per_sample) +
         (*work.tokens_per_sample == 1 ? " token" : " tokens");
}

std::string data_text(const EpochsOfData& epochs) {
  std::string text = epochs.data;
  append(text, format_count(epochs.min_samples) +
                   (epochs.min_samples == epochs.max_samples ? "" : " to " + format_count(epochs.max_samples)));
  return text + " " + epochs.unit;
}

}  // namespace

std::string epochs_text(const std::vector<const Workload*>& works) {
  ListByKey<&EpochsOfData::key> kinds;
  for (const Workload* work : works) {
    const std::string data = work->nominal_dataset.value_or(work->dataset), unit = epoch_unit(*work);
    EpochsOfData& epochs = kinds[data + "\n" + unit];
    if (epochs.models.empty()) epochs = {epochs.key, data, unit, work->samples_per_epoch, work->samples_per_epoch, {}};
    epochs.min_samples = std::min(epochs.min_samples, work->samples_per_epoch);
    epochs.max_samples = std::max(epochs.max_samples, work->samples_per_epoch);
    if (!contains(epochs.models, work->model)) epochs.models.push_back(work->model);
  }
  constexpr std::size_t kMaxKinds = 6, kMaxModels = 2;  // more would hide the figures that they explain
  const std::vector<EpochsOfData>& list = kinds.list();
  if (list.size() == 1) return data_text(list.front());
  std::string text;
  for (std::size_t i = 0; i < std::min(list.size(), kMaxKinds); ++i)
    append(text, data_text(list[i]) + " (" + some_of(list[i].models, kMaxModels) + ")", "; ");
  return text + (list.size() > kMaxKinds ? "; and " + std::to_string(list.size() - kMaxKinds) + " more" : "");
}

std::string epochs_text(const std::vector<Run>& runs) {
  std::vector<const Workload*> works;
  for (const Run& run : runs)
    if (run.status == RunStatus::ok && run.timing && run.throughput) works.push_back(&run.workload);
  return epochs_text(works);
}

}  // namespace epochbench
