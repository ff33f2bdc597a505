// Programs that a page is handed to: what they say, how they end, and that none outlives its time.
#include "src/session/outside_program.h"

#include <csignal>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/clock.h"
#include "tests/support/data_files.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

TEST(OutsideProgram, ItsOutputIsRead) {
  const ProgramEnd end = run_program({"/bin/sh", "-c", "echo one; echo two; echo error >&2"}, 10);
  EXPECT_EQ(end.reason, "");
  EXPECT_EQ(end.output, "one\ntwo\n");
}

TEST(OutsideProgram, MuchOutputIsReadWhole) {
  EXPECT_EQ(run_program({"/bin/sh", "-c", "head -c 3000000 /dev/zero"}, 10).output.size(), 3'000'000u);
}

TEST(OutsideProgram, SaysHowItFailed) {
  EXPECT_EQ(run_program({"/bin/sh", "-c", "exit 3"}, 10).reason, "ended with exit code 3");
  EXPECT_EQ(run_program({"/bin/sh", "-c", "kill -9 $$"}, 10).reason, "was killed by SIGKILL");
  EXPECT_THAT(run_program({"/nowhere/program"}, 10).reason, HasSubstr("cannot be started: No such file"));
}

TEST(OutsideProgram, EndsInTimeWithAllThatItStarted) {
  const double begin = steady_seconds();
  const ProgramEnd end = run_program({"/bin/sh", "-c", "sleep 60 & echo $!; wait"}, 0.5);
  EXPECT_THAT(end.reason, HasSubstr("took more than 500 ms"));
  EXPECT_LT(steady_seconds() - begin, 20);
  EXPECT_EQ(run_program({"/bin/sh", "-c", "ps -o stat= -p " + end.output}, 10).output, "");
}

TEST(OutsideProgram, MayTidyUpBeforeItEnds) {
  const test::TemporaryFolder folder;
  const std::string lock = folder.path() / "lock";
  const double begin = steady_seconds();
  run_program({"/bin/sh", "-c", ": >\"$1\"; (trap 'rm \"$1\"; exit' TERM; while :; do sleep 0.1; done); :", "sh", lock}, 1);
  EXPECT_LT(steady_seconds() - begin, 3);
  EXPECT_FALSE(std::filesystem::exists(lock));
}

TEST(OutsideProgram, EndsAlsoWhereItIgnoresSigterm) {
  const double begin = steady_seconds();
  EXPECT_FALSE(run_program({"/bin/sh", "-c", "trap '' TERM; sleep 60"}, 0.2).reason.empty());
  EXPECT_LT(steady_seconds() - begin, 20);
}

}  // namespace
}  // namespace epochbench
