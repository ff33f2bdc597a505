// epochbench import: results that others published, as a separate kind of document.
#include "src/published/import.h"

#include <algorithm>
#include <filesystem>

#include "src/base/clock.h"
#include "src/base/files.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

constexpr const char* kImportExamples = R"(Examples:
  epochbench import dawnbench CIFAR10/train/*.json --repository stanford-futuredata/dawn-bench-entries --commit SHA --out FILE
  epochbench import mlperf systems/SYSTEM.json results/SYSTEM/resnet/result_*.txt --result-id 3.0-2053 --out FILE

dawnbench reads entries of CIFAR10 and ImageNet, each a JSON file; its table of epochs, NAME.tsv, is read from beside NAME.json.
mlperf reads one result of MLPerf Training v0.7 to v5.0, benchmark resnet or bert: the system's description, the log of each run,
and scaling.json where the result has one.
The document contains what the files state, and null for what they do not; results/published.schema.json describes it. Its numbers
are evidence of class `published`: no command treats them as measurements.
Exit codes: 0 done; 2 the command line or a file is wrong.)";

struct ImportOptions {
  std::string source;
  std::vector<std::string> files;
  PublishedOrigin origin;
  std::optional<std::string> result_id;
  std::string out;  // empty: stdout
};

// The files in the order of the call, each once, and the table of epochs beside each JSON file.
std::vector<NamedText> files_of(const ImportOptions& options, bool with_tables) {
  std::vector<NamedText> files;
  const auto add = [&](const std::string& path) {
    if (std::ranges::find(files, path, &NamedText::path) == files.end()) files.push_back({path, read_text_file(path)});
  };
  for (const std::string& path : options.files) {
    if (!options.out.empty()) refuse_to_replace(options.out, path);
    add(path);
    std::error_code missing;
    const std::filesystem::path table = std::filesystem::path(path).replace_extension(".tsv");
    if (with_tables && path.ends_with(".json") && std::filesystem::exists(table, missing)) add(table.string());
  }
  return files;
}

int import_files(const ImportOptions& options) {
  const auto source = located("import", [&] { return parse_choice<PublishedSource>(options.source); });
  if (options.origin.retrieved && !parse_day(*options.origin.retrieved))
    throw CallError("--retrieved: '" + *options.origin.retrieved + "' is not a day; give one such as 2026-01-19");
  const bool dawnbench = source == PublishedSource::dawnbench;
  if (dawnbench && options.result_id) throw CallError("--result-id: entries of DAWNBench have none; leave it out");
  const std::vector<NamedText> files = files_of(options, dawnbench);
  const std::string text = published_to_text(dawnbench ? import_dawnbench(files, options.origin)
                                                       : import_mlperf(files, options.origin, options.result_id));
  print_to(options.out, text);
  return kExitDone;
}

}  // namespace

void add_import(Commands& commands) {
  auto [command, options] =
      commands.add("import", "read results that others published: DAWNBench, MLPerf Training", kImportExamples, import_files);
  command.add_option("source", options.source, "dawnbench or mlperf")->type_name("SOURCE")->required();
  command.add_option("file", options.files, "entries, or the files of one result")->type_name("FILE...")->required();
  command.add_option("--repository", options.origin.repository, "GitHub repository that the files are from")
      ->type_name("OWNER/NAME");
  command.add_option("--commit", options.origin.commit, "commit of that repository")->type_name("SHA");
  command.add_option("--license", options.origin.license, "license that the repository states")->type_name("TEXT");
  command.add_option("--retrieved", options.origin.retrieved, "day on which the files were retrieved")->type_name("DATE");
  command.add_option("--result-id", options.result_id, "mlperf: ID of the result in the table of its round")->type_name("ID");
  command.add_option("-o,--out", options.out, "file (default and -: stdout)")->type_name("FILE");
}

}  // namespace epochbench
