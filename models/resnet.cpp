// ResNet for images of 224x224, or of any size, because it is convolutional up to the global average (He et al. 2015): basic
// blocks for 18 and 34 layers, bottlenecks for 50, 101 and 152, in the variant v1.5, which has the stride in the 3x3
// convolution. Parameter names and shapes are torchvision's.
#include <array>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

// The paper's schedule, scaled linearly with the batch (Goyal et al. 2017).
OptimizerSpec optimizer(const ModelConfig& config) {
  return {.kind = OptimizerSpec::Kind::sgd,
          .learning_rate = 0.1 * static_cast<double>(config.batch) / 256,
          .momentum = 0.9,
          .weight_decay = 1e-4};
}

struct Depth {
  std::array<int, 4> blocks;  // per stage
  bool bottleneck;
};

// 1x1 down to `channels`, 3x3, 1x1 up to four times as many; the last batch norm's scale starts at 0.
ValueId bottleneck(Layers& layers, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride) {
  ValueId y = layers.convolution(x, name + ".conv1", {.channels = channels, .kernel = 1});
  y = layers.relu(layers.batch_norm(y, name + ".bn1"), name + ".relu1");
  y = layers.convolution(y, name + ".conv2", {.channels = channels, .kernel = 3, .stride = stride, .padding = 1});
  y = layers.relu(layers.batch_norm(y, name + ".bn2"), name + ".relu2");
  y = layers.convolution(y, name + ".conv3", {.channels = 4 * channels, .kernel = 1});
  return layers.batch_norm(y, name + ".bn3", 0);
}

ValueId build(Graph& graph, const ModelConfig& config, const Depth& depth) {
  Layers layers(graph, config.training);
  ValueId x = layers.images(config.batch, sized_image(config));
  x = layers.convolution(x, "conv1", {.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  x = layers.relu(layers.batch_norm(x, "bn1"), "relu");
  x = layers.max_pool(x, "maxpool", 3, 2, 1);
  for (std::size_t stage = 0; stage < depth.blocks.size(); ++stage)
    for (int block = 0; block < depth.blocks[stage]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      const std::int64_t channels = std::int64_t{64} << stage, stride = stage > 0 && block == 0 ? 2 : 1;
      const std::int64_t out_channels = depth.bottleneck ? 4 * channels : channels;
      const ValueId y =
          depth.bottleneck ? bottleneck(layers, x, name, channels, stride) : layers.basic_block_body(x, name, channels, stride);
      if (graph.desc(x).shape.back() != out_channels || stride != 1) x = layers.projection(x, name, out_channels, stride);
      x = layers.relu(layers.add(y, x, name + ".add"), name + ".relu");
    }
  return layers.linear(layers.global_average_pool(x, "avgpool"), "fc", sized_image(config).classes);
}

template <int kLayers>
constexpr Depth kDepth{};
template <>
constexpr Depth kDepth<18>{{2, 2, 2, 2}, false};
template <>
constexpr Depth kDepth<34>{{3, 4, 6, 3}, false};
template <>
constexpr Depth kDepth<50>{{3, 4, 6, 3}, true};
template <>
constexpr Depth kDepth<101>{{3, 4, 23, 3}, true};
template <>
constexpr Depth kDepth<152>{{3, 8, 36, 3}, true};

template <int kLayers>
ModelFamily family() {
  return {.name = "resnet" + std::to_string(kLayers),
          .description = "ResNet-" + std::to_string(kLayers) + " v1.5, 224x224, 1,000 classes (He et al. 2015)",
          .options = {{"height", 224, 64, 8192}, {"width", 224, 64, 8192}, {"classes", 1000, 2, kMaxClasses}},
          .default_data = "synthetic",
          .default_batch = 16,
          .nominal_epoch = {"ImageNet", 1281167},
          .sample = sized_image,
          .optimizer = optimizer,
          .build = [](Graph& graph, const ModelConfig& config) { return build(graph, config, kDepth<kLayers>); }};
}

}  // namespace

std::vector<ModelFamily> resnet_families() { return {family<18>(), family<34>(), family<50>(), family<101>(), family<152>()}; }

}  // namespace epochbench
