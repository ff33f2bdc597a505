// The files of a set of images, in folders or in a tar archive. ImageNet's layout, train/CLASS/FILE and val/CLASS/FILE; the
// classes are those of train, numbered by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "epochbench/dataset.h"
#include "src/data/images/image_list.h"

namespace epochbench {

inline constexpr std::uint64_t kMaxImageBytes = 1u << 28;  // of one file; no photograph is this large
void check_size(std::uint64_t bytes);                      // Errors: BadImage for more

class ImageFiles {
 public:
  virtual ~ImageFiles() = default;
  std::int64_t samples(Split split) const { return static_cast<std::int64_t>(list(split).size()); }
  std::int64_t classes() const { return static_cast<std::int64_t>(classes_.size()); }
  std::int32_t label(Split split, std::int64_t index) const {
    return static_cast<std::int32_t>(list(split)[static_cast<std::size_t>(index)].label);
  }
  std::string name(Split split, std::int64_t index) const;  // "val/cat/1.jpg"
  std::string note() const;                                 // what was found and is not read; empty: nothing
  void read_cold() { cold_ = true; }                        // reads from the disk, whatever the page cache holds
  // Replaces `bytes` with those of the file. Thread-safe. Errors: BadImage for a file that cannot be read.
  virtual void read(std::vector<std::uint8_t>& bytes, Split split, std::int64_t index) const = 0;

 protected:
  const ImageList& list(Split split) const { return split == Split::train ? train_ : test_; }
  std::vector<std::string> classes_;
  ImageList train_, test_;
  std::int64_t others_ = 0;      // files of classes whose names are not those of images
  std::int64_t loose_ = 0;       // images in the folder of a split, and in that of no class
  bool may_be_cut_off_ = false;  // an archive without an end marker
  bool cold_ = false;
};

// Errors of both: DataError, one line, for a split or class that is missing, empty or duplicate, and for what is neither a
// folder nor an archive. Files other than images are skipped. Symbolic links are followed.
std::unique_ptr<ImageFiles> open_image_folder(const std::filesystem::path& folder);
// What unpacking it leaves, as a folder: the layout at its top, or in the only folder that has it. Not compressed.
std::unique_ptr<ImageFiles> open_image_archive(const std::filesystem::path& file);
// Either of the two, whichever `path` is.
std::unique_ptr<ImageFiles> open_image_files(const std::filesystem::path& path);

}  // namespace epochbench
