// What reaches people and the disk: atomic files, the anonymous form, units, tables.
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/files.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/report/text/result_text.h"
#include "src/result/anonymous.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ResultFileTest : public testing::Test {
 protected:
  ResultFileTest() {
    std::string pattern = (fs::temp_directory_path() / "epochbench-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ResultFileTest() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string content(const std::string& path) { return read_text_file(path); }

  fs::path folder_;
};

TEST_F(ResultFileTest, ReplacesTheWholeFileAndLeavesNothingElse) {
  {
    const ResultFile file(path("r.json"));
    EXPECT_FALSE(fs::exists(path("r.json"))) << "checking must not create the file";
    file.write("first, and long");
    file.write("second");
    EXPECT_EQ(content(path("r.json")), "second");
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(ResultFileTest, AReaderKeepsTheTextThatItOpened) {
  const ResultFile file(path("r.json"));
  file.write("first");
  std::ifstream reader(path("r.json"));
  file.write("second");
  std::string text;
  reader >> text;
  EXPECT_EQ(text, "first");
}

TEST_F(ResultFileTest, RefusesPlacesThatCannotBeWritten) {
  fs::create_directory(folder_ / "d");
  for (const std::string& place :
       {path("missing/r.json"), path("d"), std::string("/dev/null"), std::string("/proc/r.json"), std::string()})
    EXPECT_THROW(ResultFile{place}, FileError) << place;
  EXPECT_TRUE(fs::is_empty(folder_ / "d"));
}

TEST_F(ResultFileTest, WritesThroughASymbolicLink) {
  fs::create_directory(folder_ / "d");
  ResultFile(path("d/real.json")).write("old");
  fs::create_symlink(path("d/real.json"), folder_ / "link.json");
  ResultFile(path("link.json")).write("new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.json"));
  EXPECT_EQ(content(path("d/real.json")), "new");
}

TEST_F(ResultFileTest, AFailedWriteLeavesTheOldFile) {
  const ResultFile file(path("r.json"));
  file.write("old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(file.write("new"), FileError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(content(path("r.json")), "old");
}

TEST_F(ResultFileTest, AFileOfAGigabyteIsRefusedBeforeItIsRead) {
  ResultFile(path("big.json")).write("{");
  fs::resize_file(path("big.json"), std::uintmax_t{1} << 30);  // a hole, which takes no room on the disk
  try {
    content(path("big.json"));
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(std::string(error.what()),
              path("big.json") + ": larger than 256 MiB, more than epochbench reads; name another file, or divide this one");
  }
}

TEST(ReadTextFile, RefusesWhatIsNoFile) {
  EXPECT_THROW(read_text_file("/nowhere/at/all"), FormatError);
  EXPECT_THROW(read_text_file("/tmp"), FormatError);
  EXPECT_THROW(read_text_file("/dev/zero"), FormatError);
}

Run run_of(const std::string& name, const std::string& dataset) {
  Run run;
  rename(run, name);
  run.workload.dataset = dataset;
  run.quality = Quality{};
  return run;
}

TEST(Anonymous, LeavesOutWhoAndWhere) {
  Result result;
  result.context.host_name = "secret-host";
  result.context.command_line = {{"/home/me/epochbench"}};
  result.context.environment = {{"LD_PRELOAD", "/home/me/libtcmalloc.so"}};
  result.context.earlier_calls.resize(1);
  result.context.earlier_calls[0].command_line = {{"/home/me/old"}};
  result.context.gpus = {GpuInfo{}};
  result.context.gpus[0].uuid = "GPU-secret";
  result.context.gpus[0].pci_bus_id = "0000:65:00.0";
  result.runs = {run_of("lenet5/cpu/fp32/b64/data=idx:/home/me/mnist/threads=1", "idx:/home/me/mnist"),
                 run_of("lenet5/cpu/fp32/b64/data=idx:mine", "idx:mine"), run_of("mlp/cpu/fp32/b64", "digits")};
  result.runs[1].quality->parity_with = result.runs[0].name;
  result.runs[2].message = "cannot read /home/me/x: no such file, 120 samples/s";
  result.runs[2].energy = Energy{};
  result.runs[2].energy->reason = "CPU: /home/me/powercap/intel-rapl:0/energy_uj contains no number";
  result.runs[1].message = "no /dev/nvidia*, no libcuda in /home/me/lib";
  const Result hidden = anonymous(result);
  EXPECT_FALSE(hidden.context.host_name || hidden.context.command_line);
  EXPECT_EQ(hidden.context.environment.at("LD_PRELOAD"), "<path>");
  ASSERT_EQ(hidden.context.earlier_calls.size(), 1u);
  EXPECT_FALSE(hidden.context.earlier_calls[0].command_line);
  EXPECT_EQ(hidden.context.gpus[0].uuid + hidden.context.gpus[0].pci_bus_id, "");
  EXPECT_EQ(hidden.runs[2].energy->reason, "CPU: <path> contains no number");
  EXPECT_EQ(hidden.runs[0].name, "lenet5/cpu/fp32/b64/data=idx:/threads=1");
  EXPECT_EQ(hidden.runs[0].workload.dataset, "idx:");
  EXPECT_EQ(hidden.runs[1].name, "lenet5/cpu/fp32/b64/data=idx:2");
  EXPECT_EQ(hidden.runs[1].quality->parity_with, hidden.runs[0].name);
  EXPECT_EQ(hidden.runs[1].message, "no /dev/nvidia*, no libcuda in <path>");
  EXPECT_EQ(hidden.runs[2].name, "mlp/cpu/fp32/b64");
  EXPECT_EQ(hidden.runs[2].message, "cannot read <path>: no such file, 120 samples/s");
}

TEST(Units, ThreeDigitsAndAUnit) {
  EXPECT_EQ(format_seconds(1.234e-5), "12.3 µs");
  EXPECT_EQ(format_seconds(0.0999951), "100 ms");
  EXPECT_EQ(format_seconds(12.34), "12.3 s");
  EXPECT_EQ(format_seconds(125), "2 min 5 s");
  EXPECT_EQ(format_seconds(7200), "2.00 h");
  EXPECT_EQ(format_seconds(864000), "10.0 d");
  EXPECT_EQ(format_seconds(0.9996e-3), "1.00 ms") << "rounded before the unit is chosen";
  EXPECT_EQ(format_seconds(0.9996), "1.00 s");
  EXPECT_EQ(format_seconds(59.96), "1 min 0 s");
  EXPECT_EQ(format_seconds(3599.6), "1.00 h");
  EXPECT_EQ(format_seconds(86399), "1.00 d");
  EXPECT_EQ(format_si(2.5e9, "FLOP/s"), "2.50 GFLOP/s");
  EXPECT_EQ(format_si(999.6, "B/s"), "1.00 kB/s");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_percent(0.975), "97.5 %");
  EXPECT_EQ(significant(9.996, 3), "10.0");
  EXPECT_EQ(significant(4.56e-7, 3), "4.56e-07");
  EXPECT_EQ(significant(1e308, 3), "1.00e+308");
  EXPECT_EQ(significant(0, 3), "0");
  EXPECT_EQ(format_percent(1e308), "-");
  EXPECT_EQ(significant(std::nan(""), 3), "-");
  EXPECT_EQ(format_usd(0.0099), "$0.0099");
  EXPECT_EQ(format_usd(3.64e-5), "$0.000036");
  EXPECT_EQ(format_usd(1e-6), "$0.0000010");
  EXPECT_EQ(format_usd(0.357), "$0.357");
  EXPECT_EQ(format_usd(12.3), "$12.30");
  EXPECT_EQ(format_usd(999.999), "$1,000.00");
  EXPECT_EQ(format_usd(1234567.891), "$1,234,567.89");
  EXPECT_EQ(format_usd(-1304.74), "$-1,304.74");
  EXPECT_EQ(format_usd(5e-324), "< $0.000001");  // a result file may say so
  EXPECT_EQ(format_count(1281167), "1,281,167");
  EXPECT_EQ(format_count(-1281167), "-1,281,167");
  EXPECT_EQ(format_count(128), "128");
}

TEST(Table, AlignsAndLeavesOutEmptyColumns) {
  Table table({"name", ">n", "empty"});
  table.add({"a", "1", ""});
  table.add({"±b", "10", ""});
  EXPECT_EQ(table.to_string(), "name   n\na      1\n±b    10\n");
  EXPECT_THROW(table.add({"too few"}), std::invalid_argument);
}

TEST(Summary, ShowsWhatRanAndWhyTheRestDidNot) {
  Result result;
  epochbench::Run ok = run_of("mlp/cpu/fp32/b64", "digits"), bad = run_of("lenet5/cpu/fp32/b64", "digits");
  ok.timing = Timing{};
  ok.timing->step_seconds.assign(10, 0.01);
  ok.timing->step_seconds_median = 0.01;
  ok.timing->step_seconds_ci95 = {0.0099, 0.0101};
  ok.timing->epoch_seconds = 90;
  ok.timing->epoch_kind = EpochKind::projected;
  ok.throughput = Throughput{6400, std::nullopt};
  ok.quality->eval_metric = EvalMetric::accuracy;
  ok.quality->eval_value = 0.9750;
  bad.status = RunStatus::out_of_memory;
  bad.message = "needs 5 GB";
  result.runs = {ok, bad};
  const std::string text = summary(result);
  for (const char* part : {"10.0 ms ±1.0 %", "6,400", "1 min 30 s", "projected", "accuracy 97.5 %",
                           "lenet5/cpu/fp32/b64: out of memory: needs 5 GB"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("cost/epoch"))) << "no price, no column";
  EXPECT_THAT(text, HasSubstr("±: within this run; five repetitions give a 95 % interval (--repetitions 5)\n"));
  result.runs[0].timing->step_seconds.resize(9);
  EXPECT_THAT(summary(result), Not(HasSubstr("±"))) << "nine steps have no spread";
  EXPECT_THAT(summary(result), HasSubstr("single runs have no interval; five repetitions give a 95 % interval"));
}

// Rates of 100 and 400 of the repetitions of one case on each precision.
Result repeated_result(int repetitions) {
  Result result;
  for (const char* precision : {"fp32", "bf16"})
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      MadeRun made;
      made.precision = precision;
      made.rate = (repetition % 2 ? 400.0 : 100.0) * (made.precision == "bf16" ? 2 : 1);
      result.runs.push_back(made_run(made, repetition));
      result.runs.back().quality->eval_metric = EvalMetric::accuracy;
      result.runs.back().quality->eval_value = repetition % 2 ? 0.9 : 0.8;
    }
  return result;
}

std::string row_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part), begin = text.rfind('\n', at) + 1;
  return at == std::string::npos ? "" : text.substr(begin, text.find('\n', at) - begin);
}

TEST(Summary, HasOneRowForTheRepetitionsOfACase) {
  const std::string text = summary(repeated_result(2));
  EXPECT_THAT(row_with(text, "case"), AllOf(HasSubstr(" n "), HasSubstr("range"), Not(HasSubstr("95 %"))));
  EXPECT_THAT(row_with(text, "resnet50/cpu/fp32/b16"), AllOf(HasSubstr("  2  "), HasSubstr("  200  "), HasSubstr("100 to 400"),
                                                             HasSubstr("1 min 4 s"), HasSubstr("accuracy 80.0 % to 90.0 %")));
  EXPECT_THAT(text, HasSubstr("range: from the slowest to the fastest repetition; five repetitions give"));
  EXPECT_THAT(text, Not(HasSubstr("±"))) << "the spread of steps is not that of repetitions";
  const std::string five = summary(repeated_result(5));
  EXPECT_THAT(row_with(five, "case"), HasSubstr("95 % interval"));
  EXPECT_THAT(five, Not(HasSubstr("--repetitions")));
  EXPECT_THAT(five, HasSubstr("95 % interval: over processes of this session"));
  const std::string each = summary(repeated_result(2), TableRows::runs);
  EXPECT_THAT(row_with(each, "fp32/b16 #0"), HasSubstr("  100  "));
  EXPECT_THAT(row_with(each, "fp32/b16 #1"), HasSubstr("  400  "));
}

TEST(Summary, SaysWhichRowsHaveARangeWhereOthersHaveAnInterval) {
  Result result = repeated_result(5);
  std::erase_if(result.runs, [](const epochbench::Run& run) { return run.precision == Precision::bf16 && run.repetition > 1; });
  const std::string text = summary(result);
  EXPECT_THAT(row_with(text, "case"), HasSubstr("95 % interval or range"));
  EXPECT_THAT(row_with(text, "bf16"), HasSubstr("range 200 to 800"));
  EXPECT_THAT(row_with(text, "fp32"), HasSubstr("95 % "));
}

TEST(Ratios, SayHowDevicesAndPrecisionsCompare) {
  const NamedResult parts = made_result("a.json", "box", {{.rate = 128}, {.rate = 100, .settings = "/without=winograd"}});
  EXPECT_THAT(ratios_text(parts.result),
              HasSubstr("  resnet50/cpu/fp32/b16: complete is 1.28x without winograd (95 % interval"));
  const NamedResult kernels_and_threads = made_result("a.json", "box",
                                                      {{.rate = 128},
                                                       {.rate = 40, .settings = "/kernels=portable"},
                                                       {.rate = 64, .settings = "/kernels=avx2"},
                                                       {.rate = 32, .settings = "/threads=1"}});
  EXPECT_THAT(ratio_lines(kernels_and_threads.result),
              testing::ElementsAre(HasSubstr("resnet50/cpu/fp32/b16: best kernels are 3.20x portable ones (95 % interval"),
                                   HasSubstr("resnet50/cpu/fp32/b16: best kernels are 2.00x avx2 ones (95 % interval"),
                                   HasSubstr("resnet50/cpu/fp32/b16: 8 threads are 4.00x 1 thread (95 % interval")));
  EXPECT_EQ(ratios_text(repeated_result(1)), "ratios of samples/s:\n  resnet50 b16 cpu: bf16 is 2.00x fp32\n");
  EXPECT_THAT(ratios_text(repeated_result(5)), HasSubstr("bf16 is 2.00x fp32 (95 % interval 0."));
  Result result;
  result.runs = {made_run({"cpu", "fp32", 10}, 0), made_run({"cuda", "fp32", 120}, 0)};
  EXPECT_EQ(ratios_text(result), "ratios of samples/s:\n  resnet50 b16: cuda fp32 is 12.0x cpu fp32\n");
  result.runs.push_back(made_run({"cpu", "bf16", 20}, 0));
  result.runs.push_back(made_run({"cuda", "fp16", 2000, 64}, 0));
  EXPECT_THAT(ratios_text(result), testing::StartsWith("ratios of samples/s:\n  resnet50, each at its best: cuda fp16 b64 is "
                                                       "100x cpu bf16 b16\n  resnet50 b16: cuda fp32 is 12.0x cpu fp32\n"));
  result.runs.resize(1);
  EXPECT_EQ(ratios_text(result), "");
}

TEST(OneLine, CallsTheSpreadOfStepsThatOfOneRun) {
  epochbench::Run run = made_run({"cpu", "fp32", 160}, 0);
  run.timing->step_seconds_ci95 = {0.099, 0.101};
  EXPECT_EQ(one_line(run), "resnet50/cpu/fp32/b16: 100 ms per step (±1.0 % within this run), 160 samples/s");
}

TEST(Summary, ShowsTheLatenciesThatAreKnown) {
  Result result;
  result.runs = {run_of("mlp/cpu/fp32/b1/mode=forward", "digits")};
  epochbench::Run& run = result.runs[0];
  run.timing = Timing{};
  run.timing->step_seconds.assign(6, 0.01);
  run.timing->step_seconds_median = 0.01;
  run.throughput = Throughput{100, std::nullopt};
  run.latency = Latency{50, 0.01, 0.011, std::nullopt, 0.02, {}};
  EXPECT_THAT(summary(result), HasSubstr("latency p50 10.0 ms, worst 20.0 ms"));
  run.latency->p99_seconds = 0.015;
  EXPECT_THAT(summary(result), HasSubstr("latency p50 10.0 ms, p99 15.0 ms, worst 20.0 ms"));
}

TEST(Remarks, TellOfAMeanFarAboveTheMedian) {
  Result result;
  for (const double slow_step : {1.2, 2.0, 7.0}) {
    result.runs.push_back(run_of("slow by " + significant(slow_step, 2), "digits"));
    Timing& timing = result.runs.back().timing.emplace();
    timing.step_seconds.assign(10, 1);
    timing.step_seconds.back() = slow_step;
    timing.step_seconds_median = 1;
    timing.steps_total_seconds = 9 + slow_step;
  }
  EXPECT_EQ(
      remarks(result),
      "mean: 2 runs' steps last longer on average than their median, by 60 % in slow by 7.0; samples/s, epoch and cost are "
      "of the average\n");
  result.runs.resize(1);
  EXPECT_EQ(remarks(result), "") << "2 % is noise";
}

TEST(Remarks, NameKernelsThatTheBuildLacks) {
  Result result;
  result.context.cpu.isa = {"avx2", "fma", "avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl", "avx512_bf16"};
  result.context.cpu_kernels = {{"portable", "avx2"}};
  result.runs = {run_of("on a GPU", "digits")};
  result.runs.back().device.backend = BackendKind::cuda;
  EXPECT_EQ(remarks(result), "") << "no run is slower by it";
  result.runs.push_back(run_of("on the CPU", "digits"));
  result.runs.back().device.backend = BackendKind::cpu;
  EXPECT_EQ(remarks(result),
            "kernels_missing: this build has no kernels for avx512, avx512_bf16, which this CPU has, so the CPU can be faster; "
            "build here with scripts/run, or with EPOCHBENCH_KERNELS=all\n");
  result.context.cpu_kernels->insert(result.context.cpu_kernels->end(), {"avx512", "avx512_bf16"});
  EXPECT_EQ(remarks(result), "");
}

TEST(Remarks, NameRunsWhosePeakIsThatOfMoreThreads) {
  Result result;
  result.context.cpu.peak_threads = 2;
  for (const int threads : {1, 2}) {
    result.runs.push_back(run_of("threads " + std::to_string(threads), "digits"));
    result.runs.back().device = {BackendKind::cpu, "Some CPU", threads, "avx2"};
    result.runs.back().efficiency = Efficiency{1e9, 0.4, std::nullopt, std::nullopt};
  }
  EXPECT_EQ(remarks(result), "of peak: of what 2 threads reach together, also for threads 1\n");
  result.runs.push_back(result.runs.front());
  result.runs.back().repetition = 1;
  EXPECT_EQ(remarks(result), "of peak: of what 2 threads reach together, also for threads 1\n") << "once for all repetitions";
  result.runs.front().ranks = result.runs.back().ranks = Ranks{2, {}, {}};
  EXPECT_EQ(remarks(result), "") << "two ranks of one thread have two";
  result.runs.front().ranks.reset();
  result.context.cpu.peak_threads.reset();
  EXPECT_EQ(remarks(result), "") << "nothing is known of it";
}

TEST(Remarks, SayWhatChangedTheThreadsAndWhatDidNot) {
  Result result;
  result.context.cpu.cores = 4;
  result.context.cpu.fast_cores = result.context.cpu.peak_threads = 2;
  result.context.environment = {{"LD_PRELOAD", "x.so"}, {"OMP_PLACES", "cores"}, {"OMP_THREAD_LIMIT", "1"}};
  result.context.nice = 5;
  result.runs = {run_of("lenet5", "digits"), run_of("mlp", "digits")};
  result.runs[0].device = {.backend = BackendKind::cpu, .name = "Some CPU", .threads = 1, .isa = "avx2", .cpus = {0}};
  result.runs[1].device = {.backend = BackendKind::cpu, .name = "Some CPU", .threads = 2, .isa = "avx2", .cpus = {0, 1}};
  result.runs[1].timing.emplace().stopped_steps = {3, 7};
  const std::string text = remarks(result);
  EXPECT_THAT(text, HasSubstr("environment: OMP_PLACES=cores, OMP_THREAD_LIMIT=1 were set and not followed"));
  EXPECT_THAT(text, HasSubstr("nice: this ran at a nice value of 5"));
  EXPECT_THAT(text, HasSubstr("cores: this CPU has 4 cores, 2 of them fast"));
  EXPECT_THAT(text, HasSubstr("threads_missing: OpenMP granted fewer threads than the 2 of this machine to lenet5"));
  EXPECT_THAT(text, HasSubstr("stopped: the process was stopped by a signal during 2 steps of mlp"));
}

TEST(Remarks, NameTheRunWhoseMemoryIsFurthestFromItsPlan) {
  Result result;
  const std::pair<std::int64_t, std::int64_t> planned_and_peak[] = {
      {1'000'000'000, 1'131'000'000}, {1'000'000'000, 867'000'000}, {2'000'000'000, 3'000'000'000}, {0, 31'000'000}};
  for (const auto& [planned, peak] : planned_and_peak) {
    result.runs.push_back(run_of("run " + std::to_string(result.runs.size()), "digits"));
    result.runs.back().memory = Memory{planned, peak, 0, std::nullopt};
  }
  EXPECT_EQ(remarks(result), "memory: run 2 took 2.79 GiB and was planned at 1.86 GiB\n");
  result.runs[2].memory->peak_bytes.reset();
  EXPECT_EQ(remarks(result), "memory: run 1 took 827 MiB and was planned at 954 MiB\n");
  result.runs.erase(result.runs.begin() + 1);
  EXPECT_EQ(remarks(result), "") << "within 10 % and 32 MB";
}

TEST(Summary, NamesWhatWasSkippedOnceAReason) {
  Result result;
  for (const char* name : {"mlp/cuda/fp32/b64", "mlp/cpu/tf32/b64", "lenet5/cuda/fp32/b64"}) {
    result.runs.push_back(run_of(name, "digits"));
    result.runs.back().status = RunStatus::skipped;
    result.runs.back().message = std::string(name).find("cuda") != std::string::npos ? "no driver" : "no such format";
  }
  EXPECT_EQ(summary(result),
            "skipped: mlp/cuda/fp32/b64, lenet5/cuda/fp32/b64\n  no driver\nskipped: mlp/cpu/tf32/b64\n  no such format\n");
}

}  // namespace
}  // namespace epochbench
