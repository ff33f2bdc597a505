// epochbench with steps that take longer, by a known part of themselves: for what must find a slowdown. It is a test's binary
// and nothing else; the product has no such switch.
//
// EPOCHBENCH_TEST_DELAY is that part; 0.04 without it. A core is busy meanwhile. Steps of an asynchronous device, which are
// timed by its own clock, are not delayed.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <unistd.h>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "src/base/clock.h"
#include "src/cli/command_line.h"
#include "src/worker/case_server.h"
#include "src/workload/workload.h"

namespace {

using namespace epochbench;

class DelayedExecutable : public Executable {
 public:
  DelayedExecutable(std::unique_ptr<Executable> inner, double part) : inner_(std::move(inner)), part_(part) {}

  void run(Entry entry) override {
    began_ = steady_seconds();
    inner_->run(entry);
  }
  void synchronize() override {
    inner_->synchronize();
    const double now = steady_seconds();
    if (!began_) return;
    const double end = now + part_ * (now - *std::exchange(began_, std::nullopt));
    while (steady_seconds() < end) {
    }
  }

  std::span<std::byte> stage(InputSlot slot, int input, int part) override { return inner_->stage(slot, input, part); }
  void submit(InputSlot slot) override { inner_->submit(slot); }
  void resubmit(InputSlot slot) override { inner_->resubmit(slot); }
  bool asynchronous() const override { return inner_->asynchronous(); }
  int under_way() const override { return inner_->under_way(); }
  void await(int steps) override { inner_->await(steps); }
  void drain(std::vector<StepRecord>& records) override { inner_->drain(records); }
  void write(std::string_view variable, std::span<const float> values) override { inner_->write(variable, values); }
  void read(std::string_view variable, std::span<float> values) const override { inner_->read(variable, values); }
  void write_part(std::string_view variable, std::int64_t first, std::span<const float> values) override {
    inner_->write_part(variable, first, values);
  }
  bool library_dropout_masks() const override { return inner_->library_dropout_masks(); }
  std::optional<std::int64_t> device_bytes() const override { return inner_->device_bytes(); }
  std::string algorithms() const override { return inner_->algorithms(); }
  std::map<std::string, std::int64_t> chosen_algorithms() const override { return inner_->chosen_algorithms(); }
  std::optional<double> blind_seconds(Entry entry) const override { return inner_->blind_seconds(entry); }
  std::vector<NodeTime> profile(Entry entry, int passes) override { return inner_->profile(entry, passes); }

 private:
  std::unique_ptr<Executable> inner_;
  double part_;
  std::optional<double> began_;
};

PreparedCase prepare_delayed(const CaseSpec& spec) {
  const char* part = std::getenv("EPOCHBENCH_TEST_DELAY");
  PreparedCase prepared = prepare_case(spec);
  prepared.executable = std::make_unique<DelayedExecutable>(std::move(prepared.executable), part ? std::atof(part) : 0.04);
  return prepared;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "case") == 0)
    return serve_case(STDIN_FILENO, STDOUT_FILENO, {prepare_delayed, measure_gpu});
  return command_line(argc, argv);
}
