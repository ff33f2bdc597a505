// Vision transformers (Dosovitskiy et al. 2020) as torchvision's VisionTransformer: patches of an image and a class token,
// pre-norm layers, and a classifier that reads the class token; no dropout. Names and initial distributions are torchvision's,
// except that normal numbers are not truncated and the classifier does not start at zero, so the first step trains every layer.
#include <cmath>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr double kLayerNormEpsilon = 1e-6, kPositionDeviation = 0.02, kBiasDeviation = 1e-6;

// torchvision's recipe for a batch of 4,096, without its schedule. The learning rate scales with the square root of the batch,
// as it should for optimizers that divide by the gradient's size (Malladi et al. 2022).
OptimizerSpec optimizer(const ModelConfig& config) {
  return {.kind = OptimizerSpec::Kind::adamw,
          .learning_rate = 0.003 * std::sqrt(static_cast<double>(config.batch) / 4096),
          .weight_decay = 0.3,
          .decay_one_dimensional = false};
}

std::string problem(const std::map<std::string, std::int64_t>& options) {
  const std::int64_t patch = options.at("patch");
  for (const char* side : {"height", "width"})
    if (options.at(side) % patch != 0)
      return "patch=" + std::to_string(patch) + " must divide " + side + "=" + std::to_string(options.at(side));
  return problem_of_heads(options);
}

Initializer normal(double deviation) { return {Initializer::Kind::normal, deviation}; }
Initializer uniform(double bound) { return {Initializer::Kind::uniform, bound}; }
// Glorot and Bengio 2010.
Initializer glorot(std::int64_t inputs, std::int64_t outputs) {
  return uniform(std::sqrt(6.0 / static_cast<double>(inputs + outputs)));
}

class Vit {
 public:
  Vit(Graph& graph, const ModelConfig& config)
      : graph_(graph),
        layers_(graph, config.training),
        sample_(sized_image(config)),
        batch_(config.batch),
        units_(config.options.at("units")),
        heads_(config.options.at("heads")),
        count_(config.options.at("layers")),
        patch_(config.options.at("patch")),
        patches_((sample_.height / patch_) * (sample_.width / patch_)) {}

  ValueId build() {
    ValueId x = tokens();
    for (std::int64_t i = 0; i < count_; ++i) x = layer(x, "encoder.layers.encoder_layer_" + std::to_string(i) + ".");
    x = layers_.layer_norm(x, "encoder.ln", kLayerNormEpsilon);
    const ValueId first = graph_.add_node(Op::gather_rows, rows(), {x, positions("class_position", 0, 1)}, "class")[0];
    return layers_.linear(first, "heads.head", sample_.classes);
  }

 private:
  std::int64_t sequence() const { return 1 + patches_; }
  GatherRowsAttributes rows() const { return {.sequence = sequence()}; }

  // `count` positions in each sequence, from `first` on.
  ValueId positions(const std::string& name, std::int64_t first, std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(batch_ * count));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(first + static_cast<std::int64_t>(i) % count);
    return graph_.add_variable(
        {name, {{batch_, count}, DType::i32}, VariableRole::control, {Initializer::Kind::values, 0, std::move(values)}});
  }

  // A table whose tensor in files has an additional leading extent of 1.
  ValueId table(const std::string& name, std::int64_t rows, const Initializer& initializer) {
    Variable variable;
    variable.name = name;
    variable.desc = {{rows, units_}, DType::f32};
    variable.initializer = initializer;
    variable.file_layout.shape = {1, rows, units_};
    return graph_.add_variable(std::move(variable));
  }

  // The class token in front of the projected patches, with positions added: [batch*sequence, units] from here on.
  ValueId tokens() {
    const double fan_in = static_cast<double>(sample_.channels * patch_ * patch_);
    ValueId x = layers_.convolution_with_bias(layers_.images(batch_, sample_), "conv_proj",
                                              {.channels = units_, .kernel = patch_, .stride = patch_},
                                              normal(1 / std::sqrt(fan_in)), {});
    x = graph_.add_node(Op::reshape, ReshapeAttributes{{batch_ * patches_, units_}}, {x}, "patches")[0];
    x = graph_.add_node(Op::gather_rows_grad, rows(), {x, positions("patch_positions", 1, patches_)}, "patches.place")[0];
    const ValueId zeros = graph_.add_variable({"class_ids", {{batch_}, DType::i32}, VariableRole::control, {}});
    ValueId token = graph_.add_node(Op::embedding, {}, {table("class_token", 1, {}), zeros}, "class_token")[0];
    token = graph_.add_node(Op::gather_rows_grad, rows(), {token, positions("class_position", 0, 1)}, "class_token.place")[0];
    x = layers_.add(x, token, "tokens");
    return graph_.add_node(Op::add_rows, AddRowsAttributes{.period = sequence()},
                           {x, table("encoder.pos_embedding", sequence(), normal(kPositionDeviation))},
                           "encoder.pos_embedding")[0];
  }

  ValueId layer(ValueId x, const std::string& name) {
    ValueId y = attention(layers_.layer_norm(x, name + "ln_1", kLayerNormEpsilon), name + "self_attention.");
    x = layers_.add(y, x, name + "add_1");
    y = layers_.layer_norm(x, name + "ln_2", kLayerNormEpsilon);
    y = layers_.gelu(mlp(y, name + "mlp.0", 4 * units_), name + "mlp.gelu");
    return layers_.add(mlp(y, name + "mlp.3", units_), x, name + "add_2");
  }

  ValueId mlp(ValueId x, const std::string& name, std::int64_t outputs) {
    return layers_.linear(x, name, outputs, glorot(graph_.desc(x).shape[1], outputs), normal(kBiasDeviation));
  }

  ValueId attention(ValueId x, const std::string& name) {
    const std::vector<ValueId> qkv = layers_.linear_parts(x, name + "in_proj_", {name + "query", name + "key", name + "value"},
                                                          units_, glorot(units_, 3 * units_), {});
    const ValueId y = graph_.add_node(Op::attention, AttentionAttributes{heads_, sequence()}, {qkv[0], qkv[1], qkv[2], step_},
                                      name + "attention")[0];
    return layers_.linear(y, name + "out_proj", units_, uniform(1 / std::sqrt(static_cast<double>(units_))), {});
  }

  Graph& graph_;
  Layers layers_;
  SampleSpec sample_;
  std::int64_t batch_, units_, heads_, count_, patch_, patches_;
  ValueId step_ = layers_.step();
};

ModelFamily family(const std::string& size, std::int64_t units, std::int64_t heads) {
  return {.name = "vit-" + size + "-16",
          .description = "vision transformer (Dosovitskiy et al. 2020), 224x224, 12 layers, " + std::to_string(units) +
                         " wide, " + std::to_string(heads) + " heads",
          .options = {{"layers", 12, 1, 96},
                      {"units", units, 8, 8192},
                      {"heads", heads, 1, 256},
                      {"patch", 16, 1, 64},
                      {"height", 224, 8, 1024},
                      {"width", 224, 8, 1024},
                      {"classes", 1000, 2, kMaxClasses}},
          .problem = problem,
          .default_data = "synthetic",
          .default_batch = 8,
          .nominal_epoch = {"ImageNet", 1281167},
          .sample = sized_image,
          .optimizer = optimizer,
          .build = [](Graph& graph, const ModelConfig& config) { return Vit(graph, config).build(); }};
}

}  // namespace

std::vector<ModelFamily> vit_families() { return {family("b", 768, 12), family("s", 384, 6)}; }

}  // namespace epochbench
