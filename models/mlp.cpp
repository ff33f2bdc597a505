// A multilayer perceptron: 28x28 -> width, `depth` times -> 10, with ReLU in between.
#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

SampleSpec sample(const ModelConfig&) { return {.height = 28, .width = 28, .channels = 1, .classes = 10}; }

OptimizerSpec optimizer(const ModelConfig&) {
  return {.kind = OptimizerSpec::Kind::adamw, .learning_rate = 1e-3, .weight_decay = 0.01, .decay_one_dimensional = false};
}

ValueId build(Graph& graph, const ModelConfig& config) {
  Layers layers(graph, config.training);
  ValueId x = layers.flatten(layers.images(config.batch, sample(config)), "flatten");
  const std::int64_t depth = config.options.at("depth");
  for (std::int64_t i = 1; i <= depth; ++i) {
    const std::string number = std::to_string(i);
    x = layers.relu(layers.linear(x, "fc" + number, config.options.at("width")), "relu" + number);
  }
  return layers.linear(x, "fc" + std::to_string(depth + 1), sample(config).classes);
}

}  // namespace

ModelFamily mlp_family() {
  return {.name = "mlp",
          .description = "multilayer perceptron, 28x28 -> width x depth -> 10, ReLU",
          .options = {{"depth", 2, 1, 64}, {"width", 512, 1, 65536}},
          .default_data = "digits",
          .default_batch = 64,
          .nominal_epoch = {"MNIST", 60000},
          .sample = sample,
          .optimizer = optimizer,
          .build = build};
}

}  // namespace epochbench
