// RESULT... on a command line: files, and folders of them.
#pragma once

#include <string>
#include <vector>

#include "src/result/turns.h"
#include "src/session/prices.h"

namespace epochbench {

// Errors: CallError if `out`, which is about to be replaced, is the file that was read.
void refuse_to_replace(const std::string& out, const std::string& read);

// In the order of the call, each file once; for a folder, its *.json by name, not recursively. Other JSON in a folder (without
// schema_version) is left out, and stderr says so; named in the call, it is an error. A run that an earlier file has, as in a
// copy named `latest` or in a resumed file, is left out in the same way. complete() and leave_out_contradictions() have been
// applied to each result, and stderr names the cases that contradict themselves. Errors: CallError without arguments and for a
// folder without results; FormatError for a file that cannot be read.
std::vector<NamedResult> read_result_arguments(const std::string& command, const std::vector<std::string>& arguments);
// The same for a command that reads one file.
NamedResult read_result_argument(const std::string& path);

// reprice() with a note on stderr for each device of --price that no run is on.
void reprice_one(NamedResult& named, const PriceOptions& options);

struct Measurements {
  std::vector<NamedResult> results;
  std::vector<NamedTurns> turns;
};

// The same for commands that also read documents of interleaved turns. In a folder, a file that cannot be read is left out, and
// stderr says why; if none can be read, it is a FormatError.
Measurements read_measurement_arguments(const std::string& command, const std::vector<std::string>& arguments);

// The same as they are in their files, with nothing completed or left out; a file that cannot be read is a FormatError.
Measurements read_stored_measurements(const std::string& command, const std::vector<std::string>& arguments);

// All measurements of a folder, read in this way. Errors: CallError if it cannot be read or has none; FormatError.
Measurements read_measurement_folder(const std::string& folder);

}  // namespace epochbench
