#include "src/base/files.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/wait.h>
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
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("neither a file nor a pipe"));
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

TEST_F(Files, ExistingOnesAreRefusedUnlessTheyMayBeReplaced) {
  ResultFile(place("file"), Existing::refused).write("old");
  EXPECT_THROW(ResultFile(place("file"), Existing::refused), FileTaken);
  EXPECT_EQ(read_text_file(place("file")), "old");
  ResultFile(place("file"), Existing::replaced).write("new");
  EXPECT_EQ(read_text_file(place("file")), "new");
}

TEST_F(Files, HaveOneWriterAtATime) {
  {
    const ResultFile first(place("file"));
    EXPECT_THROW(ResultFile(place("file")), FileTaken);
    first.write("text");
    EXPECT_THROW(ResultFile(place("file")), FileTaken);  // the rename gave the name to another file
    EXPECT_NO_THROW(ResultFile(place("other")));
  }
  EXPECT_NO_THROW(ResultFile(place("file")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);  // no lock is left
}

TEST_F(Files, FreeNamesAreClaimedBeforeAnythingIsWritten) {
  const ResultFile first = ResultFile::with_free_name(place("result"), ".json");
  const ResultFile second = ResultFile::with_free_name(place("result"), ".json");
  EXPECT_EQ(first.path(), place("result.json"));
  EXPECT_EQ(second.path(), place("result-2.json"));
}

TEST_F(Files, OfTwoHundredProcessesThatBeginTogetherAreAllKept) {
  constexpr int kProcesses = 200;
  std::array<int, 2> start = {};
  ASSERT_EQ(::pipe(start.data()), 0);
  std::vector<pid_t> children;
  for (int number = 0; number < kProcesses; ++number) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(start[1]);
      char none = 0;
      const bool begun = ::read(start[0], &none, 1) == 0;  // once the parent closes its end
      try {
        ResultFile::with_free_name(place("result"), ".json").write(std::to_string(number));
      } catch (const FileError&) {
        ::_exit(1);
      }
      ::_exit(begun ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(start[0]);
  ::close(start[1]);
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::set<std::string> texts;
  for (const auto& entry : fs::directory_iterator(folder_)) texts.insert(read_text_file(entry.path().string()));
  EXPECT_EQ(texts.size(), kProcesses);
}

TEST_F(Files, ThroughALinkToNothingAppearWhereItPoints) {
  fs::create_directory(place("elsewhere"));
  fs::create_symlink("elsewhere/file", place("link"));
  ResultFile(place("link")).write("text");
  EXPECT_TRUE(fs::is_symlink(place("link")));
  EXPECT_EQ(read_text_file(place("elsewhere/file")), "text");
  fs::create_symlink("loop", place("loop"));
  EXPECT_THROW(ResultFile(place("loop")), FileError);
}

TEST_F(Files, OfDeadProcessesAreRemovedAndThoseOfLivingOnesStay) {
  std::ofstream(place(".epochbench-0123456789abcdef.tmp")) << "half";
  std::ofstream(place(".epochbench-0123456789abcdef.lock"));
  std::ofstream(place("mine.tmp")) << "of somebody else";
  TemporaryFile living(place("file"));
  ASSERT_TRUE(living.write("text"));
  ResultFile(place("result")).write("text");
  EXPECT_FALSE(fs::exists(place(".epochbench-0123456789abcdef.tmp")));
  EXPECT_FALSE(fs::exists(place(".epochbench-0123456789abcdef.lock")));
  EXPECT_TRUE(fs::exists(place("mine.tmp")));
  EXPECT_TRUE(living.move_to_place());
  EXPECT_EQ(read_text_file(place("file")), "text");
}

TEST_F(Files, TemporaryNamesCannotBePredicted) {
  // Two processes with one number, as in two containers, write beside each other.
  TemporaryFile one(place("a")), other(place("b"));
  ASSERT_TRUE(one.write("of a") && other.write("of b"));
  ASSERT_TRUE(one.move_to_place() && other.move_to_place());
  EXPECT_EQ(read_text_file(place("a")), "of a");
  EXPECT_EQ(read_text_file(place("b")), "of b");
}

TEST_F(Files, OfTheSystemAreEmptyWhereTheyAreMissing) {
  EXPECT_FALSE(read_system_file(place("missing")));
  EXPECT_TRUE(read_system_file("/proc/self/stat"));
}

}  // namespace
}  // namespace epochbench
