// Bytes of a data file, from disk (plain or gzip) or from memory, for readers that must not trust its header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual const std::string& name() const = 0;  // for messages: 'path', printable and not too long
  // An upper limit of the bytes, known before any are read: sizes in a header are checked against it first.
  virtual std::uint64_t max_bytes() const = 0;
  // Reads up to the span's size; fewer only at the end. Errors: DataError for a disk failure or a corrupt gzip stream.
  virtual std::size_t read(std::span<std::uint8_t> bytes) = 0;
};

// A regular file. gzip is recognized by its contents and decompressed. Errors: DataError.
std::unique_ptr<ByteSource> open_file(const std::filesystem::path& path);
std::unique_ptr<ByteSource> open_memory(std::string name, std::string_view bytes);

// Exactly `count` bytes. Memory grows with the bytes that are actually read. Errors: DataError for a source that ends early.
std::vector<std::uint8_t> read_exactly(ByteSource& source, std::uint64_t count);
// All bytes, or the first `most`. Errors: as read().
std::vector<std::uint8_t> read_all(ByteSource& source, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
// Errors: DataError if the source has more bytes (this also verifies the checksum of a gzip stream).
void expect_end(ByteSource& source);

// "UTF-16" or "UTF-32" for text in it: by its byte order mark, or as only every other byte is 0. Empty for other bytes.
std::string_view wide_encoding(std::span<const std::uint8_t> bytes);

// A user's text or path in quotes for a one-line message: control characters replaced, the middle of a long text left out.
std::string in_quotes(std::string_view text);

}  // namespace epochbench
