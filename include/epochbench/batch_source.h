// The source of a runner's batches: the loader in a real run, a fake in tests.
#pragma once

#include <cstdint>

#include "epochbench/executable.h"

namespace epochbench {

class BatchSource {
 public:
  struct Batch {
    InputSlot slot = -1;
    // Valid rows, in training of all ranks; the others have label -1. 0: the evaluation has no batches left
    std::int64_t samples = 0;
    bool fresh = true;  // the slot was refilled since it was last returned
  };
  virtual ~BatchSource() = default;
  virtual Batch next() = 0;                              // waits until the batch is in its slot
  virtual void release(InputSlot slot) = 0;              // the step that used it is done
  virtual std::int64_t steps_per_epoch() const = 0;      // whole batches of the training split
  virtual void begin_training(std::uint64_t epoch) = 0;  // next() returns the batches of this epoch, then of the following ones
  virtual void begin_evaluation() = 0;                   // next() returns the whole test split once
  virtual bool resident() const { return false; }        // each slot holds its batch from the start, and keeps it
};

}  // namespace epochbench
