#include "src/base/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace epochbench {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t place;  // of the bytes in the file
  std::string_view bytes;
  FileKind kind;
};

// In this order: the first that fits counts.
constexpr std::array kSignatures{
    Signature{0, "\x1f\x8b"sv, {"compressed by gzip", "zcat", ""}},
    Signature{0, "\x28\xb5\x2f\xfd"sv, {"compressed by zstd", "zstdcat", ""}},
    Signature{0, "\xfd\x37zXZ"sv, {"compressed by xz", "xzcat", ""}},
    Signature{4, "1AY&SY"sv, {"compressed by bzip2", "bzcat", ""}},
    Signature{0, "version https://git-lfs.github.com/spec/"sv, {"a pointer of Git LFS", "", "git lfs pull fetches the file"}},
    Signature{0, "PK\3\4"sv, {"a zip archive", "", ""}},
    Signature{0, "%PDF-"sv, {"a PDF document", "", ""}},
    Signature{0, "PAR1"sv, {"a Parquet file", "", ""}},
    Signature{0, "\x89HDF\r\n\x1a\n"sv, {"an HDF5 file", "", ""}},
    Signature{0, "GGUF"sv, {"a GGUF file", "", ""}},
    Signature{0, "\x93NUMPY"sv, {"a NumPy array", "", ""}},
    Signature{0, "\x80\2"sv, {"a Python pickle", "", ""}},
    Signature{0, "\x80\3"sv, {"a Python pickle", "", ""}},
    Signature{0, "\x80\4"sv, {"a Python pickle", "", ""}},
    Signature{0, "\x80\5"sv, {"a Python pickle", "", ""}},
    Signature{0, "\xff\xd8\xff"sv, {"a JPEG picture", "", ""}},
    Signature{0, "\x89PNG\r\n\x1a\n"sv, {"a PNG picture", "", ""}},
    Signature{8, "WEBP"sv, {"a WebP picture", "", "", true}},
    Signature{4, "ftypavif"sv, {"an AVIF picture", "", "", true}},
    Signature{4, "ftypavis"sv, {"an AVIF picture", "", "", true}},
    Signature{4, "ftyphei"sv, {"a HEIC picture", "", "", true}},
    Signature{4, "ftypmif1"sv, {"a HEIC picture", "", "", true}},
    Signature{0, "GIF8"sv, {"a GIF picture", "", "", true}},
    Signature{0, "BM"sv, {"a BMP picture", "", "", true}},
    Signature{0, "II*\0"sv, {"a TIFF picture", "", ""}},
    Signature{0, "MM\0*"sv, {"a TIFF picture", "", ""}},
    Signature{0, "\0\0\0\x0cJXL "sv, {"a JPEG XL picture", "", ""}},
    Signature{0, "\xff\x0a"sv, {"a JPEG XL picture", "", ""}},
    Signature{0, "<!doctype html"sv, {"an HTML page", "", "", true}},
    Signature{0, "<?xml"sv, {"an XML document", "", "", true}},  // as object stores answer what they refuse
    Signature{0, "<html"sv, {"an HTML page", "", "", true}},
    Signature{0, "<svg"sv, {"an SVG picture", "", "", true}},
};

bool equal_but_for_case(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

}  // namespace

FileKind file_kind(std::string_view first_bytes) {
  for (const Signature& each : kSignatures) {
    if (first_bytes.size() < each.place + each.bytes.size()) continue;
    const std::string_view there = first_bytes.substr(each.place, each.bytes.size());
    const bool same =
        each.bytes.front() == '<' ? std::ranges::equal(there, each.bytes, equal_but_for_case) : there == each.bytes;
    if (same) return each.kind;
  }
  return {};
}

}  // namespace epochbench
