// A folder with CIFAR-10's binary files, each the same bytes.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "epochbench/dataset.h"
#include "fuzz/image_batch.h"
#include "fuzz/scratch_file.h"
#include "fuzz/targets.h"
#include "src/data/image_dataset.h"

namespace epochbench::fuzz {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "epochbench-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "there is room for a folder");
    path_ = name;
    for (const char* batch : {"data_batch_1.bin", "test_batch.bin"})
      std::filesystem::create_symlink(scratch_.path(), path_ / batch);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void hold(std::string_view bytes) { scratch_.hold(bytes); }
  const std::filesystem::path& path() const { return path_; }

 private:
  ScratchFile scratch_;
  std::filesystem::path path_;
};

}  // namespace

void cifar10(std::string_view bytes) {
  static Folder folder;
  folder.hold(bytes);
  for (const Split split : {Split::train, Split::test}) try {
      feed(read_cifar10_split(folder.path(), split));
    } catch (const DataError& error) {
      require_message(error.what());
    }
}

}  // namespace epochbench::fuzz
