// The device interface over the CUDA runtime.
#include "src/backend/cuda/cuda_device.h"

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime_api.h>

#include "epochbench/backend.h"
#include "kernels/cuda/error.h"
#include "src/backend/cuda/cuda_usability.h"
#include "src/backend/host/nvidia_device.h"
#include "src/backend/host/nvidia_management.h"

namespace epochbench::cuda {
namespace {

std::string gibibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / 0x1p30);
  return text;
}

// Starts the driver and allocates nothing on any device.
RuntimeState runtime_state() {
  RuntimeState state;
  const cudaError_t status = cudaGetDeviceCount(&state.devices);
  if (status == cudaErrorInsufficientDriver)
    state.status = RuntimeState::Status::insufficient_driver;
  else if (status == cudaErrorNoDevice)
    state.status = RuntimeState::Status::no_device;
  else if (status != cudaSuccess)
    state.status = RuntimeState::Status::failed;
  state.message = cudaGetErrorString(status);
  cudaDriverGetVersion(&state.driver_version);
  cudaRuntimeGetVersion(&state.runtime_version);
  cudaGetLastError();
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) state.visible_devices = visible;
  state.nvidia_device = has_nvidia_device();
  return state;
}

// A multiply-add is two. Units per multiprocessor: CUDA programming guide, arithmetic instructions.
double fp32_flops_per_second(const cudaDeviceProp& properties, int index) {
  const int units = properties.major * 10 + properties.minor <= 80 ? 64 : 128;
  int kilohertz = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, index) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return 2.0 * units * properties.multiProcessorCount * kilohertz * 1e3;
}

DeviceProperties usable_device(int index) {
  if (const auto reason = why_unusable(runtime_state(), index)) throw DeviceError(*reason);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking for a device's properties");
  const DeviceProperties device{properties.name, properties.major * 10 + properties.minor,
                                static_cast<std::int64_t>(properties.totalGlobalMem), NvidiaManagement().driver_version(),
                                fp32_flops_per_second(properties, index)};
  if (const auto reason = why_unusable(device, index, {EPOCHBENCH_GPU_CODE})) throw DeviceError(*reason);
  return device;
}

class RuntimeDevice final : public Device {
 public:
  explicit RuntimeDevice(int index) : index_(index), properties_(usable_device(index)) {}

  DeviceProperties properties() const override { return properties_; }

  std::byte* allocate(std::size_t bytes) override {
    use("allocating device memory");
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      throw OutOfMemory(cuda_name(index_) + " (" + properties_.name + ") has too little memory: " + gibibytes(bytes) +
                        " needed, " + gibibytes(free) + " free of " + gibibytes(total));
    }
    require(status, "allocating device memory");
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* memory) noexcept override {
    cudaSetDevice(index_);
    cudaFree(memory);
  }
  std::int64_t bytes_in_use() const override {
    std::size_t free = 0, total = 0;
    run("asking for free device memory", cudaMemGetInfo, &free, &total);
    return static_cast<std::int64_t>(total - free);
  }
  std::byte* allocate_pinned(std::size_t bytes) override {
    use("allocating pinned memory");
    void* memory = nullptr;
    const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocMapped);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw OutOfMemory("the host has no " + gibibytes(bytes) + " of memory that " + cuda_name(index_) + " can reach");
    }
    require(status, "allocating pinned memory");
    return static_cast<std::byte*>(memory);
  }
  void free_pinned(std::byte* memory) noexcept override {
    cudaSetDevice(index_);
    cudaFreeHost(memory);
  }

  Stream make_stream() override {
    Stream stream = nullptr;
    run("making a stream", cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
    return stream;
  }
  void destroy(Stream stream) noexcept override {
    cudaSetDevice(index_);
    cudaStreamDestroy(stream);
  }
  // A thread that waits for an event sleeps, so that the loader can use its core.
  Event make_event() override {
    Event event = nullptr;
    run("making an event", cudaEventCreateWithFlags, &event, cudaEventBlockingSync);
    return event;
  }
  void destroy(Event event) noexcept override {
    cudaSetDevice(index_);
    cudaEventDestroy(event);
  }

  void copy_to_device(void* to, const void* from, std::size_t bytes, Stream stream) override {
    run("copying to the device", cudaMemcpyAsync, to, from, bytes, cudaMemcpyHostToDevice, stream);
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes, Stream stream) override {
    run("copying to the host", cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToHost, stream);
  }
  void copy_on_device(void* to, const void* from, std::size_t bytes, Stream stream) override {
    run("copying on the device", cudaMemcpyAsync, to, from, bytes, cudaMemcpyDeviceToDevice, stream);
  }
  void clear(void* memory, std::size_t bytes, Stream stream) override {
    run("clearing device memory", cudaMemsetAsync, memory, 0, bytes, stream);
  }
  void record(Event event, Stream stream) override { run("recording an event", cudaEventRecord, event, stream); }
  void wait(Stream stream, Event event) override { run("waiting for an event", cudaStreamWaitEvent, stream, event, 0); }

  void synchronize(Stream stream) override { run("waiting for the device", cudaStreamSynchronize, stream); }
  void synchronize(Event event) override { run("waiting for the device", cudaEventSynchronize, event); }
  bool done(Event event) const override {
    use("asking for an event");
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    require(status, "asking for an event");
    return true;
  }
  double seconds_between(Event begin, Event end) const override {
    float milliseconds = 0;
    run("reading the time between events", cudaEventElapsedTime, &milliseconds, begin, end);
    return milliseconds * 1e-3;
  }

  // Thread-local: other threads may allocate and compile meanwhile.
  void begin_capture(Stream stream) override {
    run("beginning to capture a step", cudaStreamBeginCapture, stream, cudaStreamCaptureModeThreadLocal);
    captures_ = true;
  }
  GraphExec end_capture(Stream stream) override {
    captures_ = false;
    cudaGraph_t graph = nullptr;
    run("capturing a step", cudaStreamEndCapture, stream, &graph);
    GraphExec executable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    require(status, "instantiating a captured step");
    const cudaError_t uploaded = cudaGraphUpload(executable, stream);  // so that the first launch is like the others
    if (uploaded != cudaSuccess) cudaGraphExecDestroy(executable);
    require(uploaded, "uploading a captured step");
    return executable;
  }
  void launch(GraphExec graph, Stream stream) override { run("launching a captured step", cudaGraphLaunch, graph, stream); }
  void destroy(GraphExec graph) noexcept override {
    cudaSetDevice(index_);
    cudaGraphExecDestroy(graph);
  }

 private:
  // Errors: Error with the device, `what` and CUDA's message, and where to look if the device has failed for good.
  void require(cudaError_t status, const char* what) const {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // resets an error of this call alone; the error of a failed device stays
    // A capture forbids to wait for its device (CUDA programming guide, prohibited operations), whether or not it has failed.
    const bool failed = !captures_ && cudaDeviceSynchronize() != cudaSuccess;
    throw Error(
        cuda_name(index_) + " (" + properties_.name + "): " + what + ": " + cudaGetErrorString(status) + " (" +
        cudaGetErrorName(status) + ")" +
        (failed ? "; the GPU runs nothing more in this process: the kernel's log (dmesg, lines with Xid) says why" : ""));
  }

  // Kernels and libraries that are called next use the current device of this thread. The call may also return an earlier
  // failure of the device.
  void use(const char* what) const { require(cudaSetDevice(index_), what); }

  // Calls the runtime on this device. Errors: as require.
  template <typename... Parameters, typename... Arguments>
  void run(const char* what, cudaError_t (*call)(Parameters...), Arguments... arguments) const {
    use(what);
    require(call(arguments...), what);
  }

  int index_;
  DeviceProperties properties_;
  bool captures_ = false;  // a stream
};

}  // namespace

std::unique_ptr<Device> make_device(int index) { return std::make_unique<RuntimeDevice>(index); }

}  // namespace epochbench::cuda
