#include "src/base/file_kind.h"

#include <string>

#include <gtest/gtest.h>

namespace epochbench {
namespace {

using namespace std::string_literals;

TEST(FileKind, IsSaidByTheFirstBytes) {
  for (const auto& [begin, name] : {std::pair("RIFF\x24\0\0\0WEBPVP8 "s, "a WebP picture"),
                                    {"\0\0\0\x20"
                                     "ftypavif"s,
                                     "an AVIF picture"},
                                    {"\0\0\0\x18"
                                     "ftypheic"s,
                                     "a HEIC picture"},
                                    {"BM\x36\x12"s, "a BMP picture"},
                                    {"II*\0\x08"s, "a TIFF picture"},
                                    {"\xff\x0a\xfa"s, "a JPEG XL picture"},
                                    {"<SVG xmlns="s, "an SVG picture"},
                                    {"<!DOCTYPE html>"s, "an HTML page"},
                                    {"PK\3\4\0"s, "a zip archive"},
                                    {"\x80\2\x8a"s, "a Python pickle"},
                                    {"GGUF\3"s, "a GGUF file"},
                                    {"\x89HDF\r\n\x1a\n"s, "an HDF5 file"},
                                    {"%PDF-1.7"s, "a PDF document"},
                                    {"PAR1\x15"s, "a Parquet file"},
                                    {"\x93NUMPY\1"s, "a NumPy array"},
                                    {"BZh91AY&SY"s, "compressed by bzip2"},
                                    {"version https://git-lfs.github.com/spec/v1\noid"s, "a pointer of Git LFS"},
                                    {"RIFF\x24\0\0\0WAVE"s, ""},
                                    {"PK"s, ""},
                                    {"We the People"s, ""},
                                    {""s, ""}})
    EXPECT_EQ(file_kind(begin).name, name) << begin;
}

TEST(FileKind, OfTextIsNoReasonToRefuseAText) {
  for (const char* text : {"BMW and Audi are makers of cars", "GIF89a was published in 1989", "<html> begins a page"})
    EXPECT_TRUE(file_kind(text).text) << text;
  for (const std::string& other : {"%PDF-1.7"s, "version https://git-lfs.github.com/spec/v1"s, "PAR1"s})
    EXPECT_FALSE(file_kind(other).text) << other;
}

}  // namespace
}  // namespace epochbench
