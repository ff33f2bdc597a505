// Pixels of a JPEG by libjpeg-turbo, which reads whatever component sampling a file has. A warning is a loss or is not: a file
// is refused for a loss only.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <span>

#include <jpeglib.h>

#include "src/data/images/decoder.h"

namespace epochbench {

// For use by one thread.
class JpegReader {
 public:
  JpegReader();
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // The size that the header states. `file` must outlive read(). Errors of both: BadImage.
  ImageSize open(std::span<const std::uint8_t> file);
  bool cmyk() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  // The opened file, once, into [height,width,3], or 4 if cmyk(); `size`: its own divided by `shrink` and rounded up.
  void read(std::uint8_t* pixels, ImageSize size, int shrink);

 private:
  struct Messages : jpeg_error_mgr {
    std::jmp_buf back;
    char reason[JMSG_LENGTH_MAX];
    bool lost, ended;  // pixels were lost; the file has no end marker
    bool unread;       // libjpeg-turbo ended because it does not read such files
  };
  static void end(j_common_ptr info);
  static void note(j_common_ptr info, int level);
  static void limit_scans(j_common_ptr info);
  bool read_header(std::span<const std::uint8_t> file);
  bool read_rows(std::uint8_t* pixels, ImageSize size, int shrink);
  BadImage refusal() const;
  bool lacks_scans() const;

  jpeg_decompress_struct info_{};
  Messages messages_{};
  jpeg_progress_mgr progress_{};
};

}  // namespace epochbench
