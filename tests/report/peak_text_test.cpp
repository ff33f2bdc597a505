// Peaks with the spread of their bursts, and shares that are cut off at 100 %: how they are said, in every output.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/text.h"
#include "src/report/answers/answers_page.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

CpuInfo cpu_of_bursts(const std::vector<double>& bursts) {
  CpuInfo cpu;
  cpu.peak_flops_per_second = {{"fp32", *std::ranges::max_element(bursts)}, {"bf16", std::nullopt}};
  cpu.peak_instruction = {{"fp32", "vfmadd (avx512)"}, {"bf16", std::nullopt}};
  cpu.peak_threads = 2;
  cpu.peak_bursts_flops_per_second = {{"fp32", bursts}};
  cpu.peak_foreign_cpu_cores = 0.01;
  return cpu;
}

TEST(PeakText, HasTheSpreadOfTheBursts) {
  const CpuInfo cpu = cpu_of_bursts({193e9, 194e9, 192e9, 193e9, 194e9});
  EXPECT_EQ(cpu_peak_text(cpu, Precision::fp32),
            "194 GFLOP/s (192 to 194 in 5 bursts), measured with vfmadd (avx512), threads: 2");
  EXPECT_EQ(cpu_peak_text(cpu, Precision::bf16), "not known");
  EXPECT_EQ(cpu_peak_text(cpu, Precision::int8), "not known");
  EXPECT_EQ(cpu_peak_doubts(cpu), "");
  EXPECT_THAT(cpu_peak_text(cpu_of_bursts({990e9, 1010e9}), Precision::fp32),
              HasSubstr("(990 GFLOP/s to 1.01 TFLOP/s in 2 bursts)"));
}

TEST(PeakText, OfAnOlderFileHasNoSpreadAndNoMark) {
  CpuInfo cpu = cpu_of_bursts({97e9});
  cpu.peak_bursts_flops_per_second.clear();
  cpu.peak_foreign_cpu_cores.reset();
  EXPECT_EQ(cpu_peak_text(cpu, Precision::fp32), "97.0 GFLOP/s, measured with vfmadd (avx512), threads: 2");
  EXPECT_EQ(cpu_peak_doubts(cpu), "");
}

TEST(PeakText, MarksBurstsThatDiffer) {
  const CpuInfo cpu = cpu_of_bursts({173e9, 97e9, 194e9});
  EXPECT_THAT(cpu_peak_text(cpu, Precision::fp32), testing::StartsWith("194 GFLOP/s † (97.0 to 194 in 3 bursts)"));
  EXPECT_EQ(cpu_peak_doubts(cpu),
            "†: bursts differ by 50.0 % in fp32; the peak may be higher: measure again on a quiet machine (epochbench system)");
  EXPECT_EQ(cpu_peak_doubts(cpu_of_bursts({190.1e9, 200e9})), "") << "4.95 %, as on a quiet machine";
  EXPECT_NE(cpu_peak_doubts(cpu_of_bursts({189.9e9, 200e9})), "");
}

TEST(PeakText, MarksWhatOtherProcessesTook) {
  CpuInfo cpu = cpu_of_bursts({194e9, 194e9});
  cpu.peak_foreign_cpu_cores = 0.16;
  EXPECT_THAT(cpu_peak_text(cpu, Precision::fp32), testing::StartsWith("194 GFLOP/s † "));
  EXPECT_THAT(cpu_peak_doubts(cpu), HasSubstr("†: other processes took 0.16 CPU cores meanwhile; the peak may be higher"));
  cpu.peak_threads = 64;
  EXPECT_EQ(cpu_peak_doubts(cpu), "") << "0.25 % of the machine";
  cpu.peak_foreign_cpu_cores = 3.3;
  EXPECT_NE(cpu_peak_doubts(cpu), "");
}

TEST(PeakText, FitsATerminalOf80Columns) {
  const std::string head = "fp32 peak         ";
  for (const std::string& line :
       wrapped_lines(head, std::string(head.size(), ' '), cpu_peak_text(cpu_of_bursts({173e9, 194e9}), Precision::fp32), 80))
    EXPECT_LE(display_width(line), 80u) << line;
}

Result with_shares(const std::vector<double>& shares, const std::optional<std::string>& algorithms) {
  Result result = made_result("a.json", "host", {{.repetitions = static_cast<int>(shares.size())}}).result;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    result.runs[i].efficiency->peak_fraction = shares[i];
    result.runs[i].device.algorithms = algorithms;
  }
  return result;
}

TEST(CappedShares, SayWhy) {
  EXPECT_THAT(capped_shares(with_shares({0.98, 1.0004}, "winograd").runs), IsEmpty());
  EXPECT_THAT(
      capped_shares(with_shares({0.98, 1.22, 1.05}, "winograd").runs),
      ElementsAre("Winograd multiplies less than is counted, so 100 % is the most that is shown (122.0 % was counted in "
                  "resnet50/cpu/fp32/b16)"));
  EXPECT_THAT(
      capped_shares(with_shares({1.03}, std::nullopt).runs),
      ElementsAre(AllOf(HasSubstr("faster than the bursts that measured the peak"), HasSubstr("(103.0 % was counted"))));
}

TEST(CappedShares, StandOnceInEveryOutput) {
  const Result result = with_shares({1.2, 1.1, 1.2, 1.2, 1.2}, "winograd");
  const std::string why = "Winograd multiplies less than is counted";
  const auto count = [&](const std::string& text) {
    int times = 0;
    for (std::size_t at = text.find(why); at != std::string::npos; at = text.find(why, at + 1)) ++times;
    return times;
  };
  EXPECT_THAT(remarks(result), testing::StartsWith("of peak: " + why));
  EXPECT_EQ(count(remarks(result)), 1);
  EXPECT_THAT(summary(result), AllOf(HasSubstr("100.0 %"), Not(HasSubstr("120.0 %"))));
  const std::string markdown = markdown_text(result);
  EXPECT_THAT(markdown, AllOf(HasSubstr("| 100.0 % |"), HasSubstr("\nOf peak: `" + why)));
  const std::vector<AnswerSection> sections = answer_sections({"a.json", result});
  EXPECT_THAT(sections[1].answers, testing::Contains(HasSubstr("100.0 % of the measured peak")));
  EXPECT_THAT(sections[1].read, HasSubstr(why));
  EXPECT_THAT(answer_sections({"a.json", with_shares({0.8}, "winograd")})[1].read, Not(HasSubstr(why)));
}

}  // namespace
}  // namespace epochbench
