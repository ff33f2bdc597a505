// The emulated CUDA runtime: driver, devices and memory. Here and in streams.cpp are the functions that src/backend/cuda calls,
// with the statuses that CUDA documents for them.
#include "tests/support/cuda_emulated/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

namespace epochbench::test {
namespace {

thread_local int current = 0;
std::map<void*, std::pair<EmulatedCard*, std::size_t>> blocks;  // of device memory

int hexadecimal(char digit) { return digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10; }

}  // namespace

EmulatedCard* current_card() {
  auto& visible = emulated_machine().visible;
  return static_cast<std::size_t>(current) < visible.size() ? &visible[static_cast<std::size_t>(current)] : nullptr;
}

cudaError_t state_of(const EmulatedCard* card) {
  if (!card) return cudaErrorNoDevice;
  return card->lost ? card->error : cudaSuccess;
}

cudaError_t state() { return state_of(current_card()); }

}  // namespace epochbench::test

using namespace epochbench::test;

// The driver and its devices.

cudaError_t cudaGetDeviceCount(int* count) {
  const EmulatedMachine& machine = emulated_machine();
  *count = 0;
  if (machine.driver < CUDART_VERSION) return cudaErrorInsufficientDriver;
  *count = static_cast<int>(machine.visible.size());
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = emulated_machine().driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const auto& visible = emulated_machine().visible;
  if (device < 0 || static_cast<std::size_t>(device) >= visible.size()) return cudaErrorInvalidDevice;
  const EmulatedCard& card = visible[static_cast<std::size_t>(device)];
  *properties = {};
  std::strncpy(properties->name, card.name.c_str(), sizeof properties->name - 1);
  for (std::size_t i = 0; i < sizeof properties->uuid.bytes && 2 * i + 1 < card.uuid.size(); ++i)
    properties->uuid.bytes[i] = static_cast<char>(hexadecimal(card.uuid[2 * i]) * 16 + hexadecimal(card.uuid[2 * i + 1]));
  properties->major = card.capability / 10;
  properties->minor = card.capability % 10;
  properties->totalGlobalMem = static_cast<std::size_t>(card.memory_bytes);
  return cudaSuccess;
}

// The clock alone: what an emulated card is rated at is not known.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = 0;
  return attribute == cudaDevAttrClockRate ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  current = device;
  return state();
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorECCUncorrectable:
      return "cudaErrorECCUncorrectable";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorECCUncorrectable:
      return "uncorrectable ECC error encountered";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    default:
      return "unknown error";
  }
}

cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaDeviceSynchronize() { return state_outside_captures(); }

// Memory.

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (const cudaError_t status = state_outside_captures()) return status;
  EmulatedCard& card = *current_card();
  const auto size = static_cast<std::int64_t>(bytes);
  if (card.held_bytes + card.allocated_bytes + size > card.memory_bytes) return cudaErrorMemoryAllocation;
  *memory = std::calloc(bytes, 1);  // as large as a card's: pages are there once they are written
  if (!*memory) return cudaErrorMemoryAllocation;
  card.allocated_bytes += size;
  blocks[*memory] = {&card, bytes};
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  if (const cudaError_t status = state_outside_captures(); status == cudaErrorStreamCaptureUnsupported) return status;
  const auto block = blocks.extract(memory);
  if (block.empty()) return cudaErrorInvalidValue;
  block.mapped().first->allocated_bytes -= static_cast<std::int64_t>(block.mapped().second);
  std::free(memory);
  return state();
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t status = state()) return status;
  const EmulatedCard& card = *current_card();
  *total = static_cast<std::size_t>(card.memory_bytes);
  *free = static_cast<std::size_t>(card.memory_bytes - card.held_bytes - card.allocated_bytes);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const cudaError_t status = state()) return status;
  *memory = std::malloc(bytes);
  return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return state();
}
