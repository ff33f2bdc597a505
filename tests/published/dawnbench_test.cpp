// Entries of DAWNBench: what is read, what follows from it, what stays unknown, and what is refused.
#include <gmock/gmock.h>

#include "published/inputs.h"
#include "src/published/import.h"

namespace epochbench {
namespace {

using namespace published_inputs;
using testing::ElementsAre;
using testing::HasSubstr;

PublishedEntry entry_of_files(const std::vector<NamedText>& files) { return import_dawnbench(files, {}).entries.at(0); }

std::string refused_files(const std::vector<NamedText>& files) {
  return refusal([&] { import_dawnbench(files, {}); });
}

std::vector<NamedText> with_member(const char* key, const Json& value) {
  Json entry = dawnbench_entry();
  entry[key] = value;
  return {json_file("train/a.json", entry), {"train/a.tsv", kEpochs}};
}

std::vector<NamedText> with_table(const std::string& table) {
  return {json_file("train/a.json", dawnbench_entry()), {"train/a.tsv", table}};
}

TEST(Dawnbench, TrainingHasTimesOfItsTable) {
  const PublishedEntry entry = entry_of_files(dawnbench_files());
  EXPECT_EQ(entry.name, "train/a");
  EXPECT_THAT(entry.files, ElementsAre("train/a.json", "train/a.tsv"));
  EXPECT_EQ(entry.benchmark, "CIFAR10");
  EXPECT_EQ(entry.task, PublishedTask::train);
  EXPECT_EQ(entry.batch, 64);
  EXPECT_EQ(entry.usd_per_hour, 2.5);
  EXPECT_EQ(entry.epochs, 3);
  EXPECT_EQ(entry.seconds_per_epoch, 1800);
  EXPECT_EQ(entry.seconds_to_target, 3600) << "the first row of at least 94 %";
  EXPECT_EQ(entry.quality, 0.9425) << "the last row";
  ASSERT_TRUE(entry.throughput);
  EXPECT_NEAR(entry.throughput->rate, 50'000 / 1800.0, 1e-6);
  EXPECT_THAT(entry.throughput->derivation, HasSubstr("50,000 training images of CIFAR-10 x 3 epochs"));
  EXPECT_FALSE(entry.latency_seconds);
  EXPECT_FALSE(entry.link);
}

TEST(Dawnbench, MachineHasWhatTheWordsSay) {
  const PublishedMachine two_gpus = entry_of_files(dawnbench_files()).machine;
  EXPECT_EQ(two_gpus.accelerator, "K80");
  EXPECT_EQ(two_gpus.accelerators_per_node, 2);
  EXPECT_EQ(two_gpus.vcpus_per_node, 8);
  EXPECT_FALSE(two_gpus.nodes);
  const PublishedMachine no_gpu = entry_of_files(with_member("hardware", "60 GB / 16 CPU (A Cloud [box-16])")).machine;
  EXPECT_EQ(no_gpu.accelerators_per_node, 0);
  EXPECT_EQ(no_gpu.vcpus_per_node, 16);
  const PublishedMachine cluster =
      entry_of_files(with_member("hardware", "64 nodes with Xeon Platinum 8124M / 144 GB / 36 Cores (A Cloud)")).machine;
  EXPECT_EQ(cluster.nodes, 64);
  EXPECT_EQ(cluster.processor, "Xeon Platinum 8124M");
  EXPECT_EQ(cluster.accelerators_per_node, 0);
  const PublishedMachine unknown = entry_of_files(with_member("hardware", "p3.16xlarge")).machine;
  EXPECT_EQ(unknown.description, "p3.16xlarge");
  EXPECT_FALSE(unknown.accelerators_per_node) << "an instance's name does not say what is in it";
}

TEST(Dawnbench, ColumnsAreFoundByTheirTitles) {
  const auto entry = entry_of_files(
      with_table("\xef\xbb\xbfhours\tepoch\ttop1Accuracy\ttop5Accuracy\r\n2\t1\t70\t92\r\n4\t2\t75\t93.5\r\n\n"));
  EXPECT_EQ(entry.benchmark, "ImageNet");
  EXPECT_EQ(entry.seconds_per_epoch, 7200);
  EXPECT_EQ(entry.seconds_to_target, 14400);
  EXPECT_EQ(entry.quality, 0.935);
}

TEST(Dawnbench, UnevenEpochsHaveNoEpochTime) {
  const auto entry = entry_of_files(with_table("epoch\thours\ttop1Accuracy\n0\t0.5\t50\n1\t1\t80\n"));
  EXPECT_FALSE(entry.seconds_per_epoch);
  EXPECT_FALSE(entry.throughput);
  EXPECT_FALSE(entry.seconds_to_target);
  EXPECT_THAT(entry.notes, ElementsAre(HasSubstr("target was not reached"), HasSubstr("not evenly spaced")));
  EXPECT_EQ(entry_of_files(with_table("epoch\thours\ttop1Accuracy\n1.001\t0.5\t50\n2.002\t1\t80\n")).epochs, 2.002);
}

TEST(Dawnbench, AnEpochMayBeEvaluatedTwice) {
  const PublishedEntry entry = entry_of_files(with_table("epoch\thours\ttop1Accuracy\n1\t0.5\t90\n2\t1\t94.5\n2\t1.5\t95\n"));
  EXPECT_EQ(entry.seconds_to_target, 3600);
  EXPECT_FALSE(entry.seconds_per_epoch);
}

TEST(Dawnbench, DaysMayLackZeros) {
  EXPECT_EQ(entry_of_files(with_member("timestamp", "2018-4-9")).date, "2018-04-09");
  EXPECT_EQ(entry_of_files(with_member("timestamp", "2018-04-9")).date, "2018-04-09");
  for (const char* other : {"2018-4", "2018--4-9", "2018-004-9", "2018-4-31", "2018-4-9-1", "4-9-2018", ""})
    EXPECT_THAT(refused_files(with_member("timestamp", other)), HasSubstr("must be a day")) << other;
}

TEST(Dawnbench, ImagesThatChangeTheirSizeHaveNoThroughput) {
  const auto entry =
      entry_of_files(with_member("misc", {{"imageSize", {{{"image_size", 128}}, {{"image_size", {224, 224}}}}}}));
  EXPECT_FALSE(entry.throughput);
  EXPECT_FALSE(entry.seconds_per_epoch);
  EXPECT_EQ(entry.seconds_to_target, 3600);
  EXPECT_TRUE(
      entry_of_files(with_member("misc", {{"imageSize", {{{"image_size", 224}}, {{"image_size", {224, 224}}}}}})).throughput);
}

TEST(Dawnbench, InferenceHasItsLatency) {
  Json json = dawnbench_entry();
  json["latency"] = 85.5;
  json["cost"] = 2e-5;
  json["top1Accuracy"] = 94.5;
  const PublishedEntry entry = entry_of_files({json_file("inference/a.json", json)});
  EXPECT_EQ(entry.task, PublishedTask::inference);
  EXPECT_EQ(entry.latency_seconds, 0.0855);
  EXPECT_EQ(entry.usd_per_sample, 2e-5);
  EXPECT_EQ(entry.quality, 0.945);
  EXPECT_FALSE(entry.seconds_per_epoch);
}

TEST(Dawnbench, CitationNamesTheSource) {
  const PublishedOrigin origin{"a/b", "c0ffee", std::nullopt, "2026-01-19"};
  const PublishedDocument document = import_dawnbench(dawnbench_files(), origin);
  EXPECT_EQ(document.evidence, EvidenceClass::published);
  EXPECT_EQ(document.entries[0].link, "https://github.com/a/b/blob/c0ffee/train/a.json");
  EXPECT_EQ(document.entries[0].citation,
            "DAWNBench v1.0, CIFAR10 train: A Lab, ResNet 8 on 2 K80 / 30 GB / 8 CPU (A Cloud), 2017-10-11; retrieved from "
            "https://github.com/a/b on 2026-01-19");
}

TEST(Dawnbench, OtherEntriesAreRefused) {
  EXPECT_THAT(refused_files(with_member("version", "v2.0")), HasSubstr("train/a.json.version: 'v2.0' is not known"));
  EXPECT_THAT(refused_files(with_member("version", 1)), HasSubstr("must be a string"));
  EXPECT_THAT(refused_files(with_member("f1Score", 0.7)), HasSubstr("SQuAD"));
  EXPECT_THAT(refused_files(with_member("timestamp", "yesterday")), HasSubstr("must be a day"));
  EXPECT_THAT(refused_files(with_member("costPerHour", -1)), HasSubstr("costPerHour: must be above 0"));
  EXPECT_THAT(refused_files(with_member("latency", 0)), HasSubstr("latency: must be above 0"));
  EXPECT_THAT(refused_files({{"a.json", "{\"version\": "}}), HasSubstr("not valid JSON"));
  EXPECT_THAT(refused_files({{"a.json", "[]"}}), HasSubstr("must be an object"));
  EXPECT_THAT(refused_files({json_file("a.json", dawnbench_entry())}),
              HasSubstr("without its table of epochs; place a.tsv beside it"));
  EXPECT_THAT(refused_files(with_member("top5Accuracy", 93)),
              HasSubstr("train/a.tsv:1: no column top5Accuracy, which train/a.json has"));
  EXPECT_THAT(refused_files({{"b.tsv", kEpochs}}), HasSubstr("belongs to no entry"));
}

TEST(Dawnbench, OtherTablesAreRefused) {
  const std::string title = "epoch\thours\ttop1Accuracy\n";
  EXPECT_THAT(refused_files(with_table("")), HasSubstr("train/a.tsv:1: no column epoch"));
  EXPECT_THAT(refused_files(with_table("epoch\thours\n1\t2\n")), HasSubstr("no column top1Accuracy"));
  EXPECT_THAT(refused_files(with_table("epoch\tepoch\thours\ttop1Accuracy\n")), HasSubstr("there twice"));
  EXPECT_THAT(refused_files(with_table(title)), HasSubstr("no row"));
  EXPECT_THAT(refused_files(with_table(title + "1\t0.5\n")), HasSubstr("train/a.tsv:2: has 2 cells"));
  EXPECT_THAT(refused_files(with_table(title + "1\t0.5\t50\n2\t0.4\t60\n")),
              HasSubstr("train/a.tsv:3: epoch and hours must not fall"));
  EXPECT_THAT(refused_files(with_table(title + "1\tnan\t50\n")), HasSubstr("train/a.tsv:2"));
  EXPECT_THAT(refused_files(with_table(title + "1\t-1\t50\n")), HasSubstr("train/a.tsv:2"));
  EXPECT_THAT(refused_files(with_table(title + "1\t1e300\t50\n")), HasSubstr("train/a.tsv:2"));
  EXPECT_THAT(refused_files(with_table(title + "1\t1\t101\n")), HasSubstr("train/a.tsv:2"));
}

}  // namespace
}  // namespace epochbench
