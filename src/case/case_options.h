// The options that describe cases: one table for the command line and for suite files, whose keys are the option's names with
// underscores. Values stay text until a case is built, so both are checked by the same functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "epochbench/model.h"
#include "src/case/case.h"

namespace epochbench {

inline constexpr int kMaxRepetitions = 10'000;

// A case as it was asked for; what is empty is left to the model or the machine.
struct CaseDraft {
  Model model;
  std::string device = "cpu", precision = "fp32", mode = "train", order = "shuffled";
  std::optional<std::string> data;
  std::optional<std::int64_t> batch, epoch_samples;
  std::optional<int> threads;
  std::string pin = "auto";
  bool meters = true;
  int warmup = 3;
  std::uint64_t seed = 0;
  std::optional<double> learning_rate, dropout;
  int loader_threads = CaseSpec{}.loader_threads;
  double decode_cost_seconds = 0;
  std::string cache = "none";
  std::string init, save, trace;  // paths; empty: not asked for
  Without without;
  std::string gemm = "best";
  std::optional<int> repetitions;
  StopSpec stop;
  // Skipped where the machine lacks them; they change nothing of the case.
  std::optional<std::string> beside_device;
  std::optional<int> least_cores;
};

struct CaseOption {
  const char* key;         // "min_time"
  const char* value_name;  // "SECONDS"
  const char* help;
  bool is_list;                                               // takes several values, divided by commas
  bool stops;                                                 // one of the options that say when a case ends
  void (*apply)(CaseDraft& draft, const std::string& value);  // throws CallError, std::invalid_argument
};

const std::vector<CaseOption>& case_options();  // in the order in which lists multiply out, the first slowest
const CaseOption* find_case_option(const std::string& key);
std::string flag(const CaseOption& option);  // "--min-time"

// The values that a call or a part of a suite gives to some options, and where, for messages.
struct OptionValues {
  std::vector<std::string> values;
  std::string where;  // "--batch", "suite quick: cases[1].batch"
};
using CaseBlock = std::map<std::string, OptionValues>;  // by key

// Splits "mlp:width=4096,depth=3,lenet5" where the option is a list. Errors: CallError.
std::vector<std::string> split_values(const CaseOption& option, const std::string& text);

// `over` replaces what `block` says of the same key; any stopping option in it replaces all of the block's.
CaseBlock merged(CaseBlock block, const CaseBlock& over);

// More cases than anybody measures, and few enough to hold them all in memory.
inline constexpr std::size_t kMaxCases = 10'000;

// Every combination of the values. Errors: CallError with the place, also for more than kMaxCases of them.
std::vector<CaseDraft> expand(const CaseBlock& block);

}  // namespace epochbench
