// Exports: what holds of every format, the table of metrics and times, and the formats for people and their spreadsheets.
#include "src/report/export/export.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/files.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/text_parts.h"
#include "support/made_exports.h"

namespace epochbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const double kNaN = std::nan("");

// RFC 4180, with line feeds: rows of cells.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows = {{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && c == ',')
      rows.back().emplace_back();
    else if (!quoted && c == '\n')
      rows.push_back({""});
    else
      rows.back().back() += c;
  }
  rows.pop_back();
  return rows;
}

std::map<std::string, std::string> csv_row(const Result& result, std::size_t row) {
  const auto rows = parse_csv(csv_text(result));
  EXPECT_EQ(rows.at(row + 1).size(), rows[0].size());
  std::map<std::string, std::string> cells;
  for (std::size_t i = 0; i < rows[0].size(); ++i)
    EXPECT_TRUE(cells.emplace(rows[0][i], rows[row + 1][i]).second) << rows[0][i];
  return cells;
}

TEST(ExportCsv, HasEveryScalarUnderItsKeyAndNothingForNull) {
  const auto cells = csv_row(one_run(), 0);
  const std::map<std::string, std::string> some = {{"name", "resnet50/cpu/fp32/b16"},
                                                   {"status", "ok"},
                                                   {"message", ""},
                                                   {"workload_samples_per_epoch", "12800"},
                                                   {"timing_epoch_seconds", "100.0"},
                                                   {"timing_step_seconds_median", "0.125"},
                                                   {"timing_step_seconds_ci95_low", "0.125"},
                                                   {"timing_step_seconds_ci95_high", "0.125"},
                                                   {"energy_joules_per_epoch", "30000.0"},
                                                   {"energy_joules_per_epoch_cpu", ""},
                                                   {"cost_usd_per_hour", "1.0"},
                                                   {"cost_currency", "USD"},
                                                   {"profile_seconds", ""},
                                                   {"latency_p50_seconds", ""},
                                                   {"context_host_name", "box"},
                                                   {"context_cpu_cores", "8"}};
  for (const auto& [column, cell] : some) EXPECT_EQ(cells.at(column), cell) << column;
}

TEST(ExportCsv, ColumnsAreTheSameForEveryResult) {
  Result poor = one_run();
  poor.runs = {failed_run()};
  EXPECT_EQ(parse_csv(csv_text(poor))[0], parse_csv(csv_text(one_run()))[0]);
  EXPECT_EQ(csv_row(poor, 0).at("status"), "failed");
  EXPECT_EQ(csv_row(poor, 0).at("message"), "killed by signal 9");
}

TEST(ExportCsv, HasAColumnPerSettingThatIsEmptyForTheDefault) {
  Result result = one_run();
  result.runs[0].settings = {{"model", "mlp"},
                             {"model_options", std::map<std::string, std::int64_t>{{"depth", 3}, {"width", 64}}},
                             {"threads", std::int64_t{1}},
                             {"meters", false},
                             {"weight_decay", 0.5},
                             {"without", std::vector<std::string>{"fusion", "prefetch"}}};
  const auto cells = csv_row(result, 0);
  const std::map<std::string, std::string> some = {{"settings_model", "mlp"},  {"settings_model_options", "depth=3,width=64"},
                                                   {"settings_threads", "1"},  {"settings_meters", "false"},
                                                   {"settings_batch", ""},     {"settings_weight_decay", "0.5"},
                                                   {"settings_precision", ""}, {"settings_without", "fusion+prefetch"}};
  for (const auto& [column, cell] : some) EXPECT_EQ(cells.at(column), cell) << column;
  EXPECT_FALSE(cells.contains("settings_save"));
}

TEST(ExportCsv, QuotesWhatWouldEndACell) {
  Result result = one_run("a,\"b\"\nc");
  result.runs[0].device.isa = "";
  EXPECT_EQ(csv_row(result, 0).at("name"), "a,\"b\"\nc");
  EXPECT_THAT(csv_text(result), HasSubstr("\n\"a,\"\"b\"\"\nc\",0,ok,,resnet50,train,"));
  EXPECT_THAT(csv_text(result), HasSubstr(",Some CPU,8,\"\",")) << "an empty text is not null";
}

TEST(ExportCsv, NoTextIsAFormula) {
  for (const std::string begin : {"=", "+", "-", "@", "\t", "\r"})
    EXPECT_EQ(csv_row(one_run(begin + "cmd|' /C calc'!A0"), 0).at("name"), "'" + begin + "cmd|' /C calc'!A0");
  EXPECT_EQ(csv_row(one_run("a=b"), 0).at("name"), "a=b");
  Result result = one_run("=1");
  result.runs[0].quality->final_loss = -1.5;
  EXPECT_EQ(csv_row(result, 0).at("quality_final_loss"), "-1.5") << "a number is none";
  EXPECT_THAT(csv_raw_text(result), HasSubstr(",'=1,0,"));
}

TEST(ExportCsv, RawHasARowAStep) {
  Result result = one_run();
  epochbench::Run& run = result.runs[0];
  run.timing->warmup_steps = 1;
  run.timing->step_seconds = {0.5, 0.25};
  run.quality->loss = {3, kNaN, 1};
  run.gpu.emplace().throttled_step_ranges = {{1, 7}};
  const std::string head = "2026-01-02T03:04:05Z,resnet50/cpu/fp32/b16,0,resnet50,train,cpu,Some CPU,fp32,16,";
  EXPECT_THAT(
      lines_of(csv_raw_text(result)),
      ElementsAre("date,name,repetition,model,mode,backend,device,precision,batch,phase,step,step_seconds,loss,throttled",
                  head + "warm-up,0,,3.0,", head + "timed,1,0.5,,false", head + "timed,2,0.25,1.0,true"));
  run.latency = Latency{1, 0.01, {}, {}, 0.01, {0.01}};
  EXPECT_EQ(lines_of(csv_raw_text(result)).back(), head + "latency,0,0.01,,");
}

TEST(ExportCsv, RawSaysWhichRunsHaveNoSteps) {
  EXPECT_EQ(csv_raw_left_out(one_run().runs[0]), "");
  EXPECT_EQ(csv_raw_left_out(failed_run()), "failed");
  epochbench::Run run = one_run().runs[0];
  run.timing->step_seconds.clear();
  EXPECT_THAT(csv_raw_left_out(run), HasSubstr("not in the file"));
}

TEST(ExportMarkdown, IsATableOfGeometricMeans) {
  Result result = result_of({{.rate = 128, .repetitions = 3}});
  result.runs[0].throughput->samples_per_second = 64;
  result.runs[2].throughput->samples_per_second = 256;
  result.runs.push_back(failed_run());
  EXPECT_THAT(
      lines_of(markdown_text(result)),
      ElementsAre(load_note(), "",
                  "| run | repetitions | step | samples/s | 95 % interval | epoch | cost/epoch | energy/epoch | of peak |",
                  "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
                  "| `resnet50/cpu/fp32/b16` † | 3 | 125 ms | 128 | 64.0 to 256 (range) | 1 min 40 s projected | $0.0278 | "
                  "30.0 kJ | 80.0 % |",
                  "", "- `mlp/cpu/fp32/b16`: failed: `killed by signal 9`", "",
                  "`Some CPU`, 8 cores; epochbench `0.1.0` at `abc`, `Release`, `gcc 12`; `2026-01-02T03:04:05Z`", "",
                  "Geometric means of the repetitions, each a process of its own; the 95 % interval of samples/s takes five "
                  "and holds within this session, two to four have a range. Step: the median step; samples/s and epoch: of all "
                  "steps together.",
                  "", "Epoch: `synthetic, 12,800 images`"));
}

TEST(ExportMarkdown, ListsTheRatiosThatRunPrints) {
  EXPECT_THAT(lines_of(markdown_text(
                  result_of({{.rate = 128, .repetitions = 1}, {.rate = 32, .settings = "/threads=1", .repetitions = 1}}))),
              testing::Contains("- samples/s: `resnet50/cpu/fp32/b16: 8 threads are 4.00x 1 thread`"));
}

TEST(ExportMarkdown, TellsOfOtherJobsWhereThereWereAny) {
  Result result = result_of({{.rate = 128}});
  result.runs[0].interference = Interference{0.1};
  EXPECT_THAT(markdown_text(result), Not(HasSubstr("others' load")));
  result.runs[0].interference = Interference{0.5};
  EXPECT_THAT(markdown_text(result), AllOf(HasSubstr("others' load"), HasSubstr("| 0.50 cores |")));
}

TEST(ExportMarkdown, SaysWhichEpochsAreProjected) {
  Result result = one_run();
  result.runs[0].timing->epoch_kind = EpochKind::measured;
  EXPECT_THAT(markdown_text(result), HasSubstr("| 1 min 40 s |"));
}

TEST(ExportMarkdown, TakesARepetitionWithoutTimes) {
  Result result = result_of({{.rate = 128, .repetitions = 2}});
  result.runs[0].timing.reset();
  EXPECT_THAT(markdown_text(result),
              HasSubstr("| `resnet50/cpu/fp32/b16` | 2 | 125 ms | 128 | 128 to 128 (range) | 1 min 40 s projected |"));
}

TEST(ExportMarkdown, NoNameCanLeaveItsCell) {
  const std::string table = markdown_text(one_run("<script>|`x`\\|\n@you #1"));
  EXPECT_THAT(table, HasSubstr("| <code>&#60;script&#62;&#124;&#96;x&#96;&#92;&#124;&#92;n&#64;you &#35;1</code> | 1 |"));
  EXPECT_THAT(markdown_text(one_run("a|b")), HasSubstr("| <code>a&#124;b</code> | 1 |"));
  EXPECT_THAT(markdown_text(one_run("<b>_x_</b>")), HasSubstr("| `<b>_x_</b>` |"));
}

TEST(ExportMarkdown, SaysWhyWhereNothingRan) {
  Result result = one_run();
  result.runs.assign(10, failed_run(RunStatus::out_of_memory));
  EXPECT_THAT(markdown_text(result), HasSubstr("`mlp/cpu/fp32/b16` and 2 more: out of memory: `killed by signal 9`"));
  EXPECT_THAT(markdown_text(result), Not(HasSubstr("| run |")));
}

TEST(ExportMllog, HasTheEpochsWhoseStepsTheFileLeavesOut) {
  Result result = one_run();
  epochbench::Run& run = result.runs[0];
  run.timing->epoch_kind = EpochKind::measured;
  run.workload.samples_per_epoch = 10 * run.workload.batch;
  run.timing->step_seconds.assign(10, 0.1);
  run.timing->step_seconds_left_out = 20;
  run.quality.emplace();
  run.quality->eval_metric = EvalMetric::accuracy;
  run.quality->eval_value = 0.75;
  run.quality->eval_history = {0.25, 0.5, 0.75};
  const std::string text = mllog_text(result);
  EXPECT_THAT(text, HasSubstr("\"epoch_num\":3"));
  EXPECT_THAT(text, Not(HasSubstr("\"epoch_num\":4")));
  EXPECT_THAT(text, HasSubstr("\"value\":" + std::to_string(30 * run.workload.batch) + ".0")) << "trained samples";
}

TEST(ExportTimes, ReadsRfc3339) {
  EXPECT_EQ(milliseconds_since_1970("2026-01-02T03:04:05Z"), kMadeMilliseconds);
  EXPECT_EQ(milliseconds_since_1970("2026-01-02T05:04:05.1239+02:00"), kMadeMilliseconds + 123);
  EXPECT_EQ(milliseconds_since_1970("2026-01-01 22:34:05-04:30"), kMadeMilliseconds);
  EXPECT_EQ(milliseconds_since_1970("1970-01-01T00:00:00Z"), 0);
  for (const char* text :
       {"", "2026-01-02", "2026-01-02T03:04:05", "2026-02-30T03:04:05Z", "2026-01-02T25:04:05Z", "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05Zulu", "2026-01-02T03:04:05+2:00", "yesterday, at noon"})
    EXPECT_EQ(milliseconds_since_1970(text), std::nullopt) << text;
}

TEST(ExportTimes, WhatDatesItsEventsNeedsADate) {
  Result result = one_run();
  result.context.date = "yesterday";
  EXPECT_THROW(mllog_text(result), FormatError);
  EXPECT_THROW(mlflow_text(result), FormatError);
  EXPECT_THAT(openmetrics_text(result), Not(HasSubstr("timestamp")));
}

TEST(ExportMetrics, SumUpRepetitions) {
  Result result = result_of({{.rate = 128, .repetitions = 4}});
  for (int i = 0; i < 4; ++i) result.runs[static_cast<std::size_t>(i)].timing->epoch_seconds = i < 3 ? 1 << i : kNaN;
  const auto summary = summarize(runs_by_case(result.runs)[0].runs, kEpochTime);
  EXPECT_DOUBLE_EQ(summary->value, 2);
  EXPECT_EQ(summary->count, 3u) << "the fourth is not known";
  EXPECT_EQ(summary->ends(Spread::range), std::pair(1.0, 4.0));
  result.runs.resize(1);
  for (const Figure* figure : exported_figures())
    if (const auto single = summarize(runs_by_case(result.runs)[0].runs, *figure)) {
      EXPECT_EQ(single->spread, Spread::none) << figure->key;
    }
}

// A tool that watches speed gets one number of all seeds, and of a quality one of each.
TEST(ExportMetrics, PoolSeedsForSpeedAlone) {
  Result result = result_of({{.rate = 128, .repetitions = 2}});
  rename(result.runs[1], result.runs[1].name + "/seed=1");
  for (epochbench::Run& run : result.runs) run.quality->final_loss = 2;
  const Json json = parse_json(bmf_text(result), "bmf");
  EXPECT_TRUE(json["resnet50/cpu/fp32/b16"].contains("throughput"));
  EXPECT_TRUE(json["resnet50/cpu/fp32/b16"].contains("final-loss"));
  EXPECT_TRUE(json["resnet50/cpu/fp32/b16/seed=1"].contains("final-loss"));
  EXPECT_FALSE(json["resnet50/cpu/fp32/b16/seed=1"].contains("throughput"));
}

TEST(ExportMetrics, AmountsOfAnotherCurrencyAreNotDollars) {
  Result result = one_run();
  EXPECT_TRUE(json_of("bmf", result)["resnet50/cpu/fp32/b16"].contains("usd-per-epoch"));
  result.runs[0].cost->currency = "EUR";
  EXPECT_FALSE(json_of("bmf", result)["resnet50/cpu/fp32/b16"].contains("usd-per-epoch"));
}

// Every format, of a run in which each number that may be missing is NaN or infinite.
TEST(Export, NoNumberIsEverNotFinite) {
  Result result = one_run();
  epochbench::Run& run = result.runs[0];
  const double infinity = std::numeric_limits<double>::infinity();
  run.timing->step_seconds = {kNaN, infinity, 0.125};
  run.timing->step_seconds_median = run.timing->epoch_seconds = kNaN;
  run.timing->step_seconds_ci95 = {kNaN, infinity};
  run.timing->compile_seconds = infinity;
  run.throughput->samples_per_second = infinity;
  run.efficiency = Efficiency{kNaN, infinity, kNaN, kNaN};
  run.quality->loss = {kNaN, infinity};
  run.quality->final_loss = kNaN;
  run.quality->eval_metric = EvalMetric::accuracy;
  run.quality->eval_value = kNaN;
  run.energy->joules_per_epoch = infinity;
  run.cost->usd_per_epoch = kNaN;
  run.latency = Latency{1, kNaN, kNaN, kNaN, infinity, {kNaN}};
  const std::regex not_finite("\\b(nan|inf|infinity)\\b", std::regex::icase);
  for (const ExportFormat& format : export_formats()) {
    std::vector<std::string> texts = {format.whole.text(result)};
    if (format.raw.text) texts.push_back(format.raw.text(result));
    if (format.folder)
      for (const ExportFile& file : format.folder(result, "/x")) texts.push_back(file.text);
    for (const std::string& text : texts) EXPECT_FALSE(std::regex_search(text, not_finite)) << format.name << "\n" << text;
  }
}

TEST(Export, EveryFormatHasItsPlaceOrItsReason) {
  for (const ExportFormat& format : export_formats()) {
    EXPECT_EQ(find_export_format(format.name), &format);
    EXPECT_EQ(format.whole.left_out(one_run().runs[0]), "") << format.name;
  }
  EXPECT_EQ(find_export_format("xml"), nullptr);
  const auto left_out = [](const char* format, RunStatus status) {
    return find_export_format(format)->whole.left_out(failed_run(status));
  };
  for (const char* format : {"csv", "markdown", "openmetrics"}) EXPECT_EQ(left_out(format, RunStatus::skipped), "") << format;
  for (const char* format : {"mllog", "github-benchmark", "bmf", "google-benchmark"}) {
    for (const RunStatus failure : {RunStatus::failed, RunStatus::out_of_memory, RunStatus::diverged})
      EXPECT_EQ(left_out(format, failure), "") << format << ": " << name(failure);
    EXPECT_EQ(left_out(format, RunStatus::skipped), "skipped") << format;
    EXPECT_EQ(left_out(format, RunStatus::interrupted), "interrupted") << format;
  }
  EXPECT_EQ(left_out("mlflow", RunStatus::failed), "");
  EXPECT_EQ(left_out("mlflow", RunStatus::skipped), "skipped");
  epochbench::Run unknown = failed_run(RunStatus::ok);
  EXPECT_THAT(find_export_format("bmf")->whole.left_out(unknown), HasSubstr("nothing of it is known"));
  EXPECT_THAT(find_export_format("google-benchmark")->whole.left_out(unknown), HasSubstr("step times"));
}

TEST(Export, OneLineHasALimit) {
  EXPECT_EQ(one_line_of("a\n", 100), "a\\n");
  EXPECT_EQ(one_line_of("aéé", 2), "a...") << "not within a code point";
  EXPECT_EQ(one_line_of("abc", 3), "abc");
}

class ExportFolderTest : public testing::Test {
 protected:
  ExportFolderTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "epochbench-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~ExportFolderTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(ExportFolderTest, MakesFoldersReplacesFilesAndKeepsWhatItShould) {
  const std::string root = (folder_ / "new" / "store").string();
  write_export_folder(root, {{"a/b", "one"}, {"c", "two", true}, {"d/e/", ""}});
  write_export_folder(root, {{"a/b", "three"}, {"c", "four", true}});
  EXPECT_EQ(read_text_file(root + "/a/b"), "three");
  EXPECT_EQ(read_text_file(root + "/c"), "two");
  EXPECT_TRUE(std::filesystem::is_directory(root + "/d/e"));
}

TEST_F(ExportFolderTest, SaysWhereAndWhyItCannotWrite) {
  const std::string root = folder_.string();
  write_export_folder(root, {{"file", "text"}});
  EXPECT_THROW(write_export_folder(root, {{"file/below", "text"}}), FileError);
  std::filesystem::create_directory(folder_ / "folder");
  try {
    write_export_folder(root, {{"folder", "text"}});
    ADD_FAILURE() << "a folder took a file's place";
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("folder: Is a directory"));
  }
}

}  // namespace
}  // namespace epochbench
