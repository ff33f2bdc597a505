// Files that others published: entries of DAWNBench, and results of MLPerf Training.
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "src/published/import.h"
#include "src/result/result_json.h"

namespace epochbench::fuzz {
namespace {

// The parts between empty lines.
std::vector<std::string> parts_of(std::string_view bytes) {
  constexpr std::string_view kBetween = "\n\n";
  std::vector<std::string> parts;
  for (auto end = bytes.find(kBetween); end != std::string_view::npos; end = bytes.find(kBetween)) {
    parts.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(end + kBetween.size());
  }
  parts.emplace_back(bytes);
  return parts;
}

template <class Import>
void check(const Import& import) {
  PublishedDocument document;
  try {
    document = import();
  } catch (const FormatError& error) {
    require_message(error.what());
    return;
  }
  const std::string written = published_to_text(document);
  require(published_to_text(parse_published(written, "written.json")) == written, "what was written reads back as the same");
  for (const PublishedEntry& entry : document.entries) require(!entry.citation.empty(), "an entry is cited");
}

}  // namespace

void dawnbench(std::string_view bytes) {
  const std::vector<std::string> parts = parts_of(bytes);
  std::vector<NamedText> files{{"a.json", parts.front()}};
  if (parts.size() > 1) files.push_back({"a.tsv", parts[1]});
  check([&] { return import_dawnbench(files, {}); });
}

void mlperf(std::string_view bytes) {
  const std::vector<std::string> parts = parts_of(bytes);
  std::vector<NamedText> files;
  for (const std::string& part : parts)
    files.push_back({(part.starts_with("{") ? "a.json" : "result_" + std::to_string(files.size()) + ".txt"), part});
  check([&] {
    return import_mlperf(files, {"mlcommons/training_results_v3.0", "c0ffee", "Apache-2.0", "2026-01-19"}, std::nullopt);
  });
}

}  // namespace epochbench::fuzz
