// epochbench sweep: throughput against size, where it flattens and where devices cross.
#include "src/analysis/sweep/curves.h"
#include "src/base/files.h"
#include "src/case/suite.h"
#include "src/cli/commands.h"
#include "src/report/text/result_text.h"
#include "src/session/measuring.h"
#include "src/session/sweep_plan.h"

namespace epochbench {
namespace {

constexpr const char* kSweepExamples = R"(Examples:
  epochbench sweep --model resnet20 --over batch --precision fp32,bf16 --repetitions 5
  epochbench sweep --model mlp --over width --device cpu,cuda:0 --price cpu=0.71,cuda=1.2
  epochbench sweep --model lenet5 --over samples --device cpu,cuda:0 --values 1024,8192,65536
  epochbench sweep --model bert-tiny --over threads --steps 20 --repetitions 5
  epochbench sweep resnet50 --over ranks --values 1,2,4 --scaling weak

Each point runs in its own process, and each repetition takes the points in a random order. A point that runs out of memory is
recorded. A sweep over batch, threads or ranks reports samples per second, one over width FLOP/s, and one over samples the samples
per second of a whole process that trains one epoch. Intervals need 5 repetitions; scaling laws need 4 numbers of threads.
Throughput at 8 to 1,024 ranks is predicted, not measured.
Exit codes: those of run; a point that runs out of memory is an answer, not a failure.)";

struct SweepOptions {
  std::string over;     // batch, width, samples, threads or ranks
  std::string scaling;  // for ranks: strong or weak; empty: strong
  std::string values;   // "1,2,4"; empty: those of the axis
  CaseBlock cases;      // options given on the command line
  int repetitions = 1;
  bool json = false;
  MeasuringRequest request;
};

Axis parse_axis(const std::string& text, const std::string& scaling) {
  constexpr const char* kChoice = "; choose from batch, width, samples, threads, ranks";
  if (text.empty()) throw CallError(std::string("sweep: --over is missing") + kChoice);
  const std::optional<Axis> axis = from_name<Axis>(text);
  if (!axis || axis == Axis::ranks_weak) throw CallError("--over: '" + text + "' is unknown" + kChoice);
  if (scaling.empty()) return *axis;
  if (axis != Axis::ranks) throw CallError("--scaling needs --over ranks; leave it out");
  return located("--scaling",
                 [&] {
                   return parse_word(scaling, {"strong", "weak"});
                 }) == "weak"
             ? Axis::ranks_weak
             : Axis::ranks;
}

int sweep(const SweepOptions& options) {
  const Axis axis = parse_axis(options.over, options.scaling);
  MeasuringRequest request = options.request;
  request.call = options.cases;
  DatasetSizes sizes;
  const std::vector<CaseSpec> cases = sweep_cases(options.cases, axis, options.values, sizes);
  request.cases = plan_cases(cases, options.repetitions, std::move(sizes));
  shuffle_repetitions(request.cases);
  request.conclude = [axis](Result& result) { result.answers = answers_of(result, axis); };
  if (request.dry_run) return dry_run(request);
  const Measurement measurement = measure(request);
  const Result& result = measurement.result;
  const bool on_stdout = request.out == kStandardStream;
  if (!request.quiet && result.answers && (on_stdout || !options.json))
    print_tables(measurement,
                 sweep_text(result) + "\norder: each repetition measured its points in a random order of its own\n", true,
                 on_stdout ? stderr : stdout);
  if (options.json || on_stdout) print_result(request, measurement);
  print_resume_command(request, measurement);
  return exit_code(request, measurement, {RunStatus::out_of_memory});
}

}  // namespace

void add_sweep(Commands& commands) {
  auto [command, options] =
      commands.add("sweep", "measure throughput against size: the best, and where devices cross", kSweepExamples, sweep);
  MeasuringRequest& request = options.request;
  request.command_line = commands.arguments();
  command.add_option("--over", options.over, "what to vary: batch, width, samples, threads, ranks")
      ->type_name("AXIS")
      ->group("What to run");
  command.add_option("--values", options.values, "points (default: powers of two that fit into this machine)")
      ->type_name("N,...")
      ->group("What to run");
  command.add_option("--scaling", options.scaling, "strong or weak; weak: each rank has --batch samples (default strong)")
      ->type_name("KIND")
      ->group("What to run");
  commands.add_case_options(command, options.cases);
  commands.add_model_argument(command, options.cases);
  add_parsed(command, "--repetitions", options.repetitions, parse_repetitions,
             "repetitions of every point, each in its own process (default 1)")
      ->type_name("N")
      ->group("How long");
  add_options_of_measuring(command, request);
  command.add_flag("--json", options.json, "print the result with its answers as JSON instead of the table")->group("Output");
}

}  // namespace epochbench
