// Which runs of results are paired, for each question, and why the others are not.
#include "src/analysis/speedup/speedup.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "epochbench/precision.h"
#include "src/analysis/case_settings.h"
#include "src/analysis/speedup/pair_ratios.h"
#include "src/analysis/speedup/setting_pairs.h"
#include "src/analysis/speedup/trainings.h"
#include "src/analysis/unusable.h"
#include "src/base/lookup.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

// The optimizer without the learning rate: that of SGD follows the batch unless the run's name sets one.
std::string optimizer_of(const Series& series) {
  std::string text = series.first().workload.optimizer;
  const auto begin = text.find(" lr=");
  if (begin == std::string::npos || series.conditions.contains("learning_rate")) return text;
  return text.erase(begin, text.find(' ', begin + 1) - begin);
}

enum class Question : std::uint8_t { same_batch, best_batch, each_at_best, to_quality };

bool any_batch(Question what) { return what == Question::best_batch || what == Question::each_at_best; }

// What two runs must share to be compared.
std::string workload_key(const Series& series, Question what) {
  const Workload& w = series.first().workload;
  const std::string work = any_batch(what) ? w.model + "\n" + optimizer_of(series) : w.fingerprint;
  const std::string target = what == Question::to_quality ? target_of(series.first()) : "";
  return work + "\n" + name(w.mode) + "\n" + w.dataset + "\n" + target;
}

std::string differences(const Run& run, const Run& other) {
  const Workload &a = run.workload, &b = other.workload;
  std::string text;
  const auto add = [&](const std::string& what, const std::string& ours, const std::string& theirs) {
    if (ours != theirs) append(text, what + " (" + theirs + ")");
  };
  add("batch", std::to_string(a.batch), std::to_string(b.batch));
  add("mode", name(a.mode), name(b.mode));
  add("data set", a.dataset, b.dataset);
  if (text.empty()) add("optimizer", a.optimizer, b.optimizer);
  if (text.empty()) add("fingerprint", a.fingerprint.substr(0, 8), b.fingerprint.substr(0, 8));
  return text;
}

// "bert-base/cuda/bf16/b256, bert-base/cuda/fp16/b256 did not finish, so ...": runs of the same model and backend in precisions
// that no other run finished; "" if there are none.
std::string unfinished(const FastestSeries& side) {
  const Series& series = side.series();
  const Run& fastest = series.first();
  std::vector<std::string> names;
  for (const Run& run : series.source->result.runs) {
    const bool alike = run.workload.model == fastest.workload.model && run.workload.mode == fastest.workload.mode &&
                       run.device.backend == fastest.device.backend;
    const bool finished =
        run.status == RunStatus::ok || run.status == RunStatus::skipped ||
        std::ranges::any_of(side.candidates, [&](const Series* other) { return other->first().precision == run.precision; });
    if (alike && !finished && !contains(names, run.name)) names.push_back(run.name);
  }
  return names.empty() ? "" : joined(names) + " did not finish, so " + series.name() + " may not be the fastest";
}

class Pairing {
 public:
  Pairing(const AllSeries& all, Question what) : all_(all), what_(what) { choose_fastest(); }

  Speedup answer() {
    for (const Series* contender : chosen_)
      for (const FastestSeries& baseline : baselines_of(*contender)) pair(baseline, fastest_.at(contender));
    if (!any_batch(what_)) add_setting_pairs();
    add_left_out();
    for (const Series& series : all_.series)
      if (!paired_.contains(&series)) answer_.unpaired.push_back({series.name(), series.source->path, {}, why_alone(series)});
    return std::move(answer_);
  }

 private:
  // One series for each device, precision and workload: the fastest of several thread counts, or batches, or precisions.
  void choose_fastest() {
    std::map<std::string, std::vector<const Series*>> groups;
    const auto group_of = [&](const Series& series) {
      const Run& run = series.first();
      std::string key = series.origin + "\n" + workload_key(series, what_) + "\n" + name(run.device.backend) + "\n" +
                        run.device.name + "\n" + settings_text(series.conditions) + "\n" + compile_mode(series);
      if (what_ != Question::each_at_best) key += std::string("\n") + name(run.precision) + "\n" + name(product_precision(run));
      if (series.on_gpu() && !any_batch(what_)) key += "\n" + label_of(series.settings);
      return key;
    };
    for (const Series& series : all_.series) groups[group_of(series)].push_back(&series);
    for (const auto& [key, members] : groups) {
      FastestSeries best = choose_series(usable_ones(members));
      for (const Series* series : members)
        if (series != &best.series()) slower_than_[series] = &best.series();
      fastest_.emplace(&best.series(), std::move(best));
    }
    for (const Series& series : all_.series)
      if (fastest_.contains(&series)) chosen_.push_back(&series);
    for (const Series* series : chosen_) {
      const std::string &work = keys_.emplace(series, workload_key(*series, what_)).first->second,
                        &model = series->first().workload.model;
      of_work_[work].push_back(series);
      of_model_and_work_[{model, work}].push_back(series);
      of_model_and_device_[{model, series->on_gpu()}].push_back(series);
    }
  }

  // For PyTorch: the fastest of all placements represents its device, but compiled code is kept separate.
  static std::string compile_mode(const Series& series) { return setting_text(series.settings, "compile"); }

  // The chosen series that `fits` and does the contender's work: as nearest_ones().
  template <typename Fits>
  std::vector<const Series*> nearest(const Series& contender, bool one_a_machine, const Fits& fits) const {
    std::vector<const Series*> candidates;
    for (const Series* series : of_same_work(contender))
      if (is_baseline(*series, contender) && fits(*series)) candidates.push_back(series);
    return nearest_ones(candidates, contender, one_a_machine);
  }

  // The nearest to the contender, and with `one_a_machine` that of every other machine whose name is known.
  static std::vector<const Series*> nearest_ones(const std::vector<const Series*>& candidates, const Series& contender,
                                                 bool one_a_machine) {
    const auto distance = [&](const Series& series) {
      return std::tuple(series.conditions != contender.conditions, series.file != contender.file,
                        series.origin != contender.origin, series.machine != contender.machine,
                        fairness_warnings(series, contender).size(), series.file);
    };
    std::vector<std::pair<decltype(distance(contender)), const Series*>> sorted;
    for (const Series* series : candidates) sorted.emplace_back(distance(*series), series);
    std::ranges::stable_sort(sorted, {}, [](const auto& each) { return each.first; });
    std::set<std::string> machines;
    std::vector<const Series*> found;
    for (const auto& [far, series] : sorted) {
      const bool another = machines.insert(series->machine).second;
      if (found.empty() || (one_a_machine && another && series->machine_is_known && contender.machine_is_known))
        found.push_back(series);
    }
    return found;
  }

  // The chosen series that do the contender's work, including itself. Precondition: it is chosen.
  const std::vector<const Series*>& of_same_work(const Series& contender) const { return of_work_.at(keys_.at(&contender)); }

  // Whether it, which does the contender's work, has no handicap that the contender lacks, and multiplies like it. Fingerprints
  // differ with the batch.
  bool is_baseline(const Series& series, const Series& contender) const {
    const Workload &a = series.first().workload, &b = contender.first().workload;
    return &series != &contender && handicap_of(series, contender).empty() &&
           (what_ == Question::each_at_best || multiply_alike(series.first(), contender.first())) &&
           (a.batch != b.batch || a.fingerprint == b.fingerprint);
  }

  static bool on_cpu(const Series& series) { return series.first().device.backend == BackendKind::cpu; }

  // In the contender's precision; at its best in any.
  std::vector<const Series*> cpu_baselines(const Series& contender) const {
    const Precision own = contender.first().precision, precision = own == Precision::tf32 ? Precision::fp32 : own;
    return nearest(contender, true, [&](const Series& other) {
      return on_cpu(other) && (what_ == Question::each_at_best || other.first().precision == precision);
    });
  }

  // The fastest of each CPU, whatever its precision.
  std::vector<FastestSeries> fastest_cpus(const Series& contender) const {
    std::map<std::pair<std::string, Settings>, std::vector<const Series*>> cpus;
    for (const Series* other : of_same_work(contender)) {
      if (!on_cpu(*other) || !is_baseline(*other, contender)) continue;
      std::vector<const Series*>& candidates = cpus[{other->machine, other->conditions}];
      const std::vector<const Series*>& own = fastest_.at(other).candidates;
      candidates.insert(candidates.end(), own.begin(), own.end());
    }
    std::map<const Series*, FastestSeries> fastest;
    std::vector<const Series*> best;
    for (const auto& [cpu, candidates] : cpus) {
      FastestSeries one = choose_series(usable_ones(candidates));
      best.push_back(&one.series());
      fastest.emplace(best.back(), std::move(one));
    }
    std::vector<FastestSeries> found;
    for (const Series* series : nearest_ones(best, contender, true)) found.push_back(fastest.at(series));
    return found;
  }

  // The first earlier run of the same backend and precision on another machine, another card or of another build.
  std::vector<const Series*> earlier(const Series& contender) const {
    const Run& run = contender.first();
    std::vector<const Series*> found;
    for (const Series* other : of_same_work(contender)) {
      if (other == &contender) break;
      const Run& theirs = other->first();
      if (theirs.device.backend == run.device.backend && theirs.precision == run.precision &&
          (other->origin != contender.origin || theirs.device.name != run.device.name) && is_baseline(*other, contender) &&
          (found.empty() || (found[0]->conditions != contender.conditions && other->conditions == contender.conditions)))
        found.assign(1, other);
    }
    return found;
  }

  std::vector<const Series*> on_same_device(const Series& contender, Precision precision) const {
    return nearest(contender, false, [&](const Series& other) {
      const Device &a = contender.first().device, &b = other.first().device;
      return other.machine == contender.machine && a.backend == b.backend && a.name == b.name &&
             other.first().precision == precision;
    });
  }

  std::vector<const Series*> ours_on_same_device(const Series& contender) const {
    return nearest(contender, false, [&](const Series& other) {
      return is_ours(other.first()) && other.first().device.name == contender.first().device.name &&
             other.first().precision == contender.first().precision;
    });
  }

  // For another framework's run on a GPU: the same framework on the CPU, compiled likewise.
  std::vector<const Series*> peers_on_cpu(const Series& contender) const {
    const Precision own = contender.first().precision, precision = own == Precision::tf32 ? Precision::fp32 : own;
    return nearest(contender, true, [&](const Series& other) {
      return !is_ours(other.first()) && !other.on_gpu() && other.first().precision == precision &&
             compile_mode(other) == compile_mode(contender);
    });
  }

  std::vector<FastestSeries> baselines_of(const Series& contender) const {
    const Run& run = contender.first();
    std::vector<FastestSeries> found;
    const auto add = [&](const std::vector<const Series*>& more) {
      for (const Series* series : more) found.push_back(fastest_.at(series));
    };
    if (what_ == Question::each_at_best) {
      if (contender.on_gpu() && is_ours(run)) add(cpu_baselines(contender));
      return found;
    }
    if (!is_ours(run)) add(ours_on_same_device(contender));
    if (!is_ours(run) && contender.on_gpu()) add(peers_on_cpu(contender));
    if (found.empty() && run.device.backend != BackendKind::cpu) add(cpu_baselines(contender));
    if (found.empty() && run.device.backend != BackendKind::cpu) found = fastest_cpus(contender);
    if (found.empty()) add(earlier(contender));
    if (has_16_bits(run.precision))
      for (const Precision wider : {Precision::fp32, Precision::tf32}) add(on_same_device(contender, wider));
    else if (run.precision == Precision::int8)
      for (const Precision wider : {Precision::fp32, Precision::bf16}) add(on_same_device(contender, wider));
    else if (found.empty() && run.precision == Precision::tf32)
      add(on_same_device(contender, Precision::fp32));
    return found;
  }

  void pair(const FastestSeries& baseline, const FastestSeries& contender) {
    paired_.insert({&baseline.series(), &contender.series()});
    if (what_ == Question::to_quality)
      return answer_.pairs.push_back(quality_pair(baseline.series(), contender.series(), all_));
    SpeedupPair& added = answer_.pairs.emplace_back(speed_pair(baseline, contender));
    added.best_batch = what_ == Question::best_batch;
    added.each_at_best = what_ == Question::each_at_best;
    if (!added.each_at_best) return;
    for (const FastestSeries* side : {&baseline, &contender})
      if (std::string text = unfinished(*side); !text.empty())
        added.warnings.push_back({WarningCode::fastest_in_doubt, side->series().name(), 0, 0, std::move(text)});
  }

  void add_setting_pairs() {
    for (const SettingPair& settings : setting_pairs(all_)) {
      const Series &baseline = *settings.baseline, &contender = *settings.contender;
      if (workload_key(baseline, what_) != workload_key(contender, what_)) continue;  // trained to another target
      pair(choose_series({&baseline}), choose_series({&contender}));
      SpeedupPair& added = answer_.pairs.back();
      added.compares = settings.compares;
      added.parts.reset();
      if (settings.compares == Compares::parts) added.lacks = handicap_of(baseline, contender);
      std::erase_if(added.warnings, [&](const Warning& warning) { return is_the_question(warning, added); });
    }
  }

  // Whether the warning says what the pair is about: the parts that its baseline lacks, or its few threads.
  static bool is_the_question(const Warning& warning, const SpeedupPair& pair) {
    const bool of_baseline = warning.run == pair.baseline.name;
    switch (warning.code) {
      case WarningCode::baseline_below_half_peak:
      case WarningCode::settings_differ:
        return true;
      case WarningCode::fewer_threads:
        return pair.compares == Compares::threads && of_baseline;
      case WarningCode::portable_kernel:
      case WarningCode::unused_instruction:
      case WarningCode::kernels_missing:
        return pair.compares == Compares::parts && of_baseline;
      default:
        return false;
    }
  }

  // Repetitions of one run with the same reason make one line.
  void add_left_out() {
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
    for (const LeftOut& out : all_.left_out) {
      const auto [place, is_new] = places.try_emplace({out.run->name, out.source->path, out.reason}, answer_.unpaired.size());
      if (is_new) answer_.unpaired.push_back({out.run->name, out.source->path, {}, out.reason});
      answer_.unpaired[place->second].repetitions.push_back(out.run->repetition);
    }
  }

  // The first of these other than `series`; null: none.
  template <typename Key>
  static const Series* first_other(const std::map<Key, std::vector<const Series*>>& lists, const Key& key,
                                   const Series& series) {
    const auto list = lists.find(key);
    if (list == lists.end()) return nullptr;
    const auto other = std::ranges::find_if(list->second, [&](const Series* each) { return each != &series; });
    return other == list->second.end() ? nullptr : *other;
  }

  std::string why_alone(const Series& series) const {
    if (const auto slower = slower_than_.find(&series); slower != slower_than_.end()) {
      const std::string best = slower->second->name();
      return best == series.name() ? "slower than the same run on another card of its kind"
                                   : "slower than " + best + ", the fastest of its device";
    }
    const std::string& model = series.first().workload.model;
    if (const Series* other = first_other(of_model_and_work_, {model, keys_.at(&series)}, series))
      return why_not_with(series, *other);
    const Series* near = first_other(of_model_and_device_, {model, !series.on_gpu()}, series);
    if (!near) near = first_other(of_model_and_device_, {model, series.on_gpu()}, series);
    const std::string reason = series.on_gpu() ? "no run of this workload on a CPU"
                                               : "no run of this workload on another device or machine, in another precision, "
                                                 "without a part or with other threads";
    return near ? reason + "; " + near->name() + " has another " + differences(series.first(), near->first()) : reason;
  }

  static std::string why_not_with(const Series& series, const Series& other) {
    if (!multiply_alike(series.first(), other.first()))
      return "products of " + other.name() + " are in " + epochbench::name(product_precision(other.first())) +
             ", and those of this run in " + epochbench::name(product_precision(series.first())) + ", so they are not compared";
    const bool same_device = other.origin == series.origin && other.first().device.name == series.first().device.name;
    const std::string name = other.name();
    const std::string own = handicap_of(series, other), theirs = handicap_of(other, series);
    if (!theirs.empty() && (series.on_gpu() || own.empty()))
      return name + " was restricted on purpose (" + theirs + "), so it is not a baseline for this run";
    if (!own.empty()) return "it was restricted on purpose (" + own + "), so it is a baseline only for runs that were too";
    if (same_device && other.first().precision == series.first().precision)
      return "it differs from " + name + " in settings that are not compared; devices, precisions, parts and threads are";
    return name + " does the same work, and of these two neither is the other's baseline";
  }

  const AllSeries& all_;
  const Question what_;
  std::map<const Series*, FastestSeries> fastest_;  // by the series that represents the others
  std::vector<const Series*> chosen_;               // these, in their order
  std::map<const Series*, std::string> keys_;       // workload_key() of the chosen ones
  // The chosen ones in their order: by work, by model and work, and by model and device (GPU or not).
  std::map<std::string, std::vector<const Series*>> of_work_;
  std::map<std::pair<std::string, std::string>, std::vector<const Series*>> of_model_and_work_;
  std::map<std::pair<std::string, bool>, std::vector<const Series*>> of_model_and_device_;
  std::map<const Series*, const Series*> slower_than_;
  std::set<const Series*> paired_;
  Speedup answer_;
};

// Adds the pairs of devices at their best, or marks those that the answer has, and moves them to its front, in the order in
// which their models first ran.
void put_first(std::vector<SpeedupPair> best, const AllSeries& all, Speedup& answer) {
  std::map<std::string, std::size_t> places;
  for (const Series& series : all.series) places.emplace(series.first().workload.model, places.size());
  std::ranges::stable_sort(best, {}, [&](const SpeedupPair& pair) { return places.at(pair.contender.workload.model); });
  using Side = std::pair<std::string, std::string>;
  const auto sides_of = [](const SpeedupPair& pair) {
    return std::pair(Side(pair.baseline.name, pair.baseline.file), Side(pair.contender.name, pair.contender.file));
  };
  std::set<std::pair<Side, Side>> pairs;
  std::set<Side> sides;
  for (const SpeedupPair& pair : best) {
    const auto& [baseline, contender] = *pairs.insert(sides_of(pair)).first;
    sides.insert({baseline, contender});
  }
  std::erase_if(answer.pairs, [&](const SpeedupPair& pair) { return pairs.contains(sides_of(pair)); });
  std::erase_if(answer.unpaired, [&](const Unpaired& alone) {
    return alone.repetitions.empty() && sides.contains({alone.name, alone.file});
  });
  best.insert(best.end(), std::make_move_iterator(answer.pairs.begin()), std::make_move_iterator(answer.pairs.end()));
  answer.pairs = std::move(best);
}

}  // namespace

std::string why_unusable(const SpeedupPair& pair) {
  for (const Warning& warning : pair.warnings)
    if (warning.code == WarningCode::unusable) return warning.run + ": " + warning.first;
  return "";
}

Speedup speedup_of(const std::vector<NamedResult>& results, SpeedupOf what) {
  AllSeries all = series_of(results);
  switch (what) {
    case SpeedupOf::best_batch:
      return Pairing(all, Question::best_batch).answer();
    case SpeedupOf::to_quality:
      leave_out_without_target(all);
      return Pairing(all, Question::to_quality).answer();
    case SpeedupOf::same_batch:
      break;
  }
  Speedup best = Pairing(all, Question::each_at_best).answer(), answer = Pairing(all, Question::same_batch).answer();
  put_first(std::move(best.pairs), all, answer);
  return answer;
}

}  // namespace epochbench
