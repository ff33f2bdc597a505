// epochbench compare --interleave: runs of two binaries interleaved over a suite; is the second one slower?
#include <filesystem>
#include <utility>

#include "src/analysis/compare/comparison.h"
#include "src/base/errors.h"
#include "src/cli/compare.h"
#include "src/result/anonymous.h"
#include "src/session/interleaved_pairs.h"
#include "src/session/planned_case.h"
#include "src/worker/interleaved_pair.h"
#include "src/worker/launcher.h"

namespace epochbench {
namespace {

PairedRule rule_of(const CompareOptions& options) {
  PairedRule rule;
  rule.threshold = options.threshold.value_or(kDefaultThreshold);
  rule.max_pairs = options.max_pairs.value_or(rule.max_pairs);
  return rule;
}

void refuse_beside_interleave(const CompareOptions& options) {
  if (!options.baseline.empty())
    throw CallError("--interleave compares two binaries and reads no results; leave out " + options.baseline);
}

BinaryIdentity identified(const WorkerCommand& binary, const CompareOptions& options) try {
  BinaryIdentity identity = identify_binary(binary, options.suite, interrupted);
  refuse_debug_build(binary.program->path() + ": a", identity.build.build_type, "build it", options);
  return identity;
} catch (const UnsuitableBinary& error) {
  throw CallError(std::string("--interleave: ") + error.what(), interrupted() ? kExitInterrupted : kExitCallIsWrong);
}

}  // namespace

int compare_interleave(const CompareOptions& call) {
  CompareOptions options = call;
  const bool of_model = options.cases.contains("model");
  if (of_model && !options.suite.empty()) throw CallError("--suite and --model exclude each other; give one of them");
  if (!of_model && !options.cases.empty()) {
    const std::string& option = options.cases.begin()->second.where;
    throw CallError(option + " is of a model, not of a suite; add --model, or leave out " + option);
  }
  if (!of_model && options.suite.empty()) options.suite = "gate";
  refuse_several_copies();
  refuse_beside_interleave(options);
  const PairedRule rule = rule_of(options);
  // Refuses what is wrong before a binary is started.
  std::vector<PlannedCase> planned = of_model ? plan_pairs(options.cases) : plan_pairs(options.suite);
  const std::array<WorkerCommand, 2> binaries{options.interleave.at(0), options.interleave.at(1)};
  catch_interrupts();
  std::array<BuildInfo, 2> builds;
  std::vector<std::string> suites;
  for (const Side side : kSides) {
    BinaryIdentity identity = identified(binaries[side], options);
    builds[side] = std::move(identity.build);
    if (identity.suite) suites.push_back(std::move(*identity.suite));
  }
  if (!of_model) planned = plan_pairs(options.suite, suites);
  const std::vector<PairedCase> cases = pool_seeds(planned);
  std::vector<std::string> names;
  for (const PairedCase& one : cases) names.push_back(one.spec.name);
  std::vector<std::string> allowed = allowed_cases(options, names);
  std::optional<ResultFile> file;
  if (!options.out.empty()) file.emplace(options.out, options.overwrite ? Existing::replaced : Existing::refused);
  TurnsDocument document = begin_turns(options.suite, cases, rule, options.command_line);
  document.builds = std::move(builds);
  document.binaries = {options.interleave.at(0), options.interleave.at(1)};
  document.order_seed = options.order_seed.value_or(0);
  if (options.anonymous) {
    document.context = anonymous(std::move(document.context));
    for (std::string& binary : document.binaries)
      if (std::filesystem::path(binary).is_absolute()) binary = "<path>";
  }
  print_obstacles(planned);
  const bool kept = measure_pairs(cases, rule, binaries, std::move(file), options.quiet, document);
  Comparison comparison = compare_turns(document, rule);
  comparison.allowed = std::move(allowed);
  const int code = present(std::move(comparison), options);
  return interrupted() ? kExitInterrupted : kept ? code : kExitCallIsWrong;
}

}  // namespace epochbench
