#include "src/session/bisecting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "src/base/clock.h"
#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/hash.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/rank_shift.h"
#include "src/base/statistics.h"
#include "src/base/text.h"
#include "src/case/run_name.h"
#include "src/report/text/text_parts.h"
#include "src/result/result_json.h"
#include "src/session/finished_run.h"
#include "src/session/interleaved_pairs.h"
#include "src/session/progress.h"
#include "src/session/resume.h"
#include "src/session/time_left.h"
#include "src/worker/case_driver.h"
#include "src/worker/interleaved_pair.h"
#include "src/worker/launcher.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

constexpr int kProfiles = 3;  // of each side, alternating: the median counts
constexpr std::int64_t kProfileSteps = 10;
constexpr std::size_t kTypicalPairs = 10;  // per commit, to estimate the time left

std::vector<PairedCase> cases_of(const BisectRequest& request) {
  const std::vector<PlannedCase> planned = plan_pairs(request.suite);
  print_obstacles(planned);
  std::vector<PairedCase> cases = pool_seeds(planned);
  if (request.case_name.empty()) return cases;
  std::vector<std::string> names;
  for (const PairedCase& one : cases) names.push_back(one.spec.name);
  const std::string chosen = named_case("--case", request.case_name, names);
  return {*std::ranges::find(cases, chosen, [](const PairedCase& one) { return one.spec.name; })};
}

// Why the new side of a document cannot be measured beside the good one; empty: it can. Errors: CallError if the good one is
// the cause.
std::string obstacle_of(const TurnsDocument& document) {
  for (const TurnsPair& pair : document.cases.front().pairs) {
    if (pair.ok()) continue;
    const auto& [good, commit] = pair.sides;
    if (good.fingerprint && commit.fingerprint && good.fingerprint != commit.fingerprint)
      return "another workload: " + *commit.fingerprint + " in place of " + *good.fingerprint;
    if (good.status == RunStatus::ok) return "the case: " + describe(commit.status, commit.message);
    throw CallError("bisect: " + document.cases.front().name +
                    " failed with the good commit: " + describe(good.status, good.message));
  }
  return "";
}

// The answer before anything is measured: the commits after `good`, up to `bad`.
BisectAnswer unsearched(const Repository& repository, const std::string& good, const Commit& bad) {
  BisectAnswer answer;
  answer.good = repository.commit(good);
  for (Commit& commit : repository.line(answer.good, bad))
    static_cast<Commit&>(answer.commits.emplace_back()) = std::move(commit);
  return answer;
}

// Keeps other calls from building or measuring in the folder meanwhile.
ResultFile locked(const std::string& folder) try {
  return ResultFile((fs::path(folder) / "lock").string());
} catch (const FileTaken&) {
  throw CallError(folder + ": another bisect works there; wait for it, or name another --folder");
}

class Bisecting {
 public:
  explicit Bisecting(const BisectRequest& request)
      : request_(request),
        cases_(cases_of(request)),
        bad_(repository_.commit(request.bad)),
        answer_(unsearched(repository_, request.good, bad_)),
        builds_(repository_, request.folder, request.recipe),
        lock_(locked(request.folder)),
        display_(0, request.quiet) {
    begin();
  }

  BisectOutcome run() {
    const std::string good = needed(answer_.good), bad = needed(bad_);
    const PairedRule rule{.threshold = request_.threshold};
    const Comparison comparison = compare_turns(measure(bad_.sha, {good, bad}, cases_, rule), rule);
    if (!choose(comparison)) return {comparison, std::nullopt};
    good_ = good;
    search();
    confirm();
    profile();
    return {comparison, std::move(answer_)};
  }

 private:
  // Names the folder of pairs after all that the call asks for, so that a different call cannot reuse them.
  void begin() {
    std::string key;
    for (const std::string& part : {answer_.good.sha, bad_.sha, request_.suite, request_.case_name, request_.recipe.command,
                                    request_.recipe.binary, shortest(request_.threshold)})
      key += part + '\n';
    pairs_ = fs::path(request_.folder) / ("pairs-" + text_hash(key).substr(0, 8));
    const bool begun = fs::exists(pairs_);
    if (begun && !request_.resume && !request_.overwrite)
      throw CallError(pairs_.string() + " has pairs of this bisection; --resume continues with them, --overwrite begins again");
    std::error_code error;
    if (request_.overwrite) fs::remove_all(pairs_, error);
    if (!request_.resume) builds_.forget_failures();
    fs::create_directories(pairs_, error);
    if (error) throw FileError(pairs_.string() + ": cannot be made: " + error.message() + "; name another --folder");
  }

  // The binary of a commit without which nothing can be measured.
  std::string needed(const Commit& commit) {
    const CommitBuilds::Built built = binary_of(commit);
    if (built.binary.empty())
      throw CallError("bisect: " + commit.short_sha() + " (" + commit.subject + "): " + built.reason +
                      "; name a commit that builds, or give --build");
    return built.binary;
  }

  // Built now or earlier, and able to take turns.
  CommitBuilds::Built binary_of(const Commit& commit) {
    auto kept = builds_.kept(commit);
    if (!kept) {
      say("build " + commit.short_sha() + " " + commit.subject);
      kept = builds_.build(commit);
    }
    if (kept->binary.empty()) return *kept;
    try {
      if (is_debug_build(identified(kept->binary).build_type)) return {"", "its build type is not Release"};
    } catch (const UnsuitableBinary& error) {
      return {"", error.what()};
    }
    return *kept;
  }

  static BuildInfo identified(const std::string& binary) try {
    return identify_binary(binary, "", interrupted).build;
  } catch (const UnsuitableBinary&) {
    go_on();
    throw;
  }

  // The pairs of two binaries: those kept under `name`, and as many more as the rule asks for.
  TurnsDocument measure(const std::string& name, const std::array<std::string, 2>& binaries,
                        const std::vector<PairedCase>& cases, const PairedRule& rule) {
    TurnsDocument document = begin_turns(request_.suite, cases, rule, request_.command_line);
    document.binaries = binaries;
    for (const Side side : kSides) document.builds[side] = identified(binaries[side]);
    const std::string path = (pairs_ / (name + ".json")).string();
    if (fs::exists(path)) {
      TurnsDocument kept = parse_turns(read_text_file(path), path);
      if (!std::ranges::equal(kept.cases, document.cases, {}, &TurnsCase::name, &TurnsCase::name))
        throw CallError(path + ": has other cases than suite " + request_.suite + " has now; begin again with --overwrite");
      document.cases = std::move(kept.cases);
    }
    const std::size_t before = pairs_of(document);
    const double begin = steady_seconds();
    display_.clear();
    const bool written =
        measure_pairs(cases, rule, {binaries[kBaseline], binaries[kContender]}, ResultFile(path), request_.quiet, document);
    pairs_measured_ += pairs_of(document) - before;
    seconds_measured_ += steady_seconds() - begin;
    go_on();
    if (!written) throw FileError(path + ": the pairs cannot be kept; make room there, and continue with --resume");
    return document;
  }

  static std::size_t pairs_of(const TurnsDocument& document) {
    std::size_t pairs = 0;
    for (const TurnsCase& turns : document.cases) pairs += turns.pairs.size();
    return pairs;
  }

  // Chooses the regression that is farthest from none, in widths of its interval.
  bool choose(const Comparison& ends) {
    const auto clearness = [](const Decision& decision) {
      return std::log(*decision.ratio) / std::log(decision.ratio_ci95->second / decision.ratio_ci95->first);
    };
    for (const ComparedCase& each : ends.cases) {
      const Decision& decision = each.decision;
      if (decision.finding != Finding::regression || !decision.ratio || !decision.ratio_ci95) continue;
      if (!answer_.case_name.empty() && clearness(decision) <= clearness(answer_.whole)) continue;
      answer_.case_name = each.name;
      answer_.whole = decision;
    }
    if (answer_.case_name.empty()) return false;
    followed_ = {*std::ranges::find(cases_, answer_.case_name, [](const PairedCase& one) { return one.spec.name; })};
    answer_.commits.back().level = Level::slow;
    answer_.commits.back().ratio = answer_.whole.ratio;
    answer_.commits.back().pairs = answer_.whole.used;
    return true;
  }

  void search() {
    const double middle = std::log(*answer_.whole.ratio) / 2;
    std::vector<BisectedCommit> known(answer_.commits.size());
    while (true) {
      answer_.search = epochbench::bisect(known, middle, request_.max_pairs);
      if (!answer_.search.next) break;
      const std::size_t index = *answer_.search.next;
      known[index] = measured(answer_.commits[index]);
    }
    for (std::size_t i = 0; i < known.size(); ++i) answer_.commits[i].level = answer_.search.levels[i];
  }

  BisectedCommit measured(MeasuredCommit& commit) {
    const CommitBuilds::Built built = binary_of(commit);
    commit.reason = built.reason;
    if (built.binary.empty()) return skipped(commit);
    const std::size_t pairs = answer_.search.pairs;
    say("measure " + commit.short_sha() + " " + commit.subject);
    const TurnsDocument turns = measure(commit.sha, {good_, built.binary}, followed_,
                                        {.threshold = request_.threshold, .first_pairs = pairs, .max_pairs = pairs});
    commit.reason = obstacle_of(turns);
    const std::vector<double> logs = log_ratios(turns.cases.front());
    commit.pairs = logs.size();
    if (!logs.empty()) commit.ratio = std::exp(paired_shift(logs).estimate());
    if (!commit.reason.empty()) return skipped(commit);
    return {logs, false};
  }

  BisectedCommit skipped(const MeasuredCommit& commit) {
    if (!request_.quiet) display_.line("skipped " + commit.short_sha() + ": " + commit.reason);
    return {{}, true};
  }

  void confirm() {
    const Commit &fast = answer_.last_fast(), &slow = answer_.first_slow();
    const std::string before = needed(fast), after = needed(slow);
    say("measure " + slow.short_sha() + " beside " + fast.short_sha());
    const PairedRule rule{.threshold = request_.threshold};
    const TurnsDocument turns = measure(fast.sha + "-" + slow.sha, {before, after}, followed_, rule);
    const Comparison comparison = compare_turns(turns, rule);
    if (const std::string obstacle = obstacle_of(turns); !obstacle.empty())
      throw CallError("bisect: " + slow.short_sha() + " beside " + fast.short_sha() + ": " + obstacle);
    answer_.step = comparison.cases.front();
  }

  // The median over alternating profiles, since another job may disturb one of them.
  void profile() {
    const std::array<std::string, 2> binaries{needed(answer_.last_fast()), needed(answer_.first_slow())};
    std::map<std::string, std::array<std::vector<double>, 2>> seconds;
    CaseSpec spec = followed_.front().spec;
    spec.profile = true;
    spec.meters = false;
    spec.stop = {};
    spec.stop.steps = kProfileSteps;
    spec.repetitions.reset();
    for (int i = 0; i < kProfiles; ++i)
      for (const Side side : kSides) {
        say("profile " + std::to_string(i + 1) + " of " + std::to_string(kProfiles));
        Run run = run_case(
            spec, binaries[side], [](const Progress&) {}, interrupted);
        go_on();
        if (run.status != RunStatus::ok || !run.profile) {
          answer_.no_ops = "no profile: " + describe(run.status, run.message);
          return;
        }
        complete_profile(*run.profile, {});
        for (const ProfileClass& each : run.profile->classes) seconds[each.op][side].push_back(each.seconds);
      }
    display_.clear();
    for (const auto& [op, sides] : seconds)
      answer_.ops.push_back({op, median_if_any(sides[kBaseline]).value_or(0), median_if_any(sides[kContender]).value_or(0)});
    std::ranges::stable_sort(answer_.ops, std::greater(),
                             [](const OpChange& op) { return std::fabs(op.after_seconds - op.before_seconds); });
  }

  static void go_on() {
    if (interrupted()) throw CallError("interrupted", kExitInterrupted);
  }

  // Shows what happens now, and how long everything may take once something has been measured.
  void say(const std::string& what) {
    std::string text = what;
    if (!followed_.empty() && pairs_measured_ > 0) {
      const std::size_t commits = answer_.search.next ? answer_.search.max_left : 0;
      double left =
          static_cast<double>((commits + 1) * kTypicalPairs) * seconds_measured_ / static_cast<double>(pairs_measured_);
      left += static_cast<double>(commits) * builds_.mean_seconds().value_or(0);
      if (commits > 0) text += "; up to " + counted(commits, "commit", "commits") + " to measure";
      text += "; about " + about_seconds(left) + " left";
    }
    display_.line(text);
  }

  const BisectRequest& request_;
  std::vector<PairedCase> cases_, followed_;
  Repository repository_;
  // A call whose commits are refused makes no folder: these come before `builds_`.
  Commit bad_;
  BisectAnswer answer_;
  CommitBuilds builds_;
  ResultFile lock_;
  ProgressDisplay display_;
  fs::path pairs_;
  std::string good_;
  std::size_t pairs_measured_ = 0;
  double seconds_measured_ = 0;
};

}  // namespace

BisectOutcome bisect(const BisectRequest& request) {
  refuse_several_copies();
  catch_interrupts();
  try {
    return Bisecting(request).run();
  } catch (const CallError& error) {
    if (error.code() != kExitInterrupted) throw;
  }
  std::vector<std::string> call = request.command_line;
  std::erase(call, "--overwrite");
  if (!contains(call, "--resume")) call.emplace_back("--resume");
  throw CallError("interrupted; what was built and measured is kept, and " + joined(call, shell_word, " ") + " continues",
                  kExitInterrupted);
}

}  // namespace epochbench
