// The cases of `compare --interleave`, pair by pair, until the rule is satisfied: order, progress, and the file saved after
// each pair. src/worker/interleaved_pair.h measures a pair; src/analysis/compare/comparison.h says what the pairs mean.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/analysis/compare/decision.h"
#include "src/base/files.h"
#include "src/result/turns.h"
#include "src/session/planned_case.h"
#include "src/worker/case_process.h"

namespace epochbench {

// For speed, seeds are repetitions: cases that differ only in the seed are one case, whose pairs take the seeds in turn.
struct PairedCase {
  Settings settings;  // without the seed
  CaseSpec spec;      // of the first seed; its name has none
  std::optional<Obstacle> obstacle;
  std::vector<std::uint64_t> seeds;  // at least one
};

// The cases of a suite, and those of the suites that both binaries have by that name (their JSON), each once: pairs take the
// place of repetitions. A suite that this program cannot read is left out, and stderr says so. Errors: as load_suite and
// plan_cases; CallError for a case that leaves a file behind, since both binaries would write the same one.
std::vector<PlannedCase> plan_pairs(const std::string& suite, const std::vector<std::string>& of_binaries = {});

// The cases of a call that names a model. Errors: likewise.
std::vector<PlannedCase> plan_pairs(const CaseBlock& block);

// In the order of the first seeds.
std::vector<PairedCase> pool_seeds(const std::vector<PlannedCase>& planned);

// A document of this machine about these cases, in their order, without pairs; `suite` is empty for those of a call. The caller
// says which binaries it is about.
TurnsDocument begin_turns(const std::string& suite, const std::vector<PairedCase>& cases, const PairedRule& rule,
                          const std::vector<std::string>& command_line);

// Adds pairs to a document that was begun with these cases. Measures one pair of every case, then
// the next, so that the evidence of all cases is from the same time. Ends when all are decided or have all their pairs, or at
// an interrupt, which discards the current pair. `file` keeps the document; it may be empty. Returns whether everything is in
// the file.
bool measure_pairs(const std::vector<PairedCase>& cases, const PairedRule& rule, const std::array<WorkerCommand, 2>& binaries,
                   std::optional<ResultFile> file, bool quiet, TurnsDocument& document);

}  // namespace epochbench
