// The files of a split, in the order in which they are numbered: a million take less than 100 MB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

class ImageList {
 public:
  struct Entry {
    std::uint64_t name = 0;              // where it begins in the block of names
    std::uint64_t offset = 0;            // of the file's bytes in an archive
    std::uint32_t bytes = 0, label = 0;  // in an archive; the number of its class
  };

  void add(std::string_view name, std::uint32_t label, std::uint64_t offset = 0, std::uint32_t bytes = 0);
  void sort_from(std::size_t first);  // by name, the entries from `first` on
  // For each entry, whether a later one has the same name and label.
  std::vector<bool> replaced() const;
  void share_contents(std::size_t entry, std::size_t other);  // `entry` has the bytes of `other`, as a link to it

  std::size_t size() const { return entries_.size(); }
  const Entry& operator[](std::size_t i) const { return entries_[i]; }
  const char* name(std::size_t i) const { return names_.data() + entries_[i].name; }

 private:
  std::string names_;  // each with a 0 after it
  std::vector<Entry> entries_;
};

// Whether a file of this name counts as an image: .jpg, .jpeg, .png in any case, and not hidden.
bool is_image_name(std::string_view name);

}  // namespace epochbench
