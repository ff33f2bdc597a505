#include "src/session/interleaved_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "epochbench/gpu.h"
#include "src/analysis/compare/comparison.h"
#include "src/base/clock.h"
#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/lookup.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/case/case_option.h"
#include "src/case/run_name.h"
#include "src/case/suite.h"
#include "src/machine/environment.h"
#include "src/result/result_json.h"
#include "src/session/progress.h"
#include "src/session/time_left.h"
#include "src/worker/interleaved_pair.h"

namespace epochbench {
namespace {

// The median of the pairs so far: "+0.3 %". Empty without any.
std::string so_far(const TurnsCase& turns) {
  const auto middle = median_if_any(log_ratios(turns));
  if (!middle) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * std::expm1(*middle));
  return text;
}

// Rounds end a pair, whatever a case says about stopping.
bool are_one_pair(const CaseSpec& spec, CaseSpec other) {
  other.stop = spec.stop;
  return case_to_json(spec) == case_to_json(other);
}

class InterleavedPairs {
 public:
  InterleavedPairs(const std::vector<PairedCase>& cases, const PairedRule& rule, const std::array<WorkerCommand, 2>& binaries,
                   std::optional<ResultFile> file, bool quiet, TurnsDocument& document)
      : cases_(cases),
        rule_(rule),
        binaries_(binaries),
        document_(document),
        file_(std::move(file)),
        display_(cases.size(), quiet) {}

  bool run() {
    while (!interrupted() && round_of_pairs(pairs_wanted(document_, rule_))) display_.log(summary());
    save();
    display_.clear();
    return !failing_;
  }

 private:
  bool round_of_pairs(const std::vector<std::size_t>& wanted) {
    bool any = false;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (document_.cases[i].pairs.size() >= wanted[i]) continue;
      if (interrupted()) return false;
      take_pair(i, wanted);
      any = true;
    }
    return any;
  }

  void take_pair(std::size_t index, const std::vector<std::size_t>& wanted) {
    TurnsCase& turns = document_.cases[index];
    const std::vector<std::uint64_t>& seeds = cases_[index].seeds;
    CaseSpec spec = cases_[index].spec;
    spec.seed = seeds[turns.pairs.size() % seeds.size()];
    InterleaverSettings settings;
    settings.order = {document_.order_seed, spec.name, static_cast<std::uint32_t>(turns.pairs.size())};
    settings.pin = spec.pin;
    if (!turns.pairs.empty()) settings.steps_per_turn = turns.pairs.front().steps_per_turn;
    const std::string line = progress(index, wanted);
    display_.note(line);
    const double begin = steady_seconds();
    TurnsPair pair = interleave_pair(
        spec, binaries_, settings,
        [&](std::int64_t done) {
          const std::int64_t rounds = settings.dropped_rounds + kRoundsOfAPair;
          display_.note(line + "; round " + std::to_string(done) + "/" + std::to_string(rounds));
        },
        interrupted);
    if (interrupted()) return;
    pair.seed = spec.seed;
    durations_.add(turns.name, steady_seconds() - begin);
    turns.pairs.push_back(std::move(pair));
    save();
  }

  // The first failure is printed; later calls try again.
  void save() {
    if (!file_) return;
    try {
      file_->write(turns_to_text(document_));
      failing_ = false;
    } catch (const FileError& error) {
      failing_ = true;
      display_.clear();
      if (!std::exchange(failure_printed_, true)) print_error(std::string(error.what()) + " (tried again after every pair)");
    }
  }

  // "[2/3] lenet5/cpu/fp32/b64: pair 4/10; +0.3 % so far; about 80 s left".
  std::string progress(std::size_t index, const std::vector<std::size_t>& wanted) const {
    const TurnsCase& turns = document_.cases[index];
    std::string text = "[" + std::to_string(index + 1) + "/" + std::to_string(cases_.size()) + "] " + turns.name + ": pair " +
                       std::to_string(turns.pairs.size() + 1) + "/" + std::to_string(wanted[index]);
    if (const std::string estimate = so_far(turns); !estimate.empty()) text += "; " + estimate + " so far";
    if (const auto left = seconds_left(wanted)) text += "; about " + about_seconds(*left) + " left";
    return text;
  }

  // "pairs: 4 of 10; mlp/cpu/fp32/b64 +0.3 %, lenet5/cpu/fp32/b64 -0.1 %; about 80 s left".
  std::string summary() const {
    const std::vector<std::size_t> wanted = pairs_wanted(document_, rule_);
    std::size_t pairs = 0, most = 0;
    std::string cases;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const TurnsCase& turns = document_.cases[i];
      pairs = std::max(pairs, turns.pairs.size());
      most = std::max({most, wanted[i], turns.pairs.size()});
      if (const std::string estimate = so_far(turns); !estimate.empty()) append(cases, turns.name + " " + estimate);
    }
    const auto left = seconds_left(wanted);
    return "pairs: " + std::to_string(pairs) + " of " + std::to_string(most) + "; " + cases +
           (left && *left > 0 ? "; about " + about_seconds(*left) + " left" : "");
  }

  // For the pairs wanted so far; empty until the first pair of any case has ended.
  std::optional<double> seconds_left(const std::vector<std::size_t>& wanted) const {
    double left = 0;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const TurnsCase& turns = document_.cases[i];
      const auto pair_seconds = durations_.of(turns.name);
      if (!pair_seconds) return std::nullopt;
      if (wanted[i] > turns.pairs.size()) left += static_cast<double>(wanted[i] - turns.pairs.size()) * *pair_seconds;
    }
    return left;
  }

  const std::vector<PairedCase>& cases_;
  const PairedRule& rule_;
  const std::array<WorkerCommand, 2>& binaries_;
  TurnsDocument& document_;
  std::optional<ResultFile> file_;
  bool failing_ = false, failure_printed_ = false;
  ProgressDisplay display_;
  MeanDurations durations_;  // of a pair, set-up included
};

// The case of a document, without pairs.
TurnsCase turns_of(const PairedCase& one) {
  TurnsCase turns;
  turns.name = one.spec.name;
  turns.model = one.spec.model.name;
  turns.device = to_string(one.spec.device);
  turns.precision = one.spec.precision;
  turns.batch = *one.spec.batch;
  turns.settings = one.settings;
  if (one.spec.device.kind == DeviceKind::cpu) turns.threads = one.spec.threads;
  if (one.obstacle) turns.skipped = one.obstacle->reason;
  return turns;
}

}  // namespace

namespace {

// Adds the cases that are not there yet.
void add_pairs(std::vector<CaseSpec>& cases, const CaseBlock& block, const std::string& where) {
  for (CaseSpec& spec : expand(block)) {
    if (!spec.save.empty() || !spec.trace.empty())
      throw CallError(where + "save and trace: both binaries would write there; leave them out");
    spec.repetitions.reset();
    if (std::ranges::none_of(cases, [&](const CaseSpec& other) { return are_one_pair(spec, other); }))
      cases.push_back(std::move(spec));
  }
}

}  // namespace

std::vector<PlannedCase> plan_pairs(const CaseBlock& block) {
  std::vector<CaseSpec> cases;
  add_pairs(cases, block, "");
  return plan_cases(cases, 1);
}

std::vector<PlannedCase> plan_pairs(const std::string& name, const std::vector<std::string>& of_binaries) {
  std::vector<Suite> suites{load_suite(name)};
  for (const std::string& text : of_binaries) {
    try {
      suites.push_back(parse_suite(text, name));
    } catch (const std::exception& error) {  // of a newer version, with cases that this one does not know
      print_error("note: the other binary's cases are left out: " + std::string(error.what()));
    }
  }
  std::vector<CaseSpec> cases;
  for (const Suite& suite : suites)
    for (const CaseBlock& block : suite.cases) add_pairs(cases, block, "suite " + suite.name + ": ");
  return plan_cases(cases, 1);
}

std::vector<PairedCase> pool_seeds(const std::vector<PlannedCase>& planned) {
  ListByKey<&PairedCase::settings> pooled;
  for (const PlannedCase& each : planned) {
    Settings settings = each.settings;
    settings.erase("seed");
    PairedCase& one = pooled[settings];
    one.seeds.push_back(each.spec.seed);
    if (one.seeds.size() > 1) continue;
    one.spec = each.spec;
    one.spec.name = run_name(settings);
    one.obstacle = each.obstacle;
  }
  return pooled.take();
}

TurnsDocument begin_turns(const std::string& suite, const std::vector<PairedCase>& cases, const PairedRule& rule,
                          const std::vector<std::string>& command_line) {
  TurnsDocument document;
  document.context = describe_context(command_line);
  document.context.gpus = list_gpus();
  document.suite = suite;
  document.threshold = rule.threshold;
  document.max_pairs = static_cast<std::int64_t>(rule.max_pairs);
  for (const PairedCase& one : cases) document.cases.push_back(turns_of(one));
  return document;
}

bool measure_pairs(const std::vector<PairedCase>& cases, const PairedRule& rule, const std::array<WorkerCommand, 2>& binaries,
                   std::optional<ResultFile> file, bool quiet, TurnsDocument& document) {
  return InterleavedPairs(cases, rule, binaries, std::move(file), quiet, document).run();
}

}  // namespace epochbench
