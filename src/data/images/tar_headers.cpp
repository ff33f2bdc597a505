#include "src/data/images/tar_headers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "epochbench/dataset.h"
#include "src/data/byte_source.h"

namespace epochbench {
namespace {

// Fields of a header: where they begin, and their length (IEEE Std 1003.1, pax, "ustar interchange format").
constexpr std::size_t kName = 0, kNameBytes = 100, kSize = 124, kSizeBytes = 12, kSum = 148, kSumBytes = 8, kType = 156,
                      kMagic = 257, kPrefix = 345, kPrefixBytes = 155;
constexpr std::uint64_t kMaxRecordBytes = 1 << 20;  // of long names and pax records

std::string text_field(const std::uint8_t* block, std::size_t begin, std::size_t bytes) {
  const auto* text = reinterpret_cast<const char*>(block + begin);
  return {text, strnlen(text, bytes)};
}

// Octal digits or, if the first bit is set (GNU), a big-endian binary number.
std::optional<std::uint64_t> number_field(const std::uint8_t* block, std::size_t begin, std::size_t bytes) {
  std::uint64_t value = 0;
  if ((block[begin] & 0x80) != 0) {
    for (std::size_t i = begin + 1; i < begin + bytes; ++i) {
      if (value >> 56 != 0) return std::nullopt;
      value = value << 8 | block[i];
    }
    return value;
  }
  const std::string text = text_field(block, begin, bytes);
  const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t last = std::min(text.find(' ', first), text.size());
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + last, value, 8);
  if (first == last) return 0;
  return error == std::errc() && end == text.data() + last ? std::optional(value) : std::nullopt;
}

bool sum_is_right(const std::uint8_t* block, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += i >= kSum && i < kSum + kSumBytes ? ' ' : block[i];
  return number_field(block, kSum, kSumBytes) == sum;
}

}  // namespace

void TarHeaders::fail(const std::string& what) const {
  throw DataError("data archive " + shown_ + " " + what + (at_ > 0 ? ", at byte " + std::to_string(at_) : ""));
}

bool TarHeaders::read_block(std::uint8_t* block) {
  const ssize_t got = file_.read_at(block, kBlock, at_);
  if (got < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
  if (got == 0) return false;
  if (got < static_cast<ssize_t>(kBlock)) fail("is truncated: write it again");
  return true;
}

std::string TarHeaders::contents_of(const TarMember& member) const {
  if (member.bytes > kMaxRecordBytes) fail("has a name of " + std::to_string(member.bytes) + " bytes: write it again");
  std::string bytes(member.bytes, '\0');
  if (file_.read_at(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size(), member.offset) !=
      static_cast<ssize_t>(bytes.size()))
    fail("cannot be read: check the disk");
  return bytes;
}

// Records "LENGTH KEY=VALUE\n", the length that of the whole record.
void TarHeaders::read_pax(Overrides& overrides, const std::string& records) const {
  std::string_view left = records;
  while (!left.empty() && left.front() != '\0') {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), length);
    const auto digits = static_cast<std::size_t>(end - left.data());
    if (error != std::errc() || length > left.size() || length < digits + 3 || left[digits] != ' ' || left[length - 1] != '\n')
      fail("has a damaged pax record: write it again");
    const std::string_view record = left.substr(digits + 1, length - digits - 2);
    const std::size_t equals = std::min(record.find('='), record.size());
    const std::string_view key = record.substr(0, equals), value = record.substr(std::min(equals + 1, record.size()));
    if (key == "path") overrides.name = std::string(value);
    if (key == "size") {
      std::uint64_t bytes = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), bytes);
      if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) fail("has a damaged size: write it again");
      overrides.bytes = bytes;
    }
    left.remove_prefix(length);
  }
}

std::optional<TarMember> TarHeaders::next() {
  Overrides overrides;
  std::array<std::uint8_t, kBlock> block{};
  while (read_block(block.data())) {
    if (std::ranges::all_of(block, [](std::uint8_t byte) { return byte == 0; })) return std::nullopt;
    if (!sum_is_right(block.data(), block.size()))
      fail(at_ == 0 ? "is not a tar archive: name one; a compressed one must be unpacked first" : "is damaged: write it again");
    TarMember member{text_field(block.data(), kName, kNameBytes), at_ + kBlock, 0, static_cast<char>(block[kType])};
    const auto size = number_field(block.data(), kSize, kSizeBytes);
    if (!size) fail("has a damaged size: write it again");
    member.bytes = *size;
    const bool is_entry = std::strchr("xgLK", member.type) == nullptr || member.type == '\0';
    if (is_entry && overrides.bytes) member.bytes = *overrides.bytes;
    const bool has_contents = member.type != '1' && member.type != '2' && member.type != '5';
    if (!has_contents) member.bytes = 0;
    const std::uint64_t left = size_ - std::min(size_, member.offset);
    if (member.bytes > left) fail("is truncated: the file " + in_quotes(member.name) + " goes on beyond its end");
    const std::uint64_t next = member.offset + (member.bytes + kBlock - 1) / kBlock * kBlock;
    if (member.type == 'L') {
      const std::string name = contents_of(member);
      overrides.name = name.substr(0, name.find('\0'));
    } else if (member.type == 'x') {
      read_pax(overrides, contents_of(member));
    } else if (is_entry) {
      const std::string prefix = text_field(block.data(), kPrefix, kPrefixBytes);
      const bool posix = std::memcmp(block.data() + kMagic, "ustar\0", 6) == 0;  // GNU has other fields in its place
      if (overrides.name)
        member.name = *overrides.name;
      else if (posix && !prefix.empty())
        member.name = prefix + "/" + member.name;
      at_ = next;
      return member;
    }
    at_ = next;
  }
  return std::nullopt;
}

}  // namespace epochbench
