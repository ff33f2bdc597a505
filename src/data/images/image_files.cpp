#include "src/data/images/image_files.h"

#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/data/byte_source.h"
#include "src/data/images/decoder.h"

namespace epochbench {

std::string ImageFiles::name(Split split, std::int64_t index) const {
  const ImageList& files = list(split);
  const auto i = static_cast<std::size_t>(index);
  return std::string(split == Split::train ? "train/" : "val/") + classes_[files[i].label] + "/" + files.name(i);
}

std::string ImageFiles::note() const {
  std::string text;
  if (others_ > 0)
    append(text,
           "left out " + counted(static_cast<std::size_t>(others_), "other file", "other files") +
               " in the folders of classes; only .jpg, .jpeg and .png are read",
           "; ");
  if (loose_ > 0)
    append(text,
           "left out " + counted(static_cast<std::size_t>(loose_), "image", "images") +
               " of no class, directly in train or val; move them into the folder of one",
           "; ");
  if (may_be_cut_off_)
    append(text, "it ends without the end marker of an archive, so files may be missing; write it again", "; ");
  return text;
}

void check_size(std::uint64_t bytes) {
  if (bytes > kMaxImageBytes)
    throw BadImage("has " + std::to_string(bytes) + " bytes, more than the " + std::to_string(kMaxImageBytes) +
                   " that are read");
}

std::unique_ptr<ImageFiles> open_image_files(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) return open_image_folder(path);
  if (std::filesystem::is_regular_file(status)) return open_image_archive(path);
  const std::string reason =
      std::filesystem::exists(status) ? "is neither a folder nor a file" : "cannot be opened: " + error.message();
  throw DataError("data " + in_quotes(path.string()) + " " + reason + "; name a folder or a tar archive (--data images:PATH)");
}

}  // namespace epochbench
