// What a training run consumed and produced, in files that another framework can replay: initial.safetensors, a file for
// each step's batch and loss, final.safetensors, and trace.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "epochbench/backend.h"
#include "epochbench/program.h"
#include "src/workload/workload.h"

namespace epochbench {

// Leaves nothing behind. Errors: DataError for a folder that is not empty, cannot be written or cannot be created.
void check_trace_folder(const std::filesystem::path& folder);

class TraceWriter {
 public:
  // Creates the folder if necessary and writes the initial weights. `executable` must outlive the writer.
  // Errors of all members: DataError when a file cannot be written.
  TraceWriter(std::filesystem::path folder, const WorkloadSpec& workload, const Program& program, const std::string& precision,
              Executable& executable);

  // The batch of `slot` and its loss, as step-000000.safetensors, step-000001.safetensors, …: images f32 [batch, channels,
  // height, width] or input_ids i32 [batch, sequence] with or without masked_positions i32 [batch, predictions]; labels i32
  // [batch], [batch, predictions] or [batch, sequence]; loss f32 [].
  void step(InputSlot slot, double loss);
  void finish();  // the final weights and trace.json

 private:
  std::filesystem::path folder_;
  WorkloadSpec workload_;
  std::string precision_;
  std::vector<Variable> variables_;
  std::vector<Value> inputs_;
  std::vector<float> pixel_values_;  // for images that are staged as bytes
  Executable& executable_;
  std::int64_t steps_ = 0;
  std::vector<double> learning_rates_;  // of each step, as the device had them
};

}  // namespace epochbench
