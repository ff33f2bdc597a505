// Runs every file of tests/fuzz/corpus through its target: seeds of all kinds and inputs that once caused a failure.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/targets.h"

namespace epochbench::fuzz {

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_of(const std::string& target) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(EPOCHBENCH_CORPUS) / target))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Corpus : public testing::TestWithParam<Target> {};

TEST_P(Corpus, IsReadOrRefused) {
  const std::vector<fs::path> inputs = inputs_of(GetParam().name);
  ASSERT_GE(inputs.size(), 3u);
  for (const fs::path& path : inputs) {
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file) << path;
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::cerr << GetParam().name << "/" << path.filename().string() << std::endl;  // the last one is the one that crashed
    EXPECT_NO_THROW(GetParam().run(bytes)) << path;
  }
}

// A reader must not mistake a part of a file for the whole: each prefix is read or refused.
TEST_P(Corpus, IsReadOrRefusedWhenItIsCutOff) {
  constexpr std::size_t kCuts = 32;
  for (const fs::path& path : inputs_of(GetParam().name)) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t cut = 0; cut < kCuts; ++cut)
      EXPECT_NO_THROW(GetParam().run(std::string_view(bytes).substr(0, bytes.size() * cut / kCuts))) << path << ", " << cut;
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(kTargets), [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace epochbench::fuzz
