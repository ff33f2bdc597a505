#include "src/cli/result_arguments.h"

#include <algorithm>
#include <filesystem>
#include <set>
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

class Reader {
 public:
  void read_file(const std::string& path) {
    Result result = read_result(path);
    if (first_time(path)) results_.push_back({path, std::move(result)});
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
      if (first_time(path)) results_.push_back({path, std::move(result)});
    }
    if (!any)
      throw CallError(folder + ": no result (*.json) in this folder; name files that `epochbench run --out FILE` wrote");
  }

  std::vector<NamedResult> take() { return std::move(results_); }

 private:
  bool first_time(const std::string& path) { return seen_.insert(fs::canonical(path).string()).second; }

  std::set<std::string> seen_;
  std::vector<NamedResult> results_;
};

}  // namespace

std::vector<std::string> json_files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    if (entry->path().extension() == ".json" && !entry->is_directory()) files.push_back(entry->path().string());
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
