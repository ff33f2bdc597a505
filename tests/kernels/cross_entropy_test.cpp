// Cross entropy against the reference: ignored labels, extreme logits, the exponential, the count of correct rows.
#include "tests/support/labels.h"
#include "tests/support/op_test.h"

namespace epochbench {
namespace {

using test::cross_entropy_gradient_tolerance;
using test::Ignored;
using test::kLogError;
using test::labels_for;

// CUDA has one row per warp up to 512 classes, else one per block. Odd rows start at any offset within 16 bytes.
constexpr Matrix kMatrices[] = {{1, 1},  {91, 1},  {1, 2},    {3, 10},   {2, 16},   {64, 10},  {101, 17}, {9, 7},
                                {5, 33}, {3, 512}, {9, 1000}, {5, 1025}, {4, 3001}, {700, 10}, {2, 30522}};
constexpr Matrix kLarge[] = {{307, 1}, {301, 17}};

std::vector<Matrix> matrices() { return test::op_sizes(kMatrices, kLarge); }

const Targets kTargets[] = {{false}, {true}, {false, 0.3f}, {true, 0.1f}};

std::string describe(const Matrix& m, const Targets& targets) {
  return test::describe(m) + (targets.mean ? " mean" : " sum") + (targets.smoothing > 0 ? " smoothed" : "");
}

// A loss, and a gradient of the given log_sum_exp.
struct Results {
  DeviceBuffer<float> loss, log_sum_exp;
  Tensor dlogits;
  Results(const Matrix& m, Element element) : loss(1), log_sum_exp(m.rows), dlogits(m.elements(), element) {}

  void run(const OpDevice& k, const Tensor& logits, const DeviceBuffer<std::int32_t>& labels, const Matrix& m,
           const Targets& targets) {
    k.cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, targets);
    k.cross_entropy_grad(dlogits.data(), logits.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, targets);
    EXPECT_TRUE(loss.guards_intact() && log_sum_exp.guards_intact() && dlogits.guards_intact());
  }
};

void check(const Matrix& m, const Tensor& logits, Ignored ignored, const Targets& targets) {
  const Element element = logits.element();
  const DeviceBuffer<std::int32_t> labels = labels_for(m, ignored);
  const GuardedBuffer<float> values = logits.floats();
  GuardedBuffer<float> loss(1), dlogits(m.elements());
  DeviceBuffer<float> log_sum_exp(m.rows);
  reference::cross_entropy(loss.data(), log_sum_exp.data(), values.data(), labels.data(), m.rows, m.channels, targets);
  reference::cross_entropy_grad(dlogits.data(), values.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, targets);
  const auto counted = static_cast<double>(std::ranges::count_if(labels, [](std::int32_t label) { return label >= 0; }));
  SameBits same(true);
  for_each_device(element, [&](const OpDevice& k) {
    DeviceBuffer<float> got_loss(1), again(1), got_log_sum_exp(m.rows);
    Tensor got(m.elements(), element), in_place = logits;
    k.cross_entropy(got_loss.data(), got_log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, targets);
    k.cross_entropy(again.data(), nullptr, logits.data(), labels.data(), m.rows, m.channels, targets);
    for (Tensor* to : {&got, &in_place})
      k.cross_entropy_grad(to->data(), to == &got ? logits.data() : to->data(), labels.data(), log_sum_exp.data(), m.rows,
                           m.channels, targets);
    expect_close(got_log_sum_exp, log_sum_exp, {kEps, kLogError});
    expect_close(got_loss, loss, {kEps, kLogError * (targets.mean ? 1 : static_cast<double>(m.rows))});
    expect_close(got.floats(), dlogits,
                 cross_entropy_gradient_tolerance(element, targets.mean && counted > 0 ? 1 / counted : 1));
    EXPECT_TRUE(bit_equal(again, got_loss) && bit_equal(got.floats(), in_place.floats()));
    EXPECT_TRUE(got_loss.guards_intact() && got_log_sum_exp.guards_intact() && got.guards_intact());
    same.expect(k, got_loss);
  });
}

TEST(CrossEntropy, MatchesReference) {
  for (const Matrix& m : matrices())
    for (const Targets& targets : kTargets)
      for_each_op_element(describe(m, targets), [&](Element element) {
        check(m, random_tensor(m.elements(), element, 1, -6, 6), Ignored::none, targets);
      });
}

// Rows of two samples: odd numbers of them, neighbors with the same label and with none.
TEST(CrossEntropy, OfTwoSamplesMatchesReference) {
  for (const Matrix& m : matrices())
    for (const Targets& targets : kTargets)
      for (Ignored ignored : {Ignored::none, Ignored::every_third}) {
        const DeviceBuffer<float> share = random_device_floats(m.rows, 3, 0, 1);
        for_each_op_element(describe(m, targets), [&](Element element) {
          check(m, random_tensor(m.elements(), element, 1, -6, 6), ignored, targets.with_share(share.data()));
        });
      }
}

TEST(CrossEntropy, IgnoredLabelsMatchReference) {
  for (const Matrix& m : {Matrix{2, 10}, Matrix{64, 10}, Matrix{101, 17}, Matrix{301, 17}, Matrix{7, 1001}})
    for (bool mean : {false, true})
      for_each_op_element(describe(m, mean), [&](Element element) {
        const Tensor logits = random_tensor(m.elements(), element, 2, -6, 6);
        check(m, logits, Ignored::every_third, mean);
        const DeviceBuffer<std::int32_t> labels = labels_for(m, Ignored::every_third);
        for_each_device(element, [&](const OpDevice& k) {
          Results results(m, element);
          results.run(k, logits, labels, m, mean);
          const GuardedBuffer<float> gradient = results.dlogits.floats();
          for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_TRUE(gradient[i] == 0 || labels[i / m.channels] >= 0) << i;
        });
      });
}

TEST(CrossEntropy, IsZeroWhereAllLabelsAreIgnored) {
  const Matrix m = {65, 33};
  const DeviceBuffer<std::int32_t> labels = labels_for(m, Ignored::all);
  for (bool mean : {false, true})
    for_each_op_element(describe(m, mean), [&](Element element) {
      const Tensor logits = random_tensor(m.elements(), element, 3);
      for_each_device(element, [&](const OpDevice& k) {
        Results results(m, element);
        results.run(k, logits, labels, m, mean);
        EXPECT_EQ(results.loss[0], 0);
        EXPECT_EQ(max_abs(results.dlogits.floats()), 0);
        for (float value : results.log_sum_exp) EXPECT_TRUE(std::isfinite(value));
      });
    });
}

TEST(CrossEntropy, ExtremeLogitsMatchReference) {
  for (const Matrix& m : {Matrix{3, 10}, Matrix{64, 17}, Matrix{2, 1025}})
    for_each_op_element(test::describe(m), [&](Element element) {
      check(m, random_tensor(m.elements(), element, 4, -1e4, 1e4), Ignored::none, true);
      GuardedBuffer<float> logits(m.elements());
      for (std::int64_t i = 0; i < m.elements(); ++i) logits[i] = i % 2 == 0 ? 1e4f : -1e4f;
      check(m, Tensor(logits, element), Ignored::none, false);
      std::fill(logits.begin(), logits.end(), -1e4f);
      check(m, Tensor(logits, element), Ignored::none, true);
    });
}

// In CUDA some threads see only masked logits, in vectors and one by one.
TEST(CrossEntropy, MaskedLogitHasNoProbability) {
  for (const Matrix& m : {Matrix{2, 40}, Matrix{3, 1031}})
    for_each_op_element(test::describe(m), [&](Element element) {
      const auto masked = [&](std::int64_t i) { return i % m.channels % 5 == 3 || i % m.channels >= m.channels / 2; };
      GuardedBuffer<float> values = random_floats(m.elements(), 5), loss(1), log_sum_exp(m.rows);
      for (std::int64_t i = 0; i < m.elements(); ++i)
        if (masked(i)) values[i] = -INFINITY;
      const Tensor logits(values, element);
      DeviceBuffer<std::int32_t> labels(m.rows);
      for (std::int64_t r = 0; r < m.rows; ++r) labels[r] = static_cast<std::int32_t>(r);
      reference::cross_entropy(loss.data(), log_sum_exp.data(), logits.floats().data(), labels.data(), m.rows, m.channels,
                               true);
      for_each_device(element, [&](const OpDevice& k) {
        Results results(m, element);
        results.run(k, logits, labels, m, true);
        expect_close(results.loss, loss, {kEps, kLogError});
        const GuardedBuffer<float> gradient = results.dlogits.floats();
        for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(gradient[i] == 0, masked(i)) << i;
      });
    });
}

TEST(CrossEntropy, NanAndInfinityMakeTheLossNan) {
  for (const Matrix& m : {Matrix{3, 37}, Matrix{2, 1030}})
    for (float bad : {NAN, INFINITY})
      for (std::int64_t at : {std::int64_t{0}, std::int64_t{36}, m.channels + 13, m.elements() - 1})
        for_each_op_element(test::describe(m) + " at " + std::to_string(at), [&](Element element) {
          GuardedBuffer<float> values = random_floats(m.elements(), 6);
          values[at] = bad;
          const Tensor logits(values, element);
          const DeviceBuffer<std::int32_t> labels = labels_for(m, Ignored::none);
          for_each_device(element, [&](const OpDevice& k) {
            DeviceBuffer<float> loss(1);
            k.cross_entropy(loss.data(), nullptr, logits.data(), labels.data(), m.rows, m.channels, true);
            EXPECT_TRUE(std::isnan(loss[0]));
          });
        });
}

// With a log_sum_exp of 0 and the sum as loss, the gradient is the kernel's exponential.
TEST(CrossEntropyGrad, ExponentialIsAccurate) {
  constexpr std::int64_t kClasses = 9001;
  for_each_op_element("", [&](Element element) {
    GuardedBuffer<float> values(kClasses), expected(kClasses);
    for (std::int64_t i = 0; i < kClasses; ++i) values[i] = test::rounded(-static_cast<float>(i) * (86.9f / kClasses), element);
    for (std::int64_t i = 1; i < kClasses; ++i) expected[i] = static_cast<float>(std::exp(static_cast<double>(values[i])));
    expected[0] = 0;  // the label's: 1 - 1
    const Tensor logits(values, element);
    DeviceBuffer<std::int32_t> label(1);
    DeviceBuffer<float> log_sum_exp(1);
    label[0] = 0;
    log_sum_exp[0] = 0;
    for_each_device(element, [&](const OpDevice& k) {
      Tensor dlogits(kClasses, element);
      k.cross_entropy_grad(dlogits.data(), logits.data(), label.data(), log_sum_exp.data(), 1, kClasses, false);
      // CUDA's fast exponential: 2 + 1.2 * 87 units.
      expect_close(dlogits.floats(), expected, stored(element, {(element == Element::f32 ? 2 : 107) * kEps, 0}));
    });
  });
}

TEST(CountCorrect, MatchesReference) {
  for (const Matrix& m : matrices())
    for (Ignored ignored : {Ignored::none, Ignored::every_third, Ignored::all})
      for_each_op_element(test::describe(m), [&](Element element) {
        GuardedBuffer<float> logits = random_floats(m.elements(), 8, 0, 2.9);
        for (float& value : logits) value = std::floor(value);  // many equal maxima: the first counts
        DeviceBuffer<std::int32_t> labels = labels_for(m, ignored);
        for (std::int64_t r = 0; r < m.rows; r += 2) {  // half of the rows: the label is the prediction
          if (labels[r] < 0) continue;
          const float* row = logits.data() + r * m.channels;
          labels[r] = static_cast<std::int32_t>(m.channels == 1 ? *row > 0 : std::max_element(row, row + m.channels) - row);
        }
        if (m.rows > 4) logits[4 * m.channels] = NAN;
        GuardedBuffer<float> expected(1);
        reference::count_correct(expected.data(), logits.data(), labels.data(), m.rows, m.channels);
        const Tensor stored_logits(logits, element);
        for_each_device(element, [&](const OpDevice& k) {
          DeviceBuffer<float> count(1);
          k.count_correct(count.data(), stored_logits.data(), labels.data(), m.rows, m.channels);
          EXPECT_EQ(count[0], expected[0]);
          EXPECT_TRUE(count.guards_intact());
        });
      });
}

}  // namespace
}  // namespace epochbench
