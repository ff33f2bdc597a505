// Made-up pictures as JPEG files.
#pragma once

#include <cstdint>
#include <cstdio>  // before jpeglib.h, which needs its FILE
#include <cstdlib>
#include <vector>

#include <jpeglib.h>

namespace epochbench {

struct JpegOptions {
  int quality = 100;
  bool halved_chroma = false;  // 4:2:0, as in photographs
  bool progressive = false;
};

// `pixels`: [height, width, channels of `colors`], which is JCS_GRAYSCALE, JCS_RGB or JCS_CMYK.
inline std::vector<std::uint8_t> encode_jpeg(const std::vector<std::uint8_t>& pixels, int height, int width,
                                             J_COLOR_SPACE colors, const JpegOptions& options = {}) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* made = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &made, &size);
  encoder.image_width = static_cast<JDIMENSION>(width);
  encoder.image_height = static_cast<JDIMENSION>(height);
  encoder.input_components = colors == JCS_GRAYSCALE ? 1 : colors == JCS_RGB ? 3 : 4;
  encoder.in_color_space = colors;
  jpeg_set_defaults(&encoder);
  if (colors == JCS_CMYK) jpeg_set_colorspace(&encoder, JCS_YCCK);
  jpeg_set_quality(&encoder, options.quality, TRUE);
  constexpr int kMinExact = 96;  // from which the faster transform shows
  encoder.dct_method = options.quality >= kMinExact ? JDCT_ISLOW : JDCT_FASTEST;
  if (!options.halved_chroma)
    for (int i = 0; i < encoder.num_components; ++i)
      encoder.comp_info[i].h_samp_factor = encoder.comp_info[i].v_samp_factor = 1;
  if (options.progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  const std::size_t row_bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(encoder.input_components);
  while (encoder.next_scanline < encoder.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data() + encoder.next_scanline * row_bytes);
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
  std::vector<std::uint8_t> file(made, made + size);
  std::free(made);
  return file;
}

}  // namespace epochbench
