#include "src/data/images/png_reader.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <string_view>

namespace epochbench {
void PngReader::end(png_structp png, png_const_charp reason) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->reason_, sizeof reader->reason_, "%s", reason);
  std::longjmp(reader->back_, 1);
}

void PngReader::copy(png_structp png, png_bytep bytes, std::size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->left_.size()) png_error(png, "the file ends too soon");
  std::copy_n(reader->left_.begin(), count, bytes);
  reader->left_ = reader->left_.subspan(count);
}

void PngReader::close() { png_destroy_read_struct(&png_, &info_, nullptr); }

// A chunk that a reader must know: Xcode writes one into the pictures of apps.
BadImage PngReader::refusal() const {
  return std::string_view(reason_).ends_with("unhandled critical chunk") ? unread_image(reason_) : damaged_image(reason_);
}

ImageSize PngReader::open(std::span<const std::uint8_t> file) {
  close();
  png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, end, ignore);
  if (png_) info_ = png_create_info_struct(png_);
  if (!info_) throw std::bad_alloc();
  left_ = file;
  if (!read_header()) throw refusal();
  return {png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
}

void PngReader::read(std::uint8_t* pixels, ImageSize size) {
  constexpr std::int64_t kChannels = 3;
  rows_.resize(static_cast<std::size_t>(size.height));
  for (std::size_t y = 0; y < rows_.size(); ++y) rows_[y] = pixels + static_cast<std::size_t>(size.width * kChannels) * y;
  if (!read_rows(static_cast<std::size_t>(size.width * kChannels))) throw refusal();
}

// The functions below return false where libpng jumps back; they have no objects that would have to be destroyed.

bool PngReader::read_header() {
  if (setjmp(back_) != 0) return false;
  png_set_read_fn(png_, this, copy);
  png_read_info(png_, info_);
  return true;
}

bool PngReader::read_rows(std::size_t stride) {
  if (setjmp(back_) != 0) return false;
  png_set_expand(png_);
  png_set_strip_16(png_);
  png_set_gray_to_rgb(png_);
  png_set_strip_alpha(png_);
  png_set_interlace_handling(png_);
  png_read_update_info(png_, info_);
  if (png_get_rowbytes(png_, info_) != stride) png_error(png_, "rows of another size");
  png_read_image(png_, rows_.data());
  return true;
}

}  // namespace epochbench
