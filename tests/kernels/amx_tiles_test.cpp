// How many products of tiles the kernels of AMX take, counted by the model of its instructions: all multiplications are on
// tiles, and of sizes that divide into tiles none is wasted.
#include "tests/support/int8_sweep.h"
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

using cpu::amx_model::table;
using test::convolution_shape;

class AmxTiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::supported(cpu::Isa::avx512_bf16)) GTEST_SKIP() << "the kernels' vector code needs AVX-512 with bf16";
  }
};

template <typename Call>
std::int64_t products_of(Call call) {
  const std::int64_t before = amx_model::products();
  call();
  return amx_model::products() - before;
}
// The least that so many multiplications of Bf16 take: 16 rows, 16 columns, 32 of k each.
std::int64_t tiles(std::int64_t multiplications) { return (multiplications + 8191) / 8192; }

GuardedBuffer<std::uint8_t> workspace_of(std::size_t bytes) {
  return GuardedBuffer<std::uint8_t>(static_cast<std::int64_t>(bytes));
}

TEST_F(AmxTiles, MultiplyMatrices) {
  for (const GemmShape& shape : {GemmShape{64, 96, 320}, GemmShape{64, 96, 320, true, true}, GemmShape{32, 1056, 2048}}) {
    const GuardedBuffer<Bf16> a = random_reals<Bf16>(shape.m * shape.k, 1), b = random_reals<Bf16>(shape.k * shape.n, 2);
    GuardedBuffer<Bf16> c(shape.m * shape.n);
    GuardedBuffer<std::uint8_t> workspace = workspace_of(table.gemm_workspace_bytes(shape, 1));
    const auto gemm = [&] { table.gemm(c.data(), a.data(), b.data(), shape, {}, workspace.data(), 1); };
    EXPECT_EQ(products_of(gemm), tiles(shape.m * shape.n * shape.k));
  }
}

// Strips of pixels have columns of zeros, which are multiplied too.
TEST_F(AmxTiles, MultiplyConvolutionsAndTheirGradients) {
  for (const Conv2dShape& s :
       {convolution_shape(2, 30, 30, 64, 96, 3, 3, 1, 1), convolution_shape(2, 28, 28, 64, 32, 1, 1, 2, 0)}) {
    const std::int64_t outputs = s.batch * s.out_height * s.out_width;
    const std::int64_t least = tiles(outputs * s.out_channels * s.kernel_height * s.kernel_width * s.channels);
    const std::int64_t inputs = s.batch * s.height * s.width * s.channels;
    const GuardedBuffer<Bf16> x = random_reals<Bf16>(inputs, 1), dy = random_reals<Bf16>(outputs * s.out_channels, 2);
    const GuardedBuffer<Bf16> weight = random_reals<Bf16>(s.out_channels * s.kernel_height * s.kernel_width * s.channels, 3);
    GuardedBuffer<Bf16> y(outputs * s.out_channels), dx(inputs), dweight(static_cast<std::int64_t>(weight.size()));
    GuardedBuffer<std::uint8_t> workspace =
        workspace_of(std::max({table.conv2d_workspace_bytes(s, 1), table.conv2d_grad_input_workspace_bytes(s, 1),
                               table.conv2d_grad_weight_workspace_bytes(s, 1)}));
    const std::int64_t passes[] = {
        products_of([&] { table.conv2d(y.data(), x.data(), weight.data(), s, {}, workspace.data(), 1); }),
        products_of([&] { table.conv2d_grad_input(dx.data(), dy.data(), weight.data(), s, workspace.data(), 1); }),
        products_of([&] { table.conv2d_grad_weight(dweight.data(), dy.data(), x.data(), s, workspace.data(), 1); })};
    for (const std::int64_t products : passes) {
      EXPECT_GE(products, least) << test::describe(s);
      EXPECT_LE(products, least * 5 / 4) << test::describe(s);
    }
  }
}

std::array<std::int64_t, 2> products_of_attention(const AttentionShape& s, const Dropout& dropout) {
  const std::int64_t n = s.batch * s.sequence * s.heads * s.width;
  const GuardedBuffer<Bf16> q = random_reals<Bf16>(n, 1), k = random_reals<Bf16>(n, 2), v = random_reals<Bf16>(n, 3),
                            dy = random_reals<Bf16>(n, 4);
  GuardedBuffer<Bf16> y(n), dq(n), dk(n), dv(n);
  GuardedBuffer<float> log_sum_exp(s.batch * s.heads * s.sequence);
  GuardedBuffer<std::uint8_t> workspace = workspace_of(table.attention_workspace_bytes(s, 1));
  const std::int32_t step = 0;
  return {products_of([&] {
            table.attention(y.data(), log_sum_exp.data(), q.data(), k.data(), v.data(), &step, s, dropout, workspace.data(), 1);
          }),
          products_of([&] {
            table.attention_grad(dq.data(), dk.data(), dv.data(), dy.data(), q.data(), k.data(), v.data(), y.data(),
                                 log_sum_exp.data(), &step, s, dropout, workspace.data(), 1);
          })};
}

// Scores and outputs; in the gradient scores again, and the gradients of weights, queries, keys and values.
TEST_F(AmxTiles, MultiplyAttentionAndItsGradient) {
  const Dropout dropout{1, 2, 1u << 30, 4.0f / 3};
  for (const AttentionShape& shape : {AttentionShape{1, 128, 2, 64}, AttentionShape{2, 512, 1, 64}}) {
    const std::int64_t product = tiles(shape.batch * shape.heads * shape.sequence * shape.sequence * shape.width);
    const auto [forward, gradient] = products_of_attention(shape, dropout);
    EXPECT_EQ(forward, 2 * product);
    EXPECT_EQ(gradient, 5 * product);
  }
}

// Blocks of queries are 64 here, 32 rows of scores forward: the masked half of a score is left out but for them.
TEST_F(AmxTiles, CausalAttentionSkipsMaskedTiles) {
  AttentionShape shape{1, 512, 1, 64};
  shape.causal = true;
  const std::int64_t product = tiles(shape.sequence * shape.sequence * shape.width);
  const auto [forward, gradient] = products_of_attention(shape, {});
  EXPECT_EQ(forward, 2 * product * 17 / 32);
  EXPECT_EQ(gradient, 5 * product * 9 / 16);
}

TEST_F(AmxTiles, MultiplyRecurrentLayers) {
  const LstmShape s{32, 3, 64};
  const std::int64_t state = s.batch * s.sequence * s.units, step = tiles(s.batch * 4 * s.units * s.units);
  const GuardedBuffer<Bf16> x = random_reals<Bf16>(4 * state, 1), dh = random_reals<Bf16>(state, 2),
                            weight = random_reals<Bf16>(4 * s.units * s.units, 3);
  GuardedBuffer<Bf16> gates(4 * state), h(state), previous(state), dx(4 * state);
  GuardedBuffer<float> cells(state);
  GuardedBuffer<std::uint8_t> workspace = workspace_of(table.lstm_workspace_bytes(s, 1));
  const std::int64_t forward = products_of([&] {
    table.lstm(gates.data(), cells.data(), h.data(), previous.data(), x.data(), weight.data(), s, workspace.data(), 1);
  });
  EXPECT_EQ(forward, (s.sequence - 1) * step);  // the first step's state is 0
  const std::int64_t gradient = products_of(
      [&] { table.lstm_grad(dx.data(), dh.data(), weight.data(), gates.data(), cells.data(), s, workspace.data(), 1); });
  EXPECT_EQ(gradient, (s.sequence - 1) * step);
}

TEST_F(AmxTiles, MultiplyBytes) {
  if (!cpu::supported(cpu::Isa::avx512_vnni)) GTEST_SKIP() << "the kernels' vector code needs AVX512-VNNI";
  const float range[] = {-1, 1};
  const cpu::Int8Kernels& kernels = cpu::amx_int8_model::table;
  for (const Conv2dShape& s :
       {Conv2dShape{64, 1, 1, 640, 1, 1, 96, 1, 1, 1, 0}, Conv2dShape{32, 1, 1, 2048, 1, 1, 608, 1, 1, 1, 0},
        convolution_shape(2, 8, 8, 64, 48, 3, 3, 1, 1)}) {
    const std::int64_t outputs = s.batch * s.out_height * s.out_width, depth = s.kernel_height * s.kernel_width * s.channels;
    const test::Codes x = test::random_codes(s.batch * s.height * s.width * s.channels, 1);
    const GuardedBuffer<float> weight = random_floats(s.out_channels * depth, 2);
    GuardedBuffer<std::int8_t> weights(int8_weight_bytes(s));
    GuardedBuffer<float> multiplier(s.out_channels), offset(s.out_channels), y(outputs * s.out_channels);
    pack_int8_weights(weights.data(), multiplier.data(), offset.data(), weight.data(), range, s, {});
    GuardedBuffer<std::uint8_t> workspace = workspace_of(kernels.int8_product_workspace_bytes(s, 1));
    Int8Epilogue epilogue;
    epilogue.multiplier = multiplier.data();
    epilogue.offset = offset.data();
    const auto multiply = [&] {
      kernels.int8_product(y.data(), x.data(), weights.data(), range, s, epilogue, workspace.data(), 1);
    };
    EXPECT_EQ(products_of(multiply), outputs / 16 * (s.out_channels / 16) * (depth / 64)) << test::describe(s);
  }
}

}  // namespace
}  // namespace epochbench
