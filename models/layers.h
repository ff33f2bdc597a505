// Layers that several models share: each declares its parameters with their initial distribution and appends its nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "epochbench/graph.h"
#include "epochbench/model.h"

namespace epochbench {

Initializer uniform_fan_in(std::int64_t fan_in);  // +-1/sqrt(fan-in), PyTorch's default

// The dropout rate: in training the config's if given, else the model's own; otherwise 0.
inline double dropout_of(const ModelConfig& config, double own) {
  if (!config.training) return 0;
  return config.dropout >= 0 ? config.dropout : own;
}

// Writes a model's forward graph; `name` arguments are the parameters' prefixes ("layer1.0.conv1").
class Layers {
 public:
  Layers(Graph& graph, bool training) : graph_(graph), training_(training) {}

  ValueId images(std::int64_t batch, const SampleSpec& sample);              // [batch, height, width, channels]
  ValueId linear(ValueId x, const std::string& name, std::int64_t outputs);  // x [batch, inputs]; uniform +-1/sqrt(fan-in)
  // transposed: in files the weight is [inputs, outputs], as in Hugging Face's Conv1D.
  ValueId linear(ValueId x, const std::string& name, std::int64_t outputs, Initializer weight, Initializer bias,
                 bool transposed = false);
  // Several layers with the same input, whose weights and biases in files are rows of tensor + "weight" and tensor + "bias",
  // before the former is transposed.
  std::vector<ValueId> linear_parts(ValueId x, const std::string& tensor, const std::vector<std::string>& names,
                                    std::int64_t outputs, const Initializer& weight, const Initializer& bias,
                                    bool transposed = false);
  ValueId relu(ValueId x, const std::string& name);
  ValueId relu6(ValueId x, const std::string& name);
  ValueId gelu(ValueId x, const std::string& name);
  ValueId gelu_tanh(ValueId x, const std::string& name);
  ValueId silu(ValueId x, const std::string& name);
  ValueId add(ValueId a, ValueId b, const std::string& name);
  // [batch, everything else]. The columns of a linear layer right after it are in the order of a channels-last image.
  ValueId flatten(ValueId x, const std::string& name);

  struct Convolution {
    std::int64_t channels, kernel, stride = 1, padding = 0;
  };
  // With bias; uniform +-1/sqrt(fan-in), PyTorch's default.
  ValueId convolution_with_bias(ValueId x, const std::string& name, const Convolution& spec);
  ValueId convolution_with_bias(ValueId x, const std::string& name, const Convolution& spec, const Initializer& weight,
                                const Initializer& bias);
  // Without bias; normal with standard deviation sqrt(2 / fan-out) (He et al. 2015).
  ValueId convolution(ValueId x, const std::string& name, const Convolution& spec);
  ValueId convolution(ValueId x, const std::string& name, const Convolution& spec, const Initializer& weight);
  // Each channel separately, without bias, padded by half the kernel; normal with standard deviation sqrt(2 / (kernel^2
  // channels)), PyTorch's idea of the fan-out of grouped weights.
  ValueId depthwise_convolution(ValueId x, const std::string& name, std::int64_t kernel, std::int64_t stride);
  struct Window {  // of size x size pixels
    std::int64_t size, stride = 1, padding = 0;
    std::int64_t extra = 0;  // additional padding at the end of an axis
    bool zeros = false;      // whether pixels outside the image count as zeros in a mean
  };
  ValueId depthwise_convolution(ValueId x, const std::string& name, const Window& window, const Initializer& weight);
  // Squeeze-and-excitation (Hu et al. 2018): the mean of every channel, two layers with `squeezed` channels in between, and x
  // times the sigmoid of their output. In files the weights are those of 1x1 convolutions.
  ValueId squeeze_excite(ValueId x, const std::string& name, std::int64_t squeezed);
  ValueId step();  // a variable, i32 [1], which random numbers depend on
  // Zeroes elements or whole samples with this probability in training; returns x, without random numbers, if it is 0.
  ValueId dropout(ValueId x, const std::string& name, double probability);
  ValueId stochastic_depth(ValueId x, const std::string& name, double probability);
  // Scale starts at `scale`, bias at 0; momentum 0.1; uses running statistics when not training.
  ValueId batch_norm(ValueId x, const std::string& name, double scale = 1, double epsilon = 1e-5);
  // Over the last dimension; scale starts at 1, bias at 0.
  ValueId layer_norm(ValueId x, const std::string& name, double epsilon);
  ValueId max_pool(ValueId x, const std::string& name, std::int64_t window, std::int64_t stride, std::int64_t padding = 0);
  ValueId max_pool(ValueId x, const std::string& name, const Window& window);
  ValueId average_pool(ValueId x, const std::string& name, const Window& window);
  ValueId concatenate(const std::vector<ValueId>& parts, const std::string& name);  // along the channels
  ValueId global_average_pool(ValueId x, const std::string& name);

  // Two 3x3 convolutions with batch norms, up to the addition of the shortcut (He et al. 2015). The last scale starts at 0, so
  // that the block initially equals its shortcut (Goyal et al. 2017).
  ValueId basic_block_body(ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride);
  // The shortcut if the shape changes: 1x1 convolution and batch norm, torchvision's "downsample".
  ValueId projection(ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride);

 private:
  ValueId variable(const std::string& name, Shape shape, Initializer initializer, VariableRole role = VariableRole::parameter,
                   FileLayout file_layout = {});
  ValueId linear_node(ValueId x, const std::string& name, ValueId weight, ValueId bias);
  ValueId drop(Op op, ValueId x, const std::string& name, double probability);
  ValueId convolution_node(ValueId x, const std::string& name, const Convolution& spec, Initializer initializer);

  Graph& graph_;
  bool training_;
  std::map<ValueId, Shape> flattened_;  // result of flatten() -> the shape before it
};

}  // namespace epochbench
