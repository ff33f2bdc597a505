// epochbench bisect: which commit made training slower?
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/report/compare/compare_report.h"
#include "src/session/bisecting.h"

namespace epochbench {
namespace {

constexpr const char* kBisectExamples = R"(Examples:
  epochbench bisect v1.2 main                             which commit made a case of suite gate slower?
  epochbench bisect 1a2b3c4 HEAD --case resnet20          only the case that a gate has reported
  epochbench bisect v1.2 main --build 'make -j' --binary bin/epochbench    another way to build
  epochbench bisect v1.2 main --resume                    continues after an interrupt

Call it in the repository. The commits are those after GOOD along first parents up to BAD. First GOOD and BAD are
interleaved over the suite, as in `compare --interleave`. Then each commit is interleaved with GOOD on the slower case, for 8 to
--max-pairs pairs, until it is clear whether the commit has more or less than half of the slowdown. Commits that do not build, do
not finish the case or change its workload are skipped. Finally the first slow commit is interleaved with the one before it;
bisect reports a slowdown only if these pairs show it too.
--folder keeps the builds of commits and all pairs.
Exit codes: 0 found the commit; 1 BAD is not slower; 2 the command line, GOOD or BAD is wrong; 4 several commits remain possible;
130 interrupted.)";

constexpr std::int64_t kMinPairs = 8;  // the first look

struct BisectOptions {
  BisectRequest request;
  bool json = false;
};

int bisect_commits(const BisectOptions& options) {
  const BisectRequest& request = options.request;
  if (request.resume && request.overwrite)
    throw CallError(
        "bisect: --resume continues with the pairs of an earlier call, --overwrite removes them; give one of the two");
  const BisectOutcome outcome = bisect(request);
  if (!outcome.answer) {
    print(options.json ? print_json(compare_json(outcome.ends)) : fitted(compare_text(outcome.ends)));
    const Finding verdict = verdict_of(outcome.ends);
    const bool undecided = verdict == Finding::inconclusive || verdict == Finding::not_compared;
    print_error("bisect: no case is shown to be slower at BAD than at GOOD, so there is nothing to look for");
    return undecided ? kExitInconclusive : kExitAnswerIsNo;
  }
  print(options.json ? print_json(bisect_json(*outcome.answer)) : fitted(bisect_text(*outcome.answer)));
  return outcome.answer->names_one() ? kExitDone : kExitInconclusive;
}

}  // namespace

void add_bisect(Commands& commands) {
  auto [command, options] =
      commands.add("bisect", "find the commit that made training slower", kBisectExamples, bisect_commits);
  BisectRequest& request = options.request;
  request.command_line = commands.arguments();
  request.suite = "gate";
  request.folder = "epochbench-bisect";
  command.add_option("GOOD", request.good, "commit that is fast, an ancestor of BAD, such as v1.2")
      ->type_name("GOOD")
      ->required();
  command.add_option("BAD", request.bad, "commit that is slow, such as main")->type_name("BAD")->required();
  command.add_option("--suite", request.suite, "name of a suite, or a suite file (default gate)")->type_name("NAME|FILE");
  command
      .add_option("--case", request.case_name,
                  "the case to follow, or the beginning of its name (default: the case with the clearest slowdown)")
      ->type_name("NAME");
  command.add_option("--build", request.recipe.command, "command that builds a commit (default: scripts/run --version)")
      ->type_name("COMMAND");
  command.add_option("--binary", request.recipe.binary, "program that the build makes (default: build/epochbench)")
      ->type_name("PATH");
  command.add_option("--folder", request.folder, "folder of builds and pairs (default: epochbench-bisect)")->type_name("DIR");
  add_parsed(command, "--threshold", request.threshold, parse_percent, "smallest slowdown that matters (default 3)")
      ->type_name("PERCENT");
  add_parsed(command, "--max-pairs", request.max_pairs, whole<std::size_t>(kMinPairs, kMaxPairsOfACall),
             "maximum number of pairs of processes per commit (default 40)")
      ->type_name("N");
  command.add_flag("--resume", request.resume, "continue with the pairs and builds of an earlier call");
  command.add_flag("--overwrite", request.overwrite, "begin again, with the builds of the earlier call");
  command.add_flag("--json", options.json, "print JSON");
  command.add_flag("-q,--quiet", request.quiet, "print no progress");
}

}  // namespace epochbench
