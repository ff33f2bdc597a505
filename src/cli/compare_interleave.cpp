// epochbench compare --interleave: runs of two binaries interleaved over a suite; is the second one slower?
#include <cstdio>
#include <set>
#include <utility>

#include "epochbench/gpu.h"
#include "src/analysis/compare/turns_comparison.h"
#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/base/signals.h"
#include "src/case/suite.h"
#include "src/cli/commands.h"
#include "src/cli/compare_output.h"
#include "src/machine/environment.h"
#include "src/session/interleaved_pairs.h"
#include "src/session/planned_case.h"
#include "src/worker/interleaved_pair.h"

namespace epochbench {
namespace {

PairedRule asked_rule(const CompareOptions& options) {
  PairedRule rule;
  rule.threshold = comparison_threshold(options);
  try {
    if (!options.max_pairs.empty())
      rule.max_pairs = static_cast<std::size_t>(parse_integer(options.max_pairs, 1, kMostPairsOfACall));
  } catch (const CallError& error) {
    throw CallError(std::string("--max-pairs: ") + error.what());
  }
  return rule;
}

std::uint64_t order_seed_of(const CompareOptions& options) try {
  return options.order_seed.empty() ? 0 : parse_seed(options.order_seed);
} catch (const CallError& error) {
  throw CallError(std::string("--order-seed: ") + error.what());
}

void refuse_beside_interleave(const CompareOptions& options) {
  if (!options.baseline.empty())
    throw CallError("--interleave: takes two binaries and no results, so leave " + options.baseline + " out");
  if (options.suite.empty()) throw CallError("--interleave: which cases? Give --suite, such as --suite gate");
}

// Each case once: pairs take the place of repetitions. What a case leaves behind, both sides would leave at one place.
std::vector<PlannedCase> cases_of(const std::string& name) {
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

TurnsCase described(const PlannedCase& planned) {
  TurnsCase turns;
  turns.name = planned.spec.name;
  turns.model = planned.spec.model;
  turns.device = to_string(planned.spec.device);
  turns.precision = name(planned.spec.precision);
  turns.batch = *planned.spec.batch;
  if (planned.spec.device.kind == DeviceKind::cpu) turns.threads = planned.spec.threads;
  if (planned.obstacle) turns.skipped = planned.obstacle->reason;
  return turns;
}

BuildInfo identified(const std::string& binary, bool force) try {
  BuildInfo build = identify_binary(binary, interrupted);
  if (is_debug_build(build.build_type) && !force)
    throw CallError(binary + ": a " + (build.build_type.empty() ? "build without a type" : build.build_type + " build") +
                    ", whose times say nothing of a release; build it with CMAKE_BUILD_TYPE=Release, or give --force");
  return build;
} catch (const UnsuitableBinary& error) {
  throw CallError(std::string("--interleave: ") + error.what(), interrupted() ? kExitInterrupted : kExitCallIsWrong);
}

void print_skipped(const std::vector<PlannedCase>& cases) {
  std::set<std::string> printed;
  for (const PlannedCase& planned : cases)
    if (planned.obstacle && printed.insert(planned.obstacle->reason).second)
      print_error("skipped: " + planned.obstacle->reason);
}

}  // namespace

int compare_interleave(const CompareOptions& options) {
  refuse_beside_interleave(options);
  const PairedRule rule = asked_rule(options);
  const std::vector<PlannedCase> cases = cases_of(options.suite);
  catch_interrupts();
  TurnsDocument document;
  document.order_seed = order_seed_of(options);
  document.binaries = {options.interleave.at(0), options.interleave.at(1)};
  for (const Side side : kSides) document.builds[side] = identified(document.binaries[side], options.force);
  document.context = describe_context(options.command_line);
  document.context.gpus = list_gpus();
  document.suite = options.suite;
  document.threshold = rule.threshold;
  document.max_pairs = static_cast<std::int64_t>(rule.max_pairs);
  for (const PlannedCase& planned : cases) document.cases.push_back(described(planned));
  InterleavedPairs pairs(cases, rule, options.out, options.quiet, document);
  print_skipped(cases);
  const bool kept = pairs.run();
  const int code = present(compare_turns(document, rule), options);
  return interrupted() ? kExitInterrupted : kept ? code : kExitCallIsWrong;
}

}  // namespace epochbench
