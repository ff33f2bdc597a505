// Runs measured here beside what others published of the same model.
#include "src/analysis/speedup/published_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_claims.h"

namespace epochbench {
namespace {

using testing::Contains;
using testing::HasSubstr;

PublishedDocument document_of(PublishedSource source, const std::string& model, const std::string& benchmark = "ImageNet") {
  PublishedDocument document;
  document.source = source;
  document.notice = "the notice";
  PublishedEntry& entry = document.entries.emplace_back();
  entry.name = entry.citation = "there";
  entry.benchmark = benchmark;
  entry.model = model;
  entry.framework = "Caffe";
  entry.batch = 2048;
  entry.throughput = PublishedThroughput{400, ""};
  return document;
}

PublishedPairs pairs(const std::string& model, const PublishedDocument& document) {
  return published_pairs({result_of({runs_of(model, "cpu", "fp32", 16, 100)})}, std::vector{document});
}

TEST(PublishedPairs, AreOfOneModelAndSayWhatDiffers) {
  const PublishedPairs found = pairs("resnet50", document_of(PublishedSource::dawnbench, "ResNet-50"));
  ASSERT_EQ(found.pairs.size(), 1u);
  EXPECT_NEAR(found.pairs[0].ratio, 0.25, 1e-5);
  EXPECT_EQ(found.pairs[0].repetitions, 5u);
  EXPECT_THAT(found.pairs[0].differences, Contains(HasSubstr("framework: epochbench, there Caffe")));
  EXPECT_THAT(found.pairs[0].differences, Contains(HasSubstr("batch: 16, there 2048")));
  EXPECT_THAT(found.pairs[0].differences, Contains(HasSubstr("input: synthetic")));
  EXPECT_EQ(found.notice, "the notice");
}

TEST(PublishedPairs, AreNeverOfMlperfNorOfAnotherModelOrTask) {
  EXPECT_TRUE(pairs("resnet50", document_of(PublishedSource::mlperf, "ResNet-50")).pairs.empty());
  EXPECT_TRUE(pairs("resnet50", document_of(PublishedSource::dawnbench, "ResNet 164", "CIFAR10")).pairs.empty());
  EXPECT_TRUE(pairs("resnet50:height=128", document_of(PublishedSource::dawnbench, "ResNet50")).pairs.empty());
  EXPECT_TRUE(pairs("resnet20", document_of(PublishedSource::dawnbench, "ResNet50")).pairs.empty());
}

}  // namespace
}  // namespace epochbench
