// The models have exactly the parameters, FLOPs and defaults that identify them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/workload/workload.h"
#include "support/made_workload.h"

namespace epochbench {
namespace {

// Independent of the graph: multiply-adds of one image's forward pass through ResNet-20.
double resnet20_forward_flops() {
  double sum = 32.0 * 32 * 16 * 27;
  for (int stage = 0; stage < 3; ++stage) {
    const double pixels = 1024 >> (2 * stage), channels = 16 << stage;
    const double full = pixels * channels * channels * 9;
    sum += stage == 0 ? 6 * full : 5.5 * full + pixels * channels * channels / 2;
  }
  return 2 * (sum + 640);
}

TEST(Models, HaveThePublishedParameterCounts) {
  EXPECT_EQ(count(test::made_workload("mlp", 64)).parameters, 785 * 512 + 513 * 512 + 513 * 10);
  EXPECT_EQ(count(test::made_workload("mlp:depth=1,width=30", 64)).parameters, 785 * 30 + 31 * 10);
  EXPECT_EQ(count(test::made_workload("lenet5", 64)).parameters, 61706);
  EXPECT_EQ(count(test::made_workload("resnet20", 128)).parameters, 272474);
  EXPECT_EQ(count(test::made_workload("resnet18", 16)).parameters, 11689512);
  EXPECT_EQ(count(test::made_workload("resnet34", 16)).parameters, 21797672);
  EXPECT_EQ(count(test::made_workload("resnet50", 16)).parameters, 25557032);
  EXPECT_EQ(count(test::made_workload("resnet101", 16)).parameters, 44549160);
  EXPECT_EQ(count(test::made_workload("resnet152", 16)).parameters, 60192808);
  EXPECT_EQ(count(test::made_workload("bert-tiny", 16)).parameters, 4416698);
  EXPECT_EQ(count(test::made_workload("bert-base", 8)).parameters, 109514298);
  EXPECT_EQ(count(test::made_workload("bert-large", 4)).parameters, 335174458);
  EXPECT_EQ(count(test::made_workload("gpt2", 1)).parameters, 124439808);
  EXPECT_EQ(count(test::made_workload("gpt2-medium", 1)).parameters, 354823168);
  EXPECT_EQ(count(test::made_workload("gpt2-large", 1)).parameters, 774030080);
  EXPECT_EQ(count(test::made_workload("gpt2-xl", 1)).parameters, 1557611200);
  EXPECT_EQ(count(test::made_workload("llama-15m", 1)).parameters, 15191712);
  EXPECT_EQ(count(test::made_workload("llama-110m", 1)).parameters, 109529856);
  EXPECT_EQ(count(test::made_workload("llama-7b", 1)).parameters, 6738415616);
  EXPECT_EQ(count(test::made_workload("vit-b-16", 8)).parameters, 86567656);
  EXPECT_EQ(count(test::made_workload("vit-s-16", 8)).parameters, 22050664);
  EXPECT_EQ(count(test::made_workload("lstm", 32)).parameters, 2692225);
  EXPECT_EQ(count(test::made_workload("lstm-lm", 20)).parameters, 19780400);
  EXPECT_EQ(count(test::made_workload("mobilenet-v2", 16)).parameters, 3504872);
  EXPECT_EQ(count(test::made_workload("efficientnet-b0", 16)).parameters, 5288548);
  EXPECT_EQ(count(test::made_workload("efficientnet-b2", 16)).parameters, 9109994);
  EXPECT_EQ(count(test::made_workload("nasnet-mobile", 16)).parameters, 5289978);
  EXPECT_EQ(count(test::made_workload("nasnet-large", 4)).parameters, 88753150);
}

TEST(Models, LargeModelsHaveTheExpectedFlops) {
  EXPECT_EQ(count(test::made_workload("resnet50", 16)).train_flops_per_sample, 24299077632.0);
  EXPECT_EQ(count(test::made_workload("bert-tiny", 16)).train_flops_per_sample, 823105536.0);
  EXPECT_EQ(count(test::made_workload("bert-base", 8)).train_flops_per_sample, 69925441536.0);
}

// Multiply-adds of one image as torchvision publishes them, to its digits; of the two at their own sizes, as PyTorch counts
// them.
TEST(Models, MobileNetworksHaveTheExpectedFlops) {
  for (const auto& [model, billions] :
       {std::pair{"mobilenet-v2", 0.301}, std::pair{"efficientnet-b0", 0.386}, std::pair{"efficientnet-b2", 1.088}}) {
    const Counts counts = count(test::made_workload(model, 16));
    EXPECT_NEAR(counts.forward_flops_per_sample / 2e9, billions, 0.0006 * (1 + billions)) << model;
    // Without the gradient of the first layer's input.
    const double pixels = std::string(model) == "efficientnet-b2" ? 144 * 144 : 112 * 112;
    EXPECT_EQ(counts.train_flops_per_sample, 3 * counts.forward_flops_per_sample - 2 * pixels * 32 * 27) << model;
  }
}

// Multiply-adds of one image, as PyTorch's convolutions of timm's NASNetALarge have them.
TEST(Models, NasNetsHaveTheExpectedFlops) {
  for (const auto& [model, sum, pixels, stem] : {std::tuple{"nasnet-mobile", 563638816.0, 111 * 111.0, 32},
                                                 std::tuple{"nasnet-large", 23783414658.0, 165 * 165.0, 96}}) {
    const Counts counts = count(test::made_workload(model, 2));
    EXPECT_EQ(counts.forward_flops_per_sample, 2 * sum) << model;
    // Without the gradient of the first layer's input.
    EXPECT_EQ(counts.train_flops_per_sample, 3 * 2 * sum - 2 * pixels * stem * 27) << model;
  }
}

TEST(Models, NasNetsTakeTheirSizesAsOptions) {
  EXPECT_EQ(count(test::made_workload("nasnet-mobile:height=192,width=256", 2)).parameters, 5289978);
  const auto message = [](const char* text) -> std::string {
    try {
      find_model(text);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("nasnet-mobile:filters=42"), testing::HasSubstr("filters=42 must be a multiple of 4"));
  EXPECT_THAT(message("nasnet-large:height=224"), testing::HasSubstr("height=224 and width=331 must be the same"));
  EXPECT_THAT(message("nasnet-mobile:width-multiplier=50"),
              testing::HasSubstr("it takes height, width, classes, filters, cells"));
}

// Rounded to multiples of 8, of torchvision's mobilenet_v2(width_mult=0.75) and (1.4).
TEST(Models, MobileNetV2TakesAWidthMultiplier) {
  EXPECT_EQ(count(test::made_workload("mobilenet-v2:width-multiplier=75", 2)).parameters, 2636424);
  EXPECT_EQ(count(test::made_workload("mobilenet-v2:width-multiplier=140", 2)).parameters, 6108776);
}

// Multiply-adds of one image, whose layers have `sequence` rows.
TEST(Models, VisionTransformersHaveTheExpectedFlops) {
  for (const auto& [model, units] : {std::pair{"vit-b-16", 768.0}, std::pair{"vit-s-16", 384.0}}) {
    const double patches = 14 * 14, sequence = patches + 1;
    const double layer = 12 * sequence * units * units + 2 * sequence * sequence * units;
    const double sum = patches * units * 3 * 16 * 16 + 12 * layer + units * 1000;
    const Counts counts = count(test::made_workload(model, 8));
    EXPECT_EQ(counts.forward_flops_per_sample, 2 * sum) << model;
    EXPECT_EQ(counts.train_flops_per_sample, 3 * 2 * sum - 2 * patches * units * 3 * 16 * 16) << model;
  }
}

// Multiply-adds of one text: of each position, the products of inputs and of states with the gates' weights; and the head.
TEST(Models, RecurrentNetworksHaveTheExpectedFlops) {
  const double classifier = 80.0 * 2 * 4 * 128 * 128 + 128, language_model = 35 * (2.0 * 2 * 4 * 650 * 650 + 650 * 10000);
  for (const auto& [model, sum] : {std::pair{"lstm", classifier}, std::pair{"lstm-lm", language_model}}) {
    const Counts counts = count(test::made_workload(model, 4));
    EXPECT_EQ(counts.forward_flops_per_sample, 2 * sum) << model;
    EXPECT_EQ(counts.train_flops_per_sample, 3 * 2 * sum) << model;
  }
}

TEST(Models, RecurrentNetworksTakeTheirSizesAsOptions) {
  EXPECT_EQ(count(test::made_workload("lstm:units=3,layers=2,vocabulary=7", 2)).parameters,
            7 * 3 + 2 * (2 * 12 * 3 + 2 * 12) + 3 + 1);
  EXPECT_EQ(count(test::made_workload("lstm-lm:units=3,layers=1,vocabulary=7,sequence=1", 2)).parameters,
            7 * 3 + 2 * 12 * 3 + 2 * 12 + 7 * 3 + 7);
  const SampleSpec classifier =
      find_model("lstm:sequence=9").family->sample({.options = find_model("lstm:sequence=9").options});
  EXPECT_EQ(classifier.labels(), 1);
  const SampleSpec language_model = find_model("lstm-lm").family->sample({.options = find_model("lstm-lm").options});
  EXPECT_EQ(language_model.labels(), 35);
}

// Multiply-adds of one text; a query has half of the keys, and its own. The embedding's gradient is none of them.
TEST(Models, CausalTransformersHaveTheExpectedFlops) {
  const double sequence = 1024, units = 768;
  const double layer = 12 * sequence * units * units + sequence * (sequence + 1) * units;
  const double sum = 12 * layer + sequence * units * 50257;
  const Counts counts = count(test::made_workload("gpt2", 1));
  EXPECT_EQ(counts.forward_flops_per_sample, 2 * sum);
  EXPECT_NEAR(sum, 136.2e9, 0.05e9);
  EXPECT_EQ(counts.train_flops_per_sample, 3 * 2 * sum);
}

// Keys and values of fewer heads make their products smaller, and attention's not.
TEST(Models, LlamasHaveTheExpectedFlops) {
  const auto expected = [](double layers, double units, double hidden, double sequence, double kv_share) {
    const double layer = sequence * units * ((2 + 2 * kv_share) * units + 3 * hidden) + sequence * (sequence + 1) * units;
    return layers * layer + sequence * units * 32000;
  };
  const double small = expected(6, 288, 768, 256, 1), large = expected(12, 768, 2048, 1024, 1);
  EXPECT_NEAR(small, 4.00e9, 0.005e9);
  EXPECT_NEAR(large, 121.8e9, 0.05e9);
  for (const auto& [model, sum] : {std::pair{"llama-15m", small}, std::pair{"llama-110m", large},
                                   std::pair{"llama-15m:kv-heads=2", expected(6, 288, 768, 256, 1.0 / 3)}}) {
    const Counts counts = count(test::made_workload(model, 1));
    EXPECT_DOUBLE_EQ(counts.forward_flops_per_sample, 2 * sum) << model;
    EXPECT_DOUBLE_EQ(counts.train_flops_per_sample, 3 * 2 * sum) << model;
  }
}

// 50,257 tokens are those of its own tokenizer; bytes are 256, unless the name says otherwise.
TEST(Models, TheVocabularyFollowsTheData) {
  const auto classes = [](const std::string& model, const char* data) {
    CaseSpec spec;
    spec.model = find_model(model);
    if (data) spec.data = data;
    const WorkloadSpec workload = workload_spec(spec);
    return std::pair(workload.model.name, workload.model.family->sample(workload.config).classes);
  };
  using testing::Pair;
  EXPECT_THAT(classes("gpt2", nullptr), Pair("gpt2", 50257));
  EXPECT_THAT(classes("gpt2", "synthetic"), Pair("gpt2", 50257));
  EXPECT_THAT(classes("gpt2", "founding-documents"), Pair("gpt2:vocabulary=256", 256));
  EXPECT_THAT(classes("gpt2:units=96,layers=2", "text:x"), Pair("gpt2:layers=2,units=96,vocabulary=256", 256));
  EXPECT_THAT(classes("gpt2:vocabulary=50257", "text:x"), Pair("gpt2:vocabulary=50257", 50257));
  EXPECT_THAT(classes("gpt2:vocabulary=300", "text:x"), Pair("gpt2:vocabulary=300", 300));
  EXPECT_THAT(classes("llama-15m", "text:x"), Pair("llama-15m:vocabulary=256", 256));
  EXPECT_THAT(classes("bert-tiny", "text:x"), Pair("bert-tiny", 30522));
  const auto with_tokens = [](const char* model, std::int64_t ids) { return with_text_ids(find_model(model), ids).name; };
  EXPECT_EQ(with_tokens("gpt2:layers=2", 600), "gpt2:layers=2,vocabulary=600");
  EXPECT_EQ(with_tokens("gpt2", 50257), "gpt2");
  EXPECT_EQ(with_tokens("gpt2:vocabulary=50304", 50257), "gpt2:vocabulary=50304");
  EXPECT_EQ(with_tokens("lstm-lm", 600), "lstm-lm:vocabulary=600");
  EXPECT_EQ(with_tokens("bert-tiny", 600), "bert-tiny");
}

TEST(Models, TheTokenizerIsPartOfTheWorkload) {
  CaseSpec spec;
  spec.model = find_model("gpt2:heads=1,layers=1,sequence=32,units=32");
  spec.batch = 2;
  spec.data = "founding-documents";
  spec.tokenizer = std::string("gpt2:") + TOKENIZER_FOLDER;
  const WorkloadSpec tokens = workload_spec(spec);
  EXPECT_EQ(tokens.model.name, spec.model.name + ",vocabulary=600");
  spec.tokenizer.clear();
  spec.model = tokens.model;
  const WorkloadSpec bytes = workload_spec(spec);
  EXPECT_EQ(bytes.model.name, tokens.model.name);
  EXPECT_NE(count(bytes).fingerprint, count(tokens).fingerprint);
  EXPECT_FALSE(describe_workload(spec, {.name = "founding-documents"}).tokenizer);
}

// One value per channel is left at the last batch norms.
TEST(Models, ABatchNormOfOneValueIsRefusedWithTheReason) {
  try {
    count(test::made_workload("mobilenet-v2:height=32,width=32", 1));
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("mobilenet-v2:height=32,width=32, batch 1: batch_norm"),
                                             testing::HasSubstr("more than one value"), testing::HasSubstr("larger --batch")));
  }
  EXPECT_GT(count(test::made_workload("mobilenet-v2:height=32,width=32", 2)).parameters, 0);
}

TEST(Models, TransformersTakeTheirSizesAsOptions) {
  EXPECT_EQ(count(test::made_workload("gpt2:layers=24,units=1024,heads=16", 1)).parameters,
            count(test::made_workload("gpt2-medium", 1)).parameters);
  EXPECT_EQ(count(test::made_workload("bert-large:layers=12,units=768,heads=12", 8)).fingerprint,
            count(test::made_workload("bert-base", 8)).fingerprint);
  EXPECT_EQ(count(test::made_workload("vit-s-16:units=768,heads=12", 8)).fingerprint,
            count(test::made_workload("vit-b-16", 8)).fingerprint);
  const Counts llama = count(test::made_workload("llama-110m:layers=6,units=288,heads=6,hidden=768,sequence=256", 1));
  EXPECT_EQ(llama.fingerprint, count(test::made_workload("llama-15m", 1)).fingerprint);
  EXPECT_EQ(llama.fingerprint, count(test::made_workload("llama-15m:kv-heads=6", 1)).fingerprint);
  EXPECT_EQ(count(test::made_workload("llama-15m:kv-heads=2", 1)).parameters, llama.parameters - 6 * 2 * 288 * 192);
  // Patches of 8x8 of an image of 32x24: 12, and the class token.
  const Counts small = count(test::made_workload(test::kSmallVit, 2));
  EXPECT_EQ(small.parameters, 3 * 8 * 8 * 64 + 64 + 64 + 13 * 64 + 2 * (12 * 64 * 64 + 13 * 64) + 2 * 64 + 65 * 1000);
}

TEST(Models, CountFlopsForwardAndBothGradientsWithoutTheFirstInputGradient) {
  const Counts mlp = count(test::made_workload("mlp", 3));
  EXPECT_EQ(mlp.forward_flops_per_sample, 2.0 * (784 * 512 + 512 * 512 + 512 * 10));
  EXPECT_EQ(mlp.train_flops_per_sample, 3 * mlp.forward_flops_per_sample - 2.0 * 784 * 512);
  const Counts resnet20 = count(test::made_workload("resnet20", 2));
  EXPECT_EQ(resnet20.forward_flops_per_sample, resnet20_forward_flops());
  EXPECT_EQ(resnet20.train_flops_per_sample, 3 * resnet20.forward_flops_per_sample - 2.0 * 32 * 32 * 16 * 27);
  EXPECT_EQ(resnet20.train_flops_per_sample, count(test::made_workload("resnet20", 128)).train_flops_per_sample);
}

// Sides that are multiples of 32: the pixels of every layer grow in proportion to those of the image.
TEST(Models, ImageModelsAcceptAnySize) {
  const Counts plain = count(test::made_workload("resnet50", 1)),
               large = count(test::made_workload("resnet50:height=448,width=672", 1));
  const double linear = 2.0 * 2048 * 1000;
  EXPECT_EQ(large.forward_flops_per_sample - linear, 6 * (plain.forward_flops_per_sample - linear));
  EXPECT_EQ(large.parameters, plain.parameters);
  EXPECT_NE(large.fingerprint, plain.fingerprint);
  EXPECT_EQ(find_model("resnet50:width=3840,height=2160").name, "resnet50:height=2160,width=3840");
  EXPECT_EQ(find_model("resnet50:width=224").name, "resnet50");
  EXPECT_EQ(count(test::made_workload("resnet20:height=32", 2)).fingerprint,
            count(test::made_workload("resnet20", 2)).fingerprint);
  EXPECT_THROW(find_model("resnet18:height=63"), std::invalid_argument);
  EXPECT_THROW(find_model("resnet18:width=8193"), std::invalid_argument);
}

TEST(Models, ImageModelsAcceptAnyNumberOfClasses) {
  for (const auto& [model, classes, inputs] :
       {std::tuple{"resnet20", 10, 64}, std::tuple{"resnet50", 1000, 2048}, std::tuple{"vit-s-16", 1000, 384},
        std::tuple{"mobilenet-v2", 1000, 1280}, std::tuple{"efficientnet-b2", 1000, 1408},
        std::tuple{"nasnet-mobile", 1000, 1056}}) {
    const Counts plain = count(test::made_workload(model, 1)),
                 more = count(test::made_workload(std::string(model) + ":classes=" + std::to_string(classes + 7), 1));
    EXPECT_EQ(more.parameters - plain.parameters, 7 * (inputs + 1)) << model;
  }
}

TEST(Models, FingerprintIdentifiesTheWorkload) {
  const std::string fingerprint = count(test::made_workload("lenet5", 64)).fingerprint;
  EXPECT_EQ(fingerprint, count(test::made_workload("lenet5", 64)).fingerprint);
  EXPECT_NE(fingerprint, count(test::made_workload("lenet5", 32)).fingerprint);
  WorkloadSpec slower = test::made_workload("lenet5", 64);
  slower.optimizer.learning_rate /= 2;
  EXPECT_NE(fingerprint, count(slower).fingerprint);
  EXPECT_EQ(count(test::made_workload("mlp:width=512", 8)).fingerprint, count(test::made_workload("mlp", 8)).fingerprint);
  EXPECT_NE(count(test::made_workload("mlp:width=513", 8)).fingerprint, count(test::made_workload("mlp", 8)).fingerprint);
}

TEST(Models, NamesListNonDefaultOptionsInOrder) {
  EXPECT_EQ(find_model("mlp").name, "mlp");
  EXPECT_EQ(find_model("mlp:width=4096,depth=3").name, "mlp:depth=3,width=4096");
  EXPECT_EQ(find_model("mlp:depth=2,width=64").name, "mlp:width=64");
}

TEST(Models, WrongNamesAndOptionsAreExplained) {
  auto message = [](const char* text) -> std::string {
    try {
      find_model(text);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("resnet21"), "unknown model 'resnet21'");
  EXPECT_THAT(message("mlp:"), testing::HasSubstr("must follow"));
  EXPECT_THAT(message("mlp:width"), testing::HasSubstr("not option=value"));
  EXPECT_THAT(message("mlp:height=3"), testing::HasSubstr("it takes depth, width"));
  EXPECT_THAT(message("lenet5:width=3"), testing::HasSubstr("takes none"));
  EXPECT_THAT(message("bert-base:heads=5"), testing::HasSubstr("model bert-base: heads=5 must divide units=768"));
  EXPECT_THAT(message("gpt2:heads=5"), testing::HasSubstr("model gpt2: heads=5 must divide units=768"));
  EXPECT_THAT(message("gpt2:sequence=1025"), testing::HasSubstr("whole number from 1 to 1024"));
  EXPECT_THAT(message("gpt2:layers=0"), testing::HasSubstr("whole number from 1 to"));
  EXPECT_THAT(message("llama-15m:heads=5"), testing::HasSubstr("model llama-15m: heads=5 must divide units=288"));
  EXPECT_THAT(message("llama-15m:kv-heads=4"), testing::HasSubstr("model llama-15m: kv-heads=4 must divide heads=6"));
  EXPECT_THAT(message("llama-15m:heads=96"), testing::HasSubstr("units=288 over heads=96 is odd"));
  EXPECT_THAT(message("llama-15m:layers=0"), testing::HasSubstr("whole number from 1 to"));
  EXPECT_THAT(message("vit-b-16:units=100"), testing::HasSubstr("heads=12 must divide units=100"));
  EXPECT_THAT(message("vit-b-16:height=40"), testing::HasSubstr("patch=16 must divide height=40"));
  EXPECT_THAT(message("vit-s-16:patch=32,width=16"), testing::HasSubstr("patch=32 must divide width=16"));
  EXPECT_THAT(message("vit-s-16:layers=0"), testing::HasSubstr("whole number from 1 to"));
  EXPECT_THAT(message("lstm:layers=0"), testing::HasSubstr("whole number from 1 to"));
  EXPECT_THAT(message("lstm-lm:vocabulary=1"), testing::HasSubstr("whole number from 2 to"));
  for (const char* text : {"mlp:width=0", "mlp:width=-4", "mlp:width=99999999999999999999", "mlp:width=4.5", "mlp:depth="})
    EXPECT_THAT(message(text), testing::HasSubstr("whole number from 1 to")) << text;
}

TEST(Models, HaveTheExpectedOptimizers) {
  EXPECT_EQ(test::made_workload("mlp", 64).optimizer.to_string(),
            "adamw lr=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.01");
  EXPECT_EQ(test::made_workload("lenet5", 64).optimizer.to_string(),
            "adamw lr=0.003 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.01");
  EXPECT_EQ(test::made_workload("resnet20", 128).optimizer.to_string(), "sgd lr=0.05 momentum=0.9 weight_decay=0.0001");
}

TEST(Models, InitialWeightsFollowTheirDistribution) {
  const auto backend = make_reference_backend();
  const Program program = make_program(test::made_workload("resnet20", 2), *backend, {Entry::train});
  const auto executable = backend->compile(program);
  initialize(*executable, program, 0);
  std::vector<float> weights(64 * 9 * 64);
  executable->read("layer3.2.conv2.weight", weights);
  double sum = 0, squares = 0;
  for (float w : weights) {
    sum += w;
    squares += static_cast<double>(w) * w;
  }
  const double n = static_cast<double>(weights.size()), deviation = std::sqrt(2.0 / (9 * 64));
  EXPECT_NEAR(sum / n, 0, 5 * deviation / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares / n), deviation, 0.02 * deviation);
  std::vector<float> scale(64), bias(10), rate(1);
  executable->read("layer3.2.bn2.weight", scale);
  EXPECT_THAT(scale, testing::Each(0.0f));
  executable->read("fc.bias", bias);
  for (float b : bias) EXPECT_LE(std::fabs(b), 1 / 8.0f);
  EXPECT_NE(bias[0], bias[1]);
  executable->read("learning_rate", rate);
  EXPECT_FLOAT_EQ(rate[0], 0.1f * 2 / 256);
}

}  // namespace
}  // namespace epochbench
