// Weights in safetensors files, under the names and in the shapes of torchvision and Hugging Face, fp32: parameters and
// running statistics. Optimizer state is not included. F16 and BF16 are read, too.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "epochbench/backend.h"
#include "epochbench/graph.h"
#include "epochbench/program.h"
#include "src/data/weight_files.h"

namespace epochbench {

// From the order of the elements here to that in a file, and back; values and result have the same size.
// Errors: std::invalid_argument for a layout of another size.
std::vector<float> to_file_order(const FileLayout& layout, std::span<const float> values);
std::vector<float> from_file_order(const FileLayout& layout, std::span<const float> values);

// Errors: DataError for a tensor that is missing, superfluous, of another shape or dtype; it names the tensor, and both shapes.
// Names are also those of other publishers, and buffers and heads of other tasks are left out (weight_names.h).
void check_weights(const WeightFiles& files, const std::vector<Variable>& variables);

// Sets all parameters and statistics, or none if check_weights() fails.
void read_weights(Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path);
// Errors: DataError when the file cannot be written.
void write_weights(const Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path);

}  // namespace epochbench
