// MobileNetV2 (Sandler et al. 2018) for images of any size: inverted residuals, which widen, filter each channel separately and
// narrow again without an activation. Names, shapes, initial weights and dropout are torchvision's.
#include <array>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr double kDropout = 0.2;  // before the classifier
constexpr double kClassifierDeviation = 0.01;

// torchvision's recipe, for batches of 256 without its schedule, scaled linearly with the batch (Goyal et al. 2017).
OptimizerSpec optimizer(const ModelConfig& config) {
  return {.kind = OptimizerSpec::Kind::sgd,
          .learning_rate = 0.045 * static_cast<double>(config.batch) / 256,
          .momentum = 0.9,
          .weight_decay = 4e-5};
}

struct Stage {
  std::int64_t expansion, channels, blocks, stride;
};
constexpr std::array<Stage, 7> kStages{
    {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};

class MobileNetV2 {
 public:
  MobileNetV2(Graph& graph, const ModelConfig& config)
      : graph_(graph),
        layers_(graph, config.training),
        config_(config),
        multiplier_(static_cast<double>(config.options.at("width-multiplier")) / 100) {}

  ValueId build() {
    const SampleSpec sample = sized_image(config_);
    ValueId x = layers_.images(config_.batch, sample);
    const std::int64_t first = scaled_channels(32, multiplier_);
    x = activated(layers_.convolution(x, "features.0.0", {.channels = first, .kernel = 3, .stride = 2, .padding = 1}),
                  "features.0");
    int feature = 1;
    for (const Stage& stage : kStages)
      for (std::int64_t block = 0; block < stage.blocks; ++block)
        x = inverted_residual(x, "features." + std::to_string(feature++), stage, block == 0 ? stage.stride : 1);
    const std::string last = "features." + std::to_string(feature);
    x = activated(layers_.convolution(x, last + ".0", {.channels = last_channels(), .kernel = 1}), last);
    x = layers_.global_average_pool(x, "avgpool");
    x = layers_.dropout(x, "classifier.0", config_.dropout >= 0 ? config_.dropout : kDropout);
    return layers_.linear(x, "classifier.1", sample.classes, {Initializer::Kind::normal, kClassifierDeviation}, {});
  }

 private:
  std::int64_t last_channels() const { return scaled_channels(1280, std::max(1.0, multiplier_)); }

  // Batch norm and ReLU6 after a convolution: parts 1 and 2 of `name`.
  ValueId activated(ValueId x, const std::string& name) {
    return layers_.relu6(layers_.batch_norm(x, name + ".1"), name + ".2");
  }

  ValueId inverted_residual(ValueId x, const std::string& name, const Stage& stage, std::int64_t stride) {
    const std::int64_t in = graph_.desc(x).shape[3], out = scaled_channels(stage.channels, multiplier_);
    int part = 0;
    const auto next = [&] { return name + ".conv." + std::to_string(part++); };
    ValueId y = x;
    if (stage.expansion != 1) {
      const std::string expand = next();
      y = activated(layers_.convolution(y, expand + ".0", {.channels = in * stage.expansion, .kernel = 1}), expand);
    }
    const std::string filter = next();
    y = activated(layers_.depthwise_convolution(y, filter + ".0", 3, stride), filter);
    y = layers_.convolution(y, next(), {.channels = out, .kernel = 1});
    y = layers_.batch_norm(y, next());
    return stride == 1 && in == out ? layers_.add(x, y, name + ".add") : y;
  }

  Graph& graph_;
  Layers layers_;
  const ModelConfig& config_;
  double multiplier_;
};

}  // namespace

ModelFamily mobilenet_v2_family() {
  return {.name = "mobilenet-v2",
          .description = "MobileNetV2, 224x224, 1,000 classes (Sandler et al. 2018); width-multiplier in percent",
          .options = {{"height", 224, 32, 8192},
                      {"width", 224, 32, 8192},
                      {"classes", 1000, 2, kMaxClasses},
                      {"width-multiplier", 100, 10, 400}},
          .default_data = "synthetic",
          .default_batch = 16,
          .nominal_epoch = {"ImageNet", 1281167},
          .dropout = kDropout,
          .sample = sized_image,
          .optimizer = optimizer,
          .build = [](Graph& graph, const ModelConfig& config) { return MobileNetV2(graph, config).build(); }};
}

}  // namespace epochbench
