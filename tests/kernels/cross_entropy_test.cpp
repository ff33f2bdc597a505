// Cross entropy on the CPU against the reference: ignored labels, extreme logits, the exponential, the count of correct rows.
#include "tests/support/kernel_test.h"

namespace epochbench {
namespace {

template <typename Real>
class CrossEntropy : public test::OfReal<Real> {};
TYPED_TEST_SUITE(CrossEntropy, test::Reals, test::RealName);
template <typename Real>
class CrossEntropyGrad : public test::OfReal<Real> {};
TYPED_TEST_SUITE(CrossEntropyGrad, test::Reals, test::RealName);
template <typename Real>
class CountCorrect : public test::OfReal<Real> {};
TYPED_TEST_SUITE(CountCorrect, test::Reals, test::RealName);

constexpr Matrix kMatrices[] = {{1, 1},  {307, 1},  {1, 2},    {3, 10},   {2, 16},   {64, 10},  {301, 17},
                                {5, 33}, {9, 1000}, {3, 1025}, {2, 3001}, {700, 10}, {2, 30522}};

const Targets kTargets[] = {{false}, {true}, {false, 0.3f}, {true, 0.1f}};

enum class Ignored { none, every_third, all };

GuardedBuffer<std::int32_t> labels_of(const Matrix& m, Ignored ignored) {
  GuardedBuffer<std::int32_t> labels(m.rows);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const bool skip = ignored == Ignored::all || (ignored == Ignored::every_third && r % 3 == 1);
    labels[r] = skip ? (r % 2 == 0 ? -1 : -100) : static_cast<std::int32_t>(r * 7919 % std::max<std::int64_t>(m.channels, 2));
  }
  return labels;
}

// log_sum_exp is max + log(sum): one rounding of the result, plus those of the terms of the sum. The float sums have at most
// 1024 terms, spread over the lanes of a vector.
constexpr double kLogError = 8 * kEps;

template <typename Real>
void check(const Matrix& m, const GuardedBuffer<float>& values, Ignored ignored, const Targets& targets) {
  const GuardedBuffer<std::int32_t> labels = labels_of(m, ignored);
  const GuardedBuffer<Real> logits_real = reals<Real>(values);
  const GuardedBuffer<float> logits = floats(logits_real);
  GuardedBuffer<float> loss(1), log_sum_exp(m.rows), dlogits(m.elements());
  reference::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, targets);
  reference::cross_entropy_grad(dlogits.data(), logits.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, targets);
  const std::string what = std::to_string(m.rows) + "x" + std::to_string(m.channels) + (targets.mean ? " mean" : " sum") +
                           (targets.smoothing > 0 ? " smoothed" : "");
  for_each_kernels_of<Real>(what, [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<float> got_loss(1), got_log_sum_exp(m.rows);
    GuardedBuffer<Real> got(m.elements()), in_place = logits_real;
    kernels.cross_entropy(got_loss.data(), got_log_sum_exp.data(), logits_real.data(), labels.data(), m.rows, m.channels,
                          targets, threads);
    kernels.cross_entropy_grad(got.data(), logits_real.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, targets,
                               threads);
    kernels.cross_entropy_grad(in_place.data(), in_place.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, targets,
                               threads);
    expect_close(got_log_sum_exp, log_sum_exp, {kEps, kLogError});
    expect_close(got_loss, loss, {kEps, kLogError * (targets.mean ? 1 : static_cast<double>(m.rows))});
    // exp(l - s) with l - s rounded: |l - s| exp(l - s) is at most 1/e for l <= s.
    expect_close(floats(got), dlogits,
                 rounded<Real>({2 * kEps, targets.mean ? 4 * kEps / static_cast<double>(m.rows) : 4 * kEps}));
    EXPECT_TRUE(test::bit_equal(got, in_place));
    EXPECT_TRUE(got_loss.guards_intact() && got_log_sum_exp.guards_intact() && got.guards_intact());
    kernels.cross_entropy(got_loss.data(), nullptr, logits_real.data(), labels.data(), m.rows, m.channels, targets, threads);
    expect_close(got_loss, loss, {kEps, kLogError * (targets.mean ? 1 : static_cast<double>(m.rows))});
  });
}

TYPED_TEST(CrossEntropy, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (const Targets& targets : kTargets) check<TypeParam>(m, random_floats(m.elements(), 1, -6, 6), Ignored::none, targets);
}

// Rows of two samples: odd numbers of them, neighbors with the same label and with none.
TYPED_TEST(CrossEntropy, OfTwoSamplesMatchesReference) {
  for (const Matrix& m : kMatrices)
    for (const Targets& targets : kTargets)
      for (Ignored ignored : {Ignored::none, Ignored::every_third}) {
        const GuardedBuffer<float> share = random_floats(m.rows, 3, 0, 1);
        check<TypeParam>(m, random_floats(m.elements(), 1, -6, 6), ignored, targets.with_share(share.data()));
      }
}

TYPED_TEST(CrossEntropy, IgnoredLabelsMatchReference) {
  using Real = TypeParam;
  for (const Matrix& m : {Matrix{2, 10}, Matrix{64, 10}, Matrix{301, 17}})
    for (bool mean : {false, true}) {
      const GuardedBuffer<Real> logits_real = random_reals<Real>(m.elements(), 2, -6, 6);
      const GuardedBuffer<float> logits = floats(logits_real);
      const GuardedBuffer<std::int32_t> labels = labels_of(m, Ignored::every_third);
      GuardedBuffer<float> loss(1), log_sum_exp(m.rows), dlogits(m.elements());
      reference::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, mean);
      for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
        GuardedBuffer<float> got(1), got_log_sum_exp(m.rows);
        GuardedBuffer<Real> dlogits_real(m.elements());
        kernels.cross_entropy(got.data(), got_log_sum_exp.data(), logits_real.data(), labels.data(), m.rows, m.channels, mean,
                              threads);
        expect_close(got, loss, {2 * kEps, kLogError});
        kernels.cross_entropy_grad(dlogits_real.data(), logits_real.data(), labels.data(), log_sum_exp.data(), m.rows,
                                   m.channels, mean, threads);
        for (std::int64_t i = 0; i < m.elements(); ++i)
          if (labels[i / m.channels] < 0) {
            ASSERT_EQ(test::widen(dlogits_real[i]), 0) << i;
          }
      });
    }
}

TYPED_TEST(CrossEntropy, IsZeroWhereAllLabelsAreIgnored) {
  using Real = TypeParam;
  const Matrix m = {65, 33};
  const GuardedBuffer<Real> logits = random_reals<Real>(m.elements(), 3);
  const GuardedBuffer<std::int32_t> labels = labels_of(m, Ignored::all);
  for (bool mean : {false, true})
    for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
      GuardedBuffer<float> loss(1), log_sum_exp(m.rows);
      GuardedBuffer<Real> dlogits(m.elements());
      kernels.cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, mean, threads);
      kernels.cross_entropy_grad(dlogits.data(), logits.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, mean,
                                 threads);
      EXPECT_EQ(loss[0], 0);
      EXPECT_EQ(max_abs(floats(dlogits)), 0);
      for (float value : log_sum_exp) EXPECT_TRUE(std::isfinite(value));
    });
}

TYPED_TEST(CrossEntropy, ExtremeLogitsMatchReference) {
  for (const Matrix& m : {Matrix{3, 10}, Matrix{64, 17}, Matrix{2, 1025}}) {
    GuardedBuffer<float> logits = random_floats(m.elements(), 4, -1e4, 1e4);
    check<TypeParam>(m, logits, Ignored::none, true);
    for (std::int64_t i = 0; i < m.elements(); ++i) logits[i] = i % 2 == 0 ? 1e4f : -1e4f;
    check<TypeParam>(m, logits, Ignored::none, false);
    std::fill(logits.begin(), logits.end(), -1e4f);
    check<TypeParam>(m, logits, Ignored::none, true);
  }
}

TYPED_TEST(CrossEntropy, MaskedLogitHasNoProbability) {
  using Real = TypeParam;
  const Matrix m = {2, 40};
  GuardedBuffer<float> values = random_floats(m.elements(), 5);
  for (std::int64_t i = 3; i < m.elements(); i += 5) values[i] = -INFINITY;
  const GuardedBuffer<Real> logits = reals<Real>(values);
  const std::int32_t labels[] = {0, 1};
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<float> loss(1), log_sum_exp(m.rows);
    GuardedBuffer<Real> dlogits(m.elements());
    kernels.cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels, m.rows, m.channels, true, threads);
    kernels.cross_entropy_grad(dlogits.data(), logits.data(), labels, log_sum_exp.data(), m.rows, m.channels, true, threads);
    EXPECT_TRUE(std::isfinite(loss[0]));
    for (std::int64_t i = 3; i < m.elements(); i += 5) EXPECT_EQ(test::widen(dlogits[i]), 0) << i;
  });
}

TYPED_TEST(CrossEntropy, NanAndInfinityMakeTheLossNan) {
  using Real = TypeParam;
  const Matrix m = {3, 37};
  const std::int32_t labels[] = {1, 2, 3};
  for (float bad : {NAN, INFINITY})
    for (std::int64_t at : {0, 36, 50, 110})
      for_each_kernels_of<Real>(std::to_string(at), [&](const cpu::Kernels<Real>& kernels, int threads) {
        GuardedBuffer<float> values = random_floats(m.elements(), 6), loss(1);
        values[at] = bad;
        const GuardedBuffer<Real> logits = reals<Real>(values);
        kernels.cross_entropy(loss.data(), nullptr, logits.data(), labels, m.rows, m.channels, true, threads);
        EXPECT_TRUE(std::isnan(loss[0]));
      });
}

// With a log_sum_exp of 0 and the sum as loss, the gradient is the kernel's exponential.
TYPED_TEST(CrossEntropyGrad, ExponentialIsAccurate) {
  using Real = TypeParam;
  constexpr std::int64_t kClasses = 9001;
  GuardedBuffer<float> values(kClasses), expected(kClasses);
  for (std::int64_t i = 0; i < kClasses; ++i) values[i] = -static_cast<float>(i) * (86.9f / kClasses);
  const GuardedBuffer<Real> logits = reals<Real>(values);
  for (std::int64_t i = 0; i < kClasses; ++i)
    expected[i] = static_cast<float>(std::exp(static_cast<double>(test::widen(logits[i]))));
  expected[0] = 0;  // the label's: 1 - 1
  const std::int32_t label = 0;
  const float log_sum_exp = 0;
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<Real> dlogits(kClasses);
    kernels.cross_entropy_grad(dlogits.data(), logits.data(), &label, &log_sum_exp, 1, kClasses, false, threads);
    expect_close(floats(dlogits), expected, rounded<Real>({2 * kEps, 0}));
  });
}

TYPED_TEST(CrossEntropy, IsBitEqualForEqualThreads) {
  using Real = TypeParam;
  const Matrix m = {501, 17};
  const GuardedBuffer<Real> logits = random_reals<Real>(m.elements(), 7, -6, 6);
  const GuardedBuffer<std::int32_t> labels = labels_of(m, Ignored::every_third);
  for_each_kernels_of<Real>("", [&](const cpu::Kernels<Real>& kernels, int threads) {
    GuardedBuffer<float> first(1), again(1);
    for (GuardedBuffer<float>* loss : {&first, &again})
      kernels.cross_entropy(loss->data(), nullptr, logits.data(), labels.data(), m.rows, m.channels, true, threads);
    EXPECT_TRUE(test::bit_equal(first, again));
  });
}

TYPED_TEST(CountCorrect, MatchesReference) {
  using Real = TypeParam;
  for (const Matrix& m : kMatrices)
    for (Ignored ignored : {Ignored::none, Ignored::every_third, Ignored::all}) {
      GuardedBuffer<float> logits = random_floats(m.elements(), 8, 0, 2.9);
      for (float& value : logits) value = std::floor(value);  // many equal maxima: the first counts
      GuardedBuffer<std::int32_t> labels = labels_of(m, ignored);
      for (std::int64_t r = 0; r < m.rows; r += 2)  // half of the rows: the label is the prediction
        if (labels[r] >= 0) {
          const float* row = logits.data() + r * m.channels;
          labels[r] = static_cast<std::int32_t>(m.channels == 1 ? *row > 0 : std::max_element(row, row + m.channels) - row);
        }
      if (m.rows > 4) logits[4 * m.channels] = NAN;
      const GuardedBuffer<Real> logits_real = reals<Real>(logits);
      GuardedBuffer<float> expected(1);
      reference::count_correct(expected.data(), logits.data(), labels.data(), m.rows, m.channels);
      for_each_kernels_of<Real>(
          std::to_string(m.rows) + "x" + std::to_string(m.channels), [&](const cpu::Kernels<Real>& kernels, int threads) {
            GuardedBuffer<float> count(1);
            kernels.count_correct(count.data(), logits_real.data(), labels.data(), m.rows, m.channels, threads);
            EXPECT_EQ(count[0], expected[0]);
            EXPECT_TRUE(count.guards_intact());
          });
    }
}

}  // namespace
}  // namespace epochbench
