// What an epoch is: in every output that shows the time or the cost of one.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/answers/answers_page.h"
#include "src/report/export/export_formats.h"
#include "src/report/text/answer_text.h"
#include "src/report/text/result_text.h"
#include "src/report/text/text_parts.h"
#include "support/made_results.h"

namespace epochbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Workload work_of(const std::string& model, const std::string& dataset, std::int64_t samples,
                 std::optional<std::int64_t> tokens = {}) {
  Workload work;
  work.model = model;
  work.dataset = dataset;
  work.samples_per_epoch = samples;
  work.tokens_per_sample = tokens;
  return work;
}

Workload imagenet(const std::string& model = "resnet50") {
  Workload work = work_of(model, "synthetic", 1281167);
  work.nominal_dataset = "ImageNet";
  return work;
}

std::string text_of_works(const std::vector<Workload>& works) {
  std::vector<const Workload*> list;
  for (const Workload& work : works) list.push_back(&work);
  return epochs_text(list);
}

TEST(EpochsText, NamesDataSizeAndUnit) {
  EXPECT_EQ(text_of_works({imagenet()}), "ImageNet, 1,281,167 images");
  EXPECT_EQ(text_of_works({work_of("lenet5", "digits", 1408)}), "digits, 1,408 images");
  EXPECT_EQ(text_of_works({work_of("bert-tiny", "founding-documents", 385, 128)}),
            "founding-documents, 385 sequences of 128 tokens");
  EXPECT_EQ(text_of_works({work_of("mlp", "synthetic", 64)}), "synthetic, 64 images") << "of no known data set";
  EXPECT_EQ(text_of_works({work_of("lstm", "", 1, 1)}), "1 sequence of 1 token");
  EXPECT_EQ(text_of_works({}), "");
}

TEST(EpochsText, StatesEachOnceWithItsModels) {
  EXPECT_EQ(text_of_works({imagenet(), imagenet("resnet18"), imagenet()}), "ImageNet, 1,281,167 images");
  EXPECT_EQ(text_of_works({imagenet(), work_of("lenet5", "digits", 1408), work_of("mlp", "digits", 1280), imagenet("vit-b-16"),
                           imagenet("resnet18")}),
            "ImageNet, 1,281,167 images (resnet50, vit-b-16 and 1 more); digits, 1,280 to 1,408 images (lenet5, mlp)");
  std::vector<Workload> many;
  for (int i = 0; i < 8; ++i) many.push_back(work_of("m", "set" + std::to_string(i), 10));
  EXPECT_THAT(text_of_works(many), AllOf(HasSubstr("set5, 10 images (m); and 2 more"), Not(HasSubstr("set6"))));
}

Result of_two_epochs() {
  Result result = made_result("a.json", "host", {{.repetitions = 2}, {.model = "bert-base", .repetitions = 2}}).result;
  for (auto& run : result.runs) {
    const bool text = run.workload.model == "bert-base";
    run.workload.samples_per_epoch = text ? 87599 : 1281167;
    run.workload.nominal_dataset = text ? "SQuAD" : "ImageNet";
    if (text) run.workload.tokens_per_sample = 128;
  }
  return result;
}

constexpr const char* kTwoEpochs = "ImageNet, 1,281,167 images (resnet50); SQuAD, 87,599 sequences of 128 tokens (bert-base)";

TEST(EpochsText, StandsBelowTheTable) {
  const Result result = of_two_epochs();
  for (const TableRows rows : {TableRows::cases, TableRows::runs})
    EXPECT_THAT(summary(result, rows), HasSubstr(std::string("\nepoch: ") + kTwoEpochs + "\n"));
  EXPECT_THAT(summary(Result{}), Not(HasSubstr("epoch")));
  EXPECT_THAT(markdown_text(result), HasSubstr(std::string("\nEpoch: `") + kTwoEpochs + "`\n"));
}

TEST(EpochsText, IsReadBesideTheAnswers) {
  const std::vector<AnswerSection> sections = answer_sections({"a.json", of_two_epochs()});
  EXPECT_THAT(sections[0].read, HasSubstr(std::string("; an epoch: ") + kTwoEpochs)) << "times";
  EXPECT_THAT(sections[3].read, HasSubstr(std::string("; an epoch: ") + kTwoEpochs)) << "costs";
}

TEST(EpochsText, StandsBelowLocalAndCloudCosts) {
  const Result result = of_two_epochs();
  RentOrBuyAnswer answer;
  answer.question.local = {900, 5, 120, 0.3, 40};
  answer.question.cloud.usd_per_hour = 0.34;
  answer.runs = rent_or_buy(result.runs, answer.question);
  std::string text = rent_or_buy_text(answer);
  std::ranges::replace(text, '\n', ' ');
  EXPECT_THAT(text, HasSubstr("epoch: ImageNet, 1,281,167 images (resnet50); SQuAD, 87,599 sequences"));
  const Json json = rent_or_buy_json(answer);
  EXPECT_EQ(json["runs"][0]["epoch"], "ImageNet, 1,281,167 images");
  EXPECT_EQ(json["runs"][1]["epoch"], "SQuAD, 87,599 sequences of 128 tokens");
}

Prediction predicted(const std::string& model, const EpochsAsked& asked, std::optional<std::int64_t> tokens = {}) {
  Prediction prediction;
  prediction.work.model = model;
  prediction.work.batch = 32;
  prediction.work.tokens_per_sample = tokens;
  prediction.asked = asked;
  prediction.cost_reason = "no price";
  return prediction;
}

TEST(EpochsText, StandsBelowPredictions) {
  const auto one = predicted("bert-base", {3, 87599, "SQuAD"}, 128);
  EXPECT_THAT(predictions_text({one, one}), HasSubstr("\n3 epochs of SQuAD, 87,599 sequences of 128 tokens\n"));
  const std::string two = predictions_text({one, predicted("resnet50", {3, 1000})});
  EXPECT_THAT(two, AllOf(HasSubstr("\nbert-base: 3 epochs of SQuAD, 87,599 sequences of 128 tokens\n"),
                         HasSubstr("\nresnet50: 3 epochs of 1,000 images\n")));
  EXPECT_EQ(predictions_json({one})["predictions"][0]["epoch"], "SQuAD, 87,599 sequences of 128 tokens");
  Rentals rentals;
  rentals.predictions = {one};
  rentals.predictions[0].cost = PredictedCost{"g5.xlarge", {}, 1, 1, "catalog", ""};
  rentals.asked = *one.asked;
  std::string text = rentals_text(rentals);
  std::ranges::replace(text, '\n', ' ');
  EXPECT_THAT(text, HasSubstr("bert-base, batch 32, 3 epochs of SQuAD, 87,599 sequences of 128 tokens; one GPU"));
}

}  // namespace
}  // namespace epochbench
