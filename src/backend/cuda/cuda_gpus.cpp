// The GPUs as a result describes them, and their measured peaks: the best of several bursts.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

#include <cuda_runtime_api.h>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "epochbench/precision.h"
#include "kernels/cuda/error.h"
#include "kernels/cuda/libraries/libraries.h"
#include "kernels/cuda/libraries/loaded_libraries.h"
#include "src/backend/cuda/cuda_backend.h"
#include "src/backend/cuda/cuda_choices.h"
#include "src/backend/cuda/cuda_handles.h"
#include "src/backend/cuda/cuda_usability.h"
#include "src/backend/host/nvidia_management.h"
#include "src/base/gpu_code.h"

namespace epochbench {
namespace {

constexpr std::int64_t kProductSize = 8192;
constexpr std::size_t kCopyBytes = std::size_t{1} << 30;      // far more than any cache
constexpr std::size_t kTransferBytes = std::size_t{1} << 28;  // pinned memory of the host
constexpr double kBurstSeconds = 0.1;
constexpr int kBursts = 5;

std::array<unsigned char, 16> bytes_of(const cudaUUID_t& uuid) {
  std::array<unsigned char, 16> bytes{};
  static_assert(sizeof uuid.bytes == sizeof bytes);
  std::memcpy(bytes.data(), uuid.bytes, sizeof bytes);
  return bytes;
}

// "0000:65:00.0"; empty if the driver does not report it.
std::string bus_id_of(int index) {
  char text[32] = "";
  if (cudaDeviceGetPCIBusId(text, sizeof text, index) == cudaSuccess) return text;
  cudaGetLastError();
  return "";
}

class Ceilings {
 public:
  explicit Ceilings(int index)
      : device_(cuda::make_device(index)),
        stream_(*device_, device_->make_stream()),
        begin_(*device_, device_->make_event()),
        end_(*device_, device_->make_event()) {}

  bool has_bf16_and_tf32() const { return device_->properties().compute_capability >= 80; }

  double product_flops_per_second(Precision precision) {
    cuda::ProductSpec spec;
    spec.shape = {kProductSize, kProductSize, kProductSize, false, false};
    if (precision == Precision::bf16) spec.element = spec.out = Element::bf16;
    if (precision == Precision::fp16) spec.element = spec.out = Element::f16;
    spec.math = precision == Precision::tf32 ? cuda::Math::tf32 : cuda::Math::exact;
    constexpr std::size_t kBytes = std::size_t{kProductSize} * kProductSize * sizeof(float);
    cuda::DeviceMemory a(*device_, kBytes), b(*device_, kBytes), c(*device_, kBytes);
    cuda::DeviceMemory workspace(*device_, cuda::kProductWorkspaceBytes);
    for (const cuda::DeviceMemory* operand : {&a, &b})
      fill_random(*device_, {operand->data(), operand->size(), spec.element}, stream_.get());
    if (!libraries_) {
      libraries_ = cuda::make_libraries();
      choices_.emplace(device_, libraries_->versions(), stored_choices());
    }
    const auto algorithms = libraries_->product(spec, {c.data(), a.data(), b.data(), nullptr});
    choices_->begin_program({{"peak", {1, 1}}});
    const auto run = [&](cuda::Product& product, cuda::Stream stream) {
      product.run(c.data(), a.data(), b.data(), nullptr, workspace.data(), stream);
    };
    const auto choose = [&] { return choices_->choose<cuda::Product>("peak", *algorithms, {run, {}, stream_.get()}).plan; };
    std::shared_ptr<cuda::Product> product = choose();
    for ([[maybe_unused]] const std::string& peak : choices_->begin_rest()) product = choose();
    choices_->store();
    const double seconds = best_seconds([&] { run(*product, stream_.get()); });
    return 2.0 * kProductSize * kProductSize * kProductSize / seconds;
  }

  double copy_bytes_per_second() {
    cuda::DeviceMemory from(*device_, kCopyBytes), to(*device_, kCopyBytes);
    device_->clear(from.data(), kCopyBytes, stream_.get());
    const double seconds = best_seconds([&] { device_->copy_on_device(to.data(), from.data(), kCopyBytes, stream_.get()); });
    return 2.0 * kCopyBytes / seconds;  // read and written
  }

  double transfer_bytes_per_second() {
    cuda::DeviceMemory to(*device_, kTransferBytes);
    cuda::PinnedMemory from(*device_, kTransferBytes);
    std::fill_n(from.data(), kTransferBytes, std::byte{1});
    const double seconds =
        best_seconds([&] { device_->copy_to_device(to.data(), from.data(), kTransferBytes, stream_.get()); });
    return kTransferBytes / seconds;
  }

 private:
  double burst_seconds(const std::function<void()>& enqueue, int calls) {
    device_->record(begin_.get(), stream_.get());
    for (int i = 0; i < calls; ++i) enqueue();
    device_->record(end_.get(), stream_.get());
    device_->synchronize(end_.get());
    return device_->seconds_between(begin_.get(), end_.get()) / calls;
  }
  double best_seconds(const std::function<void()>& enqueue) {
    burst_seconds(enqueue, 1);
    double best = burst_seconds(enqueue, 1);
    const int calls = std::max(1, static_cast<int>(kBurstSeconds / best));
    for (int i = 0; i < kBursts; ++i) best = std::min(best, burst_seconds(enqueue, calls));
    return best;
  }

  std::shared_ptr<cuda::Device> device_;
  cuda::Owned<cuda::Stream> stream_;
  cuda::Owned<cuda::Event> begin_, end_;
  std::unique_ptr<cuda::Libraries> libraries_;
  std::optional<Choices> choices_;
};

cuda::LibraryVersions versions() {
  try {
    return cuda::library_versions();
  } catch (const cuda::Error&) {  // reported when a program is compiled
    return {};
  }
}

}  // namespace

std::vector<GpuInfo> list_gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  std::vector<GpuInfo> gpus;
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  const NvidiaManagement management;
  const std::string driver = management.driver_version();
  const cuda::LibraryVersions libraries = count > 0 ? versions() : cuda::LibraryVersions{};
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, index), "asking for a device's properties");
    GpuInfo& gpu = gpus.emplace_back();
    gpu.name = properties.name;
    gpu.uuid = management.uuid_text(bytes_of(properties.uuid));
    gpu.pci_bus_id = bus_id_of(index);
    gpu.compute_capability = capability_text(properties.major * 10 + properties.minor);
    gpu.driver = driver;
    gpu.cuda = cuda::cuda_version_text(runtime);
    gpu.cublas = libraries.cublas;
    gpu.cudnn = libraries.cudnn;
    gpu.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  }
  return gpus;
}

MeasuredGpu measure_gpu(int index) {
  MeasuredGpu gpu;
  Ceilings ceilings(index);
  for (const Precision precision : kPrecisions) {
    const bool has = precision == Precision::fp32 || precision == Precision::fp16 || ceilings.has_bf16_and_tf32();
    gpu.peak_flops_per_second[name(precision)] =
        has ? std::optional<double>(ceilings.product_flops_per_second(precision)) : std::nullopt;
  }
  gpu.memory_bandwidth_bytes_per_second = ceilings.copy_bytes_per_second();
  gpu.host_to_device_bytes_per_second = ceilings.transfer_bytes_per_second();
  return gpu;
}

}  // namespace epochbench
