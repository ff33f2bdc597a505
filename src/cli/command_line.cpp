#include "src/cli/command_line.h"

#include <algorithm>
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
#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/json.h"
#include "src/cli/commands.h"
#include "src/cli/examples.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

std::string first_of(const std::string& list) { return list.substr(0, list.find(',')); }  // "N" of "N,..."

// Every case option as text: what it may be is checked where cases are built, in one way for calls and suites.
// `keys`: those of a command that takes one value of each; all options, with their lists, where it is empty.
void add_case_options(CLI::App& command, const std::vector<std::string>& keys, CaseBlock& block,
                      OfferedTo caller = OfferedTo::calls) {
  for (const CaseOption& option : case_options()) {
    if (option.offered_to > caller || option.key == "repetitions") continue;  // that is each command's own
    if (!keys.empty() && std::find(keys.begin(), keys.end(), option.key) == keys.end()) continue;
    const auto take = [&option, &block](const std::string& text) {
      try {
        block[option.key] = {split_values(option, text), flag(option)};
      } catch (const CallError& error) {
        throw CallError(flag(option) + ": " + error.what());
      }
    };
    const bool one_value = !keys.empty() && caller == OfferedTo::calls;
    auto* added = command.add_option_function<std::string>(flag(option), take, option.help)
                      ->type_name(one_value ? first_of(option.value_name) : option.value_name);
    if (keys.empty() && option.offered_to == OfferedTo::peers) added->group("");  // works, and is not in the help
  }
}

// The arguments with options under their present names: earlier ones are still accepted. In reverse, as CLI11 takes them.
std::vector<std::string> renamed_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string given = argument.substr(0, argument.find('='));
    if (given == "--utilisation") argument.replace(0, given.size(), "--utilization");
    for (const CaseOption& option : case_options())
      if (!option.old_key.empty() && given == "--" + name_part(option)) argument.replace(0, given.size(), flag(option));
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
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
  CLI::App* run_app = app.add_subcommand("run", "train models and measure them");
  run_app->footer(kRunExamples);
  run_app->add_option("--suite", run.suite, "name of a suite, or a suite file (default quick, without --model)")
      ->type_name("NAME|FILE");
  add_case_options(*run_app, {}, run.cases, OfferedTo::peers);
  run_app->add_option("--worker", run.worker, "command of a peer's worker")->type_name("WORD")->group("");
  run_app->add_option("--repetitions", run.repetitions, "number of times that all cases run (default: the suite's, or 1)")
      ->type_name("N");
  run_app->add_option("--budget", run.budget, "end the running case after that time and skip the rest")->type_name("SECONDS");
  run_app->add_option("--price", run.price, "USD per hour, or an instance of `list prices`: cpu=0.34,cuda=g5.xlarge")
      ->type_name("DEVICE=PRICE");
  run_app->add_option("--out", run.out, "result file (default epochbench-<date>-<time>.json)")->type_name("FILE");
  run_app->add_option("--resume", run.resume, "run only cases without a good run in this result")->type_name("FILE");
  run_app->add_flag("--profile", run.profile, "time a step node by node afterwards, in a separate pass");
  run_app->add_flag("--anonymous", run.anonymous, "leave out host name, paths and command line");
  run_app->add_flag("--quiet", run.quiet, "print no progress and no table, only errors");
  run.command_line.assign(argv, argv + argc);

  SweepOptions sweep;
  CLI::App* sweep_app =
      app.add_subcommand("sweep", "measure throughput against size: best, where it flattens, where devices cross");
  sweep_app->footer(kSweepExamples);
  sweep_app->add_option("--over", sweep.over, "size that varies: batch, width, samples or threads")->type_name("AXIS");
  sweep_app->add_option("--values", sweep.values, "points (default: powers of two that fit into this machine)")
      ->type_name("N,...");
  add_case_options(*sweep_app, {}, sweep.cases);
  sweep_app->add_option("--repetitions", sweep.repetitions, "repetitions of every point, each in its own process (default 1)")
      ->type_name("N");
  sweep_app->add_option("--price", sweep.price, "USD per hour, or an instance of `list prices`: cpu=0.34,cuda=g5.xlarge")
      ->type_name("DEVICE=PRICE");
  sweep_app->add_option("--out", sweep.out, "result file (default epochbench-<date>-<time>.json)")->type_name("FILE");
  sweep_app->add_option("--resume", sweep.resume, "run only cases without a good run in this result")->type_name("FILE");
  sweep_app->add_flag("--anonymous", sweep.anonymous, "leave out host name, paths and command line");
  sweep_app->add_flag("--json", sweep.json, "print the result with its answers as JSON instead of the table");
  sweep_app->add_flag("--quiet", sweep.quiet, "print no progress and no table, only errors");
  sweep.command_line = run.command_line;

  std::string what;
  CLI::App* list_app = app.add_subcommand("list", "list models, devices, suites, data sets, claims and prices");
  list_app->footer(kListExamples);
  list_app->add_option("what", what, "models, devices, suites, datasets, claims or prices (default: all of them)");
  list_app->add_flag("--json", json, "as JSON");

  CLI::App* info_app = app.add_subcommand("info", "describe this machine, with its measured peaks");
  info_app->footer(kInfoExamples);
  info_app->add_flag("--json", json, "as JSON");

  PlanOptions plan;
  CLI::App* plan_app = app.add_subcommand("plan", "show parameters, FLOPs and memory of a model; runs nothing");
  plan_app->footer(kPlanExamples);
  add_case_options(*plan_app, {"model", "batch", "precision", "mode", "device"}, plan.cases);
  plan_app->add_flag("--json", json, "as JSON");

  CostOptions cost;
  CLI::App* cost_app = app.add_subcommand("cost", "compare local with cloud: cost per epoch, break-even hours per month");
  cost_app->footer(kCostExamples);
  cost_app->add_option("result", cost.result, "result file (without one: hours of work only)")->type_name("RESULT");
  cost_app->add_option("--purchase", cost.purchase, "price of the local machine")->type_name("USD");
  cost_app->add_option("--lifetime", cost.lifetime, "years over which its price is spread")->type_name("YEARS");
  cost_app->add_option("--power", cost.power, "power that it draws at work (default: the result's, if metered)")
      ->type_name("WATTS");
  cost_app->add_option("--idle", cost.idle, "power that it draws in the other hours (default: the result's, if metered)")
      ->type_name("WATTS");
  cost_app->add_option("--electricity", cost.electricity, "price of a kWh")->type_name("USD");
  cost_app->add_option("--utilization", cost.utilization, "share of all hours in which it works, above 0 to 1 (default 1)")
      ->type_name("FRACTION");
  cost_app->add_option("--cloud", cost.cloud, "instance of `list prices`, or USD per hour (default: the result's price)")
      ->type_name("PRICE");
  cost_app->add_option("--cloud-speed", cost.cloud_speed, "its samples per second over those of the local machine (default 1)")
      ->type_name("RATIO");
  cost_app->add_flag("--json", json, "as JSON");

  SpeedupOptions speedup;
  CLI::App* speedup_app = app.add_subcommand("speedup", "compare runs: how much faster, cheaper and more efficient");
  speedup_app->footer(kSpeedupExamples);
  speedup_app->add_option("RESULT", speedup.results, "result files, or folders of them");
  speedup_app->add_flag("--best", speedup.best, "compare each device at its own best batch");
  speedup_app->add_flag("--json", json, "as JSON");

  ClaimsOptions claims;
  CLI::App* claims_app = app.add_subcommand("claims", "list what articles claim, or judge each claim by results");
  claims_app->footer(kClaimsExamples);
  claims_app->add_option("result", claims.results, "result files, or folders of them (default: list the claims)")
      ->type_name("RESULT...");
  claims_app->add_flag("--strict", claims.strict, "exit with 1 if a claim is not reproduced");
  claims_app->add_flag("--json", json, "as JSON");

  ExportOptions exported;
  CLI::App* export_app = app.add_subcommand("export", "convert a result to the formats of other tools");
  export_app->footer("Formats:\n" + export_formats_help() + "\n" + kExportExamples);
  export_app->add_option("result", exported.result, "result file")->type_name("RESULT")->required();
  export_app->add_option("--format", exported.format, "one of the formats below")->type_name("FORMAT")->required();
  export_app->add_flag("--raw", exported.raw, "csv: one row per step");
  export_app->add_option("-o,--out", exported.out, "file, or folder if the format supports one (default: stdout)")
      ->type_name("FILE|DIR");

  CompareOptions compare;
  CLI::App* compare_app = app.add_subcommand("compare", "decide whether the new side is slower than the baseline");
  compare_app->footer(kCompareExamples);
  compare_app->add_option("BASELINE", compare.baseline, "result file, or folder of them")->type_name("");
  compare_app->add_option("NEW", compare.contender, "the same for the new side")->type_name("");
  compare_app->add_option("--history", compare.history, "find change points in many results, in place of BASELINE and NEW")
      ->type_name("DIR");
  compare_app->add_option("--threshold", compare.threshold, "smallest slowdown that matters (default 3)")->type_name("PERCENT");
  compare_app->add_flag("--allow-missing", compare.allow_missing, "accept cases that the new side lacks");
  compare_app->add_flag("--force", compare.force, "accept debug builds");
  compare_app->add_flag("--github", compare.github, "print annotations and write a job summary for GitHub Actions");
  compare_app->add_flag("--json", json, "as JSON");
  compare_app->add_option("--interleave", compare.interleave, "measure two binaries interleaved, in place of BASELINE and NEW")
      ->type_name("BINARY")
      ->expected(2);
  compare_app->add_option("--suite", compare.suite, "with --interleave: name of a suite, such as gate, or a suite file")
      ->type_name("NAME|FILE");
  compare_app
      ->add_option("--max-pairs", compare.max_pairs,
                   "with --interleave: most pairs of processes per case, if 10 do not decide (default 20)")
      ->type_name("N");
  compare_app->add_option("--order-seed", compare.order_seed, "with --interleave: seed of the order of turns (default 0)")
      ->type_name("N");
  compare_app->add_option("-o,--out", compare.out, "with --interleave: file for every pair and its step times")
      ->type_name("FILE");
  compare_app->add_flag("--quiet", compare.quiet, "with --interleave: print no progress");
  compare.command_line = run.command_line;

  std::string answers_result;
  CLI::App* answers_app = app.add_subcommand("answers", "print one page of answers from a result, as `run --suite hour` does");
  answers_app->footer(kAnswersExamples);
  answers_app->add_option("result", answers_result, "result file")->type_name("RESULT")->required();
  answers_app->add_flag("--json", json, "as JSON");

  ReportOptions report;
  CLI::App* report_app = app.add_subcommand("report", "write results as one HTML page, with tables and charts");
  report_app->footer(kReportExamples);
  report_app->add_option("RESULT", report.results, "files of `run --out` or of `compare --interleave -o`, or folders of them");
  report_app->add_option("-o,--out", report.out, "the page; an existing file is replaced")->type_name("FILE.html");

  InterleaveOptions interleave;
  CLI::App* interleave_app = app.add_subcommand("interleave", "interleaved runs beside a peer (scripts/peers/take_turns)");
  interleave_app->group("");
  add_case_options(*interleave_app,
                   {"model", "data", "batch", "precision", "threads", "warmup", "seed", "learning_rate", "dropout", "compile",
                    "wait", "bind"},
                   interleave.cases, OfferedTo::peers);
  interleave_app->add_option("--worker", interleave.worker, "the command of the peer's worker")->type_name("WORD");
  interleave_app->add_option("--groups", interleave.groups, "of fresh processes; an interval takes 5 (default 5)")
      ->type_name("N");
  interleave_app->add_option("--rounds", interleave.rounds, "timed rounds per group")->type_name("N");
  interleave_app->add_option("--min-time", interleave.min_time, "or as many as take so long, and at least 6 (default 12)")
      ->type_name("SECONDS");
  interleave_app->add_option("--drop", interleave.drop, "rounds before the timed ones (default 2)")->type_name("N");
  interleave_app->add_option("--order-seed", interleave.order_seed, "of the order of turns (default 0)")->type_name("N");
  interleave_app->add_option("--patience", interleave.patience, "with a worker that neither answers nor works (default 1800)")
      ->type_name("SECONDS");
  interleave_app->add_option("--out", interleave.out, "the result file")->type_name("FILE");
  interleave_app->add_flag("--resume", interleave.resume, "keep the whole groups in the file, and measure the rest");
  interleave_app->add_flag("--json", interleave.json, "the table as JSON");
  interleave_app->add_flag("--quiet", interleave.quiet, "no progress");
  interleave.command_line = run.command_line;

  bool calibrate = false;
  CLI::App* case_app = app.add_subcommand("case", "one case, driven by its parent")->group("");
  case_app->add_flag("--calibrate", calibrate, "the parent will ask for the machine's peaks");

  return guarded([&] {
    try {
      app.parse(renamed_arguments(argc, argv));
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
    if (interleave_app->parsed()) return interleave_command(interleave);
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
