// Processes of programs that do nothing but end, or refuse to. src/worker and src/session test what processes say.
#include "src/base/process.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <unistd.h>

namespace epochbench {
namespace {

ProcessSettings shell(const std::string& script) {
  return {.arguments = {"sh", "-c", script}, .environment = own_environment(), .error_output = STDERR_FILENO};
}

TEST(Process, KnowsHowItEnded) {
  const ProgramFile sh("/bin/sh");
  EXPECT_TRUE(Process(sh, shell("exit 0")).wait().ok());
  EXPECT_EQ(to_string(Process(sh, shell("exit 3")).wait()), "ended with exit code 3");
  EXPECT_EQ(to_string(Process(sh, shell("kill -9 $$")).wait()), "was killed by SIGKILL");
}

TEST(Process, KnowsItsEndAlsoWhereSigchldWasLeftIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  const ProcessEnd end = Process(ProgramFile("/bin/false"), {.arguments = {"false"}, .environment = {}}).wait();
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_FALSE(end.overdue);
}

TEST(Process, IsKilledWhenItsTimeIsOver) {
  const ProcessEnd end = Process(ProgramFile("/bin/sh"), shell("exec sleep 60")).wait(0.05);
  EXPECT_TRUE(end.overdue);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(Process, MayFollowSigtermWithinItsGracePeriod) {
  Process process(ProgramFile("/bin/sh"), shell("trap 'exit 5' TERM; while :; do sleep 0.01; done"));
  EXPECT_FALSE(process.ends_within(0.2));
  process.end(10);
  EXPECT_EQ(process.wait().exit_code, 5);
}

TEST(Process, IsNotStartedFromAProgramThatIsNotThere) {
  const ProgramFile nowhere("/nowhere/program");
  EXPECT_THROW(Process(nowhere, {.arguments = {"program"}, .environment = {}}), std::system_error);
}

TEST(FindProgram, LooksInPathForTheFirstThatIsThere) {
  const std::string before = std::getenv("PATH") ? std::getenv("PATH") : "";
  setenv("PATH", "/nowhere:/bin", 1);
  EXPECT_EQ(find_program({"no-such-program", "sh"}), "/bin/sh");
  EXPECT_EQ(find_program({"no-such-program"}), std::nullopt);
  EXPECT_EQ(find_program({"/bin/no-such-program", "/bin/sh"}), "/bin/sh");
  setenv("PATH", before.c_str(), 1);
}

}  // namespace
}  // namespace epochbench
