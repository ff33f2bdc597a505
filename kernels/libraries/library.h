// A library that multiplies and convolves in place of our CPU kernels. Each is a module that is loaded on request: no program
// links one, so symbols of several do not clash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/shapes.h"

namespace epochbench {

enum class Pass : std::uint8_t { forward, grad_input, grad_weight };

// What follows a product or a forward convolution: y = relu(y + bias), each part optional.
struct LibraryEpilogue {
  bool bias = false, relu = false;
};

// Prepared work: everything that does not depend on the operands' addresses is done.
class LibraryCall {
 public:
  LibraryCall() = default;
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  virtual ~LibraryCall() = default;
  virtual std::size_t workspace_bytes() const { return 0; }
  // The operands of the next runs: c, a, b of a product, or y, x, weight of a convolution. `bias` [n] or [out_channels]: null
  // without one. `workspace`: 64-byte aligned, of workspace_bytes. All belong to the caller and outlive the runs.
  virtual void bind(void* first, void* second, void* third, const void* bias, void* workspace) = 0;
  virtual void run() = 0;   // returns when the result is complete
  virtual void finish() {}  // copies the last run's result into the caller's memory if it is not there yet
  virtual bool winograd() const { return false; }  // whether it multiplies less than the counted FLOPs
};

// Elements are f32 or bf16. A null pointer: the library has no such work. Errors: std::runtime_error with the library's
// message.
class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;
  virtual std::string version() const = 0;  // "oneDNN 2.6.3"
  // c [m,n] = a times b, stored as shape says.
  virtual std::unique_ptr<LibraryCall> gemm(const GemmShape& shape, Element element, const LibraryEpilogue& epilogue) = 0;
  // One pass of y = x * weight or its gradients: its result is written, the other two are read. Layouts as in Conv2dShape.
  virtual std::unique_ptr<LibraryCall> conv2d(const Conv2dShape& shape, Pass pass, Element element,
                                              const LibraryEpilogue& epilogue) = 0;
  // Whether products of bf16 are those of the floats that they are widened to.
  virtual bool widens() const { return false; }
};

// The function that every module exports as "epochbench_library". `variant`: "", or "plain" (onednn.cpp). The caller deletes
// the library.
using MakeLibrary = Library*(const std::string& variant, int threads);

// The library of a module, whose name without a slash is looked for where the program's RPATH says. Errors: std::runtime_error
// if it cannot be loaded.
std::unique_ptr<Library> load_library(const std::string& module, const std::string& variant, int threads);

// The libraries that a build with EPOCHBENCH_LIBRARIES has, which all run on this program's OpenMP team: "onednn", "openblas".
std::vector<std::string> built_libraries();
std::unique_ptr<Library> load_built_library(const std::string& name, int threads);  // errors: as load_library

}  // namespace epochbench
