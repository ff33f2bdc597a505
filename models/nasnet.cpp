// NASNet-A (Zoph et al. 2018) for images of any size: cells found by search, each reading the outputs of the two cells
// before it. Names, shapes, padding and initial weights are those of timm's NASNetALarge. Without the auxiliary head and
// without dropping paths.
//
// If several parts of a cell need the same relu or pooling of a value, the graph computes it once.
#include <algorithm>
#include <map>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr double kDropout = 0.5;  // before the classifier
constexpr double kEpsilon = 0.001;

// The published weight decay, but SGD in place of RMSProp, with a rate scaled linearly with the batch (Goyal et al. 2017).
OptimizerSpec optimizer(const ModelConfig& config) {
  return {.kind = OptimizerSpec::Kind::sgd,
          .learning_rate = 0.045 * static_cast<double>(config.batch) / 256,
          .momentum = 0.9,
          .weight_decay = 4e-5};
}

// TensorFlow computes padding from the extent and a stride of 2; it must be the same along both axes.
std::string problem(const std::map<std::string, std::int64_t>& options) {
  const std::int64_t height = options.at("height"), width = options.at("width"), filters = options.at("filters");
  if (filters % 4 != 0) return "filters=" + std::to_string(filters) + " must be a multiple of 4";
  if ((height - width) % 32 != 0)
    return "height=" + std::to_string(height) + " and width=" + std::to_string(width) +
           " must be the same or differ by a multiple of 32";
  return "";
}

class NasNet {
 public:
  NasNet(Graph& graph, const ModelConfig& config, std::int64_t stem)
      : graph_(graph), layers_(graph, config.training), config_(config), stem_(stem) {}

  ValueId build() {
    const SampleSpec sample = sized_image(config_);
    const std::int64_t filters = config_.options.at("filters"), cells = config_.options.at("cells");
    const Layers::Convolution first{.channels = stem_, .kernel = 3, .stride = 2};
    ValueId x = layers_.images(config_.batch, sample);
    x = normalized(layers_.convolution(x, "conv0.conv", first, uniform_fan_in(27)), "conv0.bn");
    ValueId before = stem_0(x, "cell_stem_0", filters / 4);
    x = stem_1(x, before, "cell_stem_1", filters / 2);
    for (std::int64_t stage = 0; stage < 3; ++stage)
      for (std::int64_t cell = 0; cell < cells; ++cell) {
        // The stages start at cells 0, 6 and 12 even if they have fewer, as in the published weights of the small model.
        const std::int64_t number = stage * std::max<std::int64_t>(cells, 6) + cell;
        const std::int64_t channels = filters << stage;
        ValueId previous = before;
        before = x;
        if (stage > 0 && cell == 0)
          x = before = reduction_cell(x, previous, "reduction_cell_" + std::to_string(stage - 1), channels);
        x = cell_of(x, previous, "cell_" + std::to_string(number), channels, cell == 0);
      }
    x = layers_.global_average_pool(relu(x), "global_pool");
    x = layers_.dropout(x, "head_drop", config_.dropout >= 0 ? config_.dropout : kDropout);
    return layers_.linear(x, "last_linear", sample.classes);
  }

 private:
  std::int64_t channels_of(ValueId x) const { return graph_.desc(x).shape[3]; }

  // Calls make() only the first time that `what` of x is requested.
  template <typename Make>
  ValueId once(const char* what, ValueId x, Make make) {
    const auto [found, added] = made_.try_emplace({what, x}, kNoValue);
    if (added) found->second = make(graph_.value(x).name + "." + what);
    return found->second;
  }
  ValueId relu(ValueId x) {
    return once("relu", x, [&](const std::string& name) { return layers_.relu(x, name); });
  }

  // TensorFlow's "same" padding: with an odd number of pixels, one more at the end.
  Layers::Window same(ValueId x, std::int64_t size, std::int64_t stride) const {
    const std::int64_t extent = graph_.desc(x).shape[1], out = (extent + stride - 1) / stride;
    const std::int64_t padding = std::max<std::int64_t>((out - 1) * stride + size - extent, 0);
    return {.size = size, .stride = stride, .padding = padding / 2, .extra = padding % 2};
  }
  ValueId max_pool(ValueId x) {
    return once("max_pool", x, [&](const std::string& name) { return layers_.max_pool(x, name, same(x, 3, 2)); });
  }
  // With a stride of 2, timm's layer pads x itself, so the zeros count in the mean.
  ValueId average_pool(ValueId x, std::int64_t stride) {
    Layers::Window window = same(x, 3, stride);
    window.zeros = stride == 2;
    return once(stride == 2 ? "average_pool_2" : "average_pool", x,
                [&](const std::string& name) { return layers_.average_pool(x, name, window); });
  }

  ValueId normalized(ValueId x, const std::string& name) { return layers_.batch_norm(x, name, 1, kEpsilon); }

  ValueId pointwise(ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride = 1) {
    return layers_.convolution(x, name, {.channels = channels, .kernel = 1, .stride = stride}, uniform_fan_in(channels_of(x)));
  }

  ValueId squeezed(ValueId x, const std::string& name, std::int64_t channels) {
    return normalized(pointwise(relu(x), name + ".conv", channels), name + ".bn");
  }

  // Halves height and width: channels of every second pixel, and of the pixels one further along both axes.
  ValueId halved(ValueId x, const std::string& name, std::int64_t channels) {
    const Layers::Window one_further{.size = 1, .stride = 2, .padding = -1, .extra = 2, .zeros = true};
    x = relu(x);
    const ValueId even = pointwise(x, name + ".path_1.conv", channels / 2, 2);
    const ValueId odd = pointwise(layers_.average_pool(x, name + ".path_2.avgpool", one_further), name + ".path_2.conv",
                                  channels - channels / 2);
    return normalized(layers_.concatenate({even, odd}, name + ".path"), name + ".final_path_bn");
  }

  ValueId separable(ValueId x, const std::string& name, std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1) {
    const Initializer of_taps = uniform_fan_in(kernel * kernel);
    x = relu(x);
    for (const char* part : {"1", "2"}) {
      const std::string convolution = name + ".separable_" + part;
      if (*part == '2') x = relu(x);
      x = layers_.depthwise_convolution(x, convolution + ".depthwise_conv2d", same(x, kernel, *part == '1' ? stride : 1),
                                        of_taps);
      x = normalized(pointwise(x, convolution + ".pointwise_conv2d", channels), name + ".bn_sep_" + part);
    }
    return x;
  }

  ValueId stem_0(ValueId x, const std::string& name, std::int64_t channels) {
    return reduction(squeezed(x, name + ".conv_1x1", channels), x, name, channels);
  }

  ValueId stem_1(ValueId image, ValueId x, const std::string& name, std::int64_t channels) {
    const ValueId left = squeezed(x, name + ".conv_1x1", channels);
    return reduction(left, halved(image, name, channels), name, channels);
  }

  ValueId reduction_cell(ValueId x, ValueId previous, const std::string& name, std::int64_t channels) {
    const ValueId left = squeezed(previous, name + ".conv_prev_1x1", channels);
    return reduction(squeezed(x, name + ".conv_1x1", channels), left, name, channels);
  }

  // Shared by the two stems and the reduction cells.
  ValueId reduction(ValueId a, ValueId b, const std::string& name, std::int64_t channels) {
    const auto part = [&](ValueId x, const char* which, std::int64_t kernel, std::int64_t stride) {
      return separable(x, name + ".comb_iter_" + which, channels, kernel, stride);
    };
    const auto sum = [&](ValueId x, ValueId y, int which) {
      return layers_.add(x, y, name + ".comb_iter_" + std::to_string(which));
    };
    // Separate statements: compilers evaluate the arguments of a call in different orders, and the order is part of the graph.
    const ValueId left_0 = part(a, "0_left", 5, 2), first = sum(left_0, part(b, "0_right", 7, 2), 0);
    const ValueId right_1 = part(b, "1_right", 7, 2), second = sum(max_pool(a), right_1, 1);
    const ValueId right_2 = part(b, "2_right", 5, 2), third = sum(average_pool(a, 2), right_2, 2);
    const ValueId fourth = sum(average_pool(first, 1), second, 3);
    const ValueId fifth = sum(part(first, "4_left", 3, 1), max_pool(a), 4);
    return layers_.concatenate({second, third, fourth, fifth}, name);
  }

  // `halves`: `previous` is twice as high and wide as x.
  ValueId cell_of(ValueId x, ValueId previous, const std::string& name, std::int64_t channels, bool halves) {
    const auto part = [&](ValueId y, const char* which, std::int64_t kernel) {
      return separable(y, name + ".comb_iter_" + which, channels, kernel);
    };
    const auto sum = [&](ValueId y, ValueId z, int which) {
      return layers_.add(y, z, name + ".comb_iter_" + std::to_string(which));
    };
    const ValueId left = halves ? halved(previous, name, channels) : squeezed(previous, name + ".conv_prev_1x1", channels);
    const ValueId right = squeezed(x, name + ".conv_1x1", channels);
    const ValueId left_0 = part(right, "0_left", 5), first = sum(left_0, part(left, "0_right", 3), 0);
    const ValueId left_1 = part(left, "1_left", 5), second = sum(left_1, part(left, "1_right", 3), 1);
    const ValueId third = sum(average_pool(right, 1), left, 2);
    const ValueId mean = average_pool(left, 1), fourth = sum(mean, mean, 3);
    const ValueId fifth = sum(part(right, "4_left", 3), right, 4);
    return layers_.concatenate({left, first, second, third, fourth, fifth}, name);
  }

  Graph& graph_;
  Layers layers_;
  const ModelConfig& config_;
  std::int64_t stem_;  // channels of the first convolution
  std::map<std::pair<std::string, ValueId>, ValueId> made_;
};

template <std::int64_t kStem>
ModelFamily family(const char* name, const char* description, std::int64_t size, std::int64_t filters, std::int64_t cells,
                   std::int64_t batch) {
  return {.name = name,
          .description = description,
          .options = {{"height", size, 32, 8192},
                      {"width", size, 32, 8192},
                      {"classes", 1000, 2, kMaxClasses},
                      {"filters", filters, 4, 4096},
                      {"cells", cells, 1, 64}},
          .problem = problem,
          .default_data = "synthetic",
          .default_batch = batch,
          .nominal_epoch = {"ImageNet", 1281167},
          .dropout = kDropout,
          .sample = sized_image,
          .optimizer = optimizer,
          .build = [](Graph& graph, const ModelConfig& config) { return NasNet(graph, config, kStem).build(); }};
}

}  // namespace

std::vector<ModelFamily> nasnet_families() {
  return {family<32>("nasnet-mobile", "NASNet-A (4 @ 1056), 224x224, 1,000 classes (Zoph et al. 2018)", 224, 44, 4, 16),
          family<96>("nasnet-large", "NASNet-A (6 @ 4032), 331x331, 1,000 classes (Zoph et al. 2018)", 331, 168, 6, 4)};
}

}  // namespace epochbench
