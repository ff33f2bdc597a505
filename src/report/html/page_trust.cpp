// How far the page's figures can be trusted, case by case and in one line.
#include <map>

#include "src/analysis/unusable.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/html/page_head.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

std::string doubt_text(const Warning& doubt) {
  switch (doubt.code) {
    case WarningCode::foreign_load:
      return load_doubt(doubt.value);
    case WarningCode::noisy_repetitions:
      return "repetitions vary by " + significant(doubt.value * 100, 2) + " %";
    case WarningCode::throttled:
      return "the GPU throttled during " + format_whole(doubt.value) + " steps";
    case WarningCode::blind_choices:
      return format_percent(doubt.value) + " of a step runs algorithms that were not compared with others";
    case WarningCode::far_from_bound:
      return "steps of " + doubt.run + " take " + times_of_bound_text(doubt.value);
    default:
      return "";
  }
}

// The same for many cases.
std::string doubt_kind(WarningCode code) {
  switch (code) {
    case WarningCode::foreign_load:
      return "other processes took " + short_number(kQuietForeignCores) + " cores or more";
    case WarningCode::noisy_repetitions:
      return "repetitions vary by more than " + significant(kFairRepetitionNoise * 100, 1) + " % (standard deviation)";
    case WarningCode::throttled:
      return "the GPU throttled";
    case WarningCode::blind_choices:
      return "algorithms of more than " + significant(kFairBlindShare * 100, 1) + " % of a step were not compared with others";
    default:
      return "";
  }
}

}  // namespace

std::string load_doubt(double foreign_cores) { return "other processes took " + significant(foreign_cores, 2) + " cores"; }

std::vector<std::string> doubt_texts(const std::vector<Warning>& warnings) {
  std::map<WarningCode, const Warning*> worst;
  for (const Warning& warning : warnings)
    if (const Warning*& known = worst[warning.code]; !known || known->value < warning.value) known = &warning;
  std::vector<std::string> texts;
  for (const auto& [code, warning] : worst) texts.push_back(doubt_text(*warning));
  std::erase(texts, "");
  return texts;
}

std::vector<std::string> doubt_texts(const Series& series) { return doubt_texts(doubts_of(series)); }

Json page_trust(const AllSeries& all) {
  std::size_t fewest = 0, most = 0;
  std::map<WarningCode, std::size_t> counts;
  std::size_t doubtful = 0;
  for (const Series& series : all.series) {
    const std::size_t n = series.runs.size();
    fewest = fewest == 0 ? n : std::min(fewest, n);
    most = std::max(most, n);
    const std::vector<Warning> doubts = doubts_of(series);
    doubtful += !doubts.empty();
    for (const Warning& doubt : doubts) ++counts[doubt.code];
  }
  Json lines = Json::array();
  if (most == 1)
    lines.push_back("One run per case, so no figure has an interval; --repetitions 5 gives one.");
  else if (most > 0)
    lines.push_back("Each figure is of " + (fewest == most ? "" : std::to_string(fewest) + " to ") + std::to_string(most) +
                    " processes" + (fewest < kMinRepetitions ? "; a 95 % interval takes 5." : "."));
  if (doubtful == 0 && most > 0) lines.push_back("No other load, throttling or unsteady repetitions were seen.");
  std::vector<std::string> reasons;
  for (const auto& [code, count] : counts) reasons.push_back(doubt_kind(code) + " in " + counted(count, "case", "cases"));
  if (doubtful > 0)
    lines.push_back("† " + std::to_string(doubtful) + " of " + counted(all.series.size(), "case", "cases") +
                    " in doubt: " + joined(reasons, "; ") + ".");
  return {{"sure", doubtful == 0 && fewest >= kMinRepetitions}, {"lines", lines}};
}

}  // namespace epochbench
