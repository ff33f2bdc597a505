// epochbench interleave, which scripts/peers/take_turns calls: epochbench and workers of a peer take turns at the same cases.
#include "src/analysis/compare/peer_ratios.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/choices.h"
#include "src/cli/commands.h"
#include "src/data/dataset_sizes.h"
#include "src/report/text/answer_text.h"
#include "src/session/interleaved_groups.h"
#include "src/session/machine.h"
#include "src/session/peers.h"

namespace epochbench {
namespace {

struct InterleaveOptions {
  CaseBlock cases;
  std::vector<std::string> worker;  // the command of the peer's worker
  GroupsRequest request;
  bool json = false;
};

std::string label_of(const CaseSpec& spec) {
  if (spec.framework == Framework::epochbench) return "epochbench";
  return "PyTorch " + (spec.compile == "default" ? "compile" : spec.compile);
}

// The same cases of epochbench and of each peer: workload, device and threads are equal; only what is specific to the peer
// differs.
std::vector<std::vector<GroupWorker>> cases_of(const InterleaveOptions& options) {
  CaseBlock ours = options.cases;
  const std::vector<std::string> modes = take_compile_modes(ours);
  DatasetSizes sizes;
  std::vector<std::vector<GroupWorker>> cases;
  for (const CaseSpec& spec : expand(ours)) {
    auto& workers = cases.emplace_back();
    workers.push_back({label_of(spec), WorkerCommand::own(), plan_case(spec, sizes)});
    for (const CaseSpec& peer : peers_for(spec, modes))
      workers.push_back({label_of(peer), WorkerCommand(options.worker), plan_case(peer, sizes)});
  }
  return cases;
}

int interleave(const InterleaveOptions& options) {
  if (!options.cases.contains("model")) throw CallError("--model is missing; give one, such as --model resnet20");
  if (options.request.out.empty()) throw CallError("--out is missing; name the result file");
  GroupsRequest request = options.request;
  request.cases = cases_of(options);
  const GroupsMeasurement measurement = measure_groups(request);
  const std::vector<PeerRow> rows = peer_rows(measurement.runs);
  print(options.json ? print_json(peer_json(rows)) : fitted(peer_table(rows)));
  if (interrupted()) return kExitInterrupted;
  return !measurement.written ? kExitCallIsWrong : measurement.failed ? kExitAnswerIsNo : kExitDone;
}

}  // namespace

void add_interleave(Commands& commands) {
  constexpr std::int64_t kMax = 1'000'000;
  constexpr double kMaxSeconds = 1e6;
  auto [command, options] =
      commands.add("interleave", "interleaved runs beside a peer (scripts/peers/take_turns)", "", interleave);
  GroupsRequest& request = options.request;
  request.command_line = commands.arguments();
  command.group("");
  commands.add_case_options(command, options.cases, OfferedTo::peers,
                            {"model", "data", "batch", "precision", "threads", "warmup", "seed", "learning_rate",
                             "weight_decay", "label_smoothing", "dropout", "compile", "wait", "bind"});
  command.add_option("--worker", options.worker, "the command of the peer's worker")->type_name("WORD");
  add_parsed(command, "--groups", request.groups, whole<int>(1, kMax), "of fresh processes; an interval takes 5 (default 5)")
      ->type_name("N");
  add_parsed(command, "--rounds", request.rounds, whole(1, kMax), "timed rounds per group")->type_name("N");
  add_parsed(command, "--min-time", request.min_time_seconds, real({0, kMaxSeconds}),
             "or as many as take so long, and at least 6 (default 12)")
      ->type_name("SECONDS");
  add_parsed(command, "--drop", request.dropped_rounds, whole(0, kMax), "rounds before the timed ones (default 2)")
      ->type_name("N");
  add_parsed(command, "--order-seed", request.order_seed, parse_seed, "of the order of turns (default 0)")->type_name("N");
  add_parsed(command, "--patience", request.hung_seconds, real({0, kMaxSeconds}),
             "with a worker that neither answers nor works (default 1800)")
      ->type_name("SECONDS");
  command.add_option("--out", request.out, "the result file")->type_name("FILE");
  command.add_flag("--resume", request.resume, "keep the whole groups in the file, and measure the rest");
  command.add_flag("--json", options.json, "print the table as JSON");
  command.add_flag("-q,--quiet", request.quiet, "no progress");
}

}  // namespace epochbench
