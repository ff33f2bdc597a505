// The first screen of the page: a title by subject, cards with the answers, and how far they can be trusted.
#include "src/report/html/page_head.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "src/analysis/case_settings.h"
#include "src/analysis/compare/comparison.h"
#include "src/analysis/cost/cost.h"
#include "src/analysis/fairness.h"
#include "src/analysis/precision_quality.h"
#include "src/analysis/speedup/headline.h"
#include "src/analysis/time_to_quality.h"
#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/compare/compare_report.h"
#include "src/report/html/page_parts.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxSubjects = 2;  // models per card; more would be a table

struct Headline {  // for one model: its fastest case, unrestricted if possible
  const Series* series;
  double weight = 0;  // FLOPs of an epoch, so that the largest model comes first
};

double weight_of(const Workload& work) {
  const double flops = work.train_flops_per_sample * static_cast<double>(std::max<std::int64_t>(work.samples_per_epoch, 1));
  return std::isfinite(flops) ? flops : 0;
}

// The largest model first. Training is preferred to a forward pass, and an unrestricted case to one restricted on purpose.
std::vector<Headline> headlines_of(const AllSeries& all) {
  const auto rank = [](const Series& series) {
    return std::tuple(handicap_of(series).empty(), series.first().workload.mode == Mode::train, series.rate());
  };
  std::vector<Headline> list;
  std::map<std::string, std::size_t> places;  // by model
  for (const Series& series : all.series) {
    const double weight = weight_of(series.first().workload);
    const auto [place, fresh] = places.emplace(model_family(series.first()), list.size());
    if (fresh) list.push_back({&series, weight});
    Headline& headline = list[place->second];
    if (rank(series) > rank(*headline.series)) headline.series = &series;
    headline.weight = std::max(headline.weight, weight);
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &Headline::weight);
  return list;
}

// The content of a card: a value of one subject with its spread. `ends`: of the kind given by `spread`; `unit`: what `n`
// counts; `end`: the text of an end, without the unit.
struct Shown {
  double value = std::nan("");
  Spread spread = Spread::none;
  std::pair<double, double> ends = {};
  std::size_t n = 0;
  const char* unit = "processes";
};

Shown shown(const Estimate& estimate, std::size_t n, const char* unit) {
  return {estimate.value, estimate.ci95 ? Spread::ci95 : Spread::none, estimate.ci95.value_or(std::pair(0., 0.)), n, unit};
}

// "95 % interval 11.7 to 14.6, n=5", "range of 3 runs: 6.2 to 7.9", "one run, so no interval".
std::string spread_text(const Shown& one, const NumberText& end) {
  const std::string n = std::to_string(one.n);
  if (one.spread != Spread::none && std::isfinite(one.ends.first) && std::isfinite(one.ends.second)) {
    const std::string ends = range_text(one.ends, end);
    return one.spread == Spread::ci95 ? "95 % interval " + ends + ", n=" + n : "range of " + n + " runs: " + ends;
  }
  if (one.n == 1) return std::string("one ") + (std::string_view(one.unit) == "seed" ? "seed" : "run") + ", so no interval";
  return n + " " + one.unit + ", so no interval";
}

Json entry(const std::string& subject, const Shown& one, const NumberText& text, const NumberText& end) {
  return {{"subject", subject},
          {"text", known_text(one.value, text)},
          {"spread", spread_text(one, end)},
          {"doubts", Json::array()}};
}

Json entry(const std::string& subject, const Shown& one, const NumberText& text) { return entry(subject, one, text, text); }

std::string device_word(bool on_gpu, BackendKind backend) {
  if (backend == BackendKind::pytorch) return on_gpu ? "PyTorch on the GPU" : "PyTorch on the CPU";
  return on_gpu ? "GPU" : backend == BackendKind::cpu ? "CPU" : name(backend);
}

std::string subject_of(const Series& series) {
  const Run& run = series.first();
  return model_title(run.workload.model) + ", " + device_word(series.on_gpu(), run.device.backend) + " " + name(run.precision) +
         ", batch " + std::to_string(run.workload.batch) + mode_suffix(run.workload);
}

// ", on B" if several machines were measured.
std::string on_machine(const Json& data, const std::string& file) {
  const std::string letter = machine_letter(data, file);
  return letter.empty() ? "" : ", on " + letter;
}

Json card(const char* id, const char* title, Json entries, const std::string& foot = "") {
  return {{"id", id}, {"title", title}, {"entries", std::move(entries)}, {"foot", foot}};
}

void add_speed(Json& cards, const Json& data, const std::vector<Headline>& headlines) {
  Json speeds = Json::array(), epochs = Json::array(), costs = Json::array();
  std::string source;
  for (std::size_t i = 0; i < std::min(headlines.size(), kMaxSubjects); ++i) {
    const Series& series = *headlines[i].series;
    const Run& first = series.first();
    const auto add = [&](Json& list, const Figure& figure, const std::string& note, const NumberText& text,
                         const NumberText& end) {
      const auto summary = summarize(series.runs, figure);
      if (!summary) return;
      list.push_back(entry(subject_of(series) + on_machine(data, series.source->path) + (note.empty() ? "" : " (" + note + ")"),
                           {summary->value, summary->spread, summary->interval, series.runs.size()}, text, end));
      list.back()["doubts"] = doubt_texts(series);
    };
    add(
        speeds, kThroughput, "", [](double rate) { return format_rate(rate) + " samples/s"; }, format_rate);
    std::string note = first.timing ? name(first.timing->epoch_kind) : "";
    append(note, epochs_text({&first.workload}), ": ");
    add(epochs, kEpochTime, note, format_seconds, format_seconds);
    if (!first.cost) continue;
    const auto money = [&](double amount) { return money_text(amount, first.cost); };
    add(costs, kEpochCost, "", money, money);
    if (source.empty() && first.cost->price_source) source = "price: " + price_text(*first.cost);
  }
  if (!speeds.empty()) cards.push_back(card("speed", "Speed", speeds));
  if (!epochs.empty()) cards.push_back(card("epoch", "Time of an epoch", epochs));
  if (!speeds.empty()) cards.push_back(card("cost", "Cost of an epoch", costs, source));  // empty: the card explains --price
}

// ", on B", ", B over A".
std::string on_machines(const Json& data, const SpeedupPair& pair) {
  const std::string ours = machine_letter(data, pair.contender.file), theirs = machine_letter(data, pair.baseline.file);
  return ours == theirs ? on_machine(data, pair.contender.file) : ", " + ours + " over " + theirs;
}

void add_speedup(Json& cards, const Json& data, const std::vector<Headline>& headlines, const Speedup& speedup) {
  Json entries = Json::array();
  for (const Headline& headline : headlines) {
    const SpeedupPair* best = find_headline(speedup, headline.series->first().workload.model);
    if (!best) continue;
    const auto side = [](const SpeedupSide& one) {
      return device_word(one.on_gpu, one.device.backend) + " " + name(one.precision);
    };
    const std::size_t n = std::min(best->baseline.rates.size(), best->contender.rates.size());
    const std::int64_t ours = best->contender.workload.batch, theirs = best->baseline.workload.batch;
    Json one =
        entry(model_title(best->contender.workload.model) + ", " + side(best->contender) + " over " + side(best->baseline) +
                  (at_own_best(*best) ? ", each at its best" : "") + ", batch " + std::to_string(ours) +
                  (ours == theirs ? "" : " over " + std::to_string(theirs)) + on_machines(data, *best),
              shown(best->ratio, n, "processes per side"), format_times, three_digits);
    one["doubts"] = doubt_texts(best->warnings);
    if (best->parts) {
      one["explanation"] = explanation(*best);
      one["factors"] = Json::array();
      for (const auto& [what, factor] : factors(*best->parts))
        one["factors"].push_back({{"name", what}, {"value", factor}, {"text", format_times(factor)}});
    }
    entries.push_back(std::move(one));
    if (entries.size() == kMaxSubjects) break;
  }
  if (!entries.empty()) cards.push_back(card("speedup", "Speedup", entries));
}

std::string training_of(const Workload& work) { return model_title(work.model) + " on " + work.dataset; }

// How long trainings to a target took, those of the largest model first.
void add_targets(Json& cards, const Json& data, const AllSeries& all) {
  std::vector<std::pair<double, Json>> weighted;
  std::set<const NamedResult*> files;
  for (const Series& series : all.series) {
    if (!files.insert(series.source).second) continue;
    for (const RunGroup& group : runs_by_case(series.source->result.runs, trained_to_target)) {
      const TimeToQuality time = time_to_quality_of(group);
      const CensoredMedian& median = time.seconds;
      const Run& run = *group.runs.front();
      const bool bounded = median.low && median.high;
      std::string note = time.target.empty() && time.metric ? name(*time.metric) : time.target;
      if (group.runs.size() > 1)
        append(note, "reached by " + std::to_string(time.repetitions) + " of " + std::to_string(group.runs.size()));
      else if (time.repetitions == 0)
        append(note, "not reached");
      if (time.usd.value) append(note, format_usd(*time.usd.value));
      Json one =
          entry(training_of(run.workload) + ", " + device_word(run.device.backend == BackendKind::cuda, run.device.backend) +
                    " " + name(run.precision) + ", batch " + std::to_string(run.workload.batch) +
                    on_machine(data, series.source->path) + " (" + note + ")",
                {median.value.value_or(std::nan("")),
                 bounded ? Spread::ci95 : Spread::none,
                 {median.low.value_or(0), median.high.value_or(0)},
                 group.runs.size(),
                 group.runs.size() == 1 ? "seed" : "seeds"},
                format_seconds);
      if (const double cores = max_foreign_cores(group.runs); is_loaded(cores)) one["doubts"] = {load_doubt(cores)};
      weighted.emplace_back(weight_of(run.workload), std::move(one));
    }
  }
  std::ranges::stable_sort(weighted, std::greater(), [](const auto& each) { return each.first; });
  if (weighted.size() > kMaxSubjects) weighted.resize(kMaxSubjects);
  Json entries = Json::array();
  for (auto& [weight, one] : weighted) entries.push_back(std::move(one));
  if (!entries.empty()) cards.push_back(card("target", "Time to the target", entries));
}

struct Trained {  // with the same settings, over several seeds
  const Run* first;
  std::string file;                                     // that has it
  std::map<std::uint64_t, std::vector<double>> values;  // by seed
};

// The mean over seeds of the largest training that has an interval; then how other precisions differ from fp32, for the
// largest. A training to a target ends where it reaches it, which says nothing of its quality.
void add_quality(Json& cards, const Json& data, const AllSeries& all) {
  std::map<std::string, Trained> trained;
  std::vector<const Run*> runs;
  for (const Series& series : all.series)
    for (const Run* run : series.runs) {
      if (!target_of(*run).empty()) continue;
      runs.push_back(run);
      if (!run->quality || !run->quality->eval_value || !run->quality->eval_metric) continue;
      Settings settings = series.settings;
      settings.erase("seed");
      Trained& one =
          trained.try_emplace(series.origin + "\n" + label_of(settings), Trained{run, series.source->path, {}}).first->second;
      one.values[run->workload.seed].push_back(*run->quality->eval_value);
    }
  if (trained.empty()) return;
  const auto rank = [](const auto& one) {
    const std::size_t seeds = one.second.values.size();
    return std::tuple(seeds >= kMinRepetitions, weight_of(one.second.first->workload),
                      one.second.first->precision == Precision::fp32, seeds);
  };
  const auto best = std::ranges::max_element(trained, {}, rank);
  const Run& run = *best->second.first;
  std::vector<double> means;
  for (const auto& [seed, values] : best->second.values) means.push_back(mean(values));
  Estimate estimate = arithmetic_mean_estimate(means, kMinRepetitions, "seeds");
  const EvalMetric metric = *run.quality->eval_metric;
  Json one = entry(training_of(run.workload) + ", " + name(run.precision) + ", batch " + std::to_string(run.workload.batch) +
                       on_machine(data, best->second.file) + " (test " + name(metric) + ")",
                   shown(estimate, means.size(), means.size() == 1 ? "seed" : "seeds"),
                   metric == EvalMetric::accuracy ? NumberText(format_percent) : three_digits);
  Json entries = Json::array({std::move(one)});
  std::vector<QualityDifference> differences = precision_quality(runs);
  std::ranges::stable_sort(differences, std::greater(),
                           [](const QualityDifference& each) { return weight_of(each.first->workload); });
  for (const QualityDifference& other : differences) {
    if (entries.size() == kMaxSubjects || !std::isfinite(other.difference.value)) break;
    const bool accuracy = other.metric == EvalMetric::accuracy;
    const auto change = [&](double value) {
      if (!accuracy) return (value >= 0 ? "+" : "") + three_digits(value);
      return (value < 0 ? "−" : "+") + significant(std::fabs(value) * 100, 2);
    };
    entries.push_back(entry(
        std::string(name(other.precision)) + " less fp32, " + training_of(other.first->workload),
        shown(other.difference, static_cast<std::size_t>(other.seeds), "seeds"),
        [&](double value) { return change(value) + (accuracy ? " points" : ""); }, change));
  }
  cards.push_back(card("quality", "Quality", entries));
}

// For the latest document: the verdict, and the case that changed most.
void add_turns(Json& cards, const std::vector<NamedTurns>& turns) {
  if (turns.empty()) return;
  const auto latest = std::ranges::max_element(turns, {}, [](const NamedTurns& named) { return named.document.context.date; });
  const Comparison comparison = compare_turns(latest->document, rule_of(latest->document));
  const std::string finding = finding_text(verdict_of(comparison));
  cards.push_back(card("regression", "Verdict",
                       Json::array({{{"subject", reason_text(comparison)}, {"finding", finding}, {"doubts", Json::array()}}})));
  const ComparedCase* most = nullptr;
  const auto change = [](const ComparedCase& one) { return std::fabs(std::log(one.decision.ratio.value_or(1))); };
  for (const ComparedCase& one : comparison.cases)
    if (one.decision.ratio && (!most || change(one) > change(*most))) most = &one;
  if (!most) return;
  const auto change_text = [](double ratio) {
    return (ratio >= 1 ? "+" : "−") + three_digits(std::fabs(ratio - 1) * 100) + " %";
  };
  Json largest =
      entry(most->name + " (step time, new over baseline)",
            shown({*most->decision.ratio, most->decision.ratio_ci95, {}}, most->processes[kContender], "pairs"), change_text);
  if (is_loaded(most->foreign_cores)) largest["doubts"] = {load_doubt(*most->foreign_cores)};
  cards.push_back(card("change", "Largest change", Json::array({largest})));
}

// Whether the curves of the sweeps cover all rows.
bool is_a_sweep(const Json& data, const AllSeries& all) {
  std::size_t points = 0;
  for (const Json& sweep : data["sweeps"])
    for (const Json& curve : sweep["curves"]) points += curve["points"].size();
  return points > 0 && points >= all.series.size();
}

const char* lead_of(const Json& data, const AllSeries& all, const Speedup& speedup) {
  if (data["tables"].contains("elsewhere0")) return "elsewhere";  // --on asks for it
  if (all.series.empty()) return data["turns"].empty() ? "none" : "turns";
  if (is_a_sweep(data, all)) return "sweeps";
  const bool across = std::ranges::any_of(speedup.pairs, [](const SpeedupPair& pair) {
    return pair.contender.on_gpu != pair.baseline.on_gpu && std::isfinite(pair.ratio.value) && why_unusable(pair).empty();
  });
  return across ? "speedup" : "throughput";
}

}  // namespace

void add_head(Json& data, const AllSeries& all, const Speedup& speedup, const std::vector<NamedTurns>& turns,
              const std::string& title) {
  const std::vector<Headline> headlines = headlines_of(all);
  Json cards = Json::array();
  add_speed(cards, data, headlines);
  add_speedup(cards, data, headlines, speedup);
  add_targets(cards, data, all);
  add_quality(cards, data, all);
  add_turns(cards, turns);
  std::vector<std::string> families;
  for (const Headline& headline : headlines) families.push_back(model_family(headline.series->first()));
  const std::string subject = title.empty() ? page_title(families, all, turns) : title;
  data["head"] = {{"title", subject}, {"cards", cards}, {"lead", lead_of(data, all, speedup)}, {"trust", page_trust(all)}};
}

}  // namespace epochbench
