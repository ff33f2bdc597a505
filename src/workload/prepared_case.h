// A case that is built and compiled, to be driven by the process that measures it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "epochbench/batch_source.h"
#include "epochbench/dataset.h"
#include "epochbench/executable.h"
#include "src/result/result.h"

namespace epochbench {

struct DecodeSeconds {  // per training sample: CPU time, and elapsed time in a thread
  double cpu = 0, wall = 0;
};

struct PreparedCase {
  std::unique_ptr<Dataset> dataset;  // what `batches` reads, if it reads one
  std::unique_ptr<Executable> executable;
  std::unique_ptr<BatchSource> batches;      // destroyed first: it fills the executable's slots from the data set
  Entry entry = Entry::train;                // what is timed
  bool evaluates = false;                    // there is a test split and an evaluate entry
  EvalMetric metric = EvalMetric::accuracy;  // by which an evaluation is reported, unless --until names another
  std::int64_t labels_per_sample = 1;
  std::string fingerprint;  // of the workload; empty: not known
  Device device;
  std::optional<Input> input;          // empty: nothing is read while steps run
  std::optional<double> data_seconds;  // to open the data set, and to decode it if that is done in advance
  double compile_seconds = 0;
  std::int64_t planned_bytes = 0;                     // for all ranks
  std::optional<std::int64_t> resident_before_bytes;  // resident memory just before compilation
  std::int64_t samples_per_epoch = 0;
  std::function<void(InputSlot slot, double loss)> after_step;  // see StepObserver in src/worker/runner.h; may be empty
  std::function<double(std::int64_t step)> learning_rate;       // see LearningRate there; empty: it never changes
  std::function<void()> finish;                                 // once all steps are done; may be empty
  std::function<std::optional<std::int64_t>()> left_out;        // see Dataset::left_out(); may be empty
  std::function<std::optional<DecodeSeconds>()> decoding;       // so far; may be empty: it costs next to nothing
  std::function<std::int64_t()> skipped_steps;                  // by loss scaling, so far; empty: no loss scaling
};

}  // namespace epochbench
