// epochbench sweep: throughput against size, where it flattens and where devices cross.
#include <cstdio>
#include <utility>

#include "src/analysis/sweep/sweep_answers.h"
#include "src/base/errors.h"
#include "src/cli/commands.h"
#include "src/report/text/sweep_text.h"
#include "src/result/anonymous.h"
#include "src/result/result_json.h"
#include "src/session/closing_notes.h"
#include "src/session/measuring.h"
#include "src/session/sweep_plan.h"

namespace epochbench {
namespace {

Axis parse_axis(const std::string& text) {
  if (text.empty()) throw CallError("sweep: --over is missing; choose from batch, width, samples, threads");
  const std::optional<Axis> axis = axis_from_name(text);
  if (!axis) throw CallError("--over: '" + text + "' is unknown; choose from batch, width, samples, threads");
  return *axis;
}

void print_sweep(const Result& result, const std::string& path) {
  std::printf("\n%s\n%s\n", machine_text(result.context).c_str(), sweep_text(result).c_str());
  std::printf("order: each repetition measured its points in a random order of its own\n");
  print_closing_notes(result, path);
}

}  // namespace

int sweep_command(const SweepOptions& options) {
  const Axis axis = parse_axis(options.over);
  const int repetitions = parse_repetitions(options.repetitions.empty() ? "1" : options.repetitions, "--repetitions");
  MeasuringRequest request;
  request.prices = Prices(options.price);
  request.cases = plan_cases(sweep_cases(options.cases, axis, options.values), repetitions);
  shuffle_repetitions(request.cases);
  request.out = options.out;
  request.resume = options.resume;
  request.anonymous = options.anonymous;
  request.quiet = options.quiet;
  request.command_line = options.command_line;
  request.conclude = [axis](Result& result) { result.answers = answers_of(result, axis); };
  const Measurement measurement = measure(request);
  const Result& result = measurement.result;
  if (options.json)
    std::fputs(result_to_text(options.anonymous ? anonymous(result) : result).c_str(), stdout);
  else if (!options.quiet && result.answers)
    print_sweep(result, measurement.path);
  return exit_code(request, measurement, {RunStatus::out_of_memory});
}

}  // namespace epochbench
