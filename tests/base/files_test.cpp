#include "src/base/files.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <unistd.h>

namespace epochbench {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("epochbench_files_" + std::to_string(::getpid()));
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string place(const std::string& name) const { return (folder_ / name).string(); }

  static std::string refusal(const std::string& path, std::size_t max_bytes = kMaxTextBytes) {
    try {
      read_text_file(path, max_bytes);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "it was read";
  }

  fs::path folder_;
};

TEST_F(Files, AreReadWholeWithinTheLimit) {
  const std::string text("a\0b\n", 4);
  ResultFile(place("file")).write(text);
  EXPECT_EQ(read_text_file(place("file"), 4), text);
  EXPECT_THAT(refusal(place("file"), 3), HasSubstr("larger than"));
}

TEST_F(Files, ThatAreNoneSayWhy) {
  EXPECT_THAT(refusal(place("missing")), HasSubstr("cannot be read: No such file"));
  EXPECT_THAT(refusal(folder_.string()), HasSubstr("a folder; name a file"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("not a regular file"));
}

TEST_F(Files, AreReplacedThroughALinkAndLeaveNoTemporary) {
  ResultFile(place("file")).write("old");
  fs::create_symlink(place("file"), place("link"));
  ResultFile(place("link")).write("new");
  EXPECT_TRUE(fs::is_symlink(place("link")));
  EXPECT_EQ(read_text_file(place("file")), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(Files, ThatCannotBeWrittenAreRefusedBeforeTheyAreTouched) {
  EXPECT_THROW(ResultFile(""), FileError);
  EXPECT_THROW(ResultFile(folder_.string()), FileError);
  EXPECT_THROW(ResultFile(place("no_folder/file")), FileError);
}

TEST_F(Files, OfTheSystemAreEmptyWhereTheyAreMissing) {
  EXPECT_FALSE(read_system_file(place("missing")));
  EXPECT_TRUE(read_system_file("/proc/self/stat"));
}

}  // namespace
}  // namespace epochbench
