// Llama (Touvron et al. 2023): a causal transformer with root mean square norms before its branches, rotary positions, SwiGLU
// and no biases, trained on the next token at every position. Names, shapes, the order of rotated columns and initial
// distributions are those of Hugging Face's LlamaForCausalLM. The small ones have the shapes of Karpathy's stories15M and
// stories110M, whose head shares the embedding.
#include <cmath>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr double kDeviation = 0.02, kRmsNormEpsilon = 1e-5, kTheta = 10000;

struct Size {
  std::int64_t layers, units, heads, hidden, sequence;
  bool tied;
};

SampleSpec sample(const ModelConfig& config) {
  const std::int64_t sequence = config.options.at("sequence");
  return {.classes = config.options.at("vocabulary"), .sequence = sequence, .predictions = sequence, .next_token = true};
}

// Llama's recipe. The learning rate is for batches of `batch_tokens` and scales with the square root of the batch, as it should
// for optimizers that divide by the gradient's size (Malladi et al. 2022).
OptimizerSpec optimizer(const ModelConfig& config, double learning_rate, double batch_tokens) {
  const auto tokens = static_cast<double>(config.batch * config.options.at("sequence"));
  return {.kind = OptimizerSpec::Kind::adamw,
          .learning_rate = learning_rate * std::sqrt(tokens / batch_tokens),
          .beta2 = 0.95,
          .weight_decay = 0.1,
          .decay_one_dimensional = false,
          .clip_norm = 1};
}

// The number of heads of keys and values.
std::int64_t key_heads(const std::map<std::string, std::int64_t>& options) {
  const std::int64_t given = options.at("kv-heads");
  return given > 0 ? given : options.at("heads");
}

std::string problem(const std::map<std::string, std::int64_t>& options) {
  const std::int64_t heads = options.at("heads"), units = options.at("units"), keys = key_heads(options);
  if (std::string of_heads = problem_of_heads(options); !of_heads.empty()) return of_heads;
  if (units / heads % 2 != 0)
    return "units=" + std::to_string(units) + " over heads=" + std::to_string(heads) +
           " is odd; rotary positions need heads of an even width";
  return heads % keys == 0 ? "" : "kv-heads=" + std::to_string(keys) + " must divide heads=" + std::to_string(heads);
}

// Cosines, then sines, of the angles of each position (Su et al. 2021): [sequence, width].
std::vector<float> rotations(std::int64_t sequence, std::int64_t width) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < width; i += 2)
    frequencies.push_back(std::pow(kTheta, -static_cast<double>(i) / static_cast<double>(width)));
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(sequence * width));
  const auto append = [&](double position, auto function) {
    for (const double frequency : frequencies) table.push_back(static_cast<float>(function(position * frequency)));
  };
  for (std::int64_t position = 0; position < sequence; ++position) {
    append(static_cast<double>(position), [](double angle) { return std::cos(angle); });
    append(static_cast<double>(position), [](double angle) { return std::sin(angle); });
  }
  return table;
}

class Llama {
 public:
  Llama(Graph& graph, const ModelConfig& config, bool tied)
      : graph_(graph),
        layers_(graph, config.training),
        count_(config.options.at("layers")),
        units_(config.options.at("units")),
        heads_(config.options.at("heads")),
        key_heads_(key_heads(config.options)),
        hidden_(config.options.at("hidden")),
        sample_(sample(config)),
        batch_(config.batch),
        tied_(tied) {
    const std::int64_t width = units_ / heads_;
    table_ = graph.add_variable({"rotary",
                                 {{sample_.sequence, width}, DType::f32},
                                 VariableRole::control,
                                 {Initializer::Kind::values, 0, rotations(sample_.sequence, width)}});
  }

  ValueId build() {
    const ValueId ids = graph_.add_input("input_ids", {{batch_, sample_.sequence}, DType::i32});
    const ValueId tokens = matrix("model.embed_tokens", sample_.classes, units_);
    ValueId x = graph_.add_node(Op::embedding, {}, {tokens, ids}, "model.embed_tokens")[0];  // [batch*sequence, units]
    for (std::int64_t i = 0; i < count_; ++i) x = layer(x, "model.layers." + std::to_string(i) + ".");
    x = rms_norm(x, "model.norm");
    return product(x, tied_ ? tokens : matrix("lm_head", sample_.classes, units_), "lm_head");
  }

 private:
  ValueId parameter(const std::string& name, Shape shape, const Initializer& initializer) {
    return graph_.add_variable({name + ".weight", {std::move(shape), DType::f32}, VariableRole::parameter, initializer});
  }
  ValueId matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
    return parameter(name, {rows, columns}, {Initializer::Kind::normal, kDeviation});
  }
  ValueId product(ValueId x, ValueId weight, const std::string& name) {
    return graph_.add_node(Op::matmul, MatmulAttributes{.transpose_b = true}, {x, weight}, name)[0];
  }
  ValueId linear(ValueId x, const std::string& name, std::int64_t outputs) {
    return product(x, matrix(name, outputs, graph_.desc(x).shape.back()), name);
  }
  ValueId rms_norm(ValueId x, const std::string& name) {
    const ValueId scale = parameter(name, {units_}, {Initializer::Kind::constant, 1});
    return graph_.add_node(Op::rms_norm, LayerNormAttributes{kRmsNormEpsilon}, {x, scale}, name)[0];
  }

  ValueId layer(ValueId x, const std::string& name) {
    const ValueId y = attention(rms_norm(x, name + "input_layernorm"), name + "self_attn.");
    x = layers_.add(y, x, name + "self_attn.add");
    return layers_.add(mlp(rms_norm(x, name + "post_attention_layernorm"), name + "mlp."), x, name + "mlp.add");
  }

  ValueId attention(ValueId x, const std::string& name) {
    const std::int64_t width = units_ / heads_;
    const ValueId q = linear(x, name + "q_proj", units_), k = linear(x, name + "k_proj", key_heads_ * width),
                  v = linear(x, name + "v_proj", key_heads_ * width);
    const auto rotated = [&](ValueId of, std::int64_t heads, const char* part) {
      return graph_.add_node(Op::rotary, RotaryAttributes{.heads = heads}, {of, table_}, name + part)[0];
    };
    AttentionAttributes attributes;
    attributes.heads = heads_;
    attributes.sequence = sample_.sequence;
    attributes.causal = true;
    if (key_heads_ != heads_) attributes.kv_heads = key_heads_;
    const ValueId y =
        graph_.add_node(Op::attention, attributes,
                        {rotated(q, heads_, "q_rotary"), rotated(k, key_heads_, "k_rotary"), v, step_}, name + "attention")[0];
    return linear(y, name + "o_proj", units_);
  }

  ValueId mlp(ValueId x, const std::string& name) {
    const ValueId gate = linear(x, name + "gate_proj", hidden_), up = linear(x, name + "up_proj", hidden_);
    return linear(graph_.add_node(Op::swiglu, {}, {gate, up}, name + "act")[0], name + "down_proj", units_);
  }

  Graph& graph_;
  Layers layers_;
  std::int64_t count_, units_, heads_, key_heads_, hidden_;
  SampleSpec sample_;
  std::int64_t batch_;
  bool tied_;
  ValueId step_ = layers_.step(), table_;
};

ModelFamily family(const std::string& name, const Size& size) {
  ModelFamily family;
  family.name = name;
  family.description = "Llama, next token (Touvron et al. 2023), " + std::to_string(size.layers) + " layers, " +
                       std::to_string(size.units) + " wide, " + std::to_string(size.heads) + " heads";
  family.options = {{"layers", size.layers, 1, 128},
                    {"units", size.units, 2, 16384},
                    {"heads", size.heads, 1, 256},
                    {"kv-heads", 0, 0, 256},  // 0: as many as heads
                    {"hidden", size.hidden, 1, 65536},
                    {"sequence", size.sequence, 1, 16384},
                    {"vocabulary", 32000, 2, kMaxClasses, kByteTokens}};
  family.problem = problem;
  family.default_data = "synthetic";
  family.default_batch = 1;
  family.sample = sample;
  return family;
}

ModelFamily stories(const std::string& name, const Size& size) {
  ModelFamily of = family(name, size);
  of.nominal_epoch = {"TinyStories", 2119719};  // Eldan and Li 2023; a story per sample
  of.optimizer = [](const ModelConfig& config) { return optimizer(config, 5e-4, 131072); };
  of.build = [](Graph& graph, const ModelConfig& config) { return Llama(graph, config, true).build(); };
  return of;
}

}  // namespace

std::vector<ModelFamily> llama_families() {
  ModelFamily seven = family("llama-7b", {32, 4096, 32, 11008, 2048, false});
  seven.nominal_epoch = {"Llama's trillion tokens", 488281250, 2048};
  seven.optimizer = [](const ModelConfig& config) { return optimizer(config, 3e-4, 4194304); };
  seven.build = [](Graph& graph, const ModelConfig& config) { return Llama(graph, config, false).build(); };
  return {stories("llama-15m", {6, 288, 6, 768, 256, true}), stories("llama-110m", {12, 768, 12, 2048, 1024, true}),
          std::move(seven)};
}

}  // namespace epochbench
