// Weight files, with every tensor in them.
#include <vector>

#include "epochbench/dataset.h"
#include "fuzz/scratch_file.h"
#include "fuzz/targets.h"
#include "src/data/safetensors.h"

namespace epochbench::fuzz {

void safetensors(std::string_view bytes) {
  static ScratchFile scratch;
  scratch.hold(bytes);
  try {
    SafetensorsFile file(scratch.path());
    for (const auto& [name, tensor] : file.tensors()) {
      require(tensor.begin <= tensor.end && tensor.end <= bytes.size(), "a tensor lies in its file");
      std::vector<std::byte> values(tensor.end - tensor.begin);
      file.read(tensor, values);
    }
  } catch (const DataError& error) {
    require_message(error.what());
  }
}

}  // namespace epochbench::fuzz
