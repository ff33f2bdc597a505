#include "bench/comparison_table.h"

#include <functional>

#include <gmock/gmock.h>

namespace epochbench::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two convolutions and a product: 10 GFLOP each, ours in 0.1 s, theirs in 0.2 s, at a peak of 200 GFLOP/s.
Measured measured(const std::string& name, bool product, std::int64_t count, bool they_can = true) {
  Measured result;
  result.work.name = name;
  result.work.count = count;
  result.work.flops = 10e9;
  if (product) result.work.gemm.emplace();
  result.bytes = 1e6;
  result.seconds = {{{0.1, 0.1, 0.1}}, they_can ? Figure{{0.2, 0.2, 0.2}} : Figure{}};
  result.cores = {{{2, 2, 2}}, {{2, 2, 2}}};
  result.peaks = {{{200e9, 200e9, 200e9}}};
  return result;
}

std::string printed(const std::function<void(ComparisonTable&)>& fill) {
  ComparisonTable table;
  table.libraries = {"ours", "theirs"};
  table.bytes_per_second = 30e9;
  testing::internal::CaptureStdout();
  fill(table);
  return testing::internal::GetCapturedStdout();
}

TEST(ComparisonTable, PrintsRatesFractionsAndRatio) {
  const std::string text = printed([](ComparisonTable& table) { table.add(measured("a product", true, 1)); });
  EXPECT_THAT(text, HasSubstr("a product\n"));
  EXPECT_THAT(text, HasSubstr("100.0   50.0 %"));
  EXPECT_THAT(text, HasSubstr("50.0   25.0 %"));
  EXPECT_THAT(text, HasSubstr("2.000 (2.000 to 2.000)"));
}

TEST(ComparisonTable, FiveProcessesHaveAnInterval) {
  const auto repeated = [](Measured one, std::size_t processes) {
    for (auto* figures : {&one.seconds, &one.cores, &one.peaks})
      for (Figure& figure : *figures) figure.resize(processes, figure[0]);
    return one;
  };
  for (const std::size_t processes : {4u, 5u}) {
    const std::string text = printed([&](ComparisonTable& table) {
      table.add(repeated(measured("a product", true, 1), processes));
      table.end();
    });
    EXPECT_THAT(text, HasSubstr(processes == 5 ? "2.000 [2.000, 2.000]" : "2.000 (2.000 to 2.000)"));
    EXPECT_THAT(text,
                HasSubstr(processes == 5 ? "total 0.2000 s [0.2000 s, 0.2000 s]" : "total 0.2000 s (0.2000 s to 0.2000 s)"));
  }
}

TEST(ComparisonTable, WeighsTotalsByCount) {
  const std::string text = printed([](ComparisonTable& table) {
    table.add(measured("first", false, 3));
    table.add(measured("second", false, 1));
    testing::internal::GetCapturedStdout();
    testing::internal::CaptureStdout();
    table.end();
  });
  EXPECT_THAT(text, HasSubstr("total 0.4000 s"));
  EXPECT_THAT(text, HasSubstr("total 0.8000 s"));
  EXPECT_THAT(text, HasSubstr("worst   25.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("products")));
}

TEST(ComparisonTable, LeavesOutWhoHasNoSuchWork) {
  const std::string text = printed([](ComparisonTable& table) {
    table.add(measured("first", false, 1, false));
    table.add(measured("second", true, 1));
    table.end();
  });
  // Theirs appears beside the product, in its line and in the mean, and nowhere else.
  std::size_t count = 0;
  for (std::size_t at = text.find("theirs"); at != std::string::npos; at = text.find("theirs", at + 1)) ++count;
  EXPECT_EQ(count, 2u);
}

TEST(ComparisonTable, PrintsWhatThreadsGain) {
  const std::string text = printed([](ComparisonTable& table) {
    table.one_thread_last = true;
    Measured p = measured("a product", true, 1);
    p.peaks.push_back({{100e9, 100e9, 100e9}});
    table.add(std::move(p));
    table.end();
  });
  EXPECT_THAT(text, HasSubstr("threads gain 1.000"));
  EXPECT_THAT(text, HasSubstr("50.0   50.0 %"));  // of the peak of one thread
}

}  // namespace
}  // namespace epochbench::bench
