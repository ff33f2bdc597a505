// epochbench speedup: pairs of runs of one workload, from result files.
#include "src/analysis/speedup/speedup.h"

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/published/import.h"
#include "src/report/text/answer_text.h"
#include "src/session/capabilities.h"

namespace epochbench {
namespace {

constexpr const char* kSpeedupExamples = R"(Examples:
  epochbench run resnet20 --kernels best,portable --threads 1,2 --repetitions 5 --out mine.json
  epochbench speedup mine.json
  epochbench run --model resnet50 --device cpu,cuda:0 --precision fp32,bf16 --repetitions 5 --out both.json
  epochbench speedup both.json                          a GPU against the CPU
  epochbench speedup cpu-box.json gpu-box.json --json   results of two machines
  epochbench speedup sweep.json --best                  each device at its own best batch
  epochbench speedup trained.json --to quality          time to the target of --until, seed by seed
  epochbench speedup mine.json --with published         against entries of DAWNBench, with the differences

The fastest GPU run of a model is compared with the fastest CPU run first, whatever their precision and batch. Further pairs are a
GPU run and the CPU run in the same precision, a 16-bit run and the fp32 and tf32 runs on the same device, a run and the same run
with --without or --kernels portable, and several threads and the fewest. An interval needs 5 repetitions per side. Notes say what
makes a pair unfair.
Exit codes: 0 done; 2 a file is not a result, or no two runs can be paired.)";

struct SpeedupOptions {
  std::vector<std::string> results;  // files and folders
  std::string with;                  // "published"
  std::string to;                    // "quality"
  bool best = false, verbose = false, json = false;
};

std::string why_no_pair(const Speedup& speedup, SpeedupOf what) {
  std::string message = "speedup: no two runs can be paired";
  if (speedup.unpaired.empty()) return message + ": the results have no runs; name others";
  const Unpaired& first = speedup.unpaired.front();
  message += ": " + first.name + ": " + first.reason;
  if (speedup.unpaired.size() > 1) message += "; and " + std::to_string(speedup.unpaired.size() - 1) + " more";
  const std::string options = options_to_compare();
  if (what == SpeedupOf::to_quality)
    return message + "; train to one target in several ways, such as `epochbench run --model lenet5 --until accuracy=0.97 " +
           options + " --repetitions 10`";
  return message + "; measure one workload in several ways, such as `epochbench run --model resnet20 " + options +
         " --repetitions 5`";
}

// Runs of the results next to published ones of the same model; refused if nothing matches.
int beside_published(const std::vector<NamedResult>& results, const SpeedupOptions& options) {
  const PublishedPairs published = published_pairs(results, embedded_published());
  if (published.pairs.empty())
    throw CallError("speedup: --with published: no run here is of a model and image size that DAWNBench has, which is " +
                    joined(published.known) + "; measure one, such as `epochbench run --model resnet50`");
  print(options.json ? print_json(published_pairs_json(published)) : fitted(published_pairs_text(published, options.verbose)));
  return kExitDone;
}

SpeedupOf asked(const SpeedupOptions& options) {
  if (options.to.empty()) return options.best ? SpeedupOf::best_batch : SpeedupOf::same_batch;
  located("--to", [&] { parse_word(options.to, {"quality"}); });
  if (options.best) throw CallError("--best: a time to a target is of one batch; leave out --best or --to");
  return SpeedupOf::to_quality;
}

int speedup(const SpeedupOptions& options) {
  const auto results = read_result_arguments("speedup", options.results);
  if (!options.with.empty()) {
    located("--with", [&] { parse_word(options.with, {name(EvidenceClass::published)}); });
    if (options.best || !options.to.empty())
      throw CallError(std::string(options.best ? "--best" : "--to") +
                      ": --with published pairs every run as it is; leave out one of the two");
    return beside_published(results, options);
  }
  const SpeedupOf what = asked(options);
  const Speedup answer = speedup_of(results, what);
  if (answer.pairs.empty()) throw CallError(why_no_pair(answer, what));
  print(options.json ? print_json(speedup_json(answer)) : fitted(speedup_text(answer, options.verbose)));
  return kExitDone;
}

}  // namespace

void add_speedup(Commands& commands) {
  auto [command, options] =
      commands.add("speedup", "compare runs: how much faster, cheaper and more efficient", kSpeedupExamples, speedup);
  command.add_option("RESULT", options.results, "result files, or folders of them");
  command.add_flag("--best", options.best, "compare each device at its own best batch");
  command.add_option("--to", options.to, "quality: compare the times to the target of --until, seed by seed")
      ->type_name("WHAT");
  command.add_option("--with", options.with, "published: compare with what others published for the same model and image size")
      ->type_name("CLASS");
  command.add_flag("-v,--verbose", options.verbose, "print all notes, also on a terminal");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace epochbench
