// Weights in safetensors files, under the names and in the shapes of torchvision and Hugging Face, fp32: parameters and
// running statistics. Optimizer state is not included.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "epochbench/backend.h"
#include "epochbench/graph.h"
#include "epochbench/program.h"
#include "src/data/safetensors.h"

namespace epochbench {

// From the order of the elements here to that in a file, and back; values and result have the same size.
// Errors: std::invalid_argument for a layout of another size.
std::vector<float> to_file_order(const FileLayout& layout, std::span<const float> values);
std::vector<float> from_file_order(const FileLayout& layout, std::span<const float> values);

// Errors: DataError for a tensor that is missing, superfluous, of another shape or not F32; it names the tensor, and both
// shapes. Extra tensors that frameworks write are ignored: `*.num_batches_tracked`, `*.position_ids`, `*.attn.bias`, and
// decoders that share the word embedding's memory.
void check_weights(const SafetensorsFile& file, const std::vector<Variable>& variables);

// Sets all parameters and statistics, or none if check_weights() fails.
void read_weights(Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path);
// Errors: DataError when the file cannot be written.
void write_weights(const Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path);

}  // namespace epochbench
