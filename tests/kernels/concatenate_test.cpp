// Concatenation and its gradient, exactly: in units of 16, 8, 4 and 2 bytes on CUDA.
#include <numeric>

#include "tests/support/op_test.h"

namespace epochbench {
namespace {

struct Concatenation {
  std::int64_t rows;
  std::vector<std::int64_t> channels;
  std::int64_t width() const { return std::accumulate(channels.begin(), channels.end(), std::int64_t{0}); }
};
const Concatenation kCases[] = {
    {1, {1}},                        // smallest
    {33, {3, 1, 7}},                 // odd sizes, a row in a block of its own
    {49, {44, 44, 44, 44, 44, 44}},  // a cell of NASNet
    {70, {44, 44, 44, 88}},          // units of 8 bytes in 16 bits
    {40, {2, 6, 10}},                // units of 4 bytes in 16 bits
    {65, {8, 64, 24}},               // units of 16 bytes
    {3, {1, 2, 3, 4, 5, 6, 7, 8}},   // as many parts as there may be
    {600, {64, 16}},                 // for several threads
    {2, {1000, 8, 1}},               // a part wider than a block
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

// The value of a part's column in each row, which names both.
float value_at(std::int64_t row, std::size_t part, std::int64_t column) {
  return static_cast<float>((row * 7 + static_cast<std::int64_t>(part) * 31 + column * 3) % 251);
}

GuardedBuffer<float> rows_side_by_side(const Concatenation& c) {
  GuardedBuffer<float> values(c.rows * c.width());
  std::int64_t whole = 0;
  for (std::int64_t row = 0; row < c.rows; ++row)
    for (std::size_t part = 0; part < c.channels.size(); ++part)
      for (std::int64_t column = 0; column < c.channels[part]; ++column) values[whole++] = value_at(row, part, column);
  return values;
}

std::string describe(const Concatenation& c) { return std::to_string(c.rows) + "x" + std::to_string(c.width()); }

TEST(Concatenate, PutsRowsSideBySide) {
  for (const Concatenation& c : kCases)
    for_each_op_element(describe(c), [&](Element element) {
      Parts x;
      for (std::size_t part = 0; part < c.channels.size(); ++part) {
        GuardedBuffer<float> values(c.rows * c.channels[part]);
        for (std::int64_t i = 0; i < c.rows * c.channels[part]; ++i)
          values[i] = value_at(i / c.channels[part], part, i % c.channels[part]);
        x.tensors.emplace_back(values, element);
      }
      const GuardedBuffer<float> expected = rows_side_by_side(c);
      for_each_device(element, [&](const OpDevice& k) {
        Tensor y(c.rows * c.width(), element);
        k.concatenate(y.data(), x.all<const void*>(c), c.rows);
        expect_close(y.floats(), expected, kExact);
        EXPECT_TRUE(y.guards_intact());
      });
    });
}

// One part is left out, as if nothing read it.
TEST(Concatenate, GradientTakesThemApart) {
  for (const Concatenation& c : kCases)
    for_each_op_element(describe(c), [&](Element element) {
      const Tensor dy(rows_side_by_side(c), element);
      const std::size_t left_out = c.channels.size() > 2 ? 1 : c.channels.size();
      for_each_device(element, [&](const OpDevice& k) {
        Parts dx;
        for (std::int64_t channels : c.channels) dx.tensors.emplace_back(c.rows * channels, element);
        ChannelParts<void*> parts = dx.all<void*>(c);
        if (left_out < c.channels.size()) parts.part[left_out] = nullptr;
        k.concatenate_grad(parts, dy.data(), c.rows);
        for (std::size_t part = 0; part < c.channels.size(); ++part) {
          const GuardedBuffer<float> result = dx.tensors[part].floats();
          for (std::int64_t i = 0; i < c.rows * c.channels[part]; ++i) {
            const float expected = value_at(i / c.channels[part], part, i % c.channels[part]);
            EXPECT_TRUE(part == left_out ? std::isnan(result[i]) : result[i] == expected)
                << part << " " << i;  // NaN: unwritten
          }
          EXPECT_TRUE(dx.tensors[part].guards_intact());
        }
      });
    });
}

TEST(ReferenceConcatenate, AgreesWithTheDefinition) {
  for (const Concatenation& c : kCases) {
    const GuardedBuffer<float> whole = rows_side_by_side(c);
    std::vector<GuardedBuffer<float>> parts;
    ChannelParts<float*> apart;
    ChannelParts<const float*> read;
    for (std::int64_t channels : c.channels) {
      parts.emplace_back(c.rows * channels);
      apart.part[apart.count] = parts.back().data();
      read.part[apart.count] = parts.back().data();
      read.channels[apart.count] = apart.channels[apart.count] = channels;
      read.count = ++apart.count;
    }
    GuardedBuffer<float> again(c.rows * c.width());
    reference::concatenate_grad(apart, whole.data(), c.rows);
    reference::concatenate(again.data(), read, c.rows);
    expect_close(again, whole, kExact);
    EXPECT_EQ(parts.back()[0], value_at(0, c.channels.size() - 1, 0));
  }
}

}  // namespace
}  // namespace epochbench
