// A test's hold on one of the fake management libraries: its state, reset for each test.
#pragma once

#include <stdexcept>

#include <dlfcn.h>

#include "tests/support/fake_nvml.h"

namespace epochbench::test {

class FakeNvmlHandle {
 public:
  explicit FakeNvmlHandle(const char* file) : library_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw std::runtime_error(dlerror());
    shared_ = reinterpret_cast<FakeNvmlState*>(dlsym(library_, "fake_nvml_state"))();
    shared_->nvml = {};
  }
  ~FakeNvmlHandle() { dlclose(library_); }
  FakeNvmlHandle(const FakeNvmlHandle&) = delete;
  FakeNvmlHandle& operator=(const FakeNvmlHandle&) = delete;

  FakeNvml* operator->() { return &shared_->nvml; }  // while no other thread reads
  template <class Change>
  auto locked(const Change& change) {
    const std::lock_guard lock(shared_->mutex);
    return change(shared_->nvml);
  }

 private:
  void* library_;
  SharedFakeNvml* shared_;
};

}  // namespace epochbench::test
