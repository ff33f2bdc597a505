// GPT-2 (Radford et al. 2019): a causal transformer with pre-norm layers, learned positions and a head that shares the word
// embedding, trained on the next token at every position. Names, shapes and initial distributions are those of Hugging Face's
// GPT2LMHeadModel, whose files hold weights of linear layers transposed.
#include <cmath>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr std::int64_t kVocabulary = 50257, kPositions = 1024;
constexpr double kDeviation = 0.02, kLayerNormEpsilon = 1e-5, kDropout = 0.1;

SampleSpec sample(const ModelConfig& config) {
  const std::int64_t sequence = config.options.at("sequence");
  return {.classes = config.options.at("vocabulary"), .sequence = sequence, .predictions = sequence, .next_token = true};
}

// GPT-3's recipe (Brown et al. 2020), since GPT-2's was not published, for batches of half a million tokens. The learning rate
// scales with the square root of the batch, as it should for optimizers that divide by the gradient's size (Malladi et al.
// 2022).
OptimizerSpec optimizer(const ModelConfig& config, double learning_rate) {
  const auto tokens = static_cast<double>(config.batch * config.options.at("sequence"));
  return {.kind = OptimizerSpec::Kind::adamw,
          .learning_rate = learning_rate * std::sqrt(tokens / 524288),
          .beta2 = 0.95,
          .weight_decay = 0.1,
          .decay_one_dimensional = false,
          .clip_norm = 1};
}

class Gpt2 {
 public:
  Gpt2(Graph& graph, const ModelConfig& config)
      : graph_(graph),
        layers_(graph, config.training),
        count_(config.options.at("layers")),
        units_(config.options.at("units")),
        heads_(config.options.at("heads")),
        sample_(sample(config)),
        batch_(config.batch),
        dropout_(dropout_of(config, kDropout)) {}

  ValueId build() {
    const ValueId ids = graph_.add_input("input_ids", {{batch_, sample_.sequence}, DType::i32});
    const ValueId tokens = table("transformer.wte.weight", sample_.classes);
    ValueId x = graph_.add_node(Op::embedding, {}, {tokens, ids}, "transformer.wte")[0];  // [batch*sequence, units]
    x = graph_.add_node(Op::add_rows, AddRowsAttributes{.period = sample_.sequence},
                        {x, table("transformer.wpe.weight", kPositions)}, "transformer.wpe")[0];
    x = dropout(x, "transformer.drop");
    for (std::int64_t i = 0; i < count_; ++i) x = layer(x, "transformer.h." + std::to_string(i) + ".");
    x = layers_.layer_norm(x, "transformer.ln_f", kLayerNormEpsilon);
    return graph_.add_node(Op::matmul, MatmulAttributes{.transpose_b = true}, {x, tokens}, "lm_head")[0];
  }

 private:
  static Initializer normal(double deviation) { return {Initializer::Kind::normal, deviation}; }
  ValueId table(const std::string& name, std::int64_t rows) {
    return graph_.add_variable({name, {{rows, units_}, DType::f32}, VariableRole::parameter, normal(kDeviation)});
  }
  ValueId dropout(ValueId x, const std::string& name) { return layers_.dropout(x, name, dropout_); }
  ValueId linear(ValueId x, const std::string& name, std::int64_t outputs, double deviation) {
    return layers_.linear(x, name, outputs, normal(deviation), {}, true);
  }
  // Ends a branch. A layer has two; the variance of their sum over all layers does not depend on the number of layers.
  ValueId projection(ValueId x, const std::string& name) {
    return linear(x, name, units_, kDeviation / std::sqrt(2 * static_cast<double>(count_)));
  }

  ValueId layer(ValueId x, const std::string& name) {
    ValueId y = attention(layers_.layer_norm(x, name + "ln_1", kLayerNormEpsilon), name + "attn.");
    x = layers_.add(dropout(y, name + "attn.resid_dropout"), x, name + "attn.add");
    y = layers_.layer_norm(x, name + "ln_2", kLayerNormEpsilon);
    y = layers_.gelu_tanh(linear(y, name + "mlp.c_fc", 4 * units_, kDeviation), name + "mlp.act");
    y = dropout(projection(y, name + "mlp.c_proj"), name + "mlp.dropout");
    return layers_.add(y, x, name + "mlp.add");
  }

  ValueId attention(ValueId x, const std::string& name) {
    const std::vector<ValueId> qkv = layers_.linear_parts(x, name + "c_attn.", {name + "query", name + "key", name + "value"},
                                                          units_, normal(kDeviation), {}, true);
    const AttentionAttributes attributes{.heads = heads_, .sequence = sample_.sequence, .dropout = dropout_, .causal = true};
    const ValueId y = graph_.add_node(Op::attention, attributes, {qkv[0], qkv[1], qkv[2], step_}, name + "attention")[0];
    return projection(y, name + "c_proj");
  }

  Graph& graph_;
  Layers layers_;
  std::int64_t count_, units_, heads_;
  SampleSpec sample_;
  std::int64_t batch_;
  double dropout_;
  ValueId step_ = layers_.step();
};

ModelFamily family(const std::string& name, std::int64_t layers, std::int64_t units, std::int64_t heads,
                   OptimizerSpec (*optimizer)(const ModelConfig&)) {
  return {.name = name,
          .description = "GPT-2, next token (Radford et al. 2019), " + std::to_string(layers) + " layers, " +
                         std::to_string(units) + " wide, " + std::to_string(heads) + " heads",
          .options = {{"layers", layers, 1, 96},
                      {"units", units, 8, 8192},
                      {"heads", heads, 1, 256},
                      {"sequence", kPositions, 1, kPositions},
                      {"vocabulary", kVocabulary, 2, kMaxClasses, kByteTokens}},
          .problem = problem_of_heads,
          .default_data = "synthetic",
          .default_batch = 1,
          .nominal_epoch = {"OpenWebText", 8823810, kPositions},  // 9.04e9 tokens
          .dropout = kDropout,
          .sample = sample,
          .optimizer = optimizer,
          .build = [](Graph& graph, const ModelConfig& config) { return Gpt2(graph, config).build(); }};
}

}  // namespace

std::vector<ModelFamily> gpt2_families() {
  return {family("gpt2", 12, 768, 12, [](const ModelConfig& config) { return optimizer(config, 6e-4); }),
          family("gpt2-medium", 24, 1024, 16, [](const ModelConfig& config) { return optimizer(config, 3e-4); }),
          family("gpt2-large", 36, 1280, 20, [](const ModelConfig& config) { return optimizer(config, 2.5e-4); }),
          family("gpt2-xl", 48, 1600, 25, [](const ModelConfig& config) { return optimizer(config, 2e-4); })};
}

}  // namespace epochbench
