// What NVIDIA's management library, which comes with the driver, reports beyond CUDA: the driver's version, and whether a
// device is a whole GPU or an instance of one (MIG). Loaded by name; without it the version is unknown, and every device counts
// as whole.
#pragma once

#include <array>
#include <string>

namespace epochbench {

class NvidiaManagement {
 public:
  explicit NvidiaManagement(const std::string& file = "libnvidia-ml.so.1");
  ~NvidiaManagement();
  NvidiaManagement(const NvidiaManagement&) = delete;
  NvidiaManagement& operator=(const NvidiaManagement&) = delete;

  std::string driver_version() const;  // "580.65.06"; empty if unknown
  // "GPU-8f2a…" or, for an instance, "MIG-8f2a…", as nvidia-smi and CUDA_VISIBLE_DEVICES write it.
  std::string uuid_text(const std::array<unsigned char, 16>& uuid) const;

 private:
  bool knows(const std::string& uuid) const;

  void* library_ = nullptr;
  int (*shutdown_)() = nullptr;  // null unless the library has started
};

}  // namespace epochbench
