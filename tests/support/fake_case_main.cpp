// A binary whose `case` subcommand behaves as the model's name says: well, or in one of the ways in which a case can fail.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/machine/environment.h"
#include "src/worker/case_server.h"
#include "tests/support/fake_batches.h"
#include "tests/support/fake_executable.h"

namespace {

using namespace epochbench;

[[noreturn]] void hang() {
  while (true) pause();
}

PreparedCase prepare(const CaseSpec& spec) {
  const std::string model = spec.model.name;
  if (model == "hang_early") hang();
  if (model == "bad_alloc") throw std::bad_alloc();
  if (model == "too_large") throw OutOfMemory("needs 5 GiB, 1 GiB is available");
  if (model == "throws") throw std::invalid_argument("no such thing");
  if (model == "prints") std::puts("a library talks on standard output");
  if (model == "inspect") {  // what the process was given, reported as an error message
    struct sigaction interrupt {};
    sigaction(SIGINT, nullptr, &interrupt);
    int open_files = 0;
    for (int fd = 3; fd < 256; ++fd) open_files += fcntl(fd, F_GETFD) >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
    const char* threads = std::getenv("OMP_NUM_THREADS");
    const char* bind = std::getenv("OMP_PROC_BIND");
    throw std::runtime_error(
        "group=" + std::to_string(getpgrp() == getpgid(getppid())) + " ignores_interrupt=" +
        std::to_string(interrupt.sa_handler == SIG_IGN) + " inherited_files=" + std::to_string(open_files) +
        " threads=" + (threads ? threads : "?") + " bind=" + (bind ? bind : "?") +
        " others=" + std::to_string((std::getenv("GOMP_CPU_AFFINITY") != nullptr) + (std::getenv("KMP_AFFINITY") != nullptr)));
  }

  auto executable = std::make_unique<test::FakeExecutable>();
  auto batches = std::make_unique<test::FakeBatches>();
  test::FakeExecutable& fake = *executable;
  test::FakeBatches& fake_batches = *batches;
  executable->work = [model](std::int64_t step) {
    if (model == "spin") {
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
      while (std::chrono::steady_clock::now() < end) {
      }
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (step < 5) return;
    if (model == "crash") std::raise(SIGSEGV);
    if (model == "aborts") std::abort();
    if (model == "exit_early") _exit(7);
    if (model == "quiet_exit") _exit(0);
    if (model == "hang") hang();
    if (model == "throw_step") throw std::runtime_error("the device is gone");
    if (model == "allocates") {  // a real failure of a real allocation
      const rlimit limit{256 << 20, 256 << 20};
      setrlimit(RLIMIT_AS, &limit);
      static char* volatile memory;
      while (true) {
        memory = new char[16 << 20];
        memory[0] = 1;
      }
    }
  };
  executable->loss = [model](std::int64_t step) {
    if (step >= 5 && model == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (step >= 5 && model == "explodes") return 1e6;
    return 2.0 / (1.0 + static_cast<double>(step));
  };
  // 3 batches an evaluation: the first comes to 50 %, the second to 60 %, …
  executable->accuracy = [](std::int64_t step) { return 0.5 + 0.1 * static_cast<double>(step / 3); };
  PreparedCase prepared;
  prepared.executable = std::move(executable);
  prepared.batches = std::move(batches);
  prepared.entry = spec.mode == Mode::forward ? Entry::forward : Entry::train;
  prepared.data_seconds = 1000;  // no run of a test takes as long
  prepared.evaluates = spec.mode == Mode::train;
  if (model == "text") {
    prepared.metric = EvalMetric::loss;
    prepared.labels_per_sample = 5;
  }
  if (model == "cannot_finish") prepared.finish = [] { throw std::runtime_error("the disk is full"); };
  prepared.device = {BackendKind::cpu, "fake", spec.threads, "none"};
  if (model == "on_gpu") {
    prepared.device = {BackendKind::cuda, "fake GPU", std::nullopt, std::nullopt};
    prepared.skipped_steps = [] { return std::int64_t{3}; };
    fake.device_seconds = 0.5;
    fake.draws_dropout_masks = true;
    fake_batches.one_at_a_time = false;
  }
  prepared.compile_seconds = 0.25;
  prepared.planned_bytes = 1 << 20;
  prepared.resident_before_bytes = resident_bytes();
  prepared.samples_per_epoch = 20;
  return prepared;
}

void say(const char* line) { [[maybe_unused]] const ssize_t size = write(STDOUT_FILENO, line, std::strlen(line)); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "case") != 0) return 2;
  // Not even the protocol is kept when the environment asks for that.
  const std::string behavior = std::getenv("FAKE_CASE") ? std::getenv("FAKE_CASE") : "";
  if (behavior == "garbage") return say("Segmentation fault, or so\n"), hang(), 0;
  if (behavior == "endless_line")
    while (true) say("0123456789012345678901234567890123456789");
  if (behavior == "wrong_version") return say("{\"event\": \"ready\", \"protocol\": 99, \"device\": {}}\n"), hang(), 0;
  if (behavior == "wrong_fields") return say("{\"event\": \"ready\", \"protocol\": 1}\n"), hang(), 0;
  if (behavior == "wrong_event") return say("{\"event\": \"result\"}\n"), hang(), 0;
  return serve_case(STDIN_FILENO, STDOUT_FILENO, {prepare, nullptr});
}
