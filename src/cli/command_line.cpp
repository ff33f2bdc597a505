#include "src/cli/command_line.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <poll.h>
#include <unistd.h>

#include "epochbench/backend.h"
#include "epochbench/dataset.h"
#include "src/cli/commands.h"
#include "src/cli/errors.h"
#include "src/measure/environment.h"
#include "src/report/json_text.h"
#include "src/report/result_file.h"

namespace epochbench {
namespace {

constexpr const char* kHelp = "What does it cost, in time and money, to train this model on this CPU and on this GPU?";

constexpr const char* kRunExamples = R"(Examples:
  epochbench run                                        the suite quick
  epochbench run --model resnet20 --batch 32,128        two batch sizes
  epochbench run --model lenet5 --until accuracy=0.97   to a real accuracy, on real data
  epochbench run --model mlp:width=4096,depth=3 --threads 1,2 --steps 50
  epochbench run --model resnet50 --mode forward --batch 1    latencies, and images a second
  epochbench run --model resnet20 --without none,fusion,winograd   what each is worth
  epochbench run --suite quick --repetitions 3 --price cpu=0.34 --out result.json
  epochbench run --suite quick --resume result.json     what is missing there
  epochbench run --suite hour --price cpu=0.34 --out hour.json   the whole question in an hour, and a page of answers

Without a stopping option (--steps, --epochs, --min-time, --until) a case runs until the interval of the median step is within
1 % or the noise has stopped falling: at least 10 steps, at most 30 s or 3 steps, whichever is longer. One of --steps, --epochs
and --min-time may be given; --until trains whole epochs, and --epochs says how many at most.
Exit codes: 0 done; 1 a case failed; 2 the call, a file or the data is wrong; 3 no such device here; 130 interrupted.)";

constexpr const char* kSweepExamples = R"(Examples:
  epochbench sweep --model resnet20 --over batch --precision fp32,bf16 --repetitions 5
  epochbench sweep --model mlp --over width --device cpu,cuda:0 --price cpu=0.71,cuda=1.2
  epochbench sweep --model lenet5 --over samples --device cpu,cuda:0 --values 1024,8192,65536
  epochbench sweep --model bert-tiny --over threads --steps 20 --repetitions 5

Each point runs in a process of its own, each repetition in a random order. A point that runs out of memory is a point.
Over batch and threads samples a second count, over width FLOPs a second, over samples a whole process with its one epoch.
Intervals take 5 repetitions; the laws of scaling take 4 numbers of threads.)";

constexpr const char* kListExamples = R"(Examples:
  epochbench list models
  epochbench list prices --json)";

constexpr const char* kInfoExamples = R"(Examples:
  epochbench info
  epochbench info --json

Measures the CPU's peaks and memory bandwidth, which takes some seconds.)";

constexpr const char* kPlanExamples = R"(Examples:
  epochbench plan --model resnet20
  epochbench plan --model mlp:width=4096,depth=3 --batch 256 --json
  epochbench plan --model resnet50:height=2160,width=3840 --batch 1 --mode forward)";

constexpr const char* kCostExamples = R"(Examples:
  epochbench cost --purchase 2500 --lifetime 4 --power 350 --electricity 0.30 --cloud g5.xlarge
  epochbench cost result.json --purchase 900 --lifetime 5 --power 120 --idle 40 --electricity 0.30 --cloud c7i.2xlarge
  epochbench cost result.json --purchase 900 --lifetime 5 --electricity 0.30 --utilisation 0.2 --cloud 0.34 --json

With a result: cost per epoch of the machine that was measured, as one's own, and of a rented one; without: of hours alone.
Nothing is assumed for what is not given: the answer says what is missing. A measured power draw is that of the meters' parts
(CPU package, GPU card), not that of the plug; --power replaces it.)";

constexpr const char* kSpeedupExamples = R"(Examples:
  epochbench run --model resnet50 --device cpu,cuda:0 --precision fp32,bf16 --repetitions 5 --out both.json
  epochbench speedup both.json
  epochbench speedup cpu-box.json gpu-box.json --json   results of two machines
  epochbench speedup sweep.json --best                  each device at its own best batch, as one would rent it

Every GPU run is paired with the CPU run of its precision and with the CPU's in fp32; 16-bit runs also with fp32 and tf32 of
their own device. An interval takes 5 repetitions a side. Notes say what makes a pair unfair.
Exit codes: 0 done; 2 a file is no result, or no two runs can be paired.)";

constexpr const char* kClaimsExamples = R"(Examples:
  epochbench run --suite claims --out claims.json        what this machine can measure, within 15 minutes
  epochbench claims claims.json                          a verdict on each claim, or why there is none
  epochbench claims cpu.json gpu.json --strict --json
  epochbench claims                                      the claims, their origins and their experiments

A verdict compares the measured 95 % interval with the claimed one: reproduced (inside), exceeded, not reproduced, undecided
(across a bound, or no interval), or not testable here. A claim of several parts is as good as the worst of those that could
be tested; the others are named. Exit codes: 0 done, whatever the verdicts; 1 with --strict a claim is
not reproduced; 2 the call or a file is wrong.)";

constexpr const char* kExportExamples = R"(Examples:
  epochbench export result.json --format csv -o runs.csv
  epochbench export result.json --format csv --raw > steps.csv
  epochbench export result.json --format markdown >> "$GITHUB_STEP_SUMMARY"
  epochbench export result.json --format openmetrics -o /var/lib/node_exporter/epochbench.prom
  epochbench export result.json --format mlflow -o mlruns/      a tracking store that MLflow opens

Runs that a format has no place for are named on stderr, with the reason. What is not known is left out, never 0.
In csv a text that begins with = + - @, a tab or a carriage return has a ' before it: a spreadsheet would run it.
Exit codes: 0 done; 2 the call or the file is wrong, or the format has no place for any of its runs.)";

constexpr const char* kCompareExamples = R"(Examples:
  epochbench run --suite quick --repetitions 15 --out new.json
  epochbench compare baseline.json new.json               on a quiet machine: is the new one slower by 3 % or more?
  epochbench compare main/ branch/ --threshold 5 --json   folders of results
  epochbench compare baseline.json new.json --github      annotations and a job summary for GitHub Actions
  epochbench compare --interleave old/epochbench new/epochbench --suite gate -o turns.json    also on a machine that is shared
  epochbench compare --history nightly/                   the commits at which many results changed their level; advisory

Files are decided with 5 repetitions a side or more, of one machine, compiler, build type and number of threads, and where other
processes took less than 0.15 cores. Else the answer is inconclusive, with the reason and with what would decide.
With --interleave both binaries train at once and take turns, step by step, in an order drawn at random, so other jobs meet both
alike: 10 pairs of processes a case, and up to --max-pairs where those do not decide. A pair takes 20 timed rounds of a step each,
or of as many as fill 50 ms; how a suite's cases stop says nothing here.
Exit codes: 0 no change or faster; 1 slower, missing, not ok any more, or more than 10 % more memory; 2 the call, a file
or a binary is wrong; 3 no such device here; 4 inconclusive; 130 interrupted.)";

constexpr const char* kAnswersExamples = R"(Examples:
  epochbench answers hour.json
  epochbench answers hour.json --json)";

constexpr const char* kReportExamples = R"(Examples:
  epochbench report result.json -o result.html
  epochbench report cpu-box.json gpu-box.json -o both.html   two machines on one page
  epochbench report nightly/ -o nightly.html                 many dated results: with their history
  epochbench report turns.json -o turns.html                 what `compare --interleave -o turns.json` measured

The page is one file that opens from disk and fetches nothing: tables that sort, charts with their intervals, claims with their
verdicts. It has the names of the result files without their folders, and what the results say: host name, command lines and
the folder of a data set that was read from one (idx:/home/...). Results made with --anonymous have none of these.)";

std::string first_of(const std::string& list) { return list.substr(0, list.find(',')); }  // "N" of "N,..."

// Every case option as text: what it may be is checked where cases are built, in one way for calls and suites.
// `keys`: those of a command that takes one value of each; all options, with their lists, where it is empty.
void add_case_options(CLI::App& command, const std::vector<std::string>& keys, CaseBlock& block) {
  for (const CaseOption& option : case_options()) {
    if (!keys.empty() && std::find(keys.begin(), keys.end(), option.key) == keys.end()) continue;
    if (std::string_view(option.key) == "repetitions") continue;  // each command has its own, for all cases
    command
        .add_option_function<std::string>(
            flag(option),
            [&option, &block](const std::string& text) {
              try {
                block[option.key] = {split_values(option, text), flag(option)};
              } catch (const CallError& error) {
                throw CallError(flag(option) + ": " + error.what());
              }
            },
            option.help)
        ->type_name(keys.empty() ? option.value_name : first_of(option.value_name));
  }
}

// CLI11's message as one line, with the way to the right one.
std::string parse_message(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const std::string help = chosen.empty() ? "epochbench --help" : "epochbench " + chosen.front()->get_name() + " --help";
  if (dynamic_cast<const CLI::RequiredError*>(&error) && chosen.empty()) {
    const auto words = app.remaining();
    return (words.empty() ? "no command" : "unknown command '" + words.front() + "'") +
           "; choose from run, sweep, list, info, plan, speedup, compare, cost, claims, export, answers, report (see "
           "epochbench --help)";
  }
  return std::string(error.what()) + " (see " + help + ")";
}

// A full disk shows only when what was printed is written out. What one write lost, a later one does not tell of: ferror does.
void require_output_written() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return;  // its reader has gone, and wants no more
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return;
  const std::string why = flushed || errno == 0 ? "a part of it was not taken" : std::strerror(errno);
  throw FileError("cannot write the output: " + why + "; send stdout elsewhere");
}

template <typename Command>
int guarded(const Command& command) {
  try {
    const int code = command();
    if (code != kExitInterrupted) require_output_written();
    return code;
  } catch (const CallError& error) {
    print_error(error.what());
    return error.code();
  } catch (const DeviceError& error) {
    print_error(error.what());
    return kExitDeviceMissing;
  } catch (const std::bad_alloc&) {
    print_error("out of memory before anything ran; free some, or raise the limit");
    return kExitCallIsWrong;
  } catch (const std::invalid_argument& error) {
    print_error(error.what());
    return kExitCallIsWrong;
  } catch (const FormatError& error) {
    print_error(error.what());
    return kExitCallIsWrong;
  } catch (const FileError& error) {
    print_error(error.what());
    return kExitCallIsWrong;
  } catch (const DataError& error) {
    print_error(error.what());
    return kExitCallIsWrong;
  } catch (const std::exception& error) {
    print_error(std::string("unexpected error: ") + error.what());
    return kExitCallIsWrong;
  }
}

}  // namespace

std::string version_text() {
  const Context context = describe_context({});
  std::string text = "epochbench " + context.epochbench_version + " (";
  if (context.git_sha) text += context.git_sha->substr(0, 12) + (context.git_dirty.value_or(false) ? "-dirty, " : ", ");
  return text + context.build_type + ", " + context.compiler + ")";
}

int command_line(int argc, char** argv) {
  CLI::App app{kHelp, "epochbench"};
  app.require_subcommand(1);
  app.set_help_flag("-h,--help", "this help, or that of a command");
  bool version = false, json = false;
  app.add_flag_callback(
      "--version",
      [&version] {
        version = true;
        throw CLI::CallForVersion("", 0);
      },
      "the version");

  RunOptions run;
  CLI::App* run_app = app.add_subcommand("run", "train models and measure it");
  run_app->footer(kRunExamples);
  run_app->add_option("--suite", run.suite, "a suite's name or file (default quick, without --model)")->type_name("NAME|FILE");
  add_case_options(*run_app, {}, run.cases);
  run_app->add_option("--repetitions", run.repetitions, "all cases once, then all again (default: the suite's, or 1)")
      ->type_name("N");
  run_app->add_option("--budget", run.budget, "after so long the case that runs is ended, and what is left is skipped")
      ->type_name("SECONDS");
  run_app->add_option("--price", run.price, "USD an hour, or an instance of `list prices`: cpu=0.34,cuda=g5.xlarge")
      ->type_name("DEVICE=PRICE");
  run_app->add_option("--out", run.out, "the result file (default epochbench-<date>-<time>.json)")->type_name("FILE");
  run_app->add_option("--resume", run.resume, "run only what has no good run in this result")->type_name("FILE");
  run_app->add_flag("--profile", run.profile, "then time a step node by node, in a pass of its own");
  run_app->add_flag("--anonymous", run.anonymous, "leave out host name, paths and command line");
  run_app->add_flag("--quiet", run.quiet, "no progress and no table; errors are told all the same");
  run.command_line.assign(argv, argv + argc);

  SweepOptions sweep;
  CLI::App* sweep_app = app.add_subcommand("sweep", "throughput against size: best, where it flattens, where devices cross");
  sweep_app->footer(kSweepExamples);
  sweep_app->add_option("--over", sweep.over, "batch, width, samples or threads")->type_name("AXIS");
  sweep_app->add_option("--values", sweep.values, "the points (default: what the machine holds, in powers of two)")
      ->type_name("N,...");
  add_case_options(*sweep_app, {}, sweep.cases);
  sweep_app->add_option("--repetitions", sweep.repetitions, "of every point, each in a process of its own (default 1)")
      ->type_name("N");
  sweep_app->add_option("--price", sweep.price, "USD an hour, or an instance of `list prices`: cpu=0.34,cuda=g5.xlarge")
      ->type_name("DEVICE=PRICE");
  sweep_app->add_option("--out", sweep.out, "the result file (default epochbench-<date>-<time>.json)")->type_name("FILE");
  sweep_app->add_option("--resume", sweep.resume, "run only what has no good run in this result")->type_name("FILE");
  sweep_app->add_flag("--anonymous", sweep.anonymous, "leave out host name, paths and command line");
  sweep_app->add_flag("--json", sweep.json, "the result with its answers as JSON, instead of the table");
  sweep_app->add_flag("--quiet", sweep.quiet, "no progress and no table; errors are told all the same");
  sweep.command_line = run.command_line;

  std::string what;
  CLI::App* list_app = app.add_subcommand("list", "what there is to choose from");
  list_app->footer(kListExamples);
  list_app->add_option("what", what, "models, devices, suites, datasets, claims or prices (default: all)");
  list_app->add_flag("--json", json, "as JSON");

  CLI::App* info_app = app.add_subcommand("info", "this machine, with its measured peaks");
  info_app->footer(kInfoExamples);
  info_app->add_flag("--json", json, "as JSON");

  PlanOptions plan;
  CLI::App* plan_app = app.add_subcommand("plan", "parameters, FLOPs and memory of a model; runs nothing");
  plan_app->footer(kPlanExamples);
  add_case_options(*plan_app, {"model", "batch", "precision", "mode", "device"}, plan.cases);
  plan_app->add_flag("--json", json, "as JSON");

  CostOptions cost;
  CLI::App* cost_app = app.add_subcommand("cost", "local against cloud: cost per epoch, break-even hours a month");
  cost_app->footer(kCostExamples);
  cost_app->add_option("result", cost.result, "a result file (without: hours alone)")->type_name("RESULT");
  cost_app->add_option("--purchase", cost.purchase, "price of the local machine")->type_name("USD");
  cost_app->add_option("--lifetime", cost.lifetime, "over which its price is spread")->type_name("YEARS");
  cost_app->add_option("--power", cost.power, "that it draws at work (default: the result's, where a meter gave it)")
      ->type_name("WATTS");
  cost_app->add_option("--idle", cost.idle, "that it draws in the other hours (default: the result's, where a meter gave it)")
      ->type_name("WATTS");
  cost_app->add_option("--electricity", cost.electricity, "price of a kWh")->type_name("USD");
  cost_app->add_option("--utilisation", cost.utilisation, "part of all hours in which it works, above 0 to 1 (default 1)")
      ->type_name("FRACTION");
  cost_app->add_option("--cloud", cost.cloud, "an instance of `list prices` or USD an hour (default: the result's price)")
      ->type_name("PRICE");
  cost_app->add_option("--cloud-speed", cost.cloud_speed, "its samples a second over the local machine's (default 1)")
      ->type_name("RATIO");
  cost_app->add_flag("--json", json, "as JSON");

  SpeedupOptions speedup;
  CLI::App* speedup_app = app.add_subcommand("speedup", "how much faster, cheaper and thriftier, out of results");
  speedup_app->footer(kSpeedupExamples);
  speedup_app->add_option("RESULT", speedup.results, "result files, or folders of them");
  speedup_app->add_flag("--best", speedup.best, "each device at its own best batch");
  speedup_app->add_flag("--json", json, "as JSON");

  ClaimsOptions claims;
  CLI::App* claims_app = app.add_subcommand("claims", "what articles claim, and a verdict on each from results");
  claims_app->footer(kClaimsExamples);
  claims_app->add_option("result", claims.results, "result files, or folders of them (default: list the claims)")
      ->type_name("RESULT...");
  claims_app->add_flag("--strict", claims.strict, "exit with 1 if a claim is not reproduced");
  claims_app->add_flag("--json", json, "as JSON");

  ExportOptions exported;
  CLI::App* export_app = app.add_subcommand("export", "a result in the formats of other tools");
  export_app->footer("Formats:\n" + export_formats_help() + "\n" + kExportExamples);
  export_app->add_option("result", exported.result, "a result file")->type_name("RESULT")->required();
  export_app->add_option("--format", exported.format, "one of those below")->type_name("FORMAT")->required();
  export_app->add_flag("--raw", exported.raw, "csv: a row a step");
  export_app->add_option("-o,--out", exported.out, "a file, or a folder where the format has one (default: stdout)")
      ->type_name("FILE|DIR");

  CompareOptions compare;
  CLI::App* compare_app = app.add_subcommand("compare", "is the new one slower than the baseline? out of results");
  compare_app->footer(kCompareExamples);
  compare_app->add_option("BASELINE", compare.baseline, "results: a file, or a folder of them")->type_name("");
  compare_app->add_option("NEW", compare.contender, "the same of what is new")->type_name("");
  compare_app->add_option("--history", compare.history, "change points over many results, in place of BASELINE and NEW")
      ->type_name("DIR");
  compare_app->add_option("--threshold", compare.threshold, "of a slowdown that matters (default 3)")->type_name("PERCENT");
  compare_app->add_flag("--allow-missing", compare.allow_missing, "a case that the new side lacks is no failure");
  compare_app->add_flag("--force", compare.force, "also debug builds");
  compare_app->add_flag("--github", compare.github, "annotations and a job summary for GitHub Actions");
  compare_app->add_flag("--json", json, "as JSON");
  compare_app->add_option("--interleave", compare.interleave, "two binaries take turns, in place of BASELINE and NEW")
      ->type_name("BINARY")
      ->expected(2);
  compare_app->add_option("--suite", compare.suite, "with --interleave: a suite's name or file, such as gate")
      ->type_name("NAME|FILE");
  compare_app
      ->add_option("--max-pairs", compare.max_pairs,
                   "with --interleave: of processes, a case, where 10 do not decide (default 20)")
      ->type_name("N");
  compare_app->add_option("--order-seed", compare.order_seed, "with --interleave: of who has which turn (default 0)")
      ->type_name("N");
  compare_app->add_option("-o,--out", compare.out, "with --interleave: keeps every pair and its step times")->type_name("FILE");
  compare_app->add_flag("--quiet", compare.quiet, "with --interleave: no progress");
  compare.command_line = run.command_line;

  std::string answers_result;
  CLI::App* answers_app = app.add_subcommand("answers", "one page of answers out of a result, as `run --suite hour` ends with");
  answers_app->footer(kAnswersExamples);
  answers_app->add_option("result", answers_result, "a result file")->type_name("RESULT")->required();
  answers_app->add_flag("--json", json, "as JSON");

  ReportOptions report;
  CLI::App* report_app = app.add_subcommand("report", "results as one HTML page, with tables and charts");
  report_app->footer(kReportExamples);
  report_app->add_option("RESULT", report.results, "files of `run --out` or of `compare --interleave -o`, or folders of them");
  report_app->add_option("-o,--out", report.out, "the page; replaced whole")->type_name("FILE.html");

  bool calibrate = false;
  CLI::App* case_app = app.add_subcommand("case", "one case, driven by its parent")->group("");
  case_app->add_flag("--calibrate", calibrate, "the parent will ask for the machine's peaks");

  return guarded([&] {
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& done) {  // help or version
      if (version)
        std::printf("%s\n", version_text().c_str());
      else
        app.exit(done);
      return static_cast<int>(kExitDone);
    } catch (const CLI::ParseError& error) {
      throw CallError(parse_message(app, error));
    }
    for (const CLI::App* command : {run_app, sweep_app, cost_app, compare_app, export_app, report_app})
      for (const CLI::Option* option : command->get_options())
        if (option->count() > 0 && option->get_type_size() > 0 && option->results().front().empty())
          throw CallError(option->get_name() + ": an empty value; give one or leave the option out");
    if (run_app->parsed()) return run_command(run);
    if (sweep_app->parsed()) return sweep_command(sweep);
    if (list_app->parsed()) return list_command(what, json);
    if (info_app->parsed()) return info_command(json);
    if (case_app->parsed()) return case_command();
    cost.json = speedup.json = compare.json = claims.json = plan.json = json;
    if (cost_app->parsed()) return cost_command(cost);
    if (export_app->parsed()) return export_command(exported);
    if (answers_app->parsed()) return answers_command(answers_result, json);
    if (speedup_app->parsed()) return speedup_command(speedup);
    if (compare_app->parsed()) return compare_command(compare);
    if (report_app->parsed()) return report_command(report);
    if (claims_app->parsed()) return claims_command(claims);
    return plan_command(plan);
  });
}

}  // namespace epochbench
