// What a file is, by its first bytes: for messages that refuse it. Not a check that the rest is well formed.
#pragma once

#include <cstddef>
#include <string_view>

namespace epochbench {

struct FileKind {
  std::string_view name;    // "a WebP picture"; empty: none of those that are known
  std::string_view reader;  // the command that decompresses it to stdout, "zcat"; empty: not compressed
  std::string_view remedy;  // what else helps, "git lfs pull fetches the file"; may be empty
  bool text = false;        // its beginning may be that of a text, too
};

inline constexpr std::size_t kFileKindBytes = 64;  // that tell the kind

FileKind file_kind(std::string_view first_bytes);

}  // namespace epochbench
