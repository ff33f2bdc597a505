#include "bench/peer.h"

#include <filesystem>
#include <stdexcept>

namespace epochbench::bench {

std::unique_ptr<Library> load_peer(const std::string& name, int threads) {
  const std::size_t hyphen = name.find('-');
  const std::string library = name.substr(0, hyphen);
  if (library != "onednn" && library != "openblas" && library != "mkl")
    throw std::runtime_error("--peers=" + name + " is not one of onednn, onednn-plain, openblas, mkl");
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string path = folder / ("epochbench_peer_" + library + ".so");
  if (!std::filesystem::exists(path))
    throw std::runtime_error("--peers=" + name + " needs " + path + ": run scripts/peers/libraries DIR, configure with " +
                             "-DEPOCHBENCH_PEER_LIBRARIES=DIR, and build again");
  return load_library(path, hyphen == std::string::npos ? "" : name.substr(hyphen + 1), threads);
}

}  // namespace epochbench::bench
