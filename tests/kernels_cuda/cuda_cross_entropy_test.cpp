// Cross entropy in CUDA against the reference: ignored labels, extreme logits, loss scaling, the count of correct rows.
#include "tests/support/cuda_kernel_test.h"

namespace epochbench {
namespace {

// One row per warp up to 512 classes, else one per block. Odd rows start at any offset within 16 bytes.
constexpr Matrix kMatrices[] = {{1, 1},  {91, 1},  {1, 2},    {3, 10},   {2, 16},   {64, 10},  {101, 17}, {9, 7},
                                {5, 33}, {3, 512}, {9, 1000}, {5, 1025}, {4, 3001}, {700, 10}, {2, 30522}};

const Targets kTargets[] = {{false}, {true}, {false, 0.3f}, {true, 0.1f}};

enum class Ignored { none, every_third, all };

DeviceBuffer<std::int32_t> labels_of(const Matrix& m, Ignored ignored) {
  DeviceBuffer<std::int32_t> labels(m.rows);
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const bool skip = ignored == Ignored::all || (ignored == Ignored::every_third && r % 3 == 1);
    labels[r] = skip ? (r % 2 == 0 ? -1 : -100) : static_cast<std::int32_t>(r * 7919 % std::max<std::int64_t>(m.channels, 2));
  }
  return labels;
}

std::string describe(const Matrix& m, bool mean) {
  return std::to_string(m.rows) + "x" + std::to_string(m.channels) + (mean ? " mean" : " sum");
}
DeviceBuffer<float> workspace_of(const Matrix& m) { return scratch(cuda::cross_entropy_workspace_bytes(m.rows)); }

// log_sum_exp is max + log(sum): one rounding of the result, plus those of the terms of the sum.
constexpr double kLogError = 8 * kEps;
// exp(l - s) with l - s rounded: |l - s| exp(l - s) is at most 1/e for l <= s. The fast exponential, of 16-bit logits, adds
// 1.2 |l - s| units, and |l - s| matters up to 24, where exp is the smallest number of fp16.
Tolerance gradient_tolerance(Element element, double weight) {
  return stored(element, {(element == Element::f32 ? 2 : 32) * kEps, 4 * kEps * weight});
}

void check(const Matrix& m, const Tensor& logits, Ignored ignored, const Targets& targets) {
  const Element element = logits.element();
  const DeviceBuffer<std::int32_t> labels = labels_of(m, ignored);
  const GuardedBuffer<float> values = logits.floats();
  GuardedBuffer<float> loss(1), dlogits(m.elements());
  DeviceBuffer<float> log_sum_exp(m.rows);
  reference::cross_entropy(loss.data(), log_sum_exp.data(), values.data(), labels.data(), m.rows, m.channels, targets);
  reference::cross_entropy_grad(dlogits.data(), values.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, targets);
  const double rows = static_cast<double>(m.rows);
  const Tolerance loss_tolerance{kEps, kLogError * (targets.mean ? 1 : rows)};
  for_each_order(describe(m, targets.mean) + (targets.smoothing > 0 ? " smoothed" : ""), [&] {
    DeviceBuffer<float> got_loss(1), again(1), got_log_sum_exp(m.rows), workspace = workspace_of(m);
    Tensor got(m.elements(), element), in_place = logits;
    cuda::cross_entropy(got_loss.data(), got_log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, targets,
                        m.channels, element, workspace.data(), kNoStream);
    EXPECT_TRUE(workspace.guards_intact());
    expect_close(got_log_sum_exp, log_sum_exp, {kEps, kLogError});
    expect_close(got_loss, loss, loss_tolerance);
    workspace.poison();
    cuda::cross_entropy(again.data(), nullptr, logits.data(), labels.data(), m.rows, m.channels, targets, m.channels, element,
                        workspace.data(), kNoStream);
    EXPECT_TRUE(bit_equal(again, got_loss));

    for (Tensor* to : {&got, &in_place}) {
      workspace.poison();
      const Tensor& from = to == &got ? logits : in_place;
      cuda::cross_entropy_grad(to->data(), from.data(), labels.data(), log_sum_exp.data(), nullptr, m.rows, m.channels, targets,
                               m.channels, element, workspace.data(), kNoStream);
    }
    expect_close(got.floats(), dlogits, gradient_tolerance(element, targets.mean ? 1 / rows : 1));
    EXPECT_TRUE(bit_equal(got.floats(), in_place.floats()));
    EXPECT_TRUE(got_loss.guards_intact() && got_log_sum_exp.guards_intact() && got.guards_intact());
    EXPECT_TRUE(workspace.guards_intact() && in_place.guards_intact());
  });
}

TEST(CudaCrossEntropy, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (const Targets& targets : kTargets)
      for_each_element(
          "", [&](Element element) { check(m, random_tensor(m.elements(), element, 1, -6, 6), Ignored::none, targets); });
}

// Rows of two samples: odd numbers of them, neighbors with the same label and with none.
TEST(CudaCrossEntropy, OfTwoSamplesMatchesReference) {
  for (const Matrix& m : kMatrices)
    for (const Targets& targets : kTargets)
      for (Ignored ignored : {Ignored::none, Ignored::every_third}) {
        const GuardedBuffer<float> values = random_floats(m.rows, 3, 0, 1);
        DeviceBuffer<float> share(m.rows);
        for (std::int64_t r = 0; r < m.rows; ++r) share[r] = values[r];
        for_each_element("", [&](Element element) {
          check(m, random_tensor(m.elements(), element, 1, -6, 6), ignored, targets.with_share(share.data()));
        });
      }
}

TEST(CudaCrossEntropy, IgnoredLabelsMatchReference) {
  for (const Matrix& m : {Matrix{2, 10}, Matrix{64, 10}, Matrix{101, 17}, Matrix{7, 1001}})
    for (bool mean : {false, true})
      for_each_element(describe(m, mean), [&](Element element) {
        const Tensor logits = random_tensor(m.elements(), element, 2, -6, 6);
        const DeviceBuffer<std::int32_t> labels = labels_of(m, Ignored::every_third);
        const GuardedBuffer<float> values = logits.floats();
        GuardedBuffer<float> loss(1), expected(m.elements());
        DeviceBuffer<float> got(1), log_sum_exp(m.rows), workspace = workspace_of(m);
        reference::cross_entropy(loss.data(), log_sum_exp.data(), values.data(), labels.data(), m.rows, m.channels, mean);
        reference::cross_entropy_grad(expected.data(), values.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels,
                                      mean);
        Tensor dlogits(m.elements(), element);
        cuda::cross_entropy(got.data(), nullptr, logits.data(), labels.data(), m.rows, m.channels, mean, m.channels, element,
                            workspace.data(), kNoStream);
        cuda::cross_entropy_grad(dlogits.data(), logits.data(), labels.data(), log_sum_exp.data(), nullptr, m.rows, m.channels,
                                 mean, m.channels, element, workspace.data(), kNoStream);
        expect_close(got, loss, {2 * kEps, kLogError * (mean ? 1 : static_cast<double>(m.rows))});
        const GuardedBuffer<float> result = dlogits.floats();
        expect_close(result, expected, gradient_tolerance(element, mean ? 1.5 / static_cast<double>(m.rows) : 1));
        for (std::int64_t i = 0; i < m.elements(); ++i) {
          if (labels[i / m.channels] >= 0) continue;
          ASSERT_EQ(result[i], 0) << i;
        }
      });
}

TEST(CudaCrossEntropy, IsZeroWhereAllLabelsAreIgnored) {
  const Matrix m = {65, 33};
  for (bool mean : {false, true})
    for_each_element(describe(m, mean), [&](Element element) {
      const Tensor logits = random_tensor(m.elements(), element, 3);
      const DeviceBuffer<std::int32_t> labels = labels_of(m, Ignored::all);
      DeviceBuffer<float> loss(1), log_sum_exp(m.rows), workspace = workspace_of(m);
      Tensor dlogits(m.elements(), element);
      cuda::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, mean, m.channels,
                          element, workspace.data(), kNoStream);
      cuda::cross_entropy_grad(dlogits.data(), logits.data(), labels.data(), log_sum_exp.data(), nullptr, m.rows, m.channels,
                               mean, m.channels, element, workspace.data(), kNoStream);
      EXPECT_EQ(loss[0], 0);
      for (float value : dlogits.floats()) ASSERT_EQ(value, 0);
      for (float value : log_sum_exp) EXPECT_TRUE(std::isfinite(value));
    });
}

TEST(CudaCrossEntropy, ExtremeLogitsMatchReference) {
  for (const Matrix& m : {Matrix{3, 10}, Matrix{64, 17}, Matrix{2, 1025}})
    for_each_element("", [&](Element element) {
      check(m, random_tensor(m.elements(), element, 4, -1e4, 1e4), Ignored::none, true);
      GuardedBuffer<float> logits(m.elements());
      for (std::int64_t i = 0; i < m.elements(); ++i) logits[i] = i % 2 == 0 ? 1e4f : -1e4f;
      check(m, Tensor(logits, element), Ignored::none, false);
      std::fill(logits.begin(), logits.end(), -1e4f);
      check(m, Tensor(logits, element), Ignored::none, true);
    });
}

// Some threads see only masked logits, in vectors and one by one.
TEST(CudaCrossEntropy, MaskedLogitHasNoProbability) {
  for (const Matrix& m : {Matrix{2, 40}, Matrix{3, 1031}})
    for_each_element(describe(m, true), [&](Element element) {
      GuardedBuffer<float> values = random_floats(m.elements(), 5);
      const auto masked = [&](std::int64_t i) { return i % m.channels % 5 == 3 || i % m.channels >= m.channels / 2; };
      for (std::int64_t i = 0; i < m.elements(); ++i)
        if (masked(i)) values[i] = -INFINITY;
      const Tensor logits(values, element);
      DeviceBuffer<std::int32_t> labels(m.rows);
      for (std::int64_t r = 0; r < m.rows; ++r) labels[r] = static_cast<std::int32_t>(r);
      GuardedBuffer<float> expected(1), expected_log(m.rows);
      reference::cross_entropy(expected.data(), expected_log.data(), logits.floats().data(), labels.data(), m.rows, m.channels,
                               true);
      DeviceBuffer<float> loss(1), log_sum_exp(m.rows), workspace = workspace_of(m);
      Tensor dlogits(m.elements(), element);
      cuda::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, true, m.channels,
                          element, workspace.data(), kNoStream);
      cuda::cross_entropy_grad(dlogits.data(), logits.data(), labels.data(), log_sum_exp.data(), nullptr, m.rows, m.channels,
                               true, m.channels, element, workspace.data(), kNoStream);
      expect_close(loss, expected, {kEps, kLogError});
      const GuardedBuffer<float> result = dlogits.floats();
      for (std::int64_t i = 0; i < m.elements(); ++i) ASSERT_EQ(result[i] == 0, masked(i)) << i;
    });
}

TEST(CudaCrossEntropy, NanAndInfinityMakeTheLossNan) {
  for (const Matrix& m : {Matrix{3, 37}, Matrix{2, 1030}})
    for (float bad : {NAN, INFINITY})
      for (std::int64_t at : {std::int64_t{0}, std::int64_t{36}, m.channels + 13, m.elements() - 1})
        for_each_element(describe(m, true) + " at " + std::to_string(at), [&](Element element) {
          GuardedBuffer<float> values = random_floats(m.elements(), 6);
          values[at] = bad;
          const Tensor logits(values, element);
          const DeviceBuffer<std::int32_t> labels = labels_of(m, Ignored::none);
          DeviceBuffer<float> loss(1), workspace = workspace_of(m);
          cuda::cross_entropy(loss.data(), nullptr, logits.data(), labels.data(), m.rows, m.channels, true, m.channels, element,
                              workspace.data(), kNoStream);
          EXPECT_TRUE(std::isnan(loss[0]));
        });
}

// Rows of more elements than classes, aligned and not, per warp and per block: the numbers of dense rows, whatever lies
// between, which stays.
TEST(CudaCrossEntropy, LongerRowsMatchReference) {
  struct Padded {
    Matrix m;
    std::int64_t row_elements;
  };
  for (const Padded& rows : {Padded{{5, 10}, 16}, Padded{{4, 7}, 9}, Padded{{3, 1001}, 1008}, Padded{{2, 30522}, 30528}}) {
    const Matrix& m = rows.m;
    const std::int64_t row_elements = rows.row_elements;
    for_each_element(describe(m, true) + " of " + std::to_string(row_elements), [&](Element element) {
      const GuardedBuffer<float> dense = random_tensor(m.elements(), element, 9, -6, 6).floats();
      GuardedBuffer<float> padded(m.rows * row_elements);
      const auto among = [&](std::int64_t i) { return i % row_elements < m.channels; };
      const auto index = [&](std::int64_t i) { return i / row_elements * m.channels + i % row_elements; };
      for (std::int64_t i = 0; i < m.rows * row_elements; ++i) padded[i] = among(i) ? dense[index(i)] : INFINITY;
      const DeviceBuffer<std::int32_t> labels = labels_of(m, Ignored::every_third);
      GuardedBuffer<float> loss(1), log_sum_exp(m.rows), gradient(m.elements()), correct(1);
      reference::cross_entropy(loss.data(), log_sum_exp.data(), dense.data(), labels.data(), m.rows, m.channels, true);
      reference::cross_entropy_grad(gradient.data(), dense.data(), labels.data(), log_sum_exp.data(), m.rows, m.channels, true);
      reference::count_correct(correct.data(), dense.data(), labels.data(), m.rows, m.channels);
      for_each_order("", [&] {
        const Tensor logits(padded, element);
        Tensor dlogits(padded, element), in_place(padded, element);
        DeviceBuffer<float> of_loss(1), of_log_sum_exp(m.rows), of_correct(1), workspace = workspace_of(m);
        cuda::cross_entropy(of_loss.data(), of_log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, true,
                            row_elements, element, workspace.data(), kNoStream);
        for (Tensor* to : {&dlogits, &in_place})
          cuda::cross_entropy_grad(to->data(), to == &dlogits ? logits.data() : in_place.data(), labels.data(),
                                   of_log_sum_exp.data(), nullptr, m.rows, m.channels, true, row_elements, element,
                                   workspace.data(), kNoStream);
        cuda::count_correct(of_correct.data(), logits.data(), labels.data(), m.rows, m.channels, row_elements, element,
                            workspace.data(), kNoStream);
        expect_close(of_loss, loss, {kEps, kLogError});
        expect_close(of_log_sum_exp, log_sum_exp, {kEps, kLogError});
        EXPECT_EQ(of_correct[0], correct[0]);
        const GuardedBuffer<float> result = dlogits.floats();
        EXPECT_TRUE(bit_equal(in_place.floats(), result));
        GuardedBuffer<float> classes(m.elements());
        for (std::int64_t i = 0; i < m.rows * row_elements; ++i)
          if (among(i))
            classes[index(i)] = result[i];
          else
            ASSERT_EQ(result[i], INFINITY) << i;
        expect_close(classes, gradient, gradient_tolerance(element, 1.5 / static_cast<double>(m.rows)));
        EXPECT_TRUE(dlogits.guards_intact() && in_place.guards_intact() && workspace.guards_intact());
      });
    });
  }
}

// With a log_sum_exp of 0 and the sum as loss, the gradient is the kernel's exponential.
TEST(CudaCrossEntropyGrad, ExponentialIsAccurate) {
  constexpr std::int64_t kClasses = 9001;
  for_each_element("", [&](Element element) {
    GuardedBuffer<float> values(kClasses), expected(kClasses);
    for (std::int64_t i = 0; i < kClasses; ++i) values[i] = test::rounded(-static_cast<float>(i) * (86.9f / kClasses), element);
    for (std::int64_t i = 1; i < kClasses; ++i) expected[i] = static_cast<float>(std::exp(static_cast<double>(values[i])));
    expected[0] = 0;  // the label's: 1 - 1
    DeviceBuffer<std::int32_t> label(1);
    DeviceBuffer<float> log_sum_exp(1), workspace = workspace_of({1, kClasses});
    label[0] = 0;
    log_sum_exp[0] = 0;
    Tensor dlogits(kClasses, element);
    cuda::cross_entropy_grad(dlogits.data(), Tensor(values, element).data(), label.data(), log_sum_exp.data(), nullptr, 1,
                             kClasses, false, kClasses, element, workspace.data(), kNoStream);
    // The fast exponential: 2 + 1.2 * 87 units.
    expect_close(dlogits.floats(), expected, stored(element, {(element == Element::f32 ? 2 : 107) * kEps, 0}));
  });
}

TEST(CudaCrossEntropyGrad, LossScaleMultiplies) {
  const Matrix m = {9, 40};
  for_each_element("", [&](Element element) {
    const Tensor logits = random_tensor(m.elements(), element, 7, -3, 3);
    const DeviceBuffer<std::int32_t> labels = labels_of(m, Ignored::every_third);
    DeviceBuffer<float> loss(1), log_sum_exp(m.rows), workspace = workspace_of(m), scale(1);
    scale[0] = 1024;  // a power of two, so float results are exact multiples
    cuda::cross_entropy(loss.data(), log_sum_exp.data(), logits.data(), labels.data(), m.rows, m.channels, true, m.channels,
                        element, workspace.data(), kNoStream);
    GuardedBuffer<float> expected(m.elements());
    reference::cross_entropy_grad(expected.data(), logits.floats().data(), labels.data(), log_sum_exp.data(), m.rows,
                                  m.channels, true);
    for (float& value : expected) value *= 1024;
    Tensor scaled(m.elements(), element);
    cuda::cross_entropy_grad(scaled.data(), logits.data(), labels.data(), log_sum_exp.data(), scale.data(), m.rows, m.channels,
                             true, m.channels, element, workspace.data(), kNoStream);
    expect_close(scaled.floats(), expected, gradient_tolerance(element, 1024.0 / 6));
  });
}

TEST(CudaCountCorrect, MatchesReference) {
  for (const Matrix& m : kMatrices)
    for (Ignored ignored : {Ignored::none, Ignored::every_third, Ignored::all})
      for_each_element(describe(m, false), [&](Element element) {
        GuardedBuffer<float> logits = random_floats(m.elements(), 8, 0, 2.9);
        for (float& value : logits) value = std::floor(value);  // many equal maxima: the first counts
        DeviceBuffer<std::int32_t> labels = labels_of(m, ignored);
        for (std::int64_t r = 0; r < m.rows; r += 2) {  // half of the rows: the label is the prediction
          if (labels[r] < 0) continue;
          const float* row = logits.data() + r * m.channels;
          labels[r] = static_cast<std::int32_t>(m.channels == 1 ? *row > 0 : std::max_element(row, row + m.channels) - row);
        }
        if (m.rows > 4) logits[4 * m.channels] = NAN;
        GuardedBuffer<float> expected(1);
        reference::count_correct(expected.data(), logits.data(), labels.data(), m.rows, m.channels);
        const Tensor stored_logits(logits, element);
        for_each_order("", [&] {
          DeviceBuffer<float> count(1), workspace = workspace_of(m);
          cuda::count_correct(count.data(), stored_logits.data(), labels.data(), m.rows, m.channels, m.channels, element,
                              workspace.data(), kNoStream);
          EXPECT_EQ(count[0], expected[0]);
          EXPECT_TRUE(count.guards_intact() && workspace.guards_intact());
        });
      });
}

}  // namespace
}  // namespace epochbench
