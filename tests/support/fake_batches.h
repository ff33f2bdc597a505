// A batch source that holds no data and writes down what was asked of it.
#pragma once

#include <functional>
#include <stdexcept>
#include <vector>

#include "epochbench/batch_source.h"

namespace epochbench::test {

class FakeBatches : public BatchSource {
 public:
  std::function<void()> wait = [] {};  // the time that next() takes
  bool one_at_a_time = true;           // the next batch is an error before the last was released
  std::int64_t batch = 4, epoch_steps = 5, evaluation_batches = 3;
  std::vector<std::uint64_t> epochs;  // begun, in order
  std::vector<InputSlot> released;

  FakeBatches() { released.reserve(8192); }
  Batch next() override {
    if (in_use_ && one_at_a_time) throw std::logic_error("a batch was asked for before the last was released");
    wait();
    if (evaluating_ && evaluated_++ == evaluation_batches) return {};
    in_use_ = true;
    return {slot_++ % kInputSlots, batch};
  }
  void release(InputSlot slot) override {
    in_use_ = false;
    released.push_back(slot);
  }
  std::int64_t steps_per_epoch() const override { return epoch_steps; }
  void begin_training(std::uint64_t epoch) override {
    evaluating_ = false;
    epochs.push_back(epoch);
  }
  void begin_evaluation() override {
    evaluating_ = true;
    evaluated_ = 0;
  }

 private:
  bool evaluating_ = false, in_use_ = false;
  std::int64_t evaluated_ = 0;
  InputSlot slot_ = 0;
};

}  // namespace epochbench::test
