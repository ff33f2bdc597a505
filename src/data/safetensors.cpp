#include "src/data/safetensors.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <nlohmann/json.hpp>

#include "epochbench/dataset.h"
#include "src/base/errors.h"
#include "src/base/file_kind.h"
#include "src/data/byte_source.h"

namespace epochbench {
namespace {

static_assert(std::endian::native == std::endian::little, "the data of safetensors files are little-endian");

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadata = "__metadata__";

constexpr std::pair<std::string_view, std::uint64_t> kDtypes[] = {
    {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8},     {"I32", 4},     {"I16", 2}, {"I8", 1},
    {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"BOOL", 1}};

std::optional<std::uint64_t> dtype_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : kDtypes)
    if (name == dtype) return bytes;
  return std::nullopt;
}

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::bf16:
      return "BF16";
    case DType::f16:
      return "F16";
    case DType::i32:
      return "I32";
    case DType::u8:
      return "U8";
    case DType::i8:
      return "I8";
  }
  return "";
}

// Accepts exactly the headers that the format allows, event by event: nothing else is built, however deeply it is nested.
//   {NAME: {"dtype": STRING, "shape": [SIZE, ...], "data_offsets": [SIZE, SIZE]}, ..., "__metadata__": {NAME: STRING, ...}}
class HeaderReader final : public json::json_sax_t {
 public:
  std::map<std::string, SafetensorsTensor> tensors;
  std::string problem;  // why parsing stopped

  bool start_object(std::size_t) override {
    if (depth_ == 0) return enter();
    if (depth_ != 1 || in_list_) return stop("has an object where none belongs");
    tensor_ = {};
    has_dtype_ = has_shape_ = false;
    offsets_.clear();
    return enter();
  }
  bool end_object() override {
    if (--depth_ == 1 && !metadata()) {
      if (!has_dtype_ || !has_shape_ || offsets_.size() != 2)
        return stop("has no dtype, shape and two data_offsets for tensor " + in_quotes(name_));
      tensor_.begin = offsets_[0];
      tensor_.end = offsets_[1];
      tensors[name_] = tensor_;
    }
    return true;
  }
  bool key(std::string& text) override {
    if (depth_ == 1) {
      if (tensors.contains(text) || (text == kMetadata && has_metadata_)) return stop("has " + in_quotes(text) + " twice");
      has_metadata_ |= text == kMetadata;
      name_ = text;
    } else {
      if (metadata()) return true;
      if (text != "dtype" && text != "shape" && text != "data_offsets")
        return stop("has an unknown key " + in_quotes(text) + " for tensor " + in_quotes(name_));
      if ((text == "dtype" && has_dtype_) || (text == "shape" && has_shape_) || (text == "data_offsets" && !offsets_.empty()))
        return stop("has " + text + " twice for tensor " + in_quotes(name_));
      field_ = text;
    }
    return true;
  }
  bool start_array(std::size_t) override {
    const bool belongs = depth_ == 2 && !in_list_ && !metadata() && (field_ == "shape" || field_ == "data_offsets");
    in_list_ = true;
    has_shape_ |= field_ == "shape";
    return belongs || stop("has a list where none belongs");
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) return other();
    if (field_ == "data_offsets") {
      offsets_.push_back(value);
    } else {
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return stop("has an impossible shape for tensor " + in_quotes(name_));
      tensor_.shape.push_back(static_cast<std::int64_t>(value));
    }
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ != 2 || in_list_) return other();
    if (metadata()) return true;
    if (field_ != "dtype") return other();
    tensor_.dtype = text;
    has_dtype_ = true;
    return true;
  }
  bool null() override { return (depth_ == 1 && metadata()) || other(); }  // as some writers put for no metadata
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool binary(binary_t&) override { return other(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override { return stop("is not JSON"); }

 private:
  bool enter() {
    ++depth_;
    return true;
  }
  bool metadata() const { return name_ == kMetadata; }
  bool stop(const std::string& why) {
    problem = why;
    return false;
  }
  bool other() {
    return stop(depth_ == 0 ? "is not an object"
                            : "has a wrong value for " + in_quotes(name_) + (depth_ > 1 ? ", " + in_quotes(field_) : ""));
  }

  int depth_ = 0;
  bool in_list_ = false, has_metadata_ = false, has_dtype_ = false, has_shape_ = false;
  std::string name_, field_;
  SafetensorsTensor tensor_;
  std::vector<std::uint64_t> offsets_;
};

// Precondition: the dtypes are known. The reason why the offsets do not fit `data_bytes` bytes; empty if they fit.
std::string layout_problem(const std::map<std::string, SafetensorsTensor>& tensors, std::uint64_t data_bytes) {
  std::vector<std::pair<std::pair<std::uint64_t, std::uint64_t>, std::string_view>> order;
  for (const auto& [name, tensor] : tensors) {
    std::uint64_t bytes = *dtype_bytes(tensor.dtype);
    bool overflows = false;
    for (std::int64_t extent : tensor.shape)
      overflows |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes);
    if (overflows || tensor.end < tensor.begin || tensor.end - tensor.begin != bytes)
      return "gives tensor " + in_quotes(name) + " of " + tensor.dtype + to_string(tensor.shape) + " the bytes " +
             std::to_string(tensor.begin) + " to " + std::to_string(tensor.end) + ", which do not fit its shape";
    order.push_back({{tensor.begin, tensor.end}, name});
  }
  std::sort(order.begin(), order.end());
  std::uint64_t end = 0;
  for (const auto& [range, name] : order) {
    if (range.first != end)
      return std::string(range.first < end ? "has overlapping tensors" : "leaves a hole") + " before tensor " +
             in_quotes(name) + " at byte " + std::to_string(range.first);
    end = range.second;
  }
  if (end != data_bytes)
    return "states " + std::to_string(end) + " bytes of data, and the file has " + std::to_string(data_bytes);
  return "";
}

// What makes a safetensors file of one of another kind.
std::string remedy_for(const FileKind& kind) {
  if (!kind.remedy.empty()) return ": " + std::string(kind.remedy);
  if (!kind.reader.empty()) return ": decompress it (" + std::string(kind.reader) + ")";
  if (kind.name == "a zip archive" || kind.name == "a Python pickle")  // of torch.save(), today's and older
    return ": load it in PyTorch and write its tensors with safetensors.torch.save_file";
  return ": name an intact safetensors file";
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : name_(in_quotes(path.string())) {
  const auto fail = [this](const std::string& what) {
    throw DataError("file " + name_ + " " + what + ": name an intact safetensors file");
  };
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) fail("cannot be found, or is not a regular file");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (!error) file_.open(path, std::ios::binary);
  if (error || !file_) fail("cannot be opened (" + (error ? error.message() : error_text(errno)) + ")");

  std::string begin(std::min<std::uint64_t>(size, kFileKindBytes), '\0');
  file_.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  const bool has_header = begin.size() > kLengthBytes && begin[kLengthBytes] == '{';  // whose length may look like another kind
  if (const FileKind kind = file_kind(begin); !has_header && !kind.name.empty())
    throw DataError("file " + name_ + " is " + std::string(kind.name) + ", not a safetensors file" + remedy_for(kind));
  file_.seekg(0);
  std::uint64_t length = 0;
  if (size < kLengthBytes || !file_.read(reinterpret_cast<char*>(&length), kLengthBytes))
    fail("is not a safetensors file: it has " + std::to_string(size) + " bytes");
  if (length > size - kLengthBytes || length > kMaxHeaderBytes)
    fail("is truncated or not a safetensors file: its header would have " + std::to_string(length) +
         " bytes, and the file has " + std::to_string(size));
  std::string header(length, '\0');
  if (!file_.read(header.data(), static_cast<std::streamsize>(length))) fail("cannot be read");
  HeaderReader reader;
  if (header.empty() || header.front() != '{') fail("is not a safetensors file: its header is not a JSON object");
  if (!json::sax_parse(header, &reader)) fail("is not a safetensors file: its header " + reader.problem);
  for (const auto& [name, tensor] : reader.tensors)
    if (!dtype_bytes(tensor.dtype))
      throw DataError("file " + name_ + " has tensor " + in_quotes(name) + " of dtype " + in_quotes(tensor.dtype) +
                      ", which is not read: convert it to F32, F16 or BF16");
  if (const std::string problem = layout_problem(reader.tensors, size - kLengthBytes - length); !problem.empty())
    fail("is damaged: its header " + problem);
  tensors_ = std::move(reader.tensors);
  data_begin_ = kLengthBytes + length;
}

void SafetensorsFile::read(const SafetensorsTensor& tensor, std::span<std::byte> bytes) {
  if (bytes.size() != tensor.end - tensor.begin) throw std::logic_error("safetensors: a tensor of another size");
  file_.seekg(static_cast<std::streamoff>(data_begin_ + tensor.begin));
  if (!file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    throw DataError("file " + name_ + " cannot be read to its end: check the disk");
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<std::pair<std::string, TensorDesc>>& tensors)
    : path_(path), file_(path.string()) {
  std::string header = "{";
  std::uint64_t begin = 0;
  for (const auto& [name, desc] : tensors) {
    const std::uint64_t end = begin + desc.bytes();
    header += (begin == 0 && bytes_.empty() ? "" : ",") + json(name).dump() + ":" +
              json{{"dtype", dtype_name(desc.dtype)}, {"shape", desc.shape}, {"data_offsets", {begin, end}}}.dump();
    bytes_.push_back(end - begin);
    begin = end;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // so that the data are aligned
  const std::uint64_t length = header.size();
  write_bytes(&length, kLengthBytes);
  write_bytes(header.data(), header.size());
}

void SafetensorsWriter::write_bytes(const void* bytes, std::size_t size) {
  if (!file_.write({static_cast<const char*>(bytes), size}))
    throw DataError("file " + in_quotes(path_.string()) + " cannot be written (" + error_text(file_.error()) +
                    "): make room, name another, or make its folder writable");
}

void SafetensorsWriter::write(std::span<const std::byte> tensor) {
  if (written_ == bytes_.size() || tensor.size() != bytes_[written_])
    throw std::logic_error("safetensors: tensor " + std::to_string(written_) + " of another size");
  ++written_;
  write_bytes(tensor.data(), tensor.size());
}

void SafetensorsWriter::finish() {
  if (written_ != bytes_.size()) throw std::logic_error("safetensors: tensors are missing");
  if (!file_.move_to_place())
    throw DataError("file " + in_quotes(path_.string()) + " cannot be written (" + error_text(file_.error()) +
                    "): make room, or name another");
}

}  // namespace epochbench
