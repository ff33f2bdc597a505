#include "kernels/libraries/library.h"

#include <cstdlib>
#include <stdexcept>

#include <dlfcn.h>

namespace epochbench {

std::unique_ptr<Library> load_library(const std::string& module, const std::string& variant, int threads) {
  void* loaded = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: its threads live as long as the program
  void* make = loaded ? dlsym(loaded, "epochbench_library") : nullptr;
  if (!make) throw std::runtime_error(std::string("a library of kernels cannot be loaded: ") + dlerror());
  return std::unique_ptr<Library>(reinterpret_cast<MakeLibrary*>(make)(variant, threads));
}

#ifdef EPOCHBENCH_LIBRARIES
namespace {

// OpenBLAS reads this when it is loaded. Versions that do not know an AMD CPU with AVX-512 run kernels for AVX2 on it.
void name_kernels_of_openblas() {
#ifdef __x86_64__
  if (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vl")) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
#endif
}

}  // namespace

std::vector<std::string> built_libraries() { return {"onednn", "openblas"}; }
std::unique_ptr<Library> load_built_library(const std::string& name, int threads) {
  if (name == "openblas") name_kernels_of_openblas();
  return load_library("epochbench_" + name + ".so", name == "onednn" ? "plain" : "", threads);
}
#else
std::vector<std::string> built_libraries() { return {}; }
std::unique_ptr<Library> load_built_library(const std::string& name, int) {
  throw std::runtime_error("this build has no library " + name);
}
#endif

}  // namespace epochbench
