#include "src/data/images/image_list.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace epochbench {

void ImageList::add(std::string_view name, std::uint32_t label, std::uint64_t offset, std::uint32_t bytes) {
  entries_.push_back({names_.size(), offset, bytes, label});
  names_.append(name).push_back('\0');
}

void ImageList::sort_from(std::size_t first) {
  std::sort(entries_.begin() + static_cast<std::ptrdiff_t>(first), entries_.end(),
            [this](const Entry& a, const Entry& b) { return std::strcmp(names_.data() + a.name, names_.data() + b.name) < 0; });
}

std::vector<bool> ImageList::replaced() const {
  std::vector<std::uint32_t> by_name(entries_.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  const auto compare = [this](std::uint32_t a, std::uint32_t b) {
    const int order =
        static_cast<int>(entries_[a].label > entries_[b].label) - static_cast<int>(entries_[a].label < entries_[b].label);
    return order != 0 ? order : std::strcmp(name(a), name(b));
  };
  std::stable_sort(by_name.begin(), by_name.end(), [&](std::uint32_t a, std::uint32_t b) { return compare(a, b) < 0; });
  std::vector<bool> replaced(entries_.size());
  for (std::size_t i = 1; i < by_name.size(); ++i)
    if (compare(by_name[i - 1], by_name[i]) == 0) replaced[by_name[i - 1]] = true;
  return replaced;
}

void ImageList::share_contents(std::size_t entry, std::size_t other) {
  entries_[entry].offset = entries_[other].offset;
  entries_[entry].bytes = entries_[other].bytes;
}

bool is_image_name(std::string_view name) {
  if (name.starts_with('.')) return false;
  const auto ends = [&](std::string_view ending) {
    return name.size() > ending.size() &&
           std::equal(ending.begin(), ending.end(), name.end() - static_cast<std::ptrdiff_t>(ending.size()),
                      [](char wanted, char c) { return wanted == (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  };
  return ends(".jpg") || ends(".jpeg") || ends(".png");
}

}  // namespace epochbench
