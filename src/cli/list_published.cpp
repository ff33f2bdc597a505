#include "src/cli/list_published.h"

#include <utility>

#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/published/import.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

template <class Do>
void for_each_entry(const Do& use) {
  for (const PublishedDocument& document : embedded_published())
    for (const PublishedEntry& entry : document.entries) use(document, entry);
}

std::string time_or_nothing(const std::optional<double>& seconds) { return seconds ? format_seconds(*seconds) : ""; }

std::string rate_or_nothing(const PublishedEntry& entry) { return entry.throughput ? format_rate(entry.throughput->rate) : ""; }

std::string machine_text(const PublishedMachine& machine) { return machine.description.value_or(""); }

}  // namespace

Json published_json() {
  Json list = Json::array();
  for_each_entry([&](const PublishedDocument& document, const PublishedEntry& entry) {
    Json row = {{"evidence", name(document.evidence)}, {"source", name(document.source)}};
    row.update(json_of(entry));
    row["notice"] = document.notice;
    list.push_back(std::move(row));
  });
  return list;
}

std::string published_text(const Json&, const std::vector<std::size_t>& kept) {
  Table dawnbench(
      {"task", "model", "machine", "-framework", "->epoch", "->to target", "->latency", ">samples/s", "->USD/hour"});
  Table mlperf({"result", "submitter", "system", "benchmark", "-version", "-division", "->batch", "->to target", ">samples/s"});
  bool any_dawnbench = false, any_mlperf = false;
  std::string citations;
  std::vector<std::string> notices;
  std::size_t place = 0;
  for_each_entry([&](const PublishedDocument& document, const PublishedEntry& entry) {
    if (!contains(kept, place++)) return;
    if (!contains(notices, document.notice)) notices.push_back(document.notice);
    if (document.source == PublishedSource::mlperf) {
      any_mlperf = true;
      citations += entry.citation + "\n";
      mlperf.add({entry.result_id.value_or(""), entry.submitter, machine_text(entry.machine), entry.benchmark,
                  entry.version.value_or(""), entry.division.value_or(""), entry.batch ? format_count(*entry.batch) : "",
                  time_or_nothing(entry.seconds_to_target), rate_or_nothing(entry)});
    } else {
      any_dawnbench = true;
      dawnbench.add({entry.benchmark + " " + name(entry.task), entry.model.value_or(""), machine_text(entry.machine),
                     entry.framework.value_or(""), time_or_nothing(entry.seconds_per_epoch),
                     time_or_nothing(entry.seconds_to_target), time_or_nothing(entry.latency_seconds), rate_or_nothing(entry),
                     entry.usd_per_hour ? shortest(*entry.usd_per_hour) : ""});
    }
  });
  std::string text = "published by others, not measured here\n";
  if (any_dawnbench) text += "\nDAWNBench\n" + dawnbench.to_string();
  if (any_mlperf) text += "\nMLPerf® Training\n" + mlperf.to_string() + "\n" + citations;
  return text + "\n" + joined(notices, "\n") + "\n";
}

}  // namespace epochbench
