// epochbench run: the parent of all cases.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/case/suite.h"
#include "src/cli/commands.h"
#include "src/report/answers/answers_page.h"
#include "src/report/text/input_text.h"
#include "src/report/text/profile_text.h"
#include "src/report/text/summary.h"
#include "src/session/closing_notes.h"
#include "src/session/measuring.h"
#include "src/session/planned_case.h"

namespace epochbench {
namespace {

constexpr const char* kDefaultSuite = "quick";

struct Request {
  std::vector<CaseSpec> cases;
  std::string repetitions = "1", repetitions_from = "--repetitions";  // and where they were asked for
  std::string budget, budget_from = "--budget";                       // in seconds; empty: none
  bool answers = false;                                               // ends with a page of answers
};

// A suite's cases under the call's options. --device picks among the devices that a case names, and takes the place of none.
std::vector<CaseSpec> cases_of(const CaseBlock& block, const CaseBlock& call) {
  std::vector<CaseSpec> cases = expand(merged(block, call));
  const auto asked = call.find("device");
  if (asked == call.end() || !block.contains("device")) return cases;
  std::set<std::string> named;
  for (const CaseSpec& spec : expand({{"device", block.at("device")}})) named.insert(to_string(spec.device));
  std::erase_if(cases, [&](const CaseSpec& spec) { return !named.contains(to_string(spec.device)); });
  return cases;
}

Request request_of(const RunOptions& options) {
  Request request;
  const bool names_models = options.cases.contains("model");
  if (!options.suite.empty() && names_models) throw CallError("--suite and --model exclude each other; give one of them");
  if (!options.repetitions.empty()) request.repetitions = options.repetitions;
  request.budget = options.budget;
  if (names_models) {
    request.cases = expand(options.cases);
    return request;
  }
  const Suite suite = load_suite(options.suite.empty() ? kDefaultSuite : options.suite);
  if (options.repetitions.empty()) {
    request.repetitions = suite.repetitions;
    request.repetitions_from = "suite " + suite.name + ": repetitions";
  }
  for (const CaseBlock& block : suite.cases)
    for (CaseSpec& spec : cases_of(block, options.cases)) {
      if (!options.repetitions.empty()) spec.repetitions.reset();
      request.cases.push_back(std::move(spec));
      if (request.cases.size() > kMaxCases)
        throw CallError("suite " + suite.name + ": its lists multiply out to more than " + std::to_string(kMaxCases) +
                        " cases; leave some values out");
    }
  if (options.budget.empty()) {
    request.budget = suite.budget;
    request.budget_from = "suite " + suite.name + ": budget_seconds";
  }
  request.answers = suite.answers;
  if (request.cases.empty()) throw CallError("--device: suite " + suite.name + " has no case for any of these devices");
  return request;
}

std::optional<double> budget_of(const Request& asked) try {
  constexpr double kMaxSeconds = 1e7;
  if (asked.budget.empty()) return std::nullopt;
  return parse_real(asked.budget, {0, kMaxSeconds, false, true});
} catch (const CallError& error) {
  throw CallError(asked.budget_from + ": " + error.what());
}

void print_summary(const Result& result, const std::string& path) {
  std::printf("\n%s\n%s\n", machine_text(result.context).c_str(), summary(result).c_str());
  for (const Run& run : result.runs)
    if (run.status == RunStatus::ok && run.profile) std::printf("%s\n", profile_text(run).c_str());
  if (const std::string input = input_text(result); !input.empty()) std::printf("%s\n", input.c_str());
  print_closing_notes(result, path);
}

}  // namespace

int run_command(const RunOptions& options) {
  const Request asked = request_of(options);
  const int repetitions = parse_repetitions(asked.repetitions, asked.repetitions_from);
  MeasuringRequest request;
  request.prices = Prices(options.price);
  request.cases = plan_cases(asked.cases, repetitions);
  for (PlannedCase& planned : request.cases) planned.spec.profile = options.profile;
  request.out = options.out;
  request.resume = options.resume;
  request.worker = options.worker;
  request.budget_seconds = budget_of(asked);
  request.anonymous = options.anonymous;
  request.quiet = options.quiet;
  request.command_line = options.command_line;
  const Measurement measurement = measure(request);
  if (!options.quiet && !measurement.result.runs.empty()) print_summary(measurement.result, measurement.path);
  if (asked.answers && !options.quiet) std::printf("\n%s", answers_page({measurement.path, measurement.result}).c_str());
  return exit_code(request, measurement);
}

}  // namespace epochbench
