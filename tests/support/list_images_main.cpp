// list_images PATH...: for each set of images a line "classes N", then per image its split, label and a hash of its bytes,
// sorted; or "refused: REASON". What tests compare of a folder and its archives.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "src/base/hash.h"
#include "src/data/images/decoder.h"
#include "src/data/images/image_files.h"

namespace epochbench {
namespace {

std::string contents(const ImageFiles& files, Split split, std::int64_t index) {
  try {
    std::vector<std::uint8_t> bytes;
    files.read(bytes, split, index);
    return text_hash({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const BadImage& reason) {
    return std::string("bad: ") + reason.what();
  }
}

void list_images(const char* path) {
  try {
    const auto files = open_image_files(path);
    std::printf("classes %d\n", static_cast<int>(files->classes()));
    std::vector<std::string> lines;
    for (const Split split : {Split::train, Split::test})
      for (std::int64_t i = 0; i < files->samples(split); ++i)
        lines.push_back(files->name(split, i) + " " + std::to_string(files->label(split, i)) + " " +
                        contents(*files, split, i));
    std::ranges::sort(lines);
    for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  } catch (const DataError& reason) {
    std::printf("refused: %s\n", reason.what());
  }
}

}  // namespace
}  // namespace epochbench

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) epochbench::list_images(arguments[i]);
}
