// A worker that behaves as the name says by which it is called. Its step times are made up, so that ratios are exact and no
// time passes. It appends each command that it is sent to the file FAKE_WORKER_LOG. FAKE_WORKER_PLAN, as JSON, makes it a build
// that is slower, does other work or has a build type; then processes differ at random, as FAKE_WORKER_NOISE says, by
// FAKE_WORKER_SEED and what FAKE_WORKER_DRAWS counts, a file that grows with each process.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

namespace {

using nlohmann::json;

constexpr std::int64_t kEventful = 20;  // the step at which those with a fault show it: in the timed rounds

[[noreturn]] void hang() {
  while (true) pause();
}

json out_of_memory() { return {{"event", "error"}, {"status", "out_of_memory"}, {"message", "needs 5 GiB"}}; }

// What FAKE_WORKER_PLAN says of this build.
struct Plan {
  double factor = 1;  // of step times, the process's own noise included
  std::string fingerprint = "1111", build_type = "Release";

  Plan() {
    const char *text = std::getenv("FAKE_WORKER_PLAN"), *noise = std::getenv("FAKE_WORKER_NOISE");
    if (!text) return;
    const json plan = json::parse(text);
    factor += plan.value("slowdown", 0.0);
    fingerprint = plan.value("fingerprint", fingerprint);
    build_type = plan.value("build_type", build_type);
    if (noise) factor *= std::exp(std::atof(noise) / std::sqrt(2) * drawn());
  }

 private:
  static double drawn() {
    const char *path = std::getenv("FAKE_WORKER_DRAWS"), *seed = std::getenv("FAKE_WORKER_SEED");
    std::ofstream file(path, std::ios::app);
    file << '.' << std::flush;
    std::mt19937_64 random(std::strtoull(seed, nullptr, 10) * 100'000 + static_cast<std::uint64_t>(file.tellp()));
    return std::student_t_distribution<double>(3)(random);
  }
};

class FakeWorker {
 public:
  explicit FakeWorker(const std::filesystem::path& path) : folder_(path.parent_path()), name_(path.filename()) {}

  json answer(const json& message) {
    const std::string command = message.at("command");
    log(command);
    if (command == "hello") return hello(message.value("suite", ""));
    if (command == "prepare") return prepare(message.at("case"));
    if (command == "burst") return burst();
    if (command == "begin_epoch") return {{"event", "epoch"}};
    if (command == "finish") return finish(message.value("profile", false));
    return steps(message.at("steps"));
  }

 private:
  void log(const std::string& command) const {
    if (const char* path = std::getenv("FAKE_WORKER_LOG"))
      std::ofstream(path, std::ios::app) << name_ << ' ' << command << '\n';
  }

  json hello(const std::string& suite) const {
    if (name_ == "old") return {{"event", "error"}, {"status", "failed"}, {"message", "command hello before prepare"}};
    return {{"event", "hello"},      {"protocol", name_ == "newer" ? 99 : 1},
            {"version", "0.1.0"},    {"git_sha", "abc"},
            {"git_dirty", false},    {"build_type", plan_.build_type},
            {"compiler", "made up"}, {"suite", suite == "gate" ? json{{"cases", json::array()}} : json()}};
  }

  // Memory that one process alone has room in: a lock in the folder of the binaries, held until this process ends.
  bool takes_all_memory() {
    if (memory_ < 0) memory_ = open((folder_ / "memory").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return flock(memory_, LOCK_EX | LOCK_NB) == 0;
  }

  json prepare(json spec) {
    if (name_ == "refuses" || (name_ == "large" && !takes_all_memory())) return out_of_memory();
    if (name_ == "unknowing") spec.erase("gemm");
    const char* wait = std::getenv("OMP_WAIT_POLICY");
    return {{"event", "ready"},
            {"protocol", 1},
            {"case", spec},
            {"fingerprint", name_ == "other_work" ? "2222" : plan_.fingerprint},
            {"device",
             {{"backend", "cpu"},
              {"name", "made up"},
              {"threads", 1},
              {"isa", wait ? wait : "unset"},
              {"pinned", nullptr},
              {"algorithms", nullptr},
              {"without", nullptr}}},
            {"compile_seconds", 0.25},
            {"parameters", 1234},
            {"asynchronous", name_ == "queues"},
            {"library_dropout_masks", false}};
  }

  json burst() {
    if (++bursts_ == 4 && name_ == "dies") std::_Exit(7);
    return {{"event", "burst"}, {"flops_per_second", 1e9 * bursts_}};
  }

  // The first two steps are ten times as slow as any later one; "slower" takes 1.1 times as long as the others. The clock of
  // "coarse" sees every second step only.
  double seconds(std::int64_t steps) const {
    if (name_ == "coarse" && steps > 1 && taken_ % 2 == 0) return 0;
    return 0.01 * (taken_ < 2 ? 10 : 1) * (1 + 0.1 * static_cast<double>(taken_ % 3)) * (name_ == "slower" ? 1.1 : 1) *
           plan_.factor;
  }

  // A step is a product, which takes what a plan makes longer, and a sum.
  json finish(bool with_profile) const {
    json answer = {{"event", "result"}, {"peak_bytes", 1000}, {"skipped_steps", nullptr}};
    if (!with_profile) return answer;
    const auto node = [](const char* op, double seconds) {
      return json{{"name", op}, {"op", op}, {"implementation", ""}, {"seconds", seconds}, {"flops", 1000}, {"bytes", 1000}};
    };
    answer["profile"] = {{"passes", 1},
                         {"seconds", 0.01 * plan_.factor},
                         {"classes", json::array()},
                         {"nodes", {node("gemm", 0.01 * plan_.factor - 0.001), node("sum", 0.001)}}};
    return answer;
  }

  json steps(std::int64_t count) {
    std::vector<double> times, losses;
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i, ++taken_) {
      if (taken_ >= kEventful && name_ == "dies") std::_Exit(7);
      if (taken_ >= kEventful && name_ == "hangs") hang();
      times.push_back(seconds(count));
      losses.push_back(1.0 / static_cast<double>(1 + taken_));
      sum += times.back();
    }
    if (taken_ > kEventful && (name_ == "leaks" || (name_ == "grows" && !takes_all_memory()))) return out_of_memory();
    if (taken_ > kEventful && name_ == "diverges")
      return {{"event", "error"}, {"status", "diverged"}, {"message", "the loss is not a number"}};
    if (taken_ > kEventful && name_ == "garbled") times.pop_back();
    const double own = 2 * sum, foreign = 0.125 * sum;
    return {{"event", "steps"},
            {"seconds", times},
            {"loss", losses},
            {"samples", 4 * count},
            {"data_wait_seconds", 0.},
            {"idle_seconds", 0.},
            {"harness_seconds", 0.},
            {"wall_seconds", sum},
            {"page_faults", 0},
            {"own_cpu_seconds", own},
            {"busy_cpu_seconds", own + foreign}};
  }

  std::filesystem::path folder_;
  std::string name_;
  Plan plan_;
  std::int64_t taken_ = 0;
  int memory_ = -1, bursts_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path path = argv[0];
  const std::string name = path.filename();
  if (name == "stranger" || argc != 2) return std::cerr << "stranger: unknown option\n", 2;
  if (name == "talker") return std::cout << "Welcome to talker 3.1!\n" << std::flush, hang(), 0;
  if (name == "mute") hang();
  FakeWorker worker(path);
  for (std::string line; std::getline(std::cin, line);) {
    const json message = json::parse(line);
    std::cout << worker.answer(message).dump() << '\n' << std::flush;
    if (message.at("command") == "finish" && name == "lingers") hang();
    if (message.at("command") == "finish") return 0;
  }
  return 1;
}
