// Runs measured here beside results that others published for the same model and image size: only DAWNBench, since MLPerf's
// terms do not allow one of its figures beside one of ours. Each pair names what differs, and no interval is claimed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/analysis/series.h"
#include "src/result/published.h"

namespace epochbench {

struct PublishedPair {
  std::string run, file;  // measured
  double measured = 0;    // samples per second, the geometric mean of `repetitions`
  std::size_t repetitions = 0;
  std::string entry, machine, citation, link;  // published
  double published = 0;                        // samples per second of the whole machine
  double ratio = 0;                            // measured / published
  std::vector<std::string> differences;        // "framework: epochbench, there tensorflow 1.5"
};

struct PublishedPairs {
  std::vector<PublishedPair> pairs;
  std::string notice;              // what must be shown with figures of the source
  std::vector<std::string> known;  // models and image sizes that have an entry: "resnet50 at 224x224"
};

PublishedPairs published_pairs(const std::vector<NamedResult>& results, std::span<const PublishedDocument> documents);

}  // namespace epochbench
