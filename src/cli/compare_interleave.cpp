// epochbench compare --interleave: runs of two binaries interleaved over a suite; is the second one slower?
#include <utility>

#include "epochbench/gpu.h"
#include "src/analysis/compare/comparison.h"
#include "src/base/errors.h"
#include "src/case/suite.h"
#include "src/cli/compare.h"
#include "src/machine/environment.h"
#include "src/session/interleaved_pairs.h"
#include "src/session/planned_case.h"
#include "src/worker/interleaved_pair.h"

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
    throw CallError("--interleave: takes two binaries and no results, so leave " + options.baseline + " out");
  if (options.suite.empty()) throw CallError("--interleave: which cases? Give --suite, such as --suite gate");
}

// Each case once: pairs take the place of repetitions. What a case leaves behind, both sides would leave at one place.
std::vector<PlannedCase> planned_cases(const std::string& name) {
  const Suite suite = load_suite(name);
  std::vector<CaseSpec> cases;
  for (const CaseBlock& block : suite.cases)
    for (CaseSpec& spec : expand(block)) {
      if (!spec.save.empty() || !spec.trace.empty())
        throw CallError("suite " + suite.name + ": save and trace: both binaries would write there; leave them out");
      spec.repetitions.reset();
      cases.push_back(std::move(spec));
    }
  return plan_cases(cases, 1);
}

TurnsCase described(const PairedCase& one) {
  TurnsCase turns;
  turns.name = one.spec.name;
  turns.model = one.spec.model;
  turns.device = to_string(one.spec.device);
  turns.precision = name(one.spec.precision);
  turns.batch = *one.spec.batch;
  turns.settings = one.settings;
  if (one.spec.device.kind == DeviceKind::cpu) turns.threads = one.spec.threads;
  if (one.obstacle) turns.skipped = one.obstacle->reason;
  return turns;
}

BuildInfo identified(const WorkerCommand& binary, const CompareOptions& options) try {
  BuildInfo build = identify_binary(binary, interrupted);
  refuse_debug_build(binary.program->path() + ": a", build.build_type, "build it", options);
  return build;
} catch (const UnsuitableBinary& error) {
  throw CallError(std::string("--interleave: ") + error.what(), interrupted() ? kExitInterrupted : kExitCallIsWrong);
}

}  // namespace

int compare_interleave(const CompareOptions& options) {
  refuse_beside_interleave(options);
  const PairedRule rule = rule_of(options);
  const std::vector<PlannedCase> planned = planned_cases(options.suite);
  const std::vector<PairedCase> cases = pool_seeds(planned);
  std::optional<ResultFile> file;
  if (!options.out.empty()) file.emplace(options.out, options.overwrite ? Existing::replaced : Existing::refused);
  const std::array<WorkerCommand, 2> binaries{options.interleave.at(0), options.interleave.at(1)};
  catch_interrupts();
  TurnsDocument document;
  document.order_seed = options.order_seed.value_or(0);
  document.binaries = {options.interleave.at(0), options.interleave.at(1)};
  for (const Side side : kSides) document.builds[side] = identified(binaries[side], options);
  document.context = describe_context(options.command_line);
  document.context.gpus = list_gpus();
  document.suite = options.suite;
  document.threshold = rule.threshold;
  document.max_pairs = static_cast<std::int64_t>(rule.max_pairs);
  for (const PairedCase& one : cases) document.cases.push_back(described(one));
  print_obstacles(planned);
  const bool kept = measure_pairs(cases, rule, binaries, std::move(file), options.quiet, document);
  const int code = present(compare_turns(document, rule), options);
  return interrupted() ? kExitInterrupted : kept ? code : kExitCallIsWrong;
}

}  // namespace epochbench
