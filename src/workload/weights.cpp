#include "src/workload/weights.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "epochbench/dataset.h"
#include "src/data/byte_source.h"

namespace epochbench {
namespace {

bool in_files(const Variable& variable) {
  return variable.role == VariableRole::parameter || variable.role == VariableRole::statistic;
}

const Shape& file_shape(const Variable& variable) {
  return variable.file_layout.shape.empty() ? variable.desc.shape : variable.file_layout.shape;
}

// A buffer of the frameworks' modules that is not a weight, or the decoder, which shares the word embedding's memory.
bool ignored(const std::string& name) {
  return name.ends_with(".num_batches_tracked") || name.ends_with(".position_ids") ||
         name.starts_with("cls.predictions.decoder.");
}

// out[i][c][p] = in[i][p][c] for n matrices of `rows` x `columns`.
std::vector<float> transposed(std::span<const float> in, std::int64_t n, std::int64_t rows, std::int64_t columns) {
  std::vector<float> out(in.size());
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        out[static_cast<std::size_t>((i * columns + c) * rows + r)] =
            in[static_cast<std::size_t>((i * rows + r) * columns + c)];
  return out;
}

void check_size(const FileLayout& layout, std::span<const float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  if (layout.channels_last.size() != 4 || element_count(layout.channels_last) != size || element_count(layout.shape) != size)
    throw std::invalid_argument("file layout " + to_string(layout.channels_last) + " of " + std::to_string(size) + " elements");
}

}  // namespace

std::vector<float> to_file_order(const FileLayout& layout, std::span<const float> values) {
  if (layout.shape.empty()) return {values.begin(), values.end()};
  check_size(layout, values);
  const Shape& here = layout.channels_last;
  return transposed(values, here[0], here[1] * here[2], here[3]);
}

std::vector<float> from_file_order(const FileLayout& layout, std::span<const float> values) {
  if (layout.shape.empty()) return {values.begin(), values.end()};
  check_size(layout, values);
  const Shape& here = layout.channels_last;
  return transposed(values, here[0], here[3], here[1] * here[2]);
}

void check_weights(const SafetensorsFile& file, const std::vector<Variable>& variables) {
  const auto fail = [&](const std::string& what) {
    throw DataError("weights " + file.name() + " do not fit the model: " + what +
                    "; name a file of the same model and options (--init)");
  };
  std::map<std::string, const Variable*> expected;
  for (const Variable& variable : variables)
    if (in_files(variable)) expected[variable.name] = &variable;
  for (const auto& [name, variable] : expected)
    if (!file.tensors().contains(name))
      fail("tensor " + in_quotes(name) + " of F32" + to_string(file_shape(*variable)) + " is missing");
  for (const auto& [name, tensor] : file.tensors()) {
    const auto found = expected.find(name);
    if (found == expected.end()) {
      if (!ignored(name)) fail("the model has no tensor " + in_quotes(name) + " of " + tensor.dtype + to_string(tensor.shape));
      continue;
    }
    const Shape& shape = file_shape(*found->second);
    if (tensor.dtype != "F32" || tensor.shape != shape)
      fail("tensor " + in_quotes(name) + " is " + tensor.dtype + to_string(tensor.shape) + ", the model's is F32" +
           to_string(shape));
  }
}

void read_weights(Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path) {
  SafetensorsFile file(path);
  check_weights(file, variables);
  std::vector<float> values;
  for (const Variable& variable : variables) {
    if (!in_files(variable)) continue;
    values.resize(static_cast<std::size_t>(variable.desc.elements()));
    file.read(file.tensors().at(variable.name), std::as_writable_bytes(std::span(values)));
    if (!variable.file_layout.shape.empty()) values = from_file_order(variable.file_layout, values);
    executable.write(variable.name, values);
  }
}

void write_weights(const Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path) {
  std::vector<std::pair<std::string, TensorDesc>> tensors;
  for (const Variable& variable : variables)
    if (in_files(variable)) tensors.push_back({variable.name, {file_shape(variable), variable.desc.dtype}});
  SafetensorsWriter writer(path, tensors);
  std::vector<float> values;
  for (const Variable& variable : variables) {
    if (!in_files(variable)) continue;
    values.resize(static_cast<std::size_t>(variable.desc.elements()));
    executable.read(variable.name, values);
    if (!variable.file_layout.shape.empty()) values = to_file_order(variable.file_layout, values);
    writer.write(std::as_bytes(std::span(values)));
  }
  writer.finish();
}

}  // namespace epochbench
