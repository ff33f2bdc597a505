// The set that the binary carries, results/published: its terms, and the figures that documents state from it.
#include <set>
#include <string_view>

#include <gmock/gmock.h>

#include "src/published/import.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

using testing::HasSubstr;

const PublishedEntry& entry_named(std::string_view name) {
  for (const PublishedDocument& document : embedded_published())
    for (const PublishedEntry& entry : document.entries)
      if (entry.name == name) return entry;
  throw FormatError(std::string(name) + ": not there");
}

TEST(Published, EveryEntryHasItsSource) {
  ASSERT_FALSE(embedded_published().empty());
  std::set<std::string> names;
  for (const PublishedDocument& document : embedded_published()) {
    EXPECT_TRUE(document.origin.repository && document.origin.commit && document.origin.retrieved);
    EXPECT_FALSE(document.notice.empty());
    EXPECT_EQ(published_to_text(parse_published(published_to_text(document), "again")), published_to_text(document));
    for (const PublishedEntry& entry : document.entries) {
      EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
      EXPECT_TRUE(entry.link && entry.date && entry.version) << entry.name;
      EXPECT_THAT(entry.citation, HasSubstr(entry.submitter));
    }
  }
}

TEST(Published, MlperfIsCitedByItsTerms) {
  int results = 0;
  for (const PublishedDocument& document : embedded_published()) {
    if (document.source != PublishedSource::mlperf) continue;
    EXPECT_THAT(document.notice, HasSubstr("Result not verified by MLCommons Association."));
    for (const PublishedEntry& entry : document.entries) {
      ++results;
      ASSERT_TRUE(entry.result_id) << entry.name << " lacks what the terms ask for; leave it out";
      for (const std::string& part :
           {entry.submitter, *entry.machine.description, *entry.version, *entry.result_id, std::string(" x ")})
        EXPECT_THAT(entry.citation, HasSubstr(part));
    }
  }
  EXPECT_GT(results, 0);
}

// The factor of a K80 and of a P100 over 16 vCPUs, in the time of an epoch of ResNet-164 in PyTorch.
TEST(Published, Resnet164OnCpuAndGpu) {
  const auto epoch = [](const char* machine) {
    const PublishedEntry& entry = entry_named(std::string("CIFAR10/train/dawn_resnet164_nb_") + machine + "_pytorch");
    EXPECT_EQ(entry.epochs, 181);
    return *entry.seconds_per_epoch / 3600;
  };
  EXPECT_NEAR(epoch("16vCPUs-gc"), 0.5596, 5e-5);
  EXPECT_NEAR(epoch("1k80-gc"), 0.0678, 5e-5);
  EXPECT_NEAR(epoch("1p100-dawn"), 0.01827, 5e-6);
  EXPECT_NEAR(epoch("16vCPUs-gc") / epoch("1k80-gc"), 8.25, 5e-3);
  EXPECT_NEAR(epoch("16vCPUs-gc") / epoch("1p100-dawn"), 30.6, 5e-2);
  const double usd_cpu = *entry_named("CIFAR10/train/dawn_resnet164_nb_16vCPUs-gc_pytorch").usd_per_hour;
  const double usd_k80 = *entry_named("CIFAR10/train/dawn_resnet164_nb_1k80-gc_pytorch").usd_per_hour;
  EXPECT_EQ(usd_cpu, 0.533);
  EXPECT_EQ(usd_k80, 0.967);
  EXPECT_NEAR(epoch("16vCPUs-gc") * usd_cpu / (epoch("1k80-gc") * usd_k80), 4.55, 5e-3);
}

// The official scores, in minutes, that the table of the round has for these IDs.
TEST(Published, TimesToTrainAreThoseOfTheTable) {
  const std::pair<const char*, double> scores[] = {
      {"3.0-2053", 13.466}, {"3.0-2055", 5.349}, {"3.0-2068", 0.509}, {"3.0-2071", 2.664}, {"3.0-2075", 0.369}};
  std::size_t found = 0;
  for (const PublishedDocument& document : embedded_published())
    for (const PublishedEntry& entry : document.entries)
      for (const auto& [id, minutes] : scores)
        if (entry.result_id == id) {
          EXPECT_NEAR(*entry.seconds_to_target / 60, minutes, 1e-3) << id;
          ++found;
        }
  EXPECT_EQ(found, std::size(scores));
}

}  // namespace
}  // namespace epochbench
