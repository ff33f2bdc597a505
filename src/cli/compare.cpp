// epochbench compare: is the new side slower than the baseline? From result files, and how the answer is printed.
#include "src/cli/compare.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/analysis/compare/history.h"
#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/run_name.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/report/compare/compare_report.h"
#include "src/result/turns.h"

namespace epochbench {
namespace {

constexpr const char* kCompareExamples = R"(Examples:
  epochbench compare --interleave old/epochbench new/epochbench --suite gate -o turns.json    also on a shared machine
  epochbench run --suite gate --repetitions 15 --out new.json
  epochbench compare baseline.json new.json               on a quiet machine: is the new side slower by 3 % or more?
  epochbench compare main/ branch/ --threshold 5 --json   folders of results
  epochbench compare baseline.json new.json --github      annotations and a job summary for GitHub Actions
  epochbench compare --interleave old/epochbench new/epochbench --model lenet5    one model
  epochbench compare --history nightly/                   the commits at which many results changed their level; advisory

Each side needs at least 5 repetitions on the same machine, with the same compiler, build type and number of threads, during which
other processes used less than 0.15 cores (one busier repetition is ignored). Otherwise compare prints what to measure instead.
With --interleave both binaries are alive at once and take turns, step by step, in a random order, so other jobs affect both
alike: 10 pairs of processes per case, and up to --max-pairs if those do not decide. A pair runs 20 timed rounds of one step
each, or of as many as fill 50 ms, on a GPU 1 s; the stopping options of a suite's cases have no effect.
Exit codes: 0 no change or faster; 1 slower, missing, failing, or clearly more memory; 2 the command line, a file or a binary
is wrong, or a case cannot be compared, however often the new side is measured; 3 the device is not usable here;
4 inconclusive (too noisy); 130 interrupted.)";

std::vector<NamedResult> read_side(const std::string& argument, const CompareOptions& options) {
  std::vector<NamedResult> results = read_result_arguments("compare", {argument});
  for (const NamedResult& source : results)
    refuse_debug_build(source.path + ": measured by a", source.result.context.build_type, "measure", options);
  return results;
}

void refuse_options_of_turns(const CompareOptions& options) {
  for (const auto& [given, option] : {std::pair(!options.suite.empty(), "--suite"),
                                      {options.max_pairs.has_value(), "--max-pairs"},
                                      {options.order_seed.has_value(), "--order-seed"},
                                      {!options.out.empty(), "--out"},
                                      {options.overwrite, "--overwrite"},
                                      {options.anonymous, "--anonymous"},
                                      {options.quiet, "--quiet"}})
    if (given) throw CallError(std::string(option) + " needs --interleave BINARY BINARY; add it, or leave out " + option);
  for (const auto& [key, given] : options.cases)
    throw CallError(given.where + " needs --interleave BINARY BINARY; add it, or leave out " + given.where);
}

std::vector<std::string> names_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedCase& each : comparison.cases) names.push_back(each.name);
  for (const auto* cases :
       {&comparison.missing, &comparison.added, &comparison.changed, &comparison.not_measured, &comparison.baseline_not_ok})
    for (const LeftOutCase& each : *cases) names.push_back(each.name);
  return names;
}

int compare_results(const CompareOptions& options) {
  if (options.contender.empty())
    throw CallError(std::string("compare: no ") + (options.baseline.empty() ? "BASELINE and no NEW" : "NEW") +
                    "; name two files that `epochbench run --out FILE` wrote, or two folders of them");
  const auto baseline = read_side(options.baseline, options), contender = read_side(options.contender, options);
  Comparison comparison = compare_results(baseline, contender, options.threshold.value_or(kDefaultThreshold));
  comparison.sides[0].label = options.baseline;
  comparison.sides[1].label = options.contender;
  comparison.allowed = allowed_cases(options, names_of(comparison));
  if (shares_no_case(comparison))
    throw CallError("compare: no case of " + options.baseline + " is in " + options.contender +
                    ", so there is nothing to compare: the first has " + comparison.missing.front().name + ", the second " +
                    comparison.added.front().name +
                    "; measure the same cases on both sides, or ask `epochbench speedup` about different ones");
  if (comparison.cases.empty() && comparison.missing.empty() && comparison.changed.empty())
    throw CallError("compare: no run of " + comparison.sides[0].label + " is ok, so there is nothing to compare " +
                    comparison.sides[1].label + " with; measure the baseline again");
  return present(std::move(comparison), options);
}

// Results and documents of interleaved turns; others are left out, and stderr says so. A change of level is not a failure.
int compare_history(const CompareOptions& options) {
  if (!options.baseline.empty())
    throw CallError("--history reads only its own folder; leave out " + options.baseline + ", or --history");
  if (options.github || !options.allowed.empty() || options.force || options.threshold)
    throw CallError("--history gives no verdict; leave out --threshold, --allow, --force and --github");
  const Measurements measured = read_measurement_folder(options.history);
  const History history = history_of(measured.results, measured.turns);
  if (history.series.empty() && !history.left_out.empty())
    throw CallError(options.history + ": no measurement here is a point of a history; " + history.left_out.front().name + " (" +
                    history.left_out.front().path + "): " + history.left_out.front().reason);
  if (history.series.empty())
    throw CallError(options.history +
                    ": no run that is ok in any *.json of this folder; keep the files of `epochbench run --out "
                    "FILE` or of `epochbench compare --interleave` there");
  print(options.json ? print_json(history_json(history)) : fitted(history_text(history)));
  return kExitDone;
}

int compare(const CompareOptions& options) {
  if (!options.history.empty() && !options.interleave.empty())
    throw CallError("--history and --interleave exclude each other; give one of them");
  if (!options.interleave.empty()) return compare_interleave(options);
  refuse_options_of_turns(options);
  return options.history.empty() ? compare_results(options) : compare_history(options);
}

void add_options_of_turns(Commands& commands, CLI::App& command, CompareOptions& options) {
  command
      .add_option("--interleave", options.interleave,
                  "measure two binaries in turns, the old one first, in place of BASELINE and NEW")
      ->type_name("BINARY")
      ->expected(2);
  command.add_option("--suite", options.suite, "with --interleave: name of a suite or a suite file (default: gate)")
      ->type_name("NAME|FILE");
  commands.add_case_options(
      command, options.cases, OfferedTo::calls,
      {"model", "batch", "accumulate", "checkpoint", "precision", "mode", "device", "threads", "data", "dropout"});
  command.get_option("--model")->description("with --interleave: these models instead of a suite, with the next options");
  add_parsed(command, "--max-pairs", options.max_pairs, whole<std::size_t>(1, kMaxPairsOfACall),
             "with --interleave: maximum number of pairs of processes per case, if 10 do not decide (default 20)")
      ->type_name("N");
  add_parsed(command, "--order-seed", options.order_seed, parse_seed,
             "with --interleave: seed of the order of turns (default 0)")
      ->type_name("N");
  command.add_option("-o,--out", options.out, "with --interleave: file for every pair and its step times")->type_name("FILE");
  command.add_flag("--overwrite", options.overwrite, "with --out: replace a file that exists");
  command.add_flag("--anonymous", options.anonymous, "with --out: leave out host name, paths and command line");
  command.add_flag("-q,--quiet", options.quiet, "with --interleave: print no progress");
}

// The verdict holds whether or not GitHub's page can show it, so a failure is only reported.
void append_summary(const Comparison& comparison) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (!path || !*path) return;
  std::FILE* file = std::fopen(path, "a");
  const bool written = file && std::fputs(github_summary(comparison).c_str(), file) >= 0;
  const bool closed = file && std::fclose(file) == 0;
  if (!written || !closed)
    print_error("no job summary: GITHUB_STEP_SUMMARY names " + std::string(path) +
                ", which cannot be written: " + error_text(errno));
}

int exit_code_of(Finding verdict) {
  switch (verdict) {
    case Finding::regression:
      return kExitAnswerIsNo;
    case Finding::not_compared:
      return kExitCallIsWrong;
    case Finding::inconclusive:
      return kExitInconclusive;
    case Finding::improvement:
    case Finding::no_change:
      return kExitDone;
  }
  return kExitInconclusive;
}

}  // namespace

void refuse_debug_build(const std::string& what, const std::string& build_type, const std::string& how,
                        const CompareOptions& options) {
  if (options.force || !is_debug_build(build_type)) return;
  throw CallError(what + " " + (build_type.empty() ? "build without a type" : build_type + " build") +
                  ", whose times say nothing of a release; " + how + " with CMAKE_BUILD_TYPE=Release, or give --force");
}

std::vector<std::string> allowed_cases(const CompareOptions& options, const std::vector<std::string>& names) {
  std::vector<std::string> allowed;
  for (const std::string& text : options.allowed) allowed.push_back(named_case("--allow", text, names));
  return allowed;
}

int present(Comparison comparison, const CompareOptions& options) {
  print(options.json ? print_json(compare_json(comparison)) : fitted(compare_text(comparison)));
  if (options.github) {
    std::fputs(github_annotations(comparison).c_str(), options.json ? stderr : stdout);
    append_summary(comparison);
  }
  return exit_code_of(verdict_of(comparison));
}

void add_compare(Commands& commands) {
  auto [command, options] =
      commands.add("compare", "decide whether the new side is slower than the baseline", kCompareExamples, compare);
  options.command_line = commands.arguments();
  command.add_option("BASELINE", options.baseline, "result file, or folder of them")->type_name("");
  command.add_option("NEW", options.contender, "the same for the new side")->type_name("");
  command.add_option("--history", options.history, "find change points in many results, in place of BASELINE and NEW")
      ->type_name("DIR");
  add_parsed(command, "--threshold", options.threshold, parse_percent, "smallest slowdown that matters (default 3)")
      ->type_name("PERCENT");
  command
      .add_option("--allow", options.allowed,
                  "accept that this case (its name, or the first parts of it) is missing, fails or is not compared; repeatable")
      ->type_name("CASE")
      ->allow_extra_args(false);
  command.add_flag("--force", options.force, "accept debug builds");
  command.add_flag("--github", options.github, "print annotations and write a job summary for GitHub Actions");
  command.add_flag("--json", options.json, "print JSON");
  add_options_of_turns(commands, command, options);
}

}  // namespace epochbench
