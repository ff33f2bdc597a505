// The values of bytes in CUDA against the reference: a copy of the table's, rounded once as cast() rounds floats.
#include "epochbench/philox.h"
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

struct Pixels {
  std::int64_t count, channels;
};
// One byte; fewer than a pack; packs that begin in every channel, with and without a rest; several turns of all threads; the
// most channels whose table is shared, and more.
constexpr Pixels kPixels[] = {{1, 1},       {1, 3},    {2, 1},     {7, 3},    {28 * 28, 1},
                              {33 * 31, 3}, {1021, 5}, {99991, 3}, {130, 48}, {77, 49}};

DeviceBuffer<std::uint8_t> bytes_of(std::int64_t n) {  // both ends of the range among them
  DeviceBuffer<std::uint8_t> bytes(n);
  for (std::int64_t i = 0; i < n; ++i)
    bytes[i] = static_cast<std::uint8_t>(philox(1, {static_cast<std::uint32_t>(i), 0, 0, 0})[0] >> 24);
  bytes[n - 1] = 255;
  bytes[0] = 0;
  return bytes;
}

class CudaDecodePixels : public testing::Test {
 protected:
  void check(const Pixels& p) {
    const std::int64_t n = p.count * p.channels;
    const DeviceBuffer<std::uint8_t> x = bytes_of(n);
    const DeviceBuffer<float> table = random_device_floats(p.channels * 256, 2, -3, 3);
    GuardedBuffer<float> expected(n);
    reference::decode_pixels(expected.data(), x.data(), table.data(), p.count, p.channels);
    for_each_element(std::to_string(p.count) + "x" + std::to_string(p.channels), [&](Element element) {
      const Tensor rounded(expected, element);
      for_each_order("", [&] {
        Tensor y(n, element);
        cuda::decode_pixels(y.data(), x.data(), table.data(), p.count, p.channels, element, kNoStream);
        EXPECT_TRUE(bit_equal(y.floats(), rounded.floats()));
        EXPECT_TRUE(y.guards_intact() && x.guards_intact() && table.guards_intact());
      });
    });
  }
};

TEST_F(CudaDecodePixels, MatchesReference) {
  for (const Pixels& p : kPixels) check(p);
}

// By definition, for the reference.
TEST_F(CudaDecodePixels, ReferenceTakesTheTableOfTheChannel) {
  GuardedBuffer<float> y(4), table(512);
  for (std::int64_t i = 0; i < 512; ++i) table[i] = static_cast<float>(i);
  const std::uint8_t x[] = {0, 255, 7, 0};
  reference::decode_pixels(y.data(), x, table.data(), 2, 2);
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{0, 256 + 255, 7, 256}));
  EXPECT_TRUE(y.guards_intact());
}

TEST_F(CudaDecodePixels, NothingIsNoLaunch) {
  EXPECT_NO_THROW(cuda::decode_pixels(nullptr, nullptr, nullptr, 0, 3, Element::bf16, kNoStream));
}

}  // namespace
}  // namespace epochbench
