// epochbench compare: is the new side slower than the baseline? Out of result files.
#include <utility>

#include "src/analysis/compare/comparison.h"
#include "src/base/errors.h"
#include "src/cli/commands.h"
#include "src/cli/compare_history.h"
#include "src/cli/compare_output.h"
#include "src/cli/result_arguments.h"

namespace epochbench {
namespace {

void refuse_debug_builds(const std::vector<NamedResult>& results) {
  for (const NamedResult& source : results)
    if (const std::string& type = source.result.context.build_type; is_debug_build(type))
      throw CallError(source.path + ": measured by a " + (type.empty() ? "build without a type" : type + " build") +
                      ", whose times say nothing of a release; measure with CMAKE_BUILD_TYPE=Release, or give --force");
}

std::vector<NamedResult> read_side(const std::string& argument, bool force) {
  std::vector<NamedResult> results = read_result_arguments("compare", {argument});
  if (!force) refuse_debug_builds(results);
  return results;
}

void refuse_options_of_turns(const CompareOptions& options) {
  for (const auto& [given, option] : {std::pair(!options.suite.empty(), "--suite"),
                                      {!options.max_pairs.empty(), "--max-pairs"},
                                      {!options.order_seed.empty(), "--order-seed"},
                                      {!options.out.empty(), "--out"},
                                      {options.quiet, "--quiet"}})
    if (given)
      throw CallError(std::string(option) +
                      ": belongs to binaries that take turns; add --interleave BINARY_A BINARY_B, or leave it out");
}

void require_cases(const Comparison& comparison) {
  if (comparison.cases.empty() && comparison.missing.empty() && comparison.changed.empty())
    throw CallError("compare: no run of " + comparison.sides[0].label + " is ok, so there is nothing to compare " +
                    comparison.sides[1].label + " with; measure the baseline anew");
}

}  // namespace

int compare_command(const CompareOptions& options) {
  if (!options.history.empty() && !options.interleave.empty())
    throw CallError("--history and --interleave exclude each other; give one of them");
  if (!options.interleave.empty()) return compare_interleave(options);
  refuse_options_of_turns(options);
  if (!options.history.empty()) return compare_history(options);
  if (options.contender.empty())
    throw CallError(std::string("compare: no ") + (options.baseline.empty() ? "BASELINE and no NEW" : "NEW") +
                    "; name two files that `epochbench run --out FILE` wrote, or two folders of them");
  const double threshold = comparison_threshold(options);
  const auto baseline = read_side(options.baseline, options.force), contender = read_side(options.contender, options.force);
  Comparison comparison = compare_results(baseline, contender, threshold);
  comparison.sides[0].label = options.baseline;
  comparison.sides[1].label = options.contender;
  require_cases(comparison);
  return present(std::move(comparison), options);
}

}  // namespace epochbench
