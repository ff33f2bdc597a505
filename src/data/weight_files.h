// Weights as they are published: one safetensors file, or several with an index, "NAME.safetensors.index.json", which names the
// file of each tensor.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/data/safetensors.h"

namespace epochbench {

class WeightFiles {
 public:
  struct Place {
    std::size_t file;  // among the opened ones
    SafetensorsTensor tensor;
  };

  // A safetensors file, an index, or a folder that has either. Errors: DataError for a folder without them, an index that names
  // a file which is not beside it or lacks a tensor, a tensor that is in two files, and as SafetensorsFile.
  explicit WeightFiles(const std::filesystem::path& path);

  const std::string& name() const { return name_; }  // the path in quotes, for messages
  const std::map<std::string, Place>& tensors() const { return tensors_; }
  // The elements of one of `tensors`, which is F32, or F16 or BF16, which are widened without loss. Errors: DataError if the
  // disk fails.
  void read(const Place& place, std::span<float> values);

 private:
  void open_index(const std::filesystem::path& index);
  void add(const std::filesystem::path& path);

  std::string name_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place> tensors_;
};

// Whether tensors of this dtype are read as floats.
bool is_float_dtype(std::string_view dtype);

}  // namespace epochbench
