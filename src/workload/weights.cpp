#include "src/workload/weights.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "epochbench/dataset.h"
#include "src/data/byte_source.h"
#include "src/workload/weight_names.h"

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

// The tensors of a file by their names here, checked: each tensor of the model is there, or all its parts are.
std::map<std::string, WeightFiles::Place> tensors_here(const WeightFiles& files, const std::vector<FileTensor>& tensors) {
  const auto fail = [&](const std::string& what) {
    throw DataError("weights " + files.name() + " do not fit the model: " + what +
                    "; name a file of the same model and options (--init)");
  };
  std::map<std::string, Shape> known;
  for (const FileTensor& tensor : tensors) {
    known[tensor.name] = tensor.shape;
    if (tensor.transposed()) continue;
    for (const Variable* part : tensor.parts) known.try_emplace(part->name, part->desc.shape);
  }
  const auto is_known = [&](const std::string& name) { return known.contains(name); };
  std::vector<std::string> all_published;
  for (const auto& [published, place] : files.tensors()) all_published.push_back(published);
  const std::size_t prefix = shared_prefix(all_published).size();
  std::map<std::string, WeightFiles::Place> found;
  for (const auto& [published, place] : files.tensors()) {
    const std::string inner = published.substr(prefix);
    std::string name = name_here(published, is_known);
    if (!is_known(name)) name = name_here(inner, is_known);
    const SafetensorsTensor& tensor = place.tensor;
    const auto expected = known.find(name);
    if (expected == known.end()) {
      if (is_left_out(published) || is_left_out(inner)) continue;
      fail("the model has no tensor " + in_quotes(published) + " of " + tensor.dtype + to_string(tensor.shape));
    }
    if (!is_float_dtype(tensor.dtype) || tensor.shape != expected->second)
      fail("tensor " + in_quotes(published) + " is " + tensor.dtype + to_string(tensor.shape) + ", the model's is F32" +
           to_string(expected->second) + (is_float_dtype(tensor.dtype) ? "" : " (F16 and BF16 are converted)"));
    if (!found.emplace(name, place).second)
      fail("it has tensor " + in_quotes(name) + " twice, again as " + in_quotes(published));
  }
  for (const FileTensor& tensor : tensors) {
    const auto is_found = [&](const Variable* part) { return found.contains(part->name); };
    if (!found.contains(tensor.name) && !std::ranges::all_of(tensor.parts, is_found))
      fail("tensor " + in_quotes(tensor.name) + " of F32" + to_string(tensor.shape) + " is missing");
  }
  return found;
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

void check_weights(const WeightFiles& files, const std::vector<Variable>& variables) {
  tensors_here(files, file_tensors(variables));
}

void read_weights(Executable& executable, const std::vector<Variable>& variables, const std::filesystem::path& path) {
  WeightFiles files(path);
  const std::vector<FileTensor> tensors = file_tensors(variables);
  const auto found = tensors_here(files, tensors);
  std::vector<float> values;
  const auto read = [&](const std::string& name, std::int64_t elements) {
    values.resize(static_cast<std::size_t>(elements));
    files.read(found.at(name), values);
  };
  for (const FileTensor& tensor : tensors) {
    const bool whole = found.contains(tensor.name);
    if (whole) read(tensor.name, element_count(tensor.shape));
    if (whole && tensor.transposed()) values = transposed(values, 1, tensor.shape[0], tensor.shape[1]);
    for (const Variable* part : tensor.parts) {
      if (!whole) read(part->name, part->desc.elements());
      executable.write(part->name,
                       from_file_order(part->file_layout, whole ? values_of(*part, tensor.rows(), values) : values));
    }
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
