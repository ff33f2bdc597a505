// EfficientNet (Tan and Le 2019) for images of any size: MobileNetV2's inverted residuals with SiLU, squeeze-and-excitation and
// stochastic depth. Names, shapes, initial weights, dropout and padding are torchvision's; `--dropout 0` also disables
// stochastic depth.
#include <array>
#include <cmath>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr double kStochasticDepth = 0.2;  // of a block after the last; it grows linearly from 0

// The paper's weight decay, but SGD in place of RMSProp, with the learning rate of ResNets, scaled linearly with the batch
// (Goyal et al. 2017).
OptimizerSpec optimizer(const ModelConfig& config) {
  return {.kind = OptimizerSpec::Kind::sgd,
          .learning_rate = 0.1 * static_cast<double>(config.batch) / 256,
          .momentum = 0.9,
          .weight_decay = 1e-5};
}

struct Size {
  double width, depth, dropout;
};

struct Stage {
  std::int64_t expansion, kernel, stride, channels, blocks;
};
constexpr std::array<Stage, 7> kStages{{{1, 3, 1, 16, 1},
                                        {6, 3, 2, 24, 2},
                                        {6, 5, 2, 40, 2},
                                        {6, 3, 2, 80, 3},
                                        {6, 5, 1, 112, 3},
                                        {6, 5, 2, 192, 4},
                                        {6, 3, 1, 320, 1}}};

class EfficientNet {
 public:
  EfficientNet(Graph& graph, const ModelConfig& config, const Size& size)
      : graph_(graph),
        layers_(graph, config.training),
        config_(config),
        size_(size),
        width_(size.width * static_cast<double>(config.options.at("width-multiplier")) / 100) {
    for (const Stage& stage : kStages) all_blocks_ += blocks_of(stage);
  }

  ValueId build() {
    const SampleSpec sample = sized_image(config_);
    ValueId x = layers_.images(config_.batch, sample);
    const std::int64_t first = scaled_channels(32, width_);
    x = activated(layers_.convolution(x, "features.0.0", {.channels = first, .kernel = 3, .stride = 2, .padding = 1}),
                  "features.0");
    for (std::size_t i = 0; i < kStages.size(); ++i)
      for (std::int64_t block = 0; block < blocks_of(kStages[i]); ++block)
        x = inverted_residual(x, "features." + std::to_string(i + 1) + "." + std::to_string(block), kStages[i],
                              block == 0 ? kStages[i].stride : 1);
    const std::string last = "features." + std::to_string(kStages.size() + 1);
    x = activated(layers_.convolution(x, last + ".0", {.channels = 4 * graph_.desc(x).shape[3], .kernel = 1}), last);
    x = layers_.dropout(layers_.global_average_pool(x, "avgpool"), "classifier.0", dropout());
    const double bound = 1 / std::sqrt(static_cast<double>(sample.classes));
    return layers_.linear(x, "classifier.1", sample.classes, {Initializer::Kind::uniform, bound}, {});
  }

 private:
  std::int64_t blocks_of(const Stage& stage) const {
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(stage.blocks) * size_.depth));
  }
  double dropout() const { return config_.dropout >= 0 ? config_.dropout : size_.dropout; }

  // Batch norm and SiLU after a convolution: parts 1 and 2 of `name`.
  ValueId activated(ValueId x, const std::string& name) {
    return layers_.silu(layers_.batch_norm(x, name + ".1"), name + ".2");
  }

  ValueId inverted_residual(ValueId x, const std::string& name, const Stage& stage, std::int64_t stride) {
    const std::int64_t in = graph_.desc(x).shape[3], out = scaled_channels(stage.channels, width_);
    const double depth =
        dropout() == 0 ? 0 : kStochasticDepth * static_cast<double>(block_++) / static_cast<double>(all_blocks_);
    int part = 0;
    const auto next = [&] { return name + ".block." + std::to_string(part++); };
    ValueId y = x;
    if (stage.expansion != 1) {
      const std::string expand = next();
      const std::int64_t wide = scaled_channels(in * stage.expansion, 1);
      y = activated(layers_.convolution(y, expand + ".0", {.channels = wide, .kernel = 1}), expand);
    }
    const std::string filter = next();
    y = activated(layers_.depthwise_convolution(y, filter + ".0", stage.kernel, stride), filter);
    y = layers_.squeeze_excite(y, next(), std::max<std::int64_t>(1, in / 4));
    const std::string project = next();
    y = layers_.batch_norm(layers_.convolution(y, project + ".0", {.channels = out, .kernel = 1}), project + ".1");
    if (stride != 1 || in != out) return y;
    return layers_.add(layers_.stochastic_depth(y, name + ".stochastic_depth", depth), x, name + ".add");
  }

  Graph& graph_;
  Layers layers_;
  const ModelConfig& config_;
  Size size_;
  double width_;
  std::int64_t all_blocks_ = 0, block_ = 0;
};

template <int kVariant>
constexpr Size kSize{};
template <>
constexpr Size kSize<0>{1.0, 1.0, 0.2};
template <>
constexpr Size kSize<2>{1.1, 1.2, 0.3};

template <int kVariant, int kPixels>
ModelFamily family() {
  const std::string pixels = std::to_string(kPixels);
  return {
      .name = "efficientnet-b" + std::to_string(kVariant),
      .description = "EfficientNet-B" + std::to_string(kVariant) + ", " + pixels + "x" + pixels +
                     ", 1,000 classes (Tan and Le 2019); width-multiplier in percent",
      .options = {{"height", kPixels, 32, 8192},
                  {"width", kPixels, 32, 8192},
                  {"classes", 1000, 2, kMaxClasses},
                  {"width-multiplier", 100, 10, 400}},
      .default_data = "synthetic",
      .default_batch = 16,
      .nominal_epoch = {"ImageNet", 1281167},
      .dropout = kSize<kVariant>.dropout,
      .sample = sized_image,
      .optimizer = optimizer,
      .build = [](Graph& graph, const ModelConfig& config) { return EfficientNet(graph, config, kSize<kVariant>).build(); }};
}

}  // namespace

std::vector<ModelFamily> efficientnet_families() { return {family<0, 224>(), family<2, 288>()}; }

}  // namespace epochbench
