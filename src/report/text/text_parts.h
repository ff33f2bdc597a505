// Parts shared by texts and exports: figures and names of runs, intervals, reasons and notes, warnings, curves as characters.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/analysis/fairness.h"
#include "src/analysis/speedup/speedup.h"
#include "src/analysis/sweep/curves.h"
#include "src/base/json.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/figures/summarize.h"
#include "src/result/load.h"
#include "src/result/result.h"

namespace epochbench {

// A list with the result of `json_of_one`, a function or a member, for each element.
template <class Elements, class JsonOfOne>
Json json_list(const Elements& elements, const JsonOfOne& json_of_one) {
  Json list = Json::array();
  for (const auto& element : elements) list.push_back(std::invoke(json_of_one, element));
  return list;
}

// "mlp/cpu/fp32/b64 #2"; without the number for the first or only repetition.
std::string label_of(const Run& run);

// Without control characters, so that a name from a file cannot move the terminal's cursor or begin a new line.
std::string one_line(std::string text);

using NumberText = std::function<std::string(double)>;
inline std::string three_digits(double value) { return significant(value, 3); }

// "4.6 to 5.1".
inline std::string range_text(const std::pair<double, double>& ends, const NumberText& number = three_digits) {
  return number(ends.first) + " to " + number(ends.second);
}

std::string ratio_text(const Estimate& estimate);  // "12.3x (11.9 to 12.8)", "12.3x (no interval: ...)"
std::string interval_text(const Estimate& estimate, const NumberText& number = three_digits);  // " (11.9 to 12.8)"

// The mark after the name of a run or of repetitions that were disturbed (src/result/load.h), and the line above a table or
// page with such marks: "†: other processes took ...".
inline constexpr const char* kLoadMark = " †";
std::string load_note();
inline const char* load_mark(bool loaded) { return loaded ? kLoadMark : ""; }
std::string below_load_note(const std::string& text);  // with the line if the text contains a mark

// "" if the value is not known.
inline std::string cell(const std::optional<double>& value, const NumberText& number) { return value ? number(*value) : ""; }
inline std::string cell(const std::optional<GroupEstimate>& value, const NumberText& number) {
  return value ? number(value->value) : "";
}
// A figure of a case. If repetitions differ, a quality is "2.28 to 2.31": it depends on the seed, so it has no mean.
std::string cell(const Repetitions& runs, const Figure& figure);

// " (95 % interval 6.5 to 7.2, 5 runs)", " (range 6.1 to 7.4, 3 runs)"; "" for one.
std::string spread_text(const GroupEstimate& estimate, const NumberText& number = three_digits);

// "6.5 to 7.2" for a 95 % interval, "range 6.1 to 7.4", "" without either.
std::string ends_text(const std::optional<GroupEstimate>& estimate, const NumberText& number = three_digits);

// A table's column for the spread of repetitions. If only some rows have an interval, each cell says what it is.
class SpreadColumn {
 public:
  void add(const std::optional<GroupEstimate>& estimate);  // for each row, before calling the others
  std::string title() const;                               // "95 % interval", "range" or "95 % interval or range"
  std::string cell(const std::optional<GroupEstimate>& estimate, const NumberText& number) const;
  bool has(Spread spread) const { return kinds_[static_cast<std::size_t>(spread)]; }

 private:
  bool kinds_[3] = {};
};

// Gray if standard output shows colors, for figures of a run that other processes disturbed.
std::string in_doubt(bool doubted, const std::string& text);

// "$1.23"; "1.23 EUR" for a file with another currency.
std::string money_text(double amount, const std::optional<Cost>& cost);
// The cost of the first epoch; "" if it is not known, or reads as that of the others.
std::string first_epoch_cost(const Repetitions& runs);

// What the epochs of these workloads are: "ImageNet, 1,281,167 images", "SQuAD, 87,599 sequences of 128 tokens". If they
// differ, each with its models: "ImageNet, 1,281,167 images (resnet50); digits, 1,280 to 1,408 images (lenet5, mlp)". "" for
// none.
std::string epochs_text(const std::vector<const Workload*>& works);
std::string epochs_text(const std::vector<Run>& runs);  // that are ok and have the time of one

inline bool has_projected_epochs(const Run& run) { return run.timing && run.timing->epoch_kind == EpochKind::projected; }

// Why some of these runs show 100 % of the peak although more was counted: a sentence per reason, with the largest share.
std::vector<std::string> capped_shares(const std::vector<const Run*>& runs);
std::vector<std::string> capped_shares(const std::vector<Run>& runs);

// Repetitions share a name; a suite may skip hundreds of runs for one reason.
std::string cases_text(std::vector<std::string> names_of_runs);
// "16 cores, 8 of them fast"; empty if not known.
std::string cores_text(const CpuInfo& cpu);

// A text with its subjects, in order of first occurrence: reasons with the runs that they apply to.
struct Reason {
  std::string text;
  std::vector<std::string> subjects;  // at least one
};
using Reasons = ListByKey<&Reason::text>;
void add_reason(Reasons& reasons, const std::string& text, const std::string& subject);

// "12 runs: no GPU is usable here", one line per reason.
std::vector<std::string> runs_by_reason(const Reasons& reasons);

// "price 311 days old: g4dn.xlarge, g5.xlarge and 3 more", from ages with their instances; printed below a table, since a
// narrow terminal may hide that column.
std::vector<std::string> price_age_lines(const Reasons& ages);

// Each text once, in order of first occurrence.
std::vector<std::string> without_repeats(std::vector<std::string> texts);

// "a, b and 3 more".
std::string some_of(const std::vector<std::string>& names, std::size_t most);

// Notes below a table, by number: notes that several rows share are written once.
class Notes {
 public:
  // "[1]", the same for the same note.
  std::string mark(const std::string& note);

  const std::vector<std::string>& all() const { return notes_; }  // in the order of first marking

 private:
  std::vector<std::string> notes_;
};

// "  [1] the note" for each, filled into lines that end with a line break.
std::vector<std::string> numbered(const std::vector<std::string>& notes);

// Paragraphs below a table, each ending with a line break: on a terminal the first four, and how many more --verbose shows. In
// files and pipes, and if `verbose`, all.
std::string notes_below(const std::vector<std::string>& paragraphs, bool verbose);

// "T4" of "NVIDIA T4": the maker is the same for all cards.
std::string without_maker(const std::string& device);

// What the sides of a pair are called, and what they share.
struct PairText {
  std::string subject, contender, baseline;
  bool several = false;  // the contender is plural
};
// {"resnet20 b32 cpu", "bf16", "fp32"}, {"resnet20", "cuda fp16 b256", "cpu bf16 b64"}, {"resnet20/cpu/fp32/b128", "complete",
// "without winograd"}, {"resnet20/cpu/fp32/b128", "2 threads", "1 thread"}.
PairText pair_text(const SpeedupPair& pair);

// The factors of the ratio, in this order: {"silicon", 30}, {"launches", 0.4} if there are any, {"software", 2.6}.
std::vector<std::pair<const char*, double>> factors(const SpeedupParts& parts);
// "30.0x silicon × 2.60x software", and with ": cpu fp32 takes 3.9 times its roofline, cuda bf16 1.5 times"; "" for a pair
// without parts.
std::string factors_text(const SpeedupPair& pair);
std::string explanation(const SpeedupPair& pair);

// "parity_unverified: the losses of ...": a stable code for programs, then a sentence for people.
std::string to_string(const Warning& warning);
Json warnings_json(const std::vector<Warning>& warnings);

// The answers of a sweep, one sentence each. Names of curves lose `prefix` if they begin with it. Why intervals are missing is
// written once, at the end.
std::vector<std::string> sweep_sentences(const SweepAnswers& answers, Axis axis, const std::string& prefix);

// What ranks reach and cost, and predictions for more ranks. `name`: of the curve.
std::vector<std::string> rank_sentences(const RankScaling& scaling, const std::string& name);
// A line on a run of several ranks; empty for any other.
std::string rank_remark(const Run& run);

struct PlotCurve {
  std::string label;
  std::vector<std::pair<double, double>> points;  // x rising; all above 0 and finite
  std::vector<double> failed;                     // x of points that have no y
};

// Curves as characters, for a terminal of 80 columns without color: one glyph per curve, dots between its points, `!` on the
// axis where a point failed, and a legend. An axis is logarithmic, and labeled so, if its values span a factor of 10 or more;
// otherwise y begins at 0. Empty if there are fewer than two points to show.
std::string text_plot(const std::vector<PlotCurve>& curves, const std::string& x_title, const std::string& y_title,
                      const NumberText& y_text);

}  // namespace epochbench
