#include "src/cli/result_arguments.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/result/result_json.h"
#include "src/session/complete_result.h"
#include "src/session/contradictions.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// The *.json of a folder, by name. Errors: CallError if it cannot be read.
std::vector<std::string> json_files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    if (entry->path().extension() == ".json" && !is_folder(entry->path())) files.push_back(entry->path().string());
  if (error) throw CallError(folder + ": the folder cannot be read: " + error.message() + "; name a folder of *.json");
  std::ranges::sort(files);
  return files;
}

// What no two measurements share: clock readings in nanoseconds. Copies of runs in a resumed file have the same.
using Measured = std::tuple<std::string, std::uint64_t, std::vector<double>>;

Measured measurement_of(const Run& run) {
  const Timing& timing = *run.timing;
  return {run.name,
          static_cast<std::uint64_t>(run.repetition),
          {timing.compile_seconds, timing.steps_total_seconds, timing.wall_seconds, timing.step_seconds_median}};
}

Measured measurement_of(const TurnsDocument& document) {
  std::vector<double> medians;
  for (const TurnsCase& turns : document.cases)
    for (const TurnsPair& pair : turns.pairs)
      for (const TurnsSide& side : pair.sides) medians.push_back(side.step_seconds_median.value_or(0));
  return {document.context.date, document.order_seed, std::move(medians)};
}

// A page or a history of many files does without a damaged one of a folder; an answer from a few results does not.
enum class Reads : std::uint8_t { results, turns_too, both_as_stored };

// Names one of the cases, since an edit of a machine's figures is one of all cases.
void print_contradictions(const std::string& path, const std::vector<std::string>& cases) {
  if (cases.empty()) return;
  const std::string more =
      cases.size() > 1 ? " (and " + counted(cases.size() - 1, "more case", "more cases") + " likewise)" : "";
  print_error("left out: " + visible(path) + ": " + cases.front() + more + "; `epochbench verify " + shell_word(path) +
              "` lists all");
}

void prepare(Result& result, const std::string& path) {
  print_contradictions(path, leave_out_contradictions(result));
  complete(result);
}

void prepare(TurnsDocument& document, const std::string& path) {
  print_contradictions(path, leave_out_contradictions(document));
}

class Reader {
 public:
  explicit Reader(Reads reads) : reads_(reads) {}

  void read_file(const std::string& path) { read(path, parse_json(read_text_file(path), path)); }

  // One of several, such as those of results/*.json: a schema among them is left out.
  void read_one_of_several(const std::string& path) {
    const Json document = parse_json(read_text_file(path), path);
    if (document.is_object() && document.contains("$schema"))
      print_error("left out: " + path + " is a schema, not a result");
    else
      read(path, document);
  }

  void read_folder(const std::string& folder) {
    bool any = false, any_published = false;
    std::vector<std::string> left_out, damaged;
    for (const std::string& path : json_files_of(folder)) {
      try {
        const Json document = parse_json(read_text_file(path), path);
        if (!is_result(document) && !is_read_as_turns(document)) {
          const bool published = is_published(document);
          any_published = any_published || published;
          left_out.push_back(path + (published ? " has results that others published, and no measurements of yours"
                                     : reads_ != Reads::results
                                         ? " is neither a result nor a document of interleaved turns"
                                         : " has no schema_version, so it is not a result of epochbench"));
          continue;
        }
        read(path, document);
        any = true;
      } catch (const FormatError& error) {
        if (reads_ != Reads::turns_too) throw;
        damaged.emplace_back(error.what());
      }
    }
    if (!any && !damaged.empty())
      throw FormatError(folder +
                        (damaged.size() == 1
                             ? ": its only result cannot be read: "
                             : ": none of its " + std::to_string(damaged.size()) + " results can be read, such as ") +
                        damaged.front());
    if (!any && any_published)
      throw CallError(folder + ": only results that others published; `epochbench claims` without a file judges by those of " +
                      "`epochbench list published`");
    if (!any)
      throw CallError(folder + ": no result (*.json) in this folder; name files that `epochbench run --out FILE` " +
                      (reads_ != Reads::results ? "or `epochbench compare --interleave -o FILE` " : "") + "wrote");
    left_out.insert(left_out.end(), damaged.begin(), damaged.end());
    for (const std::string& line : left_out) print_error("left out: " + line);
  }

  Measurements take() { return std::move(all_); }

 private:
  bool is_read_as_turns(const Json& document) const { return reads_ != Reads::results && is_turns(document); }

  void read(const std::string& path, const Json& document) {
    if (!is_read_as_turns(document))
      add_new(path, result_from_json(document, path));
    else
      add_new(path, turns_from_json(document, path));
  }

  bool first_time(const std::string& path) {
    std::error_code nameless;  // a pipe, which is read once
    const std::string place = fs::canonical(path, nameless).string();
    return nameless || seen_.insert(place).second;
  }

  template <class Measurement>
  void add_new(const std::string& path, Measurement measurement) {
    if (!first_time(path)) return;
    if (reads_ == Reads::both_as_stored) return keep(path, std::move(measurement));
    prepare(measurement, path);
    add(path, std::move(measurement));
  }

  // Keeps each measurement once, however many files it is in: a copy is not a repetition. A file with only copies is left out.
  void add(const std::string& path, Result result) {
    const auto is_copy = [&](const Run& run) { return run.timing && path_by_measurement_.contains(measurement_of(run)); };
    const auto first = std::ranges::find_if(result.runs, is_copy);
    if (first != result.runs.end()) {
      const std::string other = path_by_measurement_.at(measurement_of(*first));
      const auto timed = std::ranges::count_if(result.runs, [](const Run& run) { return run.timing.has_value(); });
      const auto copies = static_cast<std::ptrdiff_t>(std::erase_if(result.runs, is_copy));
      if (copies == timed) return print_error("left out: " + path + " has the measurements of " + other);
      print_error("left out: " + std::to_string(copies) + (copies == 1 ? " run of " : " runs of ") + path +
                  " with copies in other files, such as " + other);
    }
    for (const Run& run : result.runs)
      if (run.timing) path_by_measurement_.emplace(measurement_of(run), path);
    keep(path, std::move(result));
  }

  void add(const std::string& path, TurnsDocument document) {
    const auto [first, is_new] = path_by_measurement_.emplace(measurement_of(document), path);
    if (!is_new) return print_error("left out: " + path + " has the measurements of " + first->second);
    keep(path, std::move(document));
  }

  void keep(const std::string& path, Result result) { all_.results.push_back({visible(path), std::move(result)}); }
  void keep(const std::string& path, TurnsDocument document) { all_.turns.push_back({visible(path), std::move(document)}); }

  Reads reads_;
  std::set<std::string> seen_;
  std::map<Measured, std::string> path_by_measurement_;
  Measurements all_;
};

Measurements read_arguments(Reads reads, const std::string& command, const std::vector<std::string>& arguments) {
  if (arguments.empty())
    throw CallError(command + ": no RESULT; name files that `epochbench run --out FILE` " +
                    (reads != Reads::results ? "or `epochbench compare --interleave -o FILE` " : "") +
                    "wrote, or folders of them");
  Reader reader(reads);
  for (const std::string& argument : arguments) {
    if (is_folder(argument))
      reader.read_folder(argument);
    else if (arguments.size() > 1)
      reader.read_one_of_several(argument);
    else
      reader.read_file(argument);
  }
  Measurements measurements = reader.take();
  if (measurements.results.empty() && measurements.turns.empty())
    throw CallError(command + ": only schemas; name files that `epochbench run --out FILE` wrote");
  return measurements;
}

}  // namespace

void refuse_to_replace(const std::string& out, const std::string& read) {
  std::error_code error;
  if (fs::equivalent(out, read, error) && !error)
    throw CallError("--out: " + out + " is the file that is read, which would be lost; name another one");
}

std::vector<NamedResult> read_result_arguments(const std::string& command, const std::vector<std::string>& arguments) {
  return read_arguments(Reads::results, command, arguments).results;
}

NamedResult read_result_argument(const std::string& path) {
  Reader reader(Reads::results);
  reader.read_file(path);
  return std::move(reader.take().results.front());
}

Measurements read_stored_measurements(const std::string& command, const std::vector<std::string>& arguments) {
  return read_arguments(Reads::both_as_stored, command, arguments);
}

Measurements read_measurement_arguments(const std::string& command, const std::vector<std::string>& arguments) {
  return read_arguments(Reads::turns_too, command, arguments);
}

Measurements read_measurement_folder(const std::string& folder) {
  Reader reader(Reads::turns_too);
  reader.read_folder(folder);
  return reader.take();
}

void reprice_one(NamedResult& named, const PriceOptions& options) {
  for (const std::string& device : reprice(named, options))
    print_error("note: --price " + device + "=... is ignored: no run of " + named.path + " is on " + device);
}

}  // namespace epochbench
