// The hidden subcommand that scripts/peers/take_turns calls: epochbench and workers of a peer take turns at the same cases.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "src/analysis/compare/peer_ratios.h"
#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/base/signals.h"
#include "src/case/choices.h"
#include "src/cli/commands.h"
#include "src/data/dataset_sizes.h"
#include "src/report/text/peer_table.h"
#include "src/session/interleaved_groups.h"
#include "src/session/measuring.h"

namespace epochbench {
namespace {

std::int64_t whole(const std::string& text, const char* option, std::int64_t minimum, std::int64_t by_default) try {
  return text.empty() ? by_default : parse_integer(text, minimum, 1'000'000);
} catch (const CallError& error) {
  throw CallError(std::string(option) + ": " + error.what());
}

double seconds(const std::string& text, const char* option, double by_default) try {
  return text.empty() ? by_default : parse_real(text, {0, 1e6});
} catch (const CallError& error) {
  throw CallError(std::string(option) + ": " + error.what());
}

std::string label_of(const CaseSpec& spec) {
  if (spec.framework == Framework::epochbench) return "epochbench";
  return "PyTorch " + (spec.compile == "default" ? "compile" : spec.compile);
}

// The same cases of epochbench and of each peer: workload, device and threads are equal, what is the peer's own differs.
std::vector<std::vector<GroupWorker>> cases_of(const InterleaveOptions& options) {
  CaseBlock ours = options.cases, theirs = options.cases;
  ours.erase("compile");
  theirs.try_emplace("compile", OptionValues{{"eager", "default"}, "--compile"});
  theirs["framework"] = {{name(Framework::pytorch)}, "--worker"};
  DatasetSizes sizes;
  std::vector<std::vector<GroupWorker>> cases;
  for (const CaseSpec& spec : expand(ours)) {
    auto& workers = cases.emplace_back();
    workers.push_back({label_of(spec), WorkerCommand(own_binary()), plan_case(spec, sizes)});
    for (CaseSpec& peer : expand(theirs)) {
      if (peer.model != spec.model || peer.batch != spec.batch || peer.precision != spec.precision || peer.seed != spec.seed)
        continue;
      peer.threads = workers.front().planned.spec.threads;
      workers.push_back({label_of(peer), WorkerCommand(options.worker), plan_case(peer, sizes)});
    }
  }
  return cases;
}

}  // namespace

int interleave_command(const InterleaveOptions& options) {
  if (!options.cases.contains("model")) throw CallError("--model is missing; give one, such as --model resnet20");
  if (options.out.empty()) throw CallError("--out is missing; name the result file");
  GroupsRequest request;
  request.cases = cases_of(options);
  request.groups = static_cast<int>(whole(options.groups, "--groups", 1, request.groups));
  request.dropped_rounds = whole(options.drop, "--drop", 0, request.dropped_rounds);
  if (!options.rounds.empty()) request.rounds = whole(options.rounds, "--rounds", 1, 0);
  request.min_time_seconds = seconds(options.min_time, "--min-time", request.min_time_seconds);
  request.hung_seconds = seconds(options.patience, "--patience", request.hung_seconds);
  if (!options.order_seed.empty()) request.order_seed = parse_seed(options.order_seed);
  request.out = options.out;
  request.resume = options.resume;
  request.quiet = options.quiet;
  request.command_line = options.command_line;
  const GroupsMeasurement measurement = measure_groups(request);
  const std::vector<PeerRow> rows = peer_rows(measurement.runs);
  std::fputs((options.json ? print_json(peer_json(rows)) : peer_table(rows)).c_str(), stdout);
  if (interrupted()) return kExitInterrupted;
  return !measurement.written ? kExitCallIsWrong : measurement.failed ? kExitAnswerIsNo : kExitDone;
}

}  // namespace epochbench
