// Cases in processes of their own, good ones and all that can go wrong; tests/support/fake_case_main.cpp is the binary.
#include "src/worker/case_process.h"

#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include <dirent.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/machine/environment.h"
#include "src/worker/case_driver.h"
#include "src/worker/conversation.h"
#include "tests/support/sanitizers.h"

namespace epochbench {
namespace {

using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::SizeIs;

const std::function<bool()> kNever = [] { return false; };

CaseSpec spec_of(const std::string& model) {
  CaseSpec spec;
  spec.name = model + "/cpu/fp32/b4";
  spec.model.name = model;
  spec.data = "none";
  spec.batch = 4;
  spec.threads = 1;
  spec.stop.steps = 20;
  return spec;
}

Run run_fake(const CaseSpec& spec, const DriverOptions& options = {}, const std::function<bool()>& interrupted = kNever) {
  return run_case(spec, FAKE_CASE_BINARY, nullptr, interrupted, options);
}

DriverOptions impatient() {
  DriverOptions options;
  options.process.hung_seconds = 0.8;
  options.process.tick_seconds = 0.05;
  return options;
}

// The state letter of a process ("Z" when it has ended and nobody has asked), 0 when there is none; and its parent.
std::pair<char, pid_t> process_state(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return {0, 0};
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return {state, parent};
}

pid_t child_of(pid_t parent) {
  pid_t found = 0;
  DIR* folder = opendir("/proc");
  while (const dirent* entry = readdir(folder))
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])))
      if (const pid_t pid = std::atoi(entry->d_name); process_state(pid).second == parent && process_state(pid).first != 'Z')
        found = pid;
  closedir(folder);
  return found;
}

template <class Condition>
bool becomes_true(Condition condition, double seconds = 10) {
  for (const double end = steady_seconds() + seconds; steady_seconds() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST(RunCase, FillsTheRunOfFixedSteps) {
  const epochbench::Run run = run_fake(spec_of("good"));
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_EQ(run.device.name, cpu_info().model) << "whatever a worker calls this CPU";
  ASSERT_TRUE(run.timing && run.throughput && run.efficiency && run.memory && run.interference && run.quality);
  EXPECT_THAT(run.timing->step_seconds, SizeIs(20));
  EXPECT_THAT(run.timing->step_seconds, Each(Ge(0.001)));
  EXPECT_EQ(run.timing->stopped_by, StopReason::steps);
  EXPECT_EQ(run.timing->epoch_kind, EpochKind::projected);
  EXPECT_EQ(run.timing->warmup_steps, 3);
  EXPECT_EQ(run.timing->compile_seconds, 0.25);
  const double total = std::accumulate(run.timing->step_seconds.begin(), run.timing->step_seconds.end(), 0.0);
  EXPECT_DOUBLE_EQ(run.timing->steps_total_seconds, total);
  EXPECT_GE(run.timing->wall_seconds, total);
  EXPECT_DOUBLE_EQ(run.throughput->samples_per_second, 80 / total);
  EXPECT_DOUBLE_EQ(run.timing->epoch_seconds, 20 / run.throughput->samples_per_second);
  EXPECT_LE(run.timing->step_seconds_ci95->first, run.timing->step_seconds_median);
  EXPECT_GE(run.timing->step_seconds_ci95->second, run.timing->step_seconds_median);
  EXPECT_GE(*run.timing->harness_seconds_per_step, 0);
  EXPECT_LT(*run.efficiency->data_wait_fraction, 0.5);
  EXPECT_EQ(run.memory->planned_bytes, 1 << 20);
  EXPECT_GT(run.memory->peak_bytes, 0);
  // Warm-up first, then the timed steps.
  ASSERT_THAT(run.quality->loss, SizeIs(23));
  for (std::size_t i = 0; i < 23; ++i) EXPECT_DOUBLE_EQ(run.quality->loss[i], 2.0 / (1.0 + static_cast<double>(i)));
  EXPECT_EQ(run.quality->final_loss, run.quality->loss.back());
  EXPECT_FALSE(run.quality->eval_metric);
}

TEST(RunCase, StepsOfAGpuAreThoseOfItsClockHeldAgainstTheHosts) {
  const epochbench::Run run = run_fake(spec_of("on_gpu"));
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_EQ(run.device.backend, BackendKind::cuda);
  EXPECT_FALSE(run.device.threads);
  EXPECT_THAT(run.timing->step_seconds, Each(testing::AllOf(Ge(0.5), testing::Le(0.6))));
  EXPECT_FALSE(run.timing->harness_seconds_per_step);
  // 20 steps of 0.5 s by the device's clock, of a few milliseconds by the host's.
  ASSERT_TRUE(run.timing->clock_disagreement);
  EXPECT_THAT(*run.timing->clock_disagreement, testing::AllOf(Ge(0.5), testing::Le(1)));
  ASSERT_TRUE(run.gpu);
  EXPECT_EQ(run.gpu->skipped_steps, 3);
  EXPECT_EQ(run.quality->dropout_masks, "library");
  EXPECT_EQ(run.efficiency->gpu_busy_fraction, 1.0 - *run.efficiency->data_wait_fraction);  // idle for data alone
  EXPECT_FALSE(run.memory->peak_bytes) << "that of the host says nothing of the device";
}

TEST(RunCase, MeasuresWholeEpochsAndEvaluatesEach) {
  CaseSpec spec = spec_of("good");
  spec.stop = {};
  spec.stop.epochs = 3;
  const epochbench::Run run = run_fake(spec);
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_THAT(run.timing->step_seconds, SizeIs(15));
  EXPECT_EQ(run.timing->stopped_by, StopReason::epochs);
  EXPECT_EQ(run.timing->epoch_kind, EpochKind::measured);
  EXPECT_DOUBLE_EQ(run.timing->epoch_seconds, run.timing->steps_total_seconds / 3);
  EXPECT_EQ(run.quality->eval_metric, EvalMetric::accuracy);
  EXPECT_THAT(run.quality->eval_history, ElementsAre(0.5, 0.6, DoubleEq(0.7)));
  EXPECT_EQ(run.quality->eval_value, run.quality->eval_history.back());
  EXPECT_FALSE(run.message);
}

TEST(RunCase, StopsOnceTheMetricIsReached) {
  CaseSpec spec = spec_of("good");
  spec.stop = {};
  spec.stop.until = Until{EvalMetric::accuracy, 0.6};
  const epochbench::Run run = run_fake(spec);
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_EQ(run.timing->stopped_by, StopReason::until);
  EXPECT_THAT(run.timing->step_seconds, SizeIs(10));
  ASSERT_TRUE(run.timing->training_seconds && run.timing->evaluation_seconds);
  EXPECT_GT(*run.timing->training_seconds, 1000) << "the clock starts before data are touched";
  EXPECT_LT(*run.timing->training_seconds, 1000 + run.timing->wall_seconds);
  EXPECT_GT(*run.timing->training_seconds, *run.timing->evaluation_seconds + run.timing->steps_total_seconds);
}

TEST(RunCase, SaysWhenTheMetricIsNotReached) {
  CaseSpec spec = spec_of("good");
  spec.stop = {};
  spec.stop.until = Until{EvalMetric::loss, 0.1};
  spec.stop.epochs = 2;
  const epochbench::Run run = run_fake(spec);
  EXPECT_EQ(run.status, RunStatus::ok);
  EXPECT_EQ(run.timing->stopped_by, StopReason::epochs);
  EXPECT_EQ(run.quality->eval_metric, EvalMetric::loss);
  EXPECT_THAT(run.message.value_or(""), HasSubstr("loss 0.1 not reached in 2 epochs: the best was 0.25"));
}

TEST(RunCase, KnowsATextByItsLossALabel) {
  CaseSpec spec = spec_of("text");
  spec.stop = {};
  spec.stop.epochs = 1;
  const epochbench::Run run = run_fake(spec);
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_EQ(run.quality->eval_metric, EvalMetric::loss);
  EXPECT_THAT(run.quality->eval_value, testing::Optional(DoubleEq(0.05)));
}

TEST(RunCase, ProfilesWhereItIsAskedTo) {
  CaseSpec spec = spec_of("good");
  EXPECT_FALSE(run_fake(spec).profile);
  spec.profile = true;
  const auto run = run_fake(spec);
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  ASSERT_TRUE(run.profile);
  EXPECT_THAT(run.profile->passes, testing::Optional(testing::Ge(3)));
  ASSERT_THAT(run.profile->nodes, SizeIs(2));
  const ProfileNode& node = run.profile->nodes[0];
  EXPECT_EQ(node.name + "|" + node.op + "|" + node.implementation, "fc1|linear|fake linear");
  EXPECT_EQ(node.seconds, 0.5);
  EXPECT_EQ(node.flops, 100);
  EXPECT_EQ(node.bytes, 10);
  EXPECT_FALSE(node.limit_seconds);
  EXPECT_EQ(run.timing->step_seconds.size(), 20u) << "the pass is none of the timed steps";
}

TEST(RunCase, WhatCannotBeLeftBehindCostsNoMeasurement) {
  const epochbench::Run run = run_fake(spec_of("cannot_finish"));
  EXPECT_EQ(run.status, RunStatus::ok);
  EXPECT_EQ(run.timing->step_seconds.size(), 20u);
  EXPECT_THAT(run.message.value_or(""), HasSubstr("not written: the disk is full"));
}

TEST(RunCase, StopsByItselfWithinItsTime) {
  CaseSpec spec = spec_of("good");
  spec.stop = {};
  DriverOptions options;
  options.stopping.noise = 0;  // never reached
  options.stopping.max_seconds = 0.3;
  options.stopping.block_seconds = 0.05;
  const epochbench::Run run = run_fake(spec, options);
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_THAT(run.timing->stopped_by, testing::AnyOf(StopReason::time, StopReason::stable_noise));
  EXPECT_LT(run.timing->steps_total_seconds, 10);
}

TEST(RunCase, ReportsProgress) {
  std::vector<std::string> phases;
  std::int64_t steps = 0;
  const auto progress = [&](const Progress& now) {
    if (phases.empty() || phases.back() != now.phase) phases.push_back(now.phase);
    steps = now.steps;
    EXPECT_EQ(now.steps_planned, now.phase == "measure" ? std::optional<std::int64_t>(20) : std::nullopt);
  };
  run_case(spec_of("good"), FAKE_CASE_BINARY, progress, kNever);
  EXPECT_THAT(phases, ElementsAre("compile", "warm up", "measure"));
  EXPECT_EQ(steps, 20);
}

TEST(RunCase, ForwardHasNeitherLossNorEvaluation) {
  CaseSpec spec = spec_of("good");
  spec.mode = Mode::forward;
  const epochbench::Run run = run_fake(spec);
  ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
  EXPECT_TRUE(run.quality->loss.empty());
  EXPECT_FALSE(run.quality->final_loss);
}

TEST(RunCase, ForwardHasLatenciesAfterItsTimedSteps) {
  for (const char* model : {"good", "on_gpu"}) {
    CaseSpec spec = spec_of(model);
    spec.mode = Mode::forward;
    std::vector<std::string> phases;
    const auto progress = [&](const Progress& now) {
      if (phases.empty() || phases.back() != now.phase) phases.push_back(now.phase);
    };
    const epochbench::Run run = run_case(spec, FAKE_CASE_BINARY, progress, kNever);
    ASSERT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
    EXPECT_THAT(phases, ElementsAre("compile", "warm up", "measure", "latency"));
    EXPECT_THAT(run.timing->step_seconds, SizeIs(20));
    ASSERT_TRUE(run.latency);
    EXPECT_EQ(run.latency->samples, 20);
    EXPECT_THAT(run.latency->step_seconds, testing::AllOf(SizeIs(20), Each(Ge(0.001))));
    EXPECT_TRUE(run.latency->p90_seconds && !run.latency->p99_seconds);
    EXPECT_LE(*run.latency->p50_seconds, run.latency->worst_seconds);
  }
  EXPECT_FALSE(run_fake(spec_of("good")).latency) << "training has none";
}

TEST(RunCase, OutputOfLibrariesDoesNotDisturbTheProtocol) { EXPECT_EQ(run_fake(spec_of("prints")).status, RunStatus::ok); }

TEST(RunCase, ProcessIsInThisGroupIgnoresInterruptsAndHoldsNoFileOfOurs) {
  const int leaked = dup(STDERR_FILENO);  // open across exec, as a library might leave it
  const epochbench::Run run = run_fake(spec_of("inspect"));
  close(leaked);
  const std::string expected = "group=1 ignores_interrupt=1 inherited_files=0 threads=1 ";
  EXPECT_THAT(run.message.value_or(""), HasSubstr(expected));
}

TEST(RunCase, ThreadsAreThoseOfTheCaseWhateverTheEnvironmentSays) {
  const std::pair<const char*, const char*> variables[] = {
      {"OMP_PROC_BIND", "spread"}, {"OMP_NUM_THREADS", "77"}, {"GOMP_CPU_AFFINITY", "0"}, {"KMP_AFFINITY", "compact"}};
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  CaseSpec spec = spec_of("inspect");
  spec.pin = Pinning::none;
  EXPECT_THAT(run_fake(spec).message.value_or(""), HasSubstr("threads=1 bind=false others=0"));
  spec.pin = Pinning::cores;
  EXPECT_THAT(run_fake(spec).message.value_or(""), HasSubstr("threads=1 bind=close others=0"));
  for (const auto& [name, value] : variables) unsetenv(name);
}

TEST(RunCase, FewerThreadsThanAskedForIsAnErrorAndFewerThanUsualIsNot) {
  CaseSpec spec = spec_of("good");
  spec.threads = 2;
  const auto prepare = [&] {
    Conversation conversation(FAKE_CASE_BINARY, {{"OMP_THREAD_LIMIT", "1"}}, ProcessLimits{}, kNever);
    return conversation.prepare(spec, std::nullopt);
  };
  const auto failure = failure_of(prepare);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->status, RunStatus::failed);
  EXPECT_THAT(failure->message, HasSubstr("threads_missing: OpenMP granted 1 of the 2 threads that --threads names"));
  spec.has_default_threads = true;
  EXPECT_EQ(prepare().device.threads, 1);
  EXPECT_THAT(prepare().device.cpus, SizeIs(1));
}

struct Fault {
  const char* model;
  RunStatus status;
  const char* message;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.model; }

class FaultyCase : public testing::TestWithParam<Fault> {};

TEST_P(FaultyCase, IsARunWithStatusAndReason) {
  const epochbench::Run run = run_fake(spec_of(GetParam().model), impatient());
  EXPECT_EQ(run.status, GetParam().status);
  EXPECT_THAT(run.message.value_or(""), HasSubstr(GetParam().message));
  EXPECT_LT(run.message.value_or("").size(), 800u);
  EXPECT_THAT(run.message.value_or(""), testing::Not(HasSubstr("\n")));
  EXPECT_EQ(run.device.backend, BackendKind::cpu);
  EXPECT_FALSE(run.timing || run.throughput || run.efficiency || run.memory || run.interference || run.quality);
}

// Sanitizers turn a signal into an exit code of their own, so crashes are distinguished by what is common to both.
INSTANTIATE_TEST_SUITE_P(All, FaultyCase,
                         testing::Values(Fault{"crash", RunStatus::failed, "the case's process "},
                                         Fault{"aborts", RunStatus::failed, "the case's process "},
                                         Fault{"exit_early", RunStatus::failed, "exit code 7"},
                                         Fault{"quiet_exit", RunStatus::failed, "exit code 0"},
                                         Fault{"bad_alloc", RunStatus::out_of_memory, "an allocation failed"},
                                         Fault{"too_large", RunStatus::out_of_memory, "needs 5 GiB, 1 GiB is available"},
                                         Fault{"throws", RunStatus::failed, "no such thing"},
                                         Fault{"throw_step", RunStatus::failed, "the device is gone"},
                                         Fault{"nan", RunStatus::diverged, "the loss of step 5 "},
                                         Fault{"explodes", RunStatus::diverged, "1e+06"},
                                         Fault{"hang", RunStatus::failed, "hung"},
                                         Fault{"hang_early", RunStatus::failed, "hung"}),
                         [](const auto& fault) { return fault.param.model; });

// Not even the protocol is kept: FAKE_CASE in the environment selects how.
class FaultyProtocol : public testing::TestWithParam<Fault> {};

TEST_P(FaultyProtocol, IsAFailedRun) {
  setenv("FAKE_CASE", GetParam().model, 1);
  const epochbench::Run run = run_fake(spec_of("good"), impatient());
  unsetenv("FAKE_CASE");
  EXPECT_EQ(run.status, RunStatus::failed);
  EXPECT_THAT(run.message.value_or(""), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(All, FaultyProtocol,
                         testing::Values(Fault{"garbage", RunStatus::failed, "not a message of the protocol"},
                                         Fault{"endless_line", RunStatus::failed, "without an end"},
                                         Fault{"wrong_version", RunStatus::failed, "version 99"},
                                         Fault{"wrong_fields", RunStatus::failed, "a wrong message: message.device: missing"},
                                         Fault{"wrong_event", RunStatus::failed, "result instead of ready"}),
                         [](const auto& fault) { return fault.param.model; });

#if !defined(__SANITIZE_THREAD__)  // sanitizers' shadow memory does not fit a small address space
TEST(RunCase, AllocationThatReallyFailsIsOutOfMemory) {
  if (test::under_address_sanitizer()) GTEST_SKIP();  // whose shadow memory does not fit a small address space
  const epochbench::Run run = run_fake(spec_of("allocates"));
  EXPECT_EQ(run.status, RunStatus::out_of_memory) << run.message.value_or("");
}

TEST(RunCase, CrashTellsItsSignal) {
  if (test::under_address_sanitizer()) GTEST_SKIP();  // which reports it in its own way
  const WorkerCommand speaking({"/bin/sh", "-c", "(echo; echo ------; echo 'Thread creation failed') >&2; exit 3"});
  EXPECT_EQ(
      run_case(spec_of("mlp"), speaking, nullptr, kNever).message,
      "the case's process ended with exit code 3; it said: Thread creation failed; too many processes or threads: raise their "
      "limit (ulimit -u, or docker run --pids-limit)");
  EXPECT_EQ(run_fake(spec_of("crash")).message, "the case's process was killed by SIGSEGV");
  EXPECT_EQ(run_fake(spec_of("aborts")).message, "the case's process was killed by SIGABRT");
}
#endif

TEST(RunCase, BinaryThatIsNotThereFails) {
  const epochbench::Run run = run_case(spec_of("good"), "/nowhere/epochbench", nullptr, kNever);
  EXPECT_EQ(run.status, RunStatus::failed);
  EXPECT_THAT(run.message.value_or(""), HasSubstr("cannot execute /nowhere/epochbench"));
}

TEST(RunCase, EndsWhenInterrupted) {
  CaseSpec spec = spec_of("hang_early");
  const double begin = steady_seconds();
  const epochbench::Run run = run_fake(spec, {}, [&] { return steady_seconds() - begin > 0.3; });
  EXPECT_EQ(run.status, RunStatus::interrupted);
  EXPECT_THAT(run.message.value_or(""), testing::MatchesRegex("after .* ms, in the phase \"compile\""));
  EXPECT_FALSE(run.timing);
  EXPECT_LT(steady_seconds() - begin, 5);
  EXPECT_EQ(child_of(getpid()), 0);
}

TEST(RunCase, AnInterruptedRunKeepsTheBlocksThatItHadTimed) {
  CaseSpec spec = spec_of("good");
  spec.stop = {};
  spec.stop.min_time_seconds = 60;
  bool interrupted = false;
  const std::function<void(const Progress&)> watch = [&](const Progress& progress) { interrupted |= progress.steps >= 30; };
  const epochbench::Run run = run_case(spec, FAKE_CASE_BINARY, watch, [&] { return interrupted; });
  EXPECT_EQ(run.status, RunStatus::interrupted);
  ASSERT_TRUE(run.timing && run.throughput && run.energy);
  EXPECT_GE(run.timing->step_seconds.size(), 30u);
  EXPECT_EQ(run.timing->stopped_by, StopReason::interrupted);
  EXPECT_THAT(run.message.value_or(""),
              testing::MatchesRegex("after .*s, in the phase \"measure\"; [0-9]+ steps were timed, the median .* ms"));
  EXPECT_EQ(run.energy->reason, "the run did not end");
}

// What is reported meanwhile does not make it look alive.
TEST(RunCase, AProcessThatHangsSaysHowFarItIsAndWhatItTimedIsKept) {
  std::vector<Progress> reports;
  const std::function<void(const Progress&)> watch = [&](const Progress& progress) {
    if (progress.step_seconds) reports.push_back(progress);
  };
  DriverOptions options = impatient();
  options.process.hung_seconds = 2.5;
  CaseSpec spec = spec_of("hang");
  spec.warmup = 0;  // the first block is one step, and the next ones as many as are left
  const epochbench::Run run = run_case(spec, FAKE_CASE_BINARY, watch, kNever, options);
  EXPECT_EQ(run.status, RunStatus::failed);
  EXPECT_THAT(run.message.value_or(""), testing::MatchesRegex("hung: .*; 1 step was timed, the median .*"));
  ASSERT_THAT(reports, SizeIs(Ge(1u)));
  for (const Progress& progress : reports) {
    EXPECT_EQ(progress.phase, "measure");
    EXPECT_EQ(progress.steps, 5);
    EXPECT_GT(*progress.step_seconds, 0.1);
  }
  ASSERT_TRUE(run.timing);
  EXPECT_THAT(run.timing->step_seconds, SizeIs(1));
  EXPECT_EQ(run.timing->stopped_by, StopReason::failed);
}

// Does something to the case's process once it is measuring.
class Disturbance {
 public:
  Disturbance(std::function<void(pid_t)> action)
      : thread_([action = std::move(action)] {
          pid_t pid = 0;
          becomes_true([&] { return (pid = child_of(getpid())) != 0; });
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
          action(pid);
        }) {}
  ~Disturbance() { thread_.join(); }

 private:
  std::thread thread_;
};

CaseSpec long_case() {
  CaseSpec spec = spec_of("good");
  spec.stop = {};
  spec.stop.min_time_seconds = 0.7;
  return spec;
}

TEST(RunCase, KillOfTheProcessIsAFailure) {
  const auto kill_it = [](const Progress& progress) {  // once steps are timed
    if (const pid_t pid = child_of(getpid()); pid != 0 && progress.steps > 0) kill(pid, SIGKILL);
  };
  const epochbench::Run run = run_case(long_case(), FAKE_CASE_BINARY, kill_it, kNever, {});
  EXPECT_EQ(run.status, RunStatus::failed);
  EXPECT_THAT(run.message.value_or(""), testing::StartsWith("the case's process was killed by SIGKILL; "));
}

TEST(RunCase, StoppedProcessIsNotHung) {
  const Disturbance disturbance([](pid_t pid) {
    kill(pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(2200));
    kill(pid, SIGCONT);
  });
  DriverOptions options = impatient();
  options.process.hung_seconds = 1;
  const epochbench::Run run = run_fake(long_case(), options);
  EXPECT_EQ(run.status, RunStatus::ok) << run.message.value_or("");
}

TEST(RunCase, InterruptOfTheGroupIsLeftToTheParent) {
  const Disturbance disturbance([](pid_t pid) { kill(pid, SIGINT); });
  EXPECT_EQ(run_fake(long_case()).status, RunStatus::ok);
}

TEST(RunCase, ProcessEndsWhenTheParentIsKilled) {
  const pid_t parent = fork();
  if (parent == 0) {
    CaseSpec spec = spec_of("good");
    spec.stop.steps = 1000000;
    run_fake(spec);
    _exit(0);
  }
  pid_t pid = 0;
  ASSERT_TRUE(becomes_true([&] { return (pid = child_of(parent)) != 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(becomes_true([&] { return process_state(pid).first == 0 || process_state(pid).first == 'Z'; }));
}

}  // namespace
}  // namespace epochbench
