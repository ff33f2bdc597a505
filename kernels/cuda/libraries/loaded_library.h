// A shared library that is loaded at its first use, for files that define its functions under their own names: each function
// looks itself up at its first call. The binary's search path contains the folders in which the build found the libraries.
#pragma once

#include <string>

#include <dlfcn.h>

#include "kernels/cuda/kernels.h"

namespace epochbench::cuda {

class Library {
 public:
  Library(const char* product, const char* file) : product_(product), file_(file), handle_(dlopen(file, RTLD_NOW)) {
    if (!handle_) reason_ = dlerror();
  }
  // Errors: Error with the library's name and a remedy.
  void require() const {
    if (!handle_)
      throw Error(std::string(product_) + " cannot be loaded (" + reason_ +
                  "): install it, or name its folder in LD_LIBRARY_PATH");
  }
  void* symbol(const char* name) const {
    require();
    void* found = dlsym(handle_, name);
    if (!found) throw Error(std::string(product_) + " is too old: " + file_ + " has no function " + name);
    return found;
  }

 private:
  const char* product_;
  const char* file_;
  void* handle_;
  std::string reason_;
};

}  // namespace epochbench::cuda

// The value of a macro as text: the major version in a library's name.
#define EPOCHBENCH_TEXT_OF(x) #x
#define EPOCHBENCH_TEXT(x) EPOCHBENCH_TEXT_OF(x)

// Defines `name`, which calls itself in the library that epochbench::cuda::library() returns.
#define EPOCHBENCH_LOADED(library, result, name, parameters, arguments)                                        \
  extern "C" result name parameters {                                                                          \
    static const auto function = reinterpret_cast<decltype(&name)>(epochbench::cuda::library().symbol(#name)); \
    return function arguments;                                                                                 \
  }
