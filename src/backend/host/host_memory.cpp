// Host memory.
#include "src/backend/host/host_memory.h"

#include <string>

#include <sys/mman.h>

#include "epochbench/backend.h"

namespace epochbench {

namespace {
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
}  // namespace

HostMemory::HostMemory(std::size_t bytes) {
  if (bytes == 0) return;
  const std::size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw OutOfMemory("the system has no " + std::to_string(bytes) + " bytes of memory");
  data_ = {static_cast<std::byte*>(address), Unmap{size}};
  madvise(address, size, MADV_HUGEPAGE);  // fewer TLB misses in strided reads; optional
}

void HostMemory::Unmap::operator()(std::byte* data) const { munmap(data, size); }

void touch_first(std::byte* begin, std::size_t bytes, int threads) {
  const std::size_t pages = (bytes + kPage - 1) / kPage;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t page = 0; page < pages; ++page) {
    volatile std::byte* byte = begin + page * kPage;
    *byte = *byte;
  }
}

}  // namespace epochbench
