// ResNet-20 for images of 32x32, or of any size (He et al. 2015, section 4.2), with projection shortcuts (1x1 convolution and
// batch norm).
#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr int kBlocksPerStage = 3;

// The paper's schedule, scaled linearly with the batch (Goyal et al. 2017).
OptimizerSpec optimizer(const ModelConfig& config) {
  return {.kind = OptimizerSpec::Kind::sgd,
          .learning_rate = 0.1 * static_cast<double>(config.batch) / 256,
          .momentum = 0.9,
          .weight_decay = 1e-4};
}

ValueId build(Graph& graph, const ModelConfig& config) {
  Layers layers(graph, config.training);
  ValueId x = layers.images(config.batch, sized_image(config));
  x = layers.convolution(x, "conv1", {.channels = 16, .kernel = 3, .padding = 1});
  x = layers.relu(layers.batch_norm(x, "bn1"), "relu");
  for (int stage = 0; stage < 3; ++stage)
    for (int block = 0; block < kBlocksPerStage; ++block) {
      const bool narrows = stage > 0 && block == 0;
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      const std::int64_t channels = std::int64_t{16} << stage, stride = narrows ? 2 : 1;
      const ValueId y = layers.basic_block_body(x, name, channels, stride);
      if (narrows) x = layers.projection(x, name, channels, stride);
      x = layers.relu(layers.add(y, x, name + ".add"), name + ".relu");
    }
  return layers.linear(layers.global_average_pool(x, "avgpool"), "fc", sized_image(config).classes);
}

}  // namespace

ModelFamily resnet20_family() {
  return {.name = "resnet20",
          .description = "ResNet-20 for CIFAR-10 (He et al. 2015), projection shortcuts",
          .options = {{"height", 32, 32, 8192}, {"width", 32, 32, 8192}, {"classes", 10, 2, kMaxClasses}},
          .default_data = "synthetic",
          .default_batch = 128,
          .nominal_epoch = {"CIFAR-10", 50000},
          .sample = sized_image,
          .optimizer = optimizer,
          .build = build};
}

}  // namespace epochbench
