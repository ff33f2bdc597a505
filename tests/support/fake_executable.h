// An executable without a device: its steps take what a fake clock or a real sleep says, its losses are a function of the step.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "epochbench/backend.h"

namespace epochbench::test {

class FakeExecutable : public Executable {
 public:
  std::function<double(std::int64_t step)> loss = [](std::int64_t step) { return 2.0 / (1.0 + static_cast<double>(step)); };
  std::function<void(std::int64_t step)> work = [](std::int64_t) {};  // what a training step does and how long it takes
  std::function<double(std::int64_t evaluation)> accuracy = [](std::int64_t) { return 0.5; };
  std::int64_t batch = 4;
  double device_seconds = 0;  // of each training step by the device's clock; above 0 the device is asynchronous
  bool draws_dropout_masks = false;
  bool accepts_settings = false;
  std::vector<std::pair<std::int64_t, float>> learning_rates;  // each that was set, after how many steps
  int profiled_passes = 0;
  std::vector<InputSlot> submitted;  // by step, evaluation steps too
  std::int64_t steps = 0, evaluation_steps = 0;

  FakeExecutable() {  // room for what a block brings, so that only the runner's own allocations can show
    submitted.reserve(8192);
    records_.reserve(8192);
  }
  std::span<std::byte> stage(InputSlot, int, int) override { return {}; }
  void submit(InputSlot slot) override { submitted.push_back(slot); }
  void run(Entry entry) override {
    if (entry == Entry::evaluate) {
      const double rows = static_cast<double>(batch);
      records_.push_back({entry, 0.25 * rows, accuracy(evaluation_steps++) * rows, 0});
      return;
    }
    work(steps);
    records_.push_back({entry, entry == Entry::train ? loss(steps) : 0.0, 0, device_seconds});
    ++steps;
  }
  void drain(std::vector<StepRecord>& records) override {
    records.insert(records.end(), records_.begin(), records_.end());
    records_.clear();
  }
  void synchronize() override {}
  bool asynchronous() const override { return device_seconds > 0; }
  bool library_dropout_masks() const override { return draws_dropout_masks; }
  void write(std::string_view, std::span<const float>) override { throw std::logic_error("not faked"); }
  void read(std::string_view, std::span<float>) const override { throw std::logic_error("not faked"); }
  void write_part(std::string_view, std::int64_t, std::span<const float>) override { throw std::logic_error("not faked"); }
  void set(std::string_view variable, float value) override {
    if (!accepts_settings || variable != "learning_rate") throw std::logic_error("not faked");
    learning_rates.emplace_back(steps, value);
  }
  std::vector<NodeTime> profile(Entry, int passes) override {
    profiled_passes = passes;
    return {{"fc1", Op::linear, "fake linear", 0.5, 100, 10}, {"fc1.relu", Op::relu, "fake relu", 0.25, 0, 20}};
  }

 private:
  std::vector<StepRecord> records_;
};

}  // namespace epochbench::test
