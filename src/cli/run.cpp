// epochbench run: the parent of all cases.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "src/analysis/predict/price_file.h"
#include "src/base/files.h"
#include "src/base/text.h"
#include "src/case/recipe.h"
#include "src/case/suite.h"
#include "src/cli/commands.h"
#include "src/figures/estimate.h"
#include "src/report/answers/answers_page.h"
#include "src/report/text/result_text.h"
#include "src/session/measuring.h"
#include "src/session/peers.h"
#include "src/session/planned_case.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

constexpr const char* kRunExamples = R"(Examples:
  epochbench run                                        the suite `quick`
  epochbench run --model resnet20 --batch 32,128        two batch sizes
  epochbench run --model lenet5 --until accuracy=0.97   to a real accuracy, on real data
  epochbench run --model mlp:width=4096,depth=3 --threads 1,2 --steps 50
  epochbench run --model resnet50 --mode forward --batch 1    latencies, and images per second
  epochbench run --model resnet20 --without none,fusion,winograd   what each part is worth
  epochbench run --suite quick --repetitions 3 --price cpu=0.34 --out result.json
  epochbench run --suite quick --resume result.json     only the missing runs
  epochbench run resnet50 --with pytorch                PyTorch's runs in turn with ours, eager and compiled
  epochbench run lenet5 --out result.json --also result.csv --also result.md
  epochbench run lenet5 --json | jq '.runs[].throughput'
  epochbench run --suite standard --dry-run             its cases with their memory and time; runs nothing
  epochbench run --suite hour --price cpu=0.34 --out hour.json   the main questions in an hour, and a page of answers

Without a stopping option (--steps, --epochs, --min-time, --until) a case runs until the interval of the median step is within
1 % or the noise has stopped falling: at least 10 steps and on a GPU 3 s, at most 30 s or 3 steps, whichever is longer. One of
--steps, --epochs and --min-time may be given; --until trains whole epochs, at most --epochs of them.
Exit codes: 0 done; 1 a case failed; 2 the command line, a file or the data is wrong, or nothing can run in a requested
precision; 3 a requested device is not usable here: the others are measured and kept; 130 interrupted. If several apply, the
first of 130, 2, 1, 3. Devices that only a suite lists are skipped.)";

constexpr const char* kDefaultSuite = "quick";

struct RunOptions {
  std::string suite, recipe;       // names or files; empty: none named
  CaseBlock cases;                 // options given on the command line
  std::optional<int> repetitions;  // empty: the suite's and its cases', or 1
  std::optional<double> feed;      // samples per second of another device
  std::optional<Framework> with;   // runs the cases, too
  bool profile = false, json = false;
  bool verbose = false;  // also one row per run
  MeasuringRequest request;
};

// A suite's cases with the call's options. --device selects among the devices that a case names, and applies to cases that name
// none.
std::vector<CaseSpec> cases_of(const CaseBlock& block, const CaseBlock& call) {
  std::vector<CaseSpec> cases = expand(merged(block, call));
  const auto asked = call.find("device");
  if (asked == call.end() || !block.contains("device")) return cases;
  std::set<std::string> named;
  for (const CaseSpec& spec : expand({{"device", block.at("device")}})) named.insert(to_string(spec.device));
  std::erase_if(cases, [&](const CaseSpec& spec) { return !named.contains(to_string(spec.device)); });
  return cases;
}

std::vector<CaseSpec> cases_of(const Suite& suite, const RunOptions& options) {
  std::vector<CaseSpec> cases;
  for (const CaseBlock& block : suite.cases)
    for (CaseSpec& spec : cases_of(block, options.cases)) {
      if (options.repetitions) spec.repetitions.reset();
      cases.push_back(std::move(spec));
      if (cases.size() > kMaxCases)
        throw CallError("suite " + suite.name + ": its lists multiply out to more than " + std::to_string(kMaxCases) +
                        " cases; leave some values out");
    }
  if (cases.empty()) throw CallError("--device: suite " + suite.name + " has no case for any of these devices");
  return cases;
}

Framework parse_peer(const std::string& text) {
  parse_word(text, {name(Framework::pytorch)});
  return Framework::pytorch;
}

// Empty if the call itself says what to run.
std::optional<Suite> suite_of(const RunOptions& options) {
  if (!options.cases.contains("model")) return load_suite(options.suite.empty() ? kDefaultSuite : options.suite);
  if (!options.suite.empty()) throw CallError("--suite and --model exclude each other; give one of them");
  return std::nullopt;
}

void print_run(const Measurement& measured, const RunOptions& options, std::FILE* out) {
  std::string tables = summary(measured.result) + "\n";
  if (options.verbose) tables += summary(measured.result, TableRows::runs) + "\n";
  if (const std::string ratios = ratios_text(measured.result); !ratios.empty()) tables += ratios + "\n";
  for (const Run& run : measured.result.runs)
    if (run.status == RunStatus::ok && run.profile) tables += profile_text(run) + "\n";
  if (const std::string input = input_text(measured.result); !input.empty()) tables += input + "\n";
  if (const std::string decoding = decoding_text(measured.result, options.feed); !decoding.empty()) tables += decoding + "\n";
  print_tables(measured, tables, options.verbose, out);
}

// The call's options take precedence over its recipe.
RunOptions with_recipe(RunOptions options) {
  if (options.recipe.empty()) return options;
  if (!options.suite.empty())
    throw CallError("--recipe: the cases of a suite name their own recipes; leave out --suite or --recipe");
  options.cases = over_recipe(located("--recipe", [&] { return load_recipe(options.recipe); }), options.cases);
  return options;
}

// Several ranks have no profile, since their nodes wait for each other.
void ask_for_profiles(std::vector<PlannedCase>& cases) {
  for (PlannedCase& planned : cases)
    planned.spec.profile = planned.spec.ranks == 1 && planned.spec.framework == Framework::epochbench;
  if (std::ranges::none_of(cases, [](const PlannedCase& planned) { return planned.spec.profile; }))
    throw CallError("--profile: times the nodes of one process; leave out --ranks");
}

// The cases of the call and, in turn with them, those of --with.
std::vector<PlannedCase> planned_cases(const RunOptions& options, const std::optional<Suite>& suite) {
  const int usual = suite ? suite->repetitions : 1;
  if (!options.with)
    return plan_cases(suite ? cases_of(*suite, options) : expand(options.cases), options.repetitions.value_or(usual));
  RunOptions ours = options;
  const std::vector<std::string> modes = take_compile_modes(ours.cases);
  if (!suite) ours.cases.try_emplace("data", OptionValues{{"synthetic"}, "--with pytorch"});
  const std::vector<CaseSpec> cases = with_peers(suite ? cases_of(*suite, ours) : expand(ours.cases), modes);
  return plan_cases(cases, options.repetitions.value_or(std::max(usual, static_cast<int>(kMinRepetitions))));
}

int run(const RunOptions& call) {
  if (call.verbose && call.request.quiet)
    throw CallError("--quiet, --verbose: the first prints no table, the second a longer one; leave out one of them");
  const RunOptions options = with_recipe(call);
  const std::optional<Suite> suite = suite_of(options);
  MeasuringRequest request = options.request;
  request.call = call.cases;
  request.cases = planned_cases(options, suite);
  if (options.with) {
    const PeerPython peer = find_pytorch();
    request.worker = peer.worker;
    add_peer_obstacles(request.cases, peer);
  }
  if (options.profile) ask_for_profiles(request.cases);
  if (options.feed && std::ranges::none_of(request.cases, [](const PlannedCase& planned) { return decodes(planned.spec); }))
    throw CallError(
        "--feed: no case of this call decodes anything; read images (--data images:DIR), add --decode-cost SECONDS, or leave "
        "it out");
  if (!request.budget_seconds && suite) request.budget_seconds = suite->budget_seconds;
  if (suite && suite->own) request.suite = suite->name;
  if (request.dry_run) return dry_run(request);
  if ((suite || options.with) && !request.quiet) print_disturbances();
  if (options.json && request.out.empty() && request.resume.empty()) request.out = kStandardStream;
  const bool json = options.json || request.out == kStandardStream;
  std::FILE* const out = json ? stderr : stdout;
  const Measurement measurement = measure(request);
  if (!request.quiet && !measurement.result.runs.empty()) print_run(measurement, options, out);
  if (suite && suite->answers && !request.quiet)
    std::fputs(fitted("\n" + answers_page({measurement.path, measurement.result})).c_str(), out);
  if (json) print_result(request, measurement);
  print_resume_command(request, measurement);
  return exit_code(request, measurement);
}

}  // namespace

void add_price_file(CLI::App& command, std::string& file) {
  command.add_option("--price-file", file, "prices of other providers, as CSV: " + std::string(kPriceColumns))
      ->type_name("FILE");
}

void add_price_list_options(CLI::App& command, PriceListOptions& prices) {
  command.add_option("--price", prices.given, "USD per hour of devices, instead of list prices, such as t4=0.35,rtx-4090=0.40")
      ->type_name("DEVICE=USD,...");
  add_price_file(command, prices.file);
}

void add_price_options(CLI::App& command, PriceOptions& prices) {
  command.add_option("--price", prices.price, "USD per hour, or an instance of `list prices`: cpu=0.34,cuda=g5.xlarge")
      ->type_name("DEVICE=PRICE")
      ->group("Price");
  add_price_scaling(command, prices.scaling);
}

void add_price_scaling(CLI::App& command, std::optional<PriceScaling>& scaling) {
  add_parsed(
      command, "--price-scaling", scaling, [](const std::string& text) { return parse_choice<PriceScaling>(text); },
      "what to charge if the run uses only part of an instance: its share by core, vCPU or GPU, or all of it: per-core, "
      "per-vcpu, per-gpu or whole")
      ->type_name("SHARE")
      ->group("Price");
}

void add_options_of_result(CLI::App& command, MeasuringRequest& request) {
  command.add_option("-o,--out", request.out, "result file; - is stdout (default: a new name)")
      ->type_name("FILE.json")
      ->group("Output");
  command.add_option("--also", request.also, "write the result as CSV or Markdown too, by the suffix; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group("Output");
  command.add_flag("--overwrite", request.overwrite, "replace a result file that exists")->group("Output");
  command.add_flag("--dry-run", request.dry_run, "show the cases with planned memory and expected time; run nothing")
      ->group("What to run");
  command.add_option("--resume", request.resume, "run only cases without a good run in this result")
      ->type_name("FILE")
      ->group("Output");
  command.add_flag("--anonymous", request.anonymous, "leave out host name, paths and command line")->group("Output");
  command.add_flag("-q,--quiet", request.quiet, "print no progress and no table, only errors")->group("Output");
}

void add_options_of_measuring(CLI::App& command, MeasuringRequest& request) {
  add_price_options(command, request.prices);
  add_options_of_result(command, request);
  command.add_flag("--allow-skipped", request.allow_skipped, "exit with 0 even if a value of the command line is skipped")
      ->group("Output");
}

void add_run(Commands& commands) {
  auto [command, options] = commands.add("run", "train models and measure them", kRunExamples, run);
  MeasuringRequest& request = options.request;
  request.command_line = commands.arguments();
  command.add_option("--suite", options.suite, "name of a suite, or a suite file (default quick, without --model)")
      ->type_name("NAME|FILE")
      ->group("What to run");
  command
      .add_option("--recipe", options.recipe, "name of a training recipe (`list recipes`), or a recipe file (default: none)")
      ->type_name("NAME|FILE")
      ->group("What to run");
  commands.add_case_options(command, options.cases, OfferedTo::peers);
  command.add_option("--worker", request.worker, "command of a peer's worker")->type_name("WORD")->group("");
  commands.add_model_argument(command, options.cases);
  add_parsed(command, "--with", options.with, parse_peer,
             "run each case in that framework, too, in turn with ours: pytorch, eager and compiled")
      ->type_name("FRAMEWORK")
      ->group("What to run");
  add_parsed(command, "--repetitions", options.repetitions, parse_repetitions,
             "number of times that all cases run (default: the suite's, or 1; with --with 5 or more)")
      ->type_name("N")
      ->group("How long");
  add_parsed(command, "--budget", request.budget_seconds, parse_budget,
             "end the running case after that time and skip the rest")
      ->type_name("SECONDS")
      ->group("How long");
  add_options_of_measuring(command, request);
  command.add_flag("--json", options.json, "print the result as JSON; no file is written unless --out is given")
      ->group("Output");
  add_parsed(
      command, "--feed", options.feed,
      [](const std::string& text) {
        return parse_real(text, {0, 1e9, false, true});
      },
      "print how many cores like these decode as many images/s as another device trains on, which is RATE")
      ->type_name("RATE")
      ->group("Output");
  command.add_flag("-v,--verbose", options.verbose, "also print each run of a case, and all notes on a terminal")
      ->group("Output");
  command
      .add_flag("--profile", options.profile, "time a step node by node afterwards, in a separate pass; not with several ranks")
      ->group("Output");
}

}  // namespace epochbench
