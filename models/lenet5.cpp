// LeNet-5 (LeCun et al. 1998) in its modern form: 28x28 padded to 32x32, relu, max pooling.
#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

SampleSpec sample(const ModelConfig&) { return {.height = 28, .width = 28, .channels = 1, .classes = 10}; }

OptimizerSpec optimizer(const ModelConfig&) {
  return {.kind = OptimizerSpec::Kind::adamw, .learning_rate = 3e-3, .weight_decay = 0.01, .decay_one_dimensional = false};
}

ValueId build(Graph& graph, const ModelConfig& config) {
  Layers layers(graph, config.training);
  ValueId x = layers.images(config.batch, sample(config));
  x = layers.relu(layers.convolution_with_bias(x, "conv1", {.channels = 6, .kernel = 5, .padding = 2}), "relu1");
  x = layers.max_pool(x, "pool1", 2, 2);  // [batch, 14, 14, 6]
  x = layers.relu(layers.convolution_with_bias(x, "conv2", {.channels = 16, .kernel = 5}), "relu2");
  x = layers.max_pool(x, "pool2", 2, 2);  // [batch, 5, 5, 16]
  x = layers.flatten(x, "flatten");
  x = layers.relu(layers.linear(x, "fc1", 120), "relu3");
  x = layers.relu(layers.linear(x, "fc2", 84), "relu4");
  return layers.linear(x, "fc3", sample(config).classes);
}

}  // namespace

ModelFamily lenet5_family() {
  return {.name = "lenet5",
          .description = "LeNet-5 (LeCun et al. 1998), ReLU, max pooling",
          .options = {},
          .default_data = "digits",
          .default_batch = 64,
          .nominal_epoch = {"MNIST", 60000},
          .sample = sample,
          .optimizer = optimizer,
          .build = build};
}

}  // namespace epochbench
