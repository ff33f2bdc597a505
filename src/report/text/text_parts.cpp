#include "src/report/text/text_parts.h"

#include <algorithm>
#include <set>

#include "epochbench/precision.h"
#include "src/analysis/case_settings.h"
#include "src/analysis/cost/cost.h"
#include "src/analysis/unusable.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

std::string instruction_sentence(const Warning& w) {
  return w.run + " computed with " + w.first + ", though the CPU has " + w.second + "; it can be faster";
}

std::string precision_sentence(const Warning& w) {
  const bool strict = w.first == name(Precision::fp32);
  return w.second + " against " + (strict ? "strict " : "") + w.first +
         (strict && w.second == name(Precision::tf32) ? ": products of 10-bit significands against those of 23 bits"
                                                      : ": part of the ratio is the precision's");
}

std::string settings_sentence(const Warning& w) {
  const auto text = [](const std::string& settings) { return settings.empty() ? std::string("none") : settings; };
  return "settings differ: " + text(w.first) + " in the baseline, " + text(w.second) + " in the contender";
}

std::string energy_sentence(const Warning& w) {
  return "the energy of " + w.run +
         (w.first == "nvml" ? " is the card's alone, without its host's" : " is its host's alone, without the card's");
}

std::string sentence(const Warning& w) {
  switch (w.code) {
    case WarningCode::baseline_below_half_peak:
      return w.run + " reaches " + format_percent(w.value) + " of its measured peak; a better baseline would lower the ratio";
    case WarningCode::fewer_threads:
      return w.run + " had threads for " + format_whole(w.value) + " of " + format_whole(w.limit) + " cores";
    case WarningCode::unusable:
      return w.run + " cannot carry an answer: " + w.first;
    case WarningCode::far_from_bound:
      return "steps of " + w.run + " take " + times_of_bound_text(w.value);
    case WarningCode::precision_differs:
      return precision_sentence(w);
    case WarningCode::widened_products:
      return w.run + " stores its numbers in " + w.second + " and multiplies them in " + w.first +
             ", because the CPU, or kernels that were asked for, have no products of " + w.second;
    case WarningCode::parity_unverified:
      return "nothing shows that " + w.run + " computes the same: its losses were not compared with the CPU's in fp32";
    case WarningCode::parity_apart:
      return "losses of " + w.run + " are " + significant(w.value, 2) +
             " from their reference, relative, and rounding explains " + significant(w.limit, 2);
    case WarningCode::epoch_kind_differs:
      return "a " + w.first + " epoch against a " + w.second + " one";
    case WarningCode::data_waits:
      return w.run + " waited for data for " + format_percent(w.value) + " of its time";
    case WarningCode::host_differs:
      return std::string(w.value > 0 ? "perhaps " : "") + "measured on different machines: " + w.first + " and " + w.second;
    case WarningCode::price_of_other_machine:
      return "the price of " + w.run + " is that of another machine (" + w.first + ")";
    case WarningCode::currency_differs:
      return "costs in " + w.first + " and in " + w.second + " are not compared";
    case WarningCode::foreign_load:
      return "other processes took " + significant(w.value, 2) + " cores during a repetition of " + w.run;
    case WarningCode::portable_kernel:
      return w.run + " ran the portable kernels, which use no vector instructions by name";
    case WarningCode::unused_instruction:
      return instruction_sentence(w);
    case WarningCode::kernels_missing:
      return w.run + " computed with " + w.first + ", because the build has no kernels for " + w.second +
             ", which the CPU has; build it with EPOCHBENCH_KERNELS=all";
    case WarningCode::handicap:
      return w.run + " was restricted on purpose (" + w.first + "), and could be faster; the contender was too";
    case WarningCode::noisy_sample:
      return "within one run of " + w.run + " steps vary so much that their median may be off by " + format_percent(w.value);
    case WarningCode::noisy_repetitions:
      return "repetitions of " + w.run + " differ, with a standard deviation of " + format_percent(w.value);
    case WarningCode::throttled:
      return "the GPU throttled during " + format_whole(w.value) + " steps of a repetition of " + w.run;
    case WarningCode::blind_choices:
      return format_percent(w.value) + " of a step of " + w.run +
             " runs algorithms that no time was left to compare with others; run it again, which compares what is left";
    case WarningCode::energy_in_part:
      return energy_sentence(w);
    case WarningCode::memory_not_metered:
      return "the energy of " + w.run +
             " leaves out the CPU's memory, which has no counter; the other side's includes its memory";
    case WarningCode::settings_differ:
      return settings_sentence(w);
    case WarningCode::epoch_samples_differ:
      return "epochs of " + format_whole(w.value) + " and " + format_whole(w.limit) +
             " samples, so cost and energy per epoch are of other work";
    case WarningCode::build_differs:
      return "measured by different builds of epochbench: " + w.first + " and " + w.second;
    case WarningCode::batch_differs:
      return "batch " + format_whole(w.value) + " against " + format_whole(w.limit) + ": each at its own best";
    case WarningCode::unpinned:
      return "threads of " + w.run + " were not bound to cores";
    case WarningCode::dirty_build:
      return "the build that measured " + w.first + " has changes that no commit has";
    case WarningCode::fastest_in_doubt:
      return w.first;
    case WarningCode::resumed:
      return format_whole(w.value) + " calls measured the runs of " + w.first + " (--resume), and may have replaced some";
    case WarningCode::library_is_faster:
      return w.run + " could be faster: on this CPU " + w.first + " as our kernels (" + w.second + "); try --kernels fastest";
  }
  return "";
}

// Each side has what the other lacks; at their best also the batch.
PairText device_pair_text(const SpeedupPair& pair) {
  const SpeedupSide &baseline = pair.baseline, &contender = pair.contender;
  const auto batch = [](const SpeedupSide& side) { return " b" + std::to_string(side.workload.batch); };
  const bool devices = baseline.device.backend != contender.device.backend, own_batches = at_own_best(pair);
  const auto text = [&](const SpeedupSide& side) {
    return (devices ? name(side.device.backend) + std::string(" ") : "") + name(side.precision) +
           (own_batches ? batch(side) : "");
  };
  std::string subject = contender.workload.model + (own_batches ? "" : batch(contender));
  if (!devices) subject += std::string(" ") + name(contender.device.backend);
  append(subject, settings_text(further_settings(contender.settings)), " ");
  return {subject, text(contender), text(baseline)};
}

}  // namespace

std::string ends_text(const std::optional<GroupEstimate>& estimate, const NumberText& number) {
  if (!estimate || estimate->spread == Spread::none) return "";
  return (estimate->spread == Spread::range ? "range " : "") + range_text(estimate->interval, number);
}

std::string spread_text(const GroupEstimate& estimate, const NumberText& number) {
  if (estimate.spread == Spread::none) return "";
  return std::string(estimate.spread == Spread::ci95 ? " (95 % interval " : " (range ") +
         range_text(estimate.interval, number) + ", " + counted(estimate.count, "run", "runs") + ")";
}

void SpreadColumn::add(const std::optional<GroupEstimate>& estimate) {
  if (estimate) kinds_[static_cast<std::size_t>(estimate->spread)] = true;
}

std::string SpreadColumn::title() const {
  if (!has(Spread::range)) return "95 % interval";
  return has(Spread::ci95) ? "95 % interval or range" : "range";
}

std::string SpreadColumn::cell(const std::optional<GroupEstimate>& estimate, const NumberText& number) const {
  if (!estimate || estimate->spread == Spread::none) return "";
  const bool both = has(Spread::range) && has(Spread::ci95);
  return (!both ? "" : estimate->spread == Spread::range ? "range " : "95 % ") + range_text(estimate->interval, number);
}

std::string in_doubt(bool doubted, const std::string& text) {
  return !doubted || !shows_colors(Stream::out) || text.empty() ? text : "\033[90m" + text + "\033[0m";
}

std::string money_text(double amount, const std::optional<Cost>& cost) {
  return !cost || in_usd(*cost) ? format_usd(amount) : three_digits(amount) + " " + *cost->currency;
}

std::string first_epoch_cost(const Repetitions& runs) {
  const std::string first = cell(runs, kFirstEpochCost);
  return first == cell(runs, kEpochCostInUsd) ? "" : first;
}

std::string cell(const Repetitions& runs, const Figure& figure) {
  if (&figure.unit == &kMoney)
    return cell(summarize(runs, figure), [&](double amount) { return money_text(amount, runs.front()->cost); });
  if (figure.pooling != Pooling::by_seed) return cell(summarize(runs, figure), figure.unit.text);
  const std::vector<double> values = values_of(runs, figure);
  if (values.empty()) return "";
  const auto [least, greatest] = std::ranges::minmax(values);
  const std::string low = figure.unit.text(least), high = figure.unit.text(greatest);
  return low == high ? low : low + " to " + high;
}

std::string cores_text(const CpuInfo& cpu) {
  if (!cpu.cores) return "";
  const std::string all = counted(static_cast<std::size_t>(std::max(*cpu.cores, 0)), "core", "cores");
  return cpu.fast_cores ? all + ", " + std::to_string(*cpu.fast_cores) + " of them fast" : all;
}

std::string cases_text(std::vector<std::string> names_of_runs) { return some_of(without_repeats(std::move(names_of_runs)), 8); }

std::string load_note() {
  return std::string(kLoadMark).substr(1) + ": other processes took " + short_number(kQuietForeignCores) +
         " CPU cores or more, or a repetition took " + significant(100 * (kSlowRepetition - 1), 2) +
         " % longer than the median";
}

std::string below_load_note(const std::string& text) {
  return text.find(kLoadMark) == std::string::npos ? text : load_note() + "\n" + text;
}

std::string label_of(const Run& run) {
  return run.repetition > 0 ? run.name + " #" + std::to_string(run.repetition) : run.name;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return text;
}

void add_reason(Reasons& reasons, const std::string& text, const std::string& subject) {
  reasons[text].subjects.push_back(subject);
}

std::vector<std::string> runs_by_reason(const Reasons& reasons) {
  std::vector<std::string> lines;
  for (const auto& [reason, runs] : reasons)
    lines.push_back(std::to_string(runs.size()) + (runs.size() == 1 ? " run: " : " runs: ") + reason);
  return lines;
}

std::vector<std::string> price_age_lines(const Reasons& ages) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> lines;
  for (const auto& [age, instances] : ages) lines.push_back("price " + age + ": " + some_of(instances, kNamed));
  return lines;
}

std::string ratio_text(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return "not known (" + estimate.reason + ")";
  return format_times(estimate.value) + interval_text(estimate);
}

std::string interval_text(const Estimate& estimate, const NumberText& number) {
  return " (" + (estimate.ci95 ? range_text(*estimate.ci95, number) : "no interval: " + estimate.reason) + ")";
}

std::vector<std::string> without_repeats(std::vector<std::string> texts) {
  std::set<std::string> seen;
  std::erase_if(texts, [&](const std::string& text) { return !seen.insert(text).second; });
  return texts;
}

std::string some_of(const std::vector<std::string>& names, std::size_t most) {
  if (names.size() <= most) return joined(names);
  return joined({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most)}) + " and " +
         std::to_string(names.size() - most) + " more";
}

std::string Notes::mark(const std::string& note) {
  const auto known = std::find(notes_.begin(), notes_.end(), note);
  const std::string number = std::to_string(known - notes_.begin() + 1);
  if (known == notes_.end()) notes_.push_back(note);
  return "[" + number + "]";
}

std::vector<std::string> numbered(const std::vector<std::string>& notes) {
  std::vector<std::string> paragraphs;
  for (const std::string& note : notes)
    paragraphs.push_back(wrapped("  [" + std::to_string(paragraphs.size() + 1) + "] ", std::string(6, ' '), note));
  return paragraphs;
}

std::string notes_below(const std::vector<std::string>& paragraphs, bool verbose) {
  constexpr std::size_t kShown = 4;
  if (verbose || paragraphs.size() <= kShown || output_columns() == kUnlimitedColumns) return joined(paragraphs, "");
  const std::size_t more = paragraphs.size() - kShown;
  return joined({paragraphs.begin(), paragraphs.begin() + kShown}, "") +
         wrapped("  ", "  ", "and " + counted(more, "more note", "more notes") + ": add --verbose");
}

std::string without_maker(const std::string& device) {
  constexpr std::string_view kMaker = "NVIDIA ";
  return device.starts_with(kMaker) ? device.substr(kMaker.size()) : device;
}

PairText pair_text(const SpeedupPair& pair) {
  if (pair.compares == Compares::devices_or_precisions) return device_pair_text(pair);
  if (pair.compares == Compares::parts) {
    const std::string kernels = pair.lacks.substr(0, pair.lacks.find(' '));
    if (pair.lacks != kernels + kKernels) return {pair.contender.name, "complete", pair.lacks, false};
    const std::string better = setting_text(pair.contender.settings, "kernels", "best");
    return {pair.contender.name, better + kKernels, kernels + " ones", true};
  }
  const auto threads = [](const SpeedupSide& side) {
    return counted(static_cast<std::size_t>(side.device.threads.value_or(0)), "thread", "threads");
  };
  Settings shared = pair.contender.settings;
  shared.erase("threads");
  return {label_of(shared), threads(pair.contender), threads(pair.baseline), true};
}

std::vector<std::pair<const char*, double>> factors(const SpeedupParts& parts) {
  std::vector<std::pair<const char*, double>> list{{"silicon", parts.silicon}};
  if (parts.launches != 1) list.emplace_back("launches", parts.launches);
  list.emplace_back("software", parts.software.value);
  return list;
}

std::string factors_text(const SpeedupPair& pair) {
  const auto text = [](const std::pair<const char*, double>& each) { return format_times(each.second) + " " + each.first; };
  return pair.parts ? joined(factors(*pair.parts), text, " × ") : "";
}

std::string explanation(const SpeedupPair& pair) {
  if (!pair.parts) return "";
  const PairText sides = pair_text(pair);
  const bool named = sides.baseline != sides.contender;
  return factors_text(pair) + ": " + (named ? sides.baseline : "the baseline") + " takes " +
         significant(pair.parts->baseline_times, 2) + " times its roofline, " + (named ? sides.contender : "the contender") +
         " " + significant(pair.parts->contender_times, 2) + " times";
}

Json warnings_json(const std::vector<Warning>& warnings) {
  return json_list(warnings, [](const Warning& warning) { return to_string(warning); });
}

std::string to_string(const Warning& warning) { return std::string(name(warning.code)) + ": " + sentence(warning); }

}  // namespace epochbench
