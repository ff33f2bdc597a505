// Files that travel inside the binary are those of the repository, byte by byte.
#include "epochbench/embedded.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

TEST(Embedded, EveryFileEqualsTheOneOnDisk) {
  const auto paths = embedded_files("");
  ASSERT_NE(std::find(paths.begin(), paths.end(), "bench/data/digits-images.idx3-ubyte"), paths.end());
  for (std::string_view path : paths) {
    if (path == "library_checks.json") continue;  // made of files in results/
    const auto place = path == "libraries/d3.min.js" ? std::filesystem::path(EPOCHBENCH_D3)
                                                     : std::filesystem::path(EPOCHBENCH_SOURCE_DIR) / path;
    std::ifstream file(place, std::ios::binary);
    ASSERT_TRUE(file) << path;
    const std::string on_disk{std::istreambuf_iterator<char>(file), {}};
    const auto embedded = embedded_file(path);
    ASSERT_TRUE(embedded) << path;
    EXPECT_EQ(embedded->size(), on_disk.size()) << path;
    EXPECT_TRUE(*embedded == on_disk) << path;
  }
}

TEST(Embedded, ListsByPrefix) {
  EXPECT_EQ(embedded_files("bench/data/digits-").size(), 2u);
  EXPECT_TRUE(embedded_files("no/such/").empty());
  EXPECT_FALSE(embedded_file("bench/data/"));
  EXPECT_FALSE(embedded_file(""));
}

}  // namespace
}  // namespace epochbench
