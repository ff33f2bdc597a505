// The file of stored choices: what is read again, by whom, and what happens to a file that is not what it should be.
#include "src/backend/cuda/choice_store.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/files.h"

namespace epochbench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const ChoicePlace kHere{"NVIDIA H200", "9.0", "580.65.06", "13.1.0", "9.19.0"};

class Stores : public ::testing::Test {
 protected:
  Stores() { std::filesystem::remove_all(folder_); }
  ~Stores() override { std::filesystem::remove_all(folder_); }

  void store(const ChoicePlace& place, const std::string& problem, const std::string& chosen) {
    ChoiceStore store(file_, place);
    store.keep({problem, chosen, 3, 5});
    store.save();
  }
  std::string chosen(const ChoicePlace& place, const std::string& problem) {
    const ChoiceStore store(file_, place);
    const StoredChoice* found = store.find(problem);
    return found ? found->chosen : "none";
  }
  std::string text() { return read_text_file(file_); }
  void write(const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(file_).parent_path());
    std::ofstream(file_) << text;
  }

  std::string folder_ = ::testing::TempDir() + "choice_store_test-" + std::to_string(getpid());
  std::string file_ = folder_ + "/deep/er/choices-3.json";
};

TEST_F(Stores, GivesBackWhatWasKept) {
  ChoiceStore store(file_, kHere);
  store.keep({"product \"a\"",
              "tag",
              3,
              5,
              "of 7; 2 sum in no fixed order",
              "cuDNN: it offers no engine",
              2e-3,
              {"tag", "way"},
              {"way"}});
  EXPECT_TRUE(store.find("product \"a\"")->here);
  EXPECT_FALSE(std::filesystem::exists(file_));
  store.save();
  const ChoiceStore again(file_, kHere);
  const StoredChoice* found = again.find("product \"a\"");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->chosen, "tag");
  EXPECT_EQ(found->timed, 3);
  EXPECT_EQ(found->offered, 5);
  EXPECT_EQ(found->left_out, "of 7; 2 sum in no fixed order");
  EXPECT_EQ(found->seconds, 2e-3);
  EXPECT_EQ(found->tried, (std::vector<std::string>{"tag", "way"}));
  EXPECT_EQ(found->open, std::vector<std::string>{"way"});
  EXPECT_EQ(found->refused, "cuDNN: it offers no engine");
  EXPECT_FALSE(found->here);
  EXPECT_FALSE(again.find("product"));
}

TEST_F(Stores, EveryPartOfThePlaceCounts) {
  store(kHere, "problem", "here");
  std::vector<ChoicePlace> others(5, kHere);
  others[0].device = "NVIDIA H100";
  others[1].compute_capability = "10.0";
  others[2].driver = "581";
  others[3].cublas = "13.2.0";
  others[4].cudnn = "9.20.0";
  for (const ChoicePlace& other : others) EXPECT_EQ(chosen(other, "problem"), "none");
  store(others[4], "problem", "of another library");
  EXPECT_EQ(chosen(kHere, "problem"), "here");
  EXPECT_EQ(chosen(others[4], "problem"), "of another library");
}

TEST_F(Stores, KeepsThePlacesThatWereWrittenLast) {
  ChoicePlace place = kHere;
  for (int i = 0; i < 20; ++i) {
    place.driver = std::to_string(i);
    store(place, "problem", "tag");
  }
  EXPECT_EQ(chosen(place, "problem"), "tag");
  place.driver = "3";
  EXPECT_EQ(chosen(place, "problem"), "none");
  place.driver = "4";
  EXPECT_EQ(chosen(place, "problem"), "tag");
}

TEST_F(Stores, LosesNothingOfProcessesThatWriteAtOnce) {
  constexpr int kProcesses = 8, kEach = 20;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
      ChoiceStore store(file_, kHere);
      for (int i = 0; i < kEach; ++i) {
        store.keep({std::to_string(process) + " " + std::to_string(i), "tag", 1, 1});
        store.save();
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const ChoiceStore store(file_, kHere);
  for (int process = 0; process < kProcesses; ++process)
    for (int i = 0; i < kEach; ++i)
      EXPECT_TRUE(store.find(std::to_string(process) + " " + std::to_string(i))) << process << " " << i;
}

TEST_F(Stores, ADamagedFileIsReportedInOneLineAndWrittenAgain) {
  store(kHere, "problem", "tag");
  const std::string whole = text();
  for (const std::string& damaged : {whole.substr(0, whole.size() / 2), std::string("{}"), std::string("\0\1", 2),
                                     std::string(R"({"places": [{"place": {"device": 1}, "choices": []}]})"), std::string()}) {
    write(damaged);
    ::testing::internal::CaptureStderr();
    store(kHere, "problem", "new");
    const std::string report = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(report, StartsWith("epochbench: " + file_)) << damaged;
    EXPECT_THAT(report, HasSubstr("the file is written again"));
    EXPECT_EQ(std::count(report.begin(), report.end(), '\n'), 1) << report;
    EXPECT_EQ(chosen(kHere, "problem"), "new");
  }
}

TEST_F(Stores, AFolderThatCannotBeWrittenIsReportedInOneLine) {
  write("");
  file_ += "/choices-3.json";  // below a file
  ::testing::internal::CaptureStderr();
  store(kHere, "problem", "tag");
  const std::string report = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(report, HasSubstr("cannot be written"));
  EXPECT_EQ(std::count(report.begin(), report.end(), '\n'), 1) << report;
}

TEST_F(Stores, WithoutAFileRemembersInMemory) {
  ChoiceStore store("", kHere);
  store.keep({"problem", "tag", 1, 1});
  store.save();
  EXPECT_EQ(store.find("problem")->chosen, "tag");
}

TEST(ChoicesFile, IsInTheCacheOfTheUser) {
  EXPECT_EQ(choices_file("/cache", "/home"), "/cache/epochbench/choices-3.json");
  EXPECT_EQ(choices_file(nullptr, "/home"), "/home/.cache/epochbench/choices-3.json");
  EXPECT_EQ(choices_file("", "/home"), "/home/.cache/epochbench/choices-3.json");
  EXPECT_EQ(choices_file("relative", "/home"), "/home/.cache/epochbench/choices-3.json");
  EXPECT_EQ(choices_file(nullptr, nullptr), "");
}

TEST(ChoicesFile, SaysHowAChoiceWasMade) {
  EXPECT_EQ(how_chosen({.timed = 9, .offered = 9, .here = true}), " [fastest of 9]");
  EXPECT_EQ(how_chosen({.timed = 9, .offered = 16}), " [stored: fastest of 9, 16 offered]");
  EXPECT_EQ(how_chosen({.timed = 0, .offered = 16, .tried = {"tag"}, .here = true}), " [first of 16]");
  EXPECT_EQ(how_chosen({.timed = 1, .offered = 2, .tried = {"tag"}}), " [stored: first of 2]");
  EXPECT_EQ(how_chosen({.timed = 0, .offered = 1, .here = true}), "");
  EXPECT_EQ(how_chosen({.timed = 0, .offered = 2, .here = true}), "");  // the other does not work, or is a last resort
  const std::string left_out = "of 29; 24 use tensor cores, 4 need 980 MiB";
  EXPECT_EQ(how_chosen({.offered = 1, .left_out = left_out}), " [1 of 29; 24 use tensor cores, 4 need 980 MiB]");
  EXPECT_EQ(how_chosen({.timed = 2, .offered = 5, .left_out = left_out}),
            " [stored: fastest of 2, 5 offered of 29; 24 use tensor cores, 4 need 980 MiB]");
}

}  // namespace
}  // namespace epochbench
