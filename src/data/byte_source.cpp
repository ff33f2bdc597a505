#include "src/data/byte_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <initializer_list>
#include <system_error>
#include <utility>

#include <zlib.h>

#include "epochbench/dataset.h"
#include "src/base/errors.h"

namespace epochbench {
namespace {

// Deflate cannot expand by more (zlib's technical notes: 1032 to 1).
constexpr std::uint64_t kMaxExpansion = 1032;
constexpr std::uint64_t kFirstChunkBytes = 1 << 20;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path) : name_(in_quotes(path.string())) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
      throw DataError("data file " + name_ + " cannot be found: " + (error ? error.message() : "no such file") +
                      "; check the folder in --data");
    }
    if (std::filesystem::is_directory(status))
      throw DataError("data file " + name_ + " is a folder: name a file in it, or put the file itself there");
    if (!std::filesystem::is_regular_file(status))
      throw DataError("data file " + name_ +
                      " is a pipe or a device, and every process reads its data again: write them to a file");
    const std::uint64_t size = std::filesystem::file_size(path, error);
    if (!error) file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) {
      throw DataError("data file " + name_ + " cannot be opened: " + (error ? error.message() : error_text(errno)) +
                      "; make it readable");
    }
    gzbuffer(file_.get(), 1 << 17);
    compressed_ = gzdirect(file_.get()) == 0;
    max_bytes_ = compressed_ ? size * kMaxExpansion : size;
  }

  const std::string& name() const override { return name_; }
  std::uint64_t max_bytes() const override { return max_bytes_; }

  std::size_t read(std::span<std::uint8_t> bytes) override {
    std::size_t total = 0;
    while (total < bytes.size()) {
      const auto wanted = static_cast<unsigned>(std::min<std::size_t>(bytes.size() - total, INT_MAX));
      const int got = gzread(file_.get(), bytes.data() + total, wanted);
      int code = Z_OK;
      const char* message = gzerror(file_.get(), &code);
      // zlib reports a truncated stream (Z_BUF_ERROR) together with the bytes that it could still read.
      if (code == Z_ERRNO) throw DataError("data file " + name_ + " cannot be read: " + error_text(errno));
      if (got < 0 || code != Z_OK) {
        throw DataError("data file " + name_ + " is a corrupt or truncated gzip file (" + in_quotes(message) +
                        "): fetch it again");
      }
      if (got == 0) break;
      total += static_cast<std::size_t>(got);
    }
    return total;
  }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  std::string name_;
  std::unique_ptr<gzFile_s, Close> file_;
  bool compressed_ = false;
  std::uint64_t max_bytes_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::string_view bytes) : name_(std::move(name)), bytes_(bytes) {}
  const std::string& name() const override { return name_; }
  std::uint64_t max_bytes() const override { return bytes_.size(); }
  std::size_t read(std::span<std::uint8_t> bytes) override {
    const std::size_t count = std::min(bytes.size(), bytes_.size() - position_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(position_), count, bytes.begin());
    position_ += count;
    return count;
  }

 private:
  std::string name_;
  std::string_view bytes_;
  std::size_t position_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path) { return std::make_unique<FileSource>(path); }

std::unique_ptr<ByteSource> open_memory(std::string name, std::string_view bytes) {
  return std::make_unique<MemorySource>(std::move(name), bytes);
}

std::vector<std::uint8_t> read_exactly(ByteSource& source, std::uint64_t count) {
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) {
    const std::size_t had = bytes.size();
    const auto chunk = std::min<std::uint64_t>(count - had, std::max<std::uint64_t>(had, kFirstChunkBytes));
    bytes.resize(had + chunk);
    const std::size_t got = source.read(std::span(bytes).subspan(had));
    if (got < chunk) {
      throw DataError("data file " + source.name() + " is truncated: " + std::to_string(had + got) + " of " +
                      std::to_string(count) + " expected bytes are left: fetch it again");
    }
  }
  return bytes;
}

std::vector<std::uint8_t> read_all(ByteSource& source, std::uint64_t most) {
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < most) {
    const std::size_t had = bytes.size();
    const auto chunk = std::min(most - had, kFirstChunkBytes);
    bytes.resize(had + chunk);
    const std::size_t got = source.read(std::span(bytes).subspan(had));
    bytes.resize(had + got);
    if (got < chunk) break;
  }
  return bytes;
}

void expect_end(ByteSource& source) {
  std::uint8_t byte = 0;
  if (source.read(std::span(&byte, 1)) != 0) {
    throw DataError("data file " + source.name() + " goes on after the data that its header states: fetch it again");
  }
}

std::string_view wide_encoding(std::span<const std::uint8_t> bytes) {
  const auto begins = [&](std::initializer_list<std::uint8_t> mark) {
    return bytes.size() >= mark.size() && std::equal(mark.begin(), mark.end(), bytes.begin());
  };
  if (begins({0xff, 0xfe, 0, 0}) || begins({0, 0, 0xfe, 0xff})) return "UTF-32";
  if (begins({0xff, 0xfe}) || begins({0xfe, 0xff})) return "UTF-16";
  std::array<std::size_t, 2> zeros{};  // at even and at odd places
  for (std::size_t i = 0; i < bytes.size(); ++i) zeros[i % 2] += bytes[i] == 0;
  const auto [fewer, more] = std::minmax(zeros[0], zeros[1]);
  return fewer == 0 && more > 1 ? "UTF-16" : "";
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 240, kKept = 116;
  std::string shown = text.size() <= kLongest
                          ? std::string(text)
                          : std::string(text.substr(0, kKept)) + "..." + std::string(text.substr(text.size() - kKept));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return "'" + shown + "'";
}

}  // namespace epochbench
