// The safetensors format: 8 bytes with the length of a JSON header, little-endian; the header, which gives each tensor's
// dtype, shape and offsets; then the data, without holes.
//
// Files are read tensor by tensor, so that only one is in memory at a time. For little-endian hosts only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "epochbench/tensor.h"
#include "src/base/files.h"

namespace epochbench {

struct SafetensorsTensor {
  std::string dtype;  // as the file names it: "F32", "I64"
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // in the data, in bytes
};

class SafetensorsFile {
 public:
  // Reads and checks the header. Errors: DataError for a file that cannot be read; a header that is longer than the
  // file, not JSON or not in the format; duplicate names, unknown dtypes, sizes that do not fit the shape; tensors that
  // overlap, leave a hole or exceed the file.
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::string& name() const { return name_; }  // the path in quotes, for messages
  const std::map<std::string, SafetensorsTensor>& tensors() const { return tensors_; }
  // The bytes of one of `tensors`: end - begin. Errors: DataError if the disk fails.
  void read(const SafetensorsTensor& tensor, std::span<std::byte> bytes);

 private:
  std::string name_;
  std::ifstream file_;
  std::uint64_t data_begin_ = 0;
  std::map<std::string, SafetensorsTensor> tensors_;
};

// Writes a temporary file beside `path` and renames it at the end, so that an incomplete file is never read.
class SafetensorsWriter {
 public:
  // The tensors in the order in which they will be written; f32, i32 and u8. Errors: DataError.
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<std::pair<std::string, TensorDesc>>& tensors);

  // The next tensor. Errors: DataError if the disk fails or is full; std::logic_error for another size.
  void write(std::span<const std::byte> tensor);
  void finish();  // Errors: DataError, likewise

 private:
  void write_bytes(const void* bytes, std::size_t size);

  std::filesystem::path path_;
  TemporaryFile file_;
  std::vector<std::uint64_t> bytes_;  // per tensor
  std::size_t written_ = 0;
};

}  // namespace epochbench
