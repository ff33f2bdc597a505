#include "src/data/weight_files.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "epochbench/dataset.h"
#include "src/data/byte_source.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".index.json", kFileEnding = ".safetensors";
constexpr std::uint64_t kMaxIndexBytes = 1 << 26;  // 100 bytes per tensor: of the largest models 1 MB

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
  throw DataError("weights " + in_quotes(path.string()) + " " + what);
}

// The weights of a folder, as Hugging Face looks for them: one file before several with an index.
fs::path weights_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files, indexes;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kIndexEnding)) indexes.push_back(entry.path());
    if (name.ends_with(kFileEnding)) files.push_back(entry.path());
  }
  if (error) fail(folder, "cannot be read: " + error.message() + "; name a safetensors file (--init)");
  for (std::string_view name : {"model.safetensors", "model.safetensors.index.json"})
    if (fs::is_regular_file(folder / name, error)) return folder / name;
  const std::vector<fs::path>& found = indexes.empty() ? files : indexes;
  if (found.size() != 1)
    fail(folder, "is a folder with " + std::to_string(files.size()) + " safetensors files and " +
                     std::to_string(indexes.size()) + " indexes of them: name one of these (--init)");
  return found.front();
}

// IEEE 754 binary16: every value of it is one of binary32.
float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -small : small;
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace

bool is_float_dtype(std::string_view dtype) { return dtype == "F32" || dtype == "F16" || dtype == "BF16"; }

WeightFiles::WeightFiles(const fs::path& path) : name_(in_quotes(path.string())) {
  std::error_code error;
  const fs::path found = fs::is_directory(path, error) ? weights_in(path) : path;
  found.string().ends_with(kIndexEnding) ? open_index(found) : add(found);
}

void WeightFiles::open_index(const fs::path& index) {
  if (std::error_code error; !fs::is_regular_file(index, error))
    fail(index, "cannot be found, or is not a regular file: name an index of safetensors files (--init)");
  const std::vector<std::uint8_t> bytes = read_all(*open_file(index), kMaxIndexBytes);
  const auto document = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  const auto map = document.is_object() ? document.find("weight_map") : document.end();
  if (map == document.end() || !map->is_object() || map->empty())
    fail(index, "is not an index of safetensors files: it must be a JSON object with a weight_map from tensor to file");
  std::set<std::string> names;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || fs::path(name).filename() != name)
      fail(index, "names no file for tensor " + in_quotes(tensor) + ": fetch it again");
    names.insert(name);
  }
  for (const std::string& name : names) {
    std::error_code error;
    if (!fs::is_regular_file(index.parent_path() / name, error))
      fail(index, "is an index that names the file " + in_quotes(name) + ", which is not beside it: fetch that, too");
    add(index.parent_path() / name);
  }
  for (const auto& [tensor, file] : map->items())
    if (!tensors_.contains(tensor))
      fail(index, "names the tensor " + in_quotes(tensor) + ", which no file has: fetch them again");
}

void WeightFiles::add(const fs::path& path) {
  files_.emplace_back(path);
  for (const auto& [name, tensor] : files_.back().tensors())
    if (!tensors_.emplace(name, Place{files_.size() - 1, tensor}).second)
      fail(path, "has the tensor " + in_quotes(name) + " of another file, too: fetch them again");
}

void WeightFiles::read(const Place& place, std::span<float> values) {
  SafetensorsFile& file = files_[place.file];
  if (place.tensor.dtype == "F32") return file.read(place.tensor, std::as_writable_bytes(values));
  if (!is_float_dtype(place.tensor.dtype)) throw std::logic_error("weights of another dtype");
  std::vector<std::uint16_t> halves(values.size());
  file.read(place.tensor, std::as_writable_bytes(std::span(halves)));
  std::ranges::transform(halves, values.begin(), place.tensor.dtype == "F16" ? from_half : from_bf16);
}

}  // namespace epochbench
