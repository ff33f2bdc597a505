#include "src/workload/weights.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "epochbench/dataset.h"
#include "src/data/byte_source.h"

namespace epochbench {
namespace {

// A tensor of a weight file, and the variables that are its rows, or its columns if it is transposed.
struct FileTensor {
  std::string name;
  Shape shape;
  std::vector<const Variable*> parts;
  bool transposed() const { return parts.front()->file_layout.transposed; }
  Shape rows() const { return transposed() ? Shape{shape[1], shape[0]} : shape; }
};

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

std::vector<FileTensor> file_tensors(const std::vector<Variable>& variables) {
  std::vector<FileTensor> tensors;
  for (const Variable& variable : variables) {
    if (variable.role != VariableRole::parameter && variable.role != VariableRole::statistic) continue;
    const FileLayout& layout = variable.file_layout;
    const std::string& name = layout.tensor.empty() ? variable.name : layout.tensor;
    if (tensors.empty() || tensors.back().name != name)
      tensors.push_back({name, layout.shape.empty() ? variable.desc.shape : layout.shape, {}});
    tensors.back().parts.push_back(&variable);
  }
  return tensors;
}

// A part's values among those of its tensor's rows.
std::span<float> values_of(const Variable& part, const Shape& rows, std::span<float> values) {
  const std::int64_t row = element_count(rows) / (rows.empty() ? 1 : rows[0]);
  return values.subspan(static_cast<std::size_t>(part.file_layout.first_row * row),
                        static_cast<std::size_t>(part.desc.elements()));
}

// A buffer of the frameworks' modules that is not a weight, such as a causal mask, or a decoder that shares the word
// embedding's memory.
bool ignored(const std::string& name) {
  return name.ends_with(".num_batches_tracked") || name.ends_with(".position_ids") || name.ends_with(".attn.bias") ||
         name.ends_with(".attn.masked_bias") || name.starts_with("cls.predictions.decoder.") || name == "lm_head.weight";
}

void check_size(const FileLayout& layout, std::span<const float> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  if (layout.channels_last.size() != 4 || element_count(layout.channels_last) != size || element_count(layout.shape) != size)
    throw std::invalid_argument("file layout " + to_string(layout.channels_last) + " of " + std::to_string(size) + " elements");
}

}  // namespace

std::vector<float> to_file_order(const FileLayout& layout, std::span<const float> values) {
  if (layout.channels_last.empty()) return {values.begin(), values.end()};
  check_size(layout, values);
  const Shape& here = layout.channels_last;
  return transposed(values, here[0], here[1] * here[2], here[3]);
}

std::vector<float> from_file_order(const FileLayout& layout, std::span<const float> values) {
  if (layout.channels_last.empty()) return {values.begin(), values.end()};
  check_size(layout, values);
  const Shape& here = layout.channels_last;
  return transposed(values, here[0], here[3], here[1] * here[2]);
}

void check_weights(const SafetensorsFile& file, const std::vector<Variable>& variables) {
  const auto fail = [&](const std::string& what) {
    throw DataError("weights " + file.name() + " do not fit the model: " + what +
                    "; name a file of the same model and options (--init)");
  };
  std::map<std::string, Shape> expected;
  for (const FileTensor& tensor : file_tensors(variables)) expected[tensor.name] = tensor.shape;
  for (const auto& [name, shape] : expected)
    if (!file.tensors().contains(name)) fail("tensor " + in_quotes(name) + " of F32" + to_string(shape) + " is missing");
  for (const auto& [name, tensor] : file.tensors()) {
    const auto found = expected.find(name);
    if (found == expected.end()) {
      if (!ignored(name)) fail("the model has no tensor " + in_quotes(name) + " of " + tensor.dtype + to_string(tensor.shape));
      continue;
    }
    const Shape& shape = found->second;
    if (tensor.dtype != "F32" || tensor.shape != shape)
      fail("tensor " + in_quotes(name) + " is " + tensor.dtype + to_string(tensor.shape) + ", the model's is F32" +
           to_string(shape));
  }
}

void read_weights(Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path) {
  SafetensorsFile file(path);
  check_weights(file, variables);
  std::vector<float> values;
  for (const FileTensor& tensor : file_tensors(variables)) {
    values.resize(static_cast<std::size_t>(element_count(tensor.shape)));
    file.read(file.tensors().at(tensor.name), std::as_writable_bytes(std::span(values)));
    if (tensor.transposed()) values = transposed(values, 1, tensor.shape[0], tensor.shape[1]);
    for (const Variable* part : tensor.parts)
      executable.write(part->name, from_file_order(part->file_layout, values_of(*part, tensor.rows(), values)));
  }
}

void write_weights(const Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path) {
  const std::vector<FileTensor> tensors = file_tensors(variables);
  std::vector<std::pair<std::string, TensorDesc>> described;
  for (const FileTensor& tensor : tensors) described.push_back({tensor.name, {tensor.shape, DType::f32}});
  SafetensorsWriter writer(path, described);
  std::vector<float> values;
  for (const FileTensor& tensor : tensors) {
    values.resize(static_cast<std::size_t>(element_count(tensor.shape)));
    for (const Variable* part : tensor.parts) {
      const std::span<float> here = values_of(*part, tensor.rows(), values);
      executable.read(part->name, here);
      std::ranges::copy(to_file_order(part->file_layout, here), here.begin());
    }
    if (tensor.transposed()) values = transposed(values, 1, tensor.shape[1], tensor.shape[0]);
    writer.write(std::as_bytes(std::span(values)));
  }
  writer.finish();
}

}  // namespace epochbench
