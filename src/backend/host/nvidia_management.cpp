#include "src/backend/host/nvidia_management.h"

#include <cstddef>
#include <cstdio>

#include <dlfcn.h>

namespace epochbench {
namespace {

template <typename Function>
Function find(void* library, const char* name) {
  return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

}  // namespace

NvidiaManagement::NvidiaManagement(const std::string& file) : library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  const auto start = find<int (*)()>(library_, "nvmlInit_v2");
  const auto shutdown = find<int (*)()>(library_, "nvmlShutdown");
  if (start && shutdown && start() == 0) shutdown_ = shutdown;
}

NvidiaManagement::~NvidiaManagement() {
  if (shutdown_) shutdown_();
  if (library_) dlclose(library_);
}

std::string NvidiaManagement::driver_version() const {
  const auto version = find<int (*)(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  char text[96] = "";
  return shutdown_ && version && version(text, sizeof text) == 0 ? text : "";
}

bool NvidiaManagement::knows(const std::string& uuid) const {
  const auto device_of = find<int (*)(const char*, void**)>(library_, "nvmlDeviceGetHandleByUUID");
  void* device = nullptr;
  return shutdown_ && device_of && device_of(uuid.c_str(), &device) == 0;
}

std::string NvidiaManagement::uuid_text(const std::array<unsigned char, 16>& uuid) const {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", unsigned{uuid[i]});
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return (knows("MIG" + text) ? "MIG" : "GPU") + text;
}

}  // namespace epochbench
