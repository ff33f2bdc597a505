// The device seam over the CUDA runtime.
#include "src/backend/cuda_device.h"

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime_api.h>

#include "epochbench/backend.h"
#include "kernels/cuda/error.h"

namespace epochbench::cuda {
namespace {

constexpr int kLowestCapability = 75;
constexpr int kLowestOfBuild = EPOCHBENCH_CUDA_LOWEST_ARCHITECTURE;  // a build for one card has no code for older ones

std::string version_text(int version) {  // 13000: 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
std::string capability_text(int capability) { return std::to_string(capability / 10) + "." + std::to_string(capability % 10); }

std::string gibibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / 0x1p30);
  return text;
}

std::string device_name(int index) { return "cuda:" + std::to_string(index); }

// The properties of a device that is usable. Takes nothing of it.
cudaDeviceProp usable_device(int index) {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver && driver == 0)
    throw DeviceError("there is no NVIDIA driver here (libcuda.so.1): install one that supports CUDA " + version_text(runtime));
  if (status == cudaErrorInsufficientDriver)
    throw DeviceError("the NVIDIA driver is too old: it supports CUDA " + version_text(driver) +
                      ", and this build needs CUDA " + version_text(runtime) +
                      ": update the driver, or build with an older toolkit");
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    throw DeviceError(visible ? std::string("no NVIDIA GPU is visible: CUDA_VISIBLE_DEVICES is \"") + visible + "\""
                              : std::string("the NVIDIA driver finds no GPU"));
  }
  if (status != cudaSuccess) throw DeviceError(std::string("CUDA does not start: ") + cudaGetErrorString(status));
  if (index < 0 || index >= count)
    throw DeviceError("there is no " + device_name(index) + ": " +
                      (count == 1 ? "the one GPU that is visible is cuda:0"
                                  : "the GPUs that are visible are cuda:0 to " + device_name(count - 1)));
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking for a device's properties");
  const int capability = properties.major * 10 + properties.minor;
  const std::string name =
      device_name(index) + " (" + properties.name + ", compute capability " + capability_text(capability) + ")";
  if (capability < kLowestCapability)
    throw DeviceError(name + " is too old: compute capability " + capability_text(kLowestCapability) + " or later is needed");
  if (capability < kLowestOfBuild)
    throw DeviceError(name + " is none that this build has code for: it was built for compute capability " +
                      capability_text(kLowestOfBuild) + "; set EPOCHBENCH_CUDA_ARCHITECTURES and build again");
  return properties;
}

class RuntimeDevice final : public Device {
 public:
  explicit RuntimeDevice(int index) : index_(index) {
    const cudaDeviceProp properties = usable_device(index);
    properties_.name = properties.name;
    properties_.compute_capability = properties.major * 10 + properties.minor;
    properties_.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  }

  DeviceProperties properties() const override { return properties_; }

  std::byte* allocate(std::size_t bytes) override {
    use();
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      throw OutOfMemory(device_name(index_) + " (" + properties_.name + ") has too little memory: " + gibibytes(bytes) +
                        " wanted, " + gibibytes(free) + " free of " + gibibytes(total));
    }
    check(status, "allocating device memory");
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* memory) noexcept override {
    cudaSetDevice(index_);
    cudaFree(memory);
  }
  std::byte* allocate_pinned(std::size_t bytes) override {
    use();
    void* memory = nullptr;
    const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocMapped);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemory("the host has no " + gibibytes(bytes) + " of memory that " + device_name(index_) + " can reach");
    }
    check(status, "allocating pinned memory");
    return static_cast<std::byte*>(memory);
  }
  void free_pinned(std::byte* memory) noexcept override {
    cudaSetDevice(index_);
    cudaFreeHost(memory);
  }

  Stream make_stream() override {
    use();
    Stream stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    return stream;
  }
  void destroy(Stream stream) noexcept override {
    cudaSetDevice(index_);
    cudaStreamDestroy(stream);
  }
  // Who waits for an event sleeps: its core belongs to the loader.
  Event make_event() override {
    use();
    Event event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventBlockingSync), "making an event");
    return event;
  }
  void destroy(Event event) noexcept override {
    cudaSetDevice(index_);
    cudaEventDestroy(event);
  }

  void copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream) override {
    use();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copying to the device");
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) override {
    use();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "copying to the host");
  }
  void clear(void* memory, std::size_t bytes, Stream stream) override {
    use();
    check(cudaMemsetAsync(memory, 0, bytes, stream), "clearing device memory");
  }
  void record(Event event, Stream stream) override {
    use();
    check(cudaEventRecord(event, stream), "recording an event");
  }
  void wait(Stream stream, Event event) override {
    use();
    check(cudaStreamWaitEvent(stream, event, 0), "waiting for an event");
  }

  void synchronize(Stream stream) override {
    use();
    check(cudaStreamSynchronize(stream), "waiting for the device");
  }
  void synchronize(Event event) override {
    use();
    check(cudaEventSynchronize(event), "waiting for the device");
  }
  bool done(Event event) const override {
    use();
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check(status, "asking for an event");
    return true;
  }
  double seconds_between(Event begin, Event end) const override {
    use();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "reading the time between events");
    return milliseconds * 1e-3;
  }

  void begin_capture(Stream stream) override {
    use();
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning to capture a step");
  }
  GraphExec end_capture(Stream stream) override {
    use();
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "capturing a step");
    GraphExec executable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "instantiating a captured step");
    const cudaError_t uploaded = cudaGraphUpload(executable, stream);  // so that the first launch is like the others
    if (uploaded != cudaSuccess) cudaGraphExecDestroy(executable);
    check(uploaded, "uploading a captured step");
    return executable;
  }
  void launch(GraphExec graph, Stream stream) override {
    use();
    check(cudaGraphLaunch(graph, stream), "launching a captured step");
  }
  void destroy(GraphExec graph) noexcept override {
    cudaSetDevice(index_);
    cudaGraphExecDestroy(graph);
  }

 private:
  // Kernels and libraries that are called next work on this thread's device.
  void use() const { check(cudaSetDevice(index_), device_name(index_).c_str()); }

  int index_;
  DeviceProperties properties_;
};

}  // namespace

std::unique_ptr<Device> make_device(int index) { return std::make_unique<RuntimeDevice>(index); }

}  // namespace epochbench::cuda
