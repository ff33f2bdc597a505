// Files that others published, read into documents of published results (src/result/published.h). The readers take texts, so
// that tests and fuzzers bring their own; they measure nothing and know no result of ours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/result/published.h"

namespace epochbench {

struct NamedText {
  std::string path;  // as the call gave it; becomes the entry's
  std::string text;
};

// DAWNBench, version v1.0, tasks CIFAR10 and ImageNet: *.json, and for each entry of training the *.tsv of the same name.
// Errors: FormatError, one line, for a file that is not such an entry.
PublishedDocument import_dawnbench(const std::vector<NamedText>& files, const PublishedOrigin& origin);

// One result of MLPerf Training v0.7 to v5.0, benchmarks resnet and bert: the system's description and scaling.json, which
// differ by their keys, and the log of each run, with :::MLLOG lines among others. Errors: FormatError, one line.
PublishedDocument import_mlperf(const std::vector<NamedText>& files, const PublishedOrigin& origin,
                                const std::optional<std::string>& result_id);

// The documents of results/published, by name.
const std::vector<PublishedDocument>& embedded_published();

}  // namespace epochbench
