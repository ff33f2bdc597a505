// What unpacking a tar archive would leave: its folders and files, and where in the archive the bytes of each file are.
// libarchive reads the headers, in one pass; files are then read in place, in any order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/base/file_descriptor.h"
#include "src/data/images/image_list.h"

namespace epochbench {

// A part of a sparse file that is not a hole; parts are stored one after the other.
struct TarRegion {
  std::uint64_t begin, bytes;  // in the file
};

class TarContents {
 public:
  // `shown`: the archive's name for messages. Joined archives are one, of files of the same name the last counts, and names
  // with a part ".." are left out. Hard links and symbolic links stand for the file that they name. Errors: DataError for an
  // invalid header, and contents beyond the end of the file.
  TarContents(const FileDescriptor& file, std::uint64_t size, const std::string& shown);

  // "set/train/cat"; the first, "", is the top. With each folder its parents.
  const std::vector<std::string>& folders() const { return folders_; }
  // In the order of the archive; the label is the index of the folder.
  const ImageList& files() const { return files_; }
  // What links name that is not a file in the archive, by the path of the link.
  const std::map<std::string, std::string>& open_links() const { return open_links_; }
  // The regions of each sparse file, by its offset.
  std::map<std::uint64_t, std::vector<TarRegion>> take_regions() { return std::move(regions_); }

 private:
  struct Link {
    std::size_t file;    // in files_
    std::string target;  // a path of the archive
    bool hard;
  };
  class Reader;

  std::uint32_t folder(const std::string& path);
  void add(const Reader& reader);
  void resolve_links();

  std::vector<std::string> folders_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of folders_
  ImageList files_;
  std::map<std::uint64_t, std::vector<TarRegion>> regions_;
  std::vector<Link> links_;
  std::map<std::string, std::string> open_links_;
};

// The part of a path before its last "/".
std::string parent_path(const std::string& path);

}  // namespace epochbench
