// What data tests share: a folder that goes away, hand-made files, batch memory, and a check of messages to users.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "epochbench/dataset.h"

namespace epochbench::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "epochbench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, std::string_view bytes) const { std::ofstream(path_ / name, std::ios::binary) << bytes; }
  void write_gzip(const std::string& name, std::string_view bytes) const {
    const gzFile file = gzopen((path_ / name).c_str(), "wb");
    ASSERT_NE(file, nullptr);
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

// An IDX file of unsigned bytes, its payload 0, 1, 2, ... modulo `modulus`.
inline std::string idx_file(const std::vector<std::uint32_t>& extents, unsigned modulus) {
  std::string bytes{0, 0, 8, static_cast<char>(extents.size())};
  std::size_t count = 1;
  for (std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(extent >> shift & 255);
    count *= extent;
  }
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(i % modulus);
  return bytes;
}

// A folder for "idx:DIR": gray images of this size in both splits, with labels 0 to 9.
inline void write_idx_folder(const TemporaryFolder& folder, std::uint32_t height, std::uint32_t width, std::uint32_t train,
                             std::uint32_t test) {
  for (const auto& [split, samples] : {std::pair{"train", train}, std::pair{"t10k", test}}) {
    folder.write(std::string(split) + "-images-idx3-ubyte", idx_file({samples, height, width}, 251));
    folder.write(std::string(split) + "-labels-idx1-ubyte", idx_file({samples}, 10));
  }
}

// Host memory of one batch: images, then labels.
struct BatchMemory {
  BatchMemory(std::int64_t batch, std::int64_t image_elements)
      : images(static_cast<std::size_t>(batch * image_elements), -99.0f), labels(static_cast<std::size_t>(batch), -99) {
    inputs = {std::as_writable_bytes(std::span(images)), std::as_writable_bytes(std::span(labels))};
  }
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  std::vector<std::span<std::byte>> inputs;
};

// Runs `action`, which must throw DataError with one line of less than 800 characters that holds every one of `parts`.
template <typename Action>
void expect_data_error(const Action& action, const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const DataError& error) {
    const std::string message = error.what();
    EXPECT_LT(message.size(), 800u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
    return;
  }
  ADD_FAILURE() << "no DataError, expected one with: " << (parts.empty() ? "" : parts.front());
}

}  // namespace epochbench::test
