// Concatenation in CUDA and its gradient, exactly as the reference, in units of 16, 8, 4 and 2 bytes.
#include <numeric>

#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

struct Concatenation {
  std::int64_t rows;
  std::vector<std::int64_t> channels;
};
const Concatenation kCases[] = {
    {1, {1}},                       // smallest
    {33, {3, 1, 7}},                // odd sizes, a row in a block of its own
    {70, {44, 44, 44, 88}},         // units of 8 bytes in 16 bits
    {40, {2, 6, 10}},               // units of 4 bytes in 16 bits
    {65, {8, 64, 24}},              // units of 16 bytes
    {3, {1, 2, 3, 4, 5, 6, 7, 8}},  // as many parts as there may be
    {2, {1000, 8}},                 // a part wider than a block
};

// The parts, each with guard bands of its own.
struct Parts {
  std::vector<Tensor> tensors;
  template <typename Pointer>
  ChannelParts<Pointer> all(const Concatenation& c) {
    ChannelParts<Pointer> parts;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      parts.part[i] = tensors[i].data();
      parts.channels[i] = c.channels[i];
    }
    parts.count = static_cast<int>(tensors.size());
    return parts;
  }
};

std::int64_t width(const Concatenation& c) { return std::accumulate(c.channels.begin(), c.channels.end(), std::int64_t{0}); }

// The value of a part's column in each row, which names both.
float value_of(std::int64_t row, std::size_t part, std::int64_t column) {
  return static_cast<float>((row * 7 + static_cast<std::int64_t>(part) * 31 + column * 3) % 251);
}

template <typename Visit>  // visit(part, row, column of the part, index in the whole)
void for_each_value(const Concatenation& c, Visit visit) {
  std::int64_t whole = 0;
  for (std::int64_t row = 0; row < c.rows; ++row)
    for (std::size_t part = 0; part < c.channels.size(); ++part)
      for (std::int64_t column = 0; column < c.channels[part]; ++column) visit(part, row, column, whole++);
}

std::string describe(const Concatenation& c) { return std::to_string(c.rows) + "x" + std::to_string(width(c)); }

TEST(CudaConcatenate, PutsRowsSideBySide) {
  for (const Concatenation& c : kCases)
    for_each_element(describe(c), [&](Element element) {
      Parts x;
      GuardedBuffer<float> expected(c.rows * width(c));
      for (std::size_t part = 0; part < c.channels.size(); ++part) {
        GuardedBuffer<float> values(c.rows * c.channels[part]);
        for (std::int64_t i = 0; i < c.rows * c.channels[part]; ++i)
          values[i] = value_of(i / c.channels[part], part, i % c.channels[part]);
        x.tensors.emplace_back(values, element);
      }
      for_each_value(c, [&](std::size_t part, std::int64_t row, std::int64_t column, std::int64_t whole) {
        expected[whole] = value_of(row, part, column);
      });
      for_each_order("", [&] {
        Tensor y(c.rows * width(c), element);
        cuda::concatenate(y.data(), x.all<const void*>(c), c.rows, element, kNoStream);
        expect_close(y.floats(), expected, kExact);
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

// One part is left out, as if nothing read it.
TEST(CudaConcatenate, GradientTakesThemApart) {
  for (const Concatenation& c : kCases)
    for_each_element(describe(c), [&](Element element) {
      GuardedBuffer<float> values(c.rows * width(c));
      for_each_value(c, [&](std::size_t part, std::int64_t row, std::int64_t column, std::int64_t whole) {
        values[whole] = value_of(row, part, column);
      });
      const Tensor dy(values, element);
      for_each_order("", [&] {
        Parts dx;
        for (std::int64_t channels : c.channels) dx.tensors.emplace_back(c.rows * channels, element);
        ChannelParts<void*> parts = dx.all<void*>(c);
        const std::size_t left_out = c.channels.size() > 2 ? 1 : c.channels.size();
        if (left_out < c.channels.size()) parts.part[left_out] = nullptr;
        cuda::concatenate_grad(parts, dy.data(), c.rows, element, kNoStream);
        for (std::size_t part = 0; part < c.channels.size(); ++part) {
          const GuardedBuffer<float> result = dx.tensors[part].floats();
          for (std::int64_t i = 0; i < c.rows * c.channels[part]; ++i) {
            if (part == left_out) {
              EXPECT_TRUE(std::isnan(result[i]));  // as before the call
            } else {
              EXPECT_EQ(result[i], value_of(i / c.channels[part], part, i % c.channels[part])) << part << " " << i;
            }
          }
          EXPECT_TRUE(dx.tensors[part].guards_intact());
        }
      });
    });
}

}  // namespace
}  // namespace epochbench
