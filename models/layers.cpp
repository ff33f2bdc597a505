// Layers.
#include "models/layers.h"

#include <cmath>

namespace epochbench {
namespace {

Initializer constant(double value) { return {Initializer::Kind::constant, value}; }
// He et al. 2015.
Initializer normal_fan_out(std::int64_t fan_out) {
  return {Initializer::Kind::normal, std::sqrt(2 / static_cast<double>(fan_out))};
}
PoolAttributes attributes_of(const Layers::Window& window) {
  PoolAttributes attributes{.window = window.size, .stride = window.stride, .padding = window.padding};
  attributes.extra = window.extra;
  attributes.zeros = window.zeros;
  return attributes;
}

}  // namespace

Initializer uniform_fan_in(std::int64_t fan_in) {
  return {Initializer::Kind::uniform, 1 / std::sqrt(static_cast<double>(fan_in))};
}

ValueId Layers::variable(const std::string& name, Shape shape, Initializer initializer, VariableRole role,
                         FileLayout file_layout) {
  Variable variable;
  variable.name = name;
  variable.desc = {std::move(shape), DType::f32};
  variable.role = role;
  variable.initializer = std::move(initializer);
  variable.file_layout = std::move(file_layout);
  return graph_.add_variable(std::move(variable));
}

ValueId Layers::images(std::int64_t batch, const SampleSpec& sample) {
  return graph_.add_input("images", {{batch, sample.height, sample.width, sample.channels}, DType::f32});
}

ValueId Layers::linear(ValueId x, const std::string& name, std::int64_t outputs) {
  const Initializer initializer = uniform_fan_in(graph_.desc(x).shape.back());
  return linear(x, name, outputs, initializer, initializer);
}

ValueId Layers::linear(ValueId x, const std::string& name, std::int64_t outputs, Initializer weight, Initializer bias,
                       bool transposed) {
  const Shape shape{outputs, graph_.desc(x).shape.back()};
  FileLayout layout;
  if (const auto image = flattened_.find(x); image != flattened_.end())
    layout = {{outputs, image->second[1], image->second[2], image->second[3]}, shape};
  if (transposed) layout = {.shape = {shape[1], outputs}, .transposed = true};
  const ValueId matrix = variable(name + ".weight", shape, weight, VariableRole::parameter, std::move(layout));
  const ValueId offset = variable(name + ".bias", {outputs}, bias);
  return linear_node(x, name, matrix, offset);
}

ValueId Layers::linear_node(ValueId x, const std::string& name, ValueId weight, ValueId bias) {
  const ValueId product = graph_.add_node(Op::matmul, MatmulAttributes{.transpose_b = true}, {x, weight}, name)[0];
  return graph_.add_node(Op::bias_add, {}, {product, bias}, name + ".bias")[0];
}

std::vector<ValueId> Layers::linear_parts(ValueId x, const std::string& tensor, const std::vector<std::string>& names,
                                          std::int64_t outputs, const Initializer& weight, const Initializer& bias,
                                          bool transposed) {
  const std::int64_t inputs = graph_.desc(x).shape.back(), all = outputs * static_cast<std::int64_t>(names.size());
  const auto parts = [&](const std::string& what, const Shape& shape, const Shape& whole, const Initializer& initializer,
                         bool columns) {
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < names.size(); ++i)
      values.push_back(variable(names[i] + "." + what, shape, initializer, VariableRole::parameter,
                                {.shape = whole,
                                 .tensor = tensor + what,
                                 .first_row = static_cast<std::int64_t>(i) * outputs,
                                 .transposed = columns}));
    return values;
  };
  const auto weights =
      parts("weight", {outputs, inputs}, transposed ? Shape{inputs, all} : Shape{all, inputs}, weight, transposed);
  const auto biases = parts("bias", {outputs}, {all}, bias, false);
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < names.size(); ++i) results.push_back(linear_node(x, names[i], weights[i], biases[i]));
  return results;
}

ValueId Layers::relu(ValueId x, const std::string& name) { return graph_.add_node(Op::relu, {}, {x}, name)[0]; }

ValueId Layers::relu6(ValueId x, const std::string& name) { return graph_.add_node(Op::relu6, {}, {x}, name)[0]; }

ValueId Layers::silu(ValueId x, const std::string& name) { return graph_.add_node(Op::silu, {}, {x}, name)[0]; }

ValueId Layers::gelu(ValueId x, const std::string& name) { return graph_.add_node(Op::gelu, {}, {x}, name)[0]; }

ValueId Layers::gelu_tanh(ValueId x, const std::string& name) {
  return graph_.add_node(Op::gelu, GeluAttributes{.tanh = true}, {x}, name)[0];
}

ValueId Layers::add(ValueId a, ValueId b, const std::string& name) { return graph_.add_node(Op::add, {}, {a, b}, name)[0]; }

ValueId Layers::flatten(ValueId x, const std::string& name) {
  const TensorDesc desc = graph_.desc(x);
  const std::int64_t batch = desc.shape[0];
  const ValueId y = graph_.add_node(Op::reshape, ReshapeAttributes{{batch, desc.elements() / batch}}, {x}, name)[0];
  if (desc.shape.size() == 4) flattened_[y] = desc.shape;
  return y;
}

ValueId Layers::convolution_node(ValueId x, const std::string& name, const Convolution& spec, Initializer initializer) {
  const std::int64_t channels = graph_.desc(x).shape[3];
  const Shape shape{spec.channels, spec.kernel, spec.kernel, channels};
  const ValueId weight = variable(name + ".weight", shape, initializer, VariableRole::parameter,
                                  {shape, {spec.channels, channels, spec.kernel, spec.kernel}});
  const Conv2dAttributes attributes{.stride = spec.stride, .padding = spec.padding};
  return graph_.add_node(Op::conv2d, attributes, {x, weight}, name)[0];
}

ValueId Layers::convolution_with_bias(ValueId x, const std::string& name, const Convolution& spec) {
  const Initializer initializer = uniform_fan_in(spec.kernel * spec.kernel * graph_.desc(x).shape[3]);
  return convolution_with_bias(x, name, spec, initializer, initializer);
}

ValueId Layers::convolution_with_bias(ValueId x, const std::string& name, const Convolution& spec, const Initializer& weight,
                                      const Initializer& bias) {
  const ValueId y = convolution_node(x, name, spec, weight), offset = variable(name + ".bias", {spec.channels}, bias);
  return graph_.add_node(Op::bias_add, {}, {y, offset}, name + ".bias")[0];
}

ValueId Layers::convolution(ValueId x, const std::string& name, const Convolution& spec) {
  return convolution(x, name, spec, normal_fan_out(spec.kernel * spec.kernel * spec.channels));
}

ValueId Layers::convolution(ValueId x, const std::string& name, const Convolution& spec, const Initializer& weight) {
  return convolution_node(x, name, spec, weight);
}

ValueId Layers::depthwise_convolution(ValueId x, const std::string& name, std::int64_t kernel, std::int64_t stride) {
  return depthwise_convolution(x, name, {.size = kernel, .stride = stride, .padding = kernel / 2},
                               normal_fan_out(kernel * kernel * graph_.desc(x).shape[3]));
}

ValueId Layers::depthwise_convolution(ValueId x, const std::string& name, const Window& window, const Initializer& weight) {
  const std::int64_t channels = graph_.desc(x).shape[3], kernel = window.size;
  const ValueId taps = variable(name + ".weight", {kernel, kernel, channels}, weight, VariableRole::parameter,
                                {{1, kernel, kernel, channels}, {channels, 1, kernel, kernel}});
  DepthwiseConv2dAttributes attributes{.stride = window.stride, .padding = window.padding};
  attributes.extra = window.extra;
  return graph_.add_node(Op::depthwise_conv2d, attributes, {x, taps}, name)[0];
}

ValueId Layers::squeeze_excite(ValueId x, const std::string& name, std::int64_t squeezed) {
  const auto layer = [&](ValueId y, const std::string& part, std::int64_t outputs) {
    const std::int64_t inputs = graph_.desc(y).shape[1];
    const ValueId weight = variable(part + ".weight", {outputs, inputs}, normal_fan_out(outputs), VariableRole::parameter,
                                    {.shape = {outputs, inputs, 1, 1}});
    return linear_node(y, part, weight, variable(part + ".bias", {outputs}, constant(0)));
  };
  ValueId y = silu(layer(global_average_pool(x, name + ".avgpool"), name + ".fc1", squeezed), name + ".activation");
  y = layer(y, name + ".fc2", graph_.desc(x).shape[3]);
  y = graph_.add_node(Op::sigmoid, {}, {y}, name + ".scale_activation")[0];
  return graph_.add_node(Op::scale_channels, {}, {x, y}, name + ".scale")[0];
}

ValueId Layers::step() { return graph_.add_variable({"step", {{1}, DType::i32}, VariableRole::control, {}}); }

ValueId Layers::drop(Op op, ValueId x, const std::string& name, double probability) {
  if (!training_ || probability == 0) return x;
  return graph_.add_node(op, DropoutAttributes{probability}, {x, step()}, name)[0];
}

ValueId Layers::dropout(ValueId x, const std::string& name, double probability) {
  return drop(Op::dropout, x, name, probability);
}

ValueId Layers::stochastic_depth(ValueId x, const std::string& name, double probability) {
  return drop(Op::stochastic_depth, x, name, probability);
}

ValueId Layers::batch_norm(ValueId x, const std::string& name, double scale, double epsilon) {
  const Shape per_channel{graph_.desc(x).shape.back()};
  const std::vector<ValueId> inputs{x, variable(name + ".weight", per_channel, constant(scale)),
                                    variable(name + ".bias", per_channel, constant(0)),
                                    variable(name + ".running_mean", per_channel, constant(0), VariableRole::statistic),
                                    variable(name + ".running_var", per_channel, constant(1), VariableRole::statistic)};
  return graph_.add_node(training_ ? Op::batch_norm : Op::batch_norm_inference, BatchNormAttributes{.epsilon = epsilon}, inputs,
                         name)[0];
}

ValueId Layers::layer_norm(ValueId x, const std::string& name, double epsilon) {
  const Shape per_channel{graph_.desc(x).shape.back()};
  const std::vector<ValueId> inputs{x, variable(name + ".weight", per_channel, constant(1)),
                                    variable(name + ".bias", per_channel, constant(0))};
  return graph_.add_node(Op::layer_norm, LayerNormAttributes{epsilon}, inputs, name)[0];
}

ValueId Layers::max_pool(ValueId x, const std::string& name, std::int64_t window, std::int64_t stride, std::int64_t padding) {
  return max_pool(x, name, {.size = window, .stride = stride, .padding = padding});
}

ValueId Layers::max_pool(ValueId x, const std::string& name, const Window& window) {
  return graph_.add_node(Op::max_pool, attributes_of(window), {x}, name)[0];
}

ValueId Layers::average_pool(ValueId x, const std::string& name, const Window& window) {
  return graph_.add_node(Op::average_pool, attributes_of(window), {x}, name)[0];
}

ValueId Layers::concatenate(const std::vector<ValueId>& parts, const std::string& name) {
  return graph_.add_node(Op::concatenate, {}, parts, name)[0];
}

ValueId Layers::global_average_pool(ValueId x, const std::string& name) {
  return graph_.add_node(Op::global_average_pool, {}, {x}, name)[0];
}

ValueId Layers::basic_block_body(ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride) {
  ValueId y = convolution(x, name + ".conv1", {.channels = channels, .kernel = 3, .stride = stride, .padding = 1});
  y = relu(batch_norm(y, name + ".bn1"), name + ".relu1");
  y = convolution(y, name + ".conv2", {.channels = channels, .kernel = 3, .padding = 1});
  return batch_norm(y, name + ".bn2", 0);
}

ValueId Layers::projection(ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride) {
  x = convolution(x, name + ".downsample.0", {.channels = channels, .kernel = 1, .stride = stride});
  return batch_norm(x, name + ".downsample.1");
}

}  // namespace epochbench
