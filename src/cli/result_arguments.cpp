#include "src/cli/result_arguments.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "src/cli/errors.h"
#include "src/report/result_json.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// What no two measurements share: readings of a clock in nanoseconds. The same also in a file that --resume copied runs to.
using Measured = std::tuple<std::string, int, double, double, double, double>;

Measured measurement_of(const Run& run) {
  const Timing& timing = *run.timing;
  return {run.name,
          run.repetition,
          timing.compile_seconds,
          timing.steps_total_seconds,
          timing.wall_seconds,
          timing.step_seconds_median};
}

class Reader {
 public:
  void read_file(const std::string& path) {
    Result result = read_result(path);
    if (first_time(path)) add(path, std::move(result));
  }

  void read_folder(const std::string& folder) {
    bool any = false;
    for (const std::string& path : json_files_of(folder)) {
      const Json document = parse_json(read_text_file(path), path);
      if (!is_result(document)) {
        print_error("left out: " + path + " has no schema_version, so it is not a result of epochbench");
        continue;
      }
      any = true;
      Result result = result_from_json(document, path);
      if (first_time(path)) add(path, std::move(result));
    }
    if (!any)
      throw CallError(folder + ": no result (*.json) in this folder; name files that `epochbench run --out FILE` wrote");
  }

  std::vector<NamedResult> take() { return std::move(results_); }

 private:
  bool first_time(const std::string& path) { return seen_.insert(fs::canonical(path).string()).second; }

  // Each measurement once, however many files it stands in: a copy is no repetition. A file that has no other one is left out.
  void add(const std::string& path, Result result) {
    const auto is_copy = [&](const Run& run) { return run.timing && path_by_measurement_.contains(measurement_of(run)); };
    const auto first = std::find_if(result.runs.begin(), result.runs.end(), is_copy);
    if (first != result.runs.end()) {
      const std::string other = path_by_measurement_.at(measurement_of(*first));
      const auto timed =
          std::count_if(result.runs.begin(), result.runs.end(), [](const Run& run) { return run.timing.has_value(); });
      const auto copies = static_cast<std::ptrdiff_t>(std::erase_if(result.runs, is_copy));
      if (copies == timed) return print_error("left out: " + path + " has the measurements of " + other);
      print_error("left out: " + std::to_string(copies) + (copies == 1 ? " run of " : " runs of ") + path +
                  " of which there are copies in other files, such as " + other);
    }
    for (const Run& run : result.runs)
      if (run.timing) path_by_measurement_.emplace(measurement_of(run), path);
    results_.push_back({path, std::move(result)});
  }

  std::set<std::string> seen_;
  std::map<Measured, std::string> path_by_measurement_;
  std::vector<NamedResult> results_;
};

}  // namespace

std::vector<std::string> json_files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    if (entry->path().extension() == ".json" && !is_folder(entry->path())) files.push_back(entry->path().string());
  if (error) throw CallError(folder + ": the folder cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

bool is_result(const std::string& text, const std::string& path) { return is_result(parse_json(text, path)); }

std::vector<NamedResult> read_result_arguments(const std::string& command, const std::vector<std::string>& arguments) {
  if (arguments.empty())
    throw CallError(command + ": no RESULT; name files that `epochbench run --out FILE` wrote, or folders of them");
  Reader reader;
  for (const std::string& argument : arguments) {
    if (is_folder(argument))
      reader.read_folder(argument);
    else
      reader.read_file(argument);
  }
  return reader.take();
}

}  // namespace epochbench
