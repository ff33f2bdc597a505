#include "src/data/images/jpeg_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include <jerror.h>

namespace epochbench {
namespace {

constexpr int kMaxScans = 500;  // each of a progressive file costs a pass over the image

// After these warnings every pixel is there: bytes between segments, a scan header of zeros in a sequential file, a later
// version of JFIF, and a color transform that Adobe does not define.
constexpr std::array kHarmless{JWRN_EXTRANEOUS_DATA, JWRN_NOT_SEQUENTIAL, JWRN_JFIF_MAJOR, JWRN_ADOBE_XFORM};

// Files with 12 bits per sample, lossless and hierarchical ones, files that state their height at the end, and files whose
// number of components stands for no color.
constexpr std::array kUnread{JERR_BAD_PRECISION,   JERR_SOF_UNSUPPORTED, JERR_EMPTY_IMAGE, JERR_CONVERSION_NOTIMPL,
                             JERR_COMPONENT_COUNT, JERR_ARITH_NOTIMPL,   JERR_NOT_COMPILED};

}  // namespace

JpegReader::JpegReader() {
  info_.err = jpeg_std_error(&messages_);
  messages_.error_exit = end;
  messages_.emit_message = note;
  if (setjmp(messages_.back) != 0) throw std::bad_alloc();
  jpeg_create_decompress(&info_);
  progress_.progress_monitor = limit_scans;
  info_.progress = &progress_;
}

JpegReader::~JpegReader() { jpeg_destroy_decompress(&info_); }

void JpegReader::end(j_common_ptr info) {
  auto* messages = static_cast<Messages*>(info->err);
  messages->format_message(info, messages->reason);
  messages->unread = std::ranges::find(kUnread, messages->msg_code) != kUnread.end();
  std::longjmp(messages->back, 1);
}

// Warnings have a negative level.
void JpegReader::note(j_common_ptr info, int level) {
  auto* messages = static_cast<Messages*>(info->err);
  if (level >= 0 || std::ranges::find(kHarmless, messages->msg_code) != kHarmless.end()) return;
  if (messages->msg_code == JWRN_JPEG_EOF) {  // harmless if only the end marker is missing
    messages->ended = true;
    return;
  }
  if (!messages->lost) messages->format_message(info, messages->reason);
  messages->lost = true;
}

void JpegReader::limit_scans(j_common_ptr info) {
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= kMaxScans) return;
  auto* messages = static_cast<Messages*>(info->err);
  std::snprintf(messages->reason, sizeof messages->reason, "more than %d scans", kMaxScans);
  std::longjmp(messages->back, 1);
}

ImageSize JpegReader::open(std::span<const std::uint8_t> file) {
  if (!read_header(file)) throw refusal();
  return {info_.image_height, info_.image_width};
}

void JpegReader::read(std::uint8_t* pixels, ImageSize size, int shrink) {
  if (!read_rows(pixels, size, shrink)) throw refusal();
}

BadImage JpegReader::refusal() const {
  return messages_.unread ? unread_image(messages_.reason) : damaged_image(messages_.reason);
}

// The functions below return false where libjpeg-turbo jumps back; they have no objects that would have to be destroyed.

bool JpegReader::read_header(std::span<const std::uint8_t> file) {
  messages_.lost = messages_.ended = messages_.unread = false;
  if (setjmp(messages_.back) != 0) return false;
  jpeg_abort_decompress(&info_);
  jpeg_mem_src(&info_, file.data(), file.size());
  jpeg_read_header(&info_, TRUE);
  return true;
}

bool JpegReader::read_rows(std::uint8_t* pixels, ImageSize size, int shrink) {
  if (setjmp(messages_.back) != 0) return false;
  info_.out_color_space = cmyk() ? JCS_CMYK : JCS_RGB;
  info_.scale_num = 1;
  info_.scale_denom = static_cast<unsigned>(shrink);
  jpeg_start_decompress(&info_);
  if (info_.output_height != static_cast<JDIMENSION>(size.height) || info_.output_width != static_cast<JDIMENSION>(size.width))
    ERREXIT(&info_, JERR_BAD_LENGTH);
  const std::size_t stride = std::size_t{info_.output_width} * static_cast<std::size_t>(info_.output_components);
  while (info_.output_scanline < info_.output_height) {
    constexpr JDIMENSION kRows = 16;  // libjpeg-turbo makes at most this many at a time
    JSAMPROW rows[kRows];
    const JDIMENSION count = std::min(kRows, info_.output_height - info_.output_scanline);
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = pixels + stride * (info_.output_scanline + i);
    jpeg_read_scanlines(&info_, rows, count);
  }
  if (lacks_scans() && !messages_.lost) {
    messages_.lost = true;
    std::strcpy(messages_.reason, "Premature end of JPEG file");
  }
  jpeg_finish_decompress(&info_);
  return !messages_.lost;
}

// A component that no scan had, or a progressive file that ends before its coefficients have all their bits.
bool JpegReader::lacks_scans() const {
  for (int c = 0; c < info_.num_components; ++c) {
    if (info_.comp_info[c].quant_table == nullptr) return true;
    if (messages_.ended && info_.coef_bits != nullptr)
      for (int k = 0; k < DCTSIZE2; ++k)
        if (info_.coef_bits[c][k] != 0) return true;
  }
  return false;
}

}  // namespace epochbench
