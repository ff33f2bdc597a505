#include "src/analysis/predict/published_steps.h"

#include "epochbench/embedded.h"
#include "src/base/lookup.h"
#include "src/result/result_json.h"

namespace epochbench {

PublishedSteps parse_published_steps(std::string_view text, const std::string& source) {
  const Json document = parse_json(text, source);
  const JsonFields fields(document, source);
  PublishedSteps published;
  published.settings = fields.get<std::map<std::string, std::string>>("settings");
  const auto tuned = fields.get<std::vector<std::string>>("tuned");
  for (const JsonFields& row : fields.groups("rows")) {
    PublishedStep step{row.text("device"), row.text("model"), row.get<Precision>("precision"), row.text("setting")};
    step.tuned = contains(tuned, step.setting);
    step.batch = row.integer("batch");
    const std::optional<double> milliseconds = row.maybe_number("milliseconds");
    step.seconds = milliseconds ? *milliseconds / 1e3 : static_cast<double>(step.batch) / row.number("samples_per_second");
    published.steps.push_back(std::move(step));
  }
  return published;
}

const PublishedSteps& embedded_published_steps() {
  constexpr const char* kFile = "bench/throughputs.json";
  static const PublishedSteps published = parse_published_steps(embedded_file(kFile).value_or(""), kFile);
  return published;
}

}  // namespace epochbench
