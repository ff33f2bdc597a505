// BERT (Devlin et al. 2018) with its masked-language-model head, tied to the word embedding; without pooler, padding or a
// second segment. Parameter names and shapes are those of Hugging Face's BertForMaskedLM.
#include <algorithm>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr std::int64_t kVocabulary = 30522, kPositions = 512, kSegments = 2;
constexpr double kDeviation = 0.02, kLayerNormEpsilon = 1e-12, kDropout = 0.1;

SampleSpec sample(const ModelConfig& config) {
  const std::int64_t sequence = config.options.at("sequence");
  return {.classes = kVocabulary, .sequence = sequence, .predictions = std::max<std::int64_t>(1, 20 * sequence / 128)};
}

OptimizerSpec optimizer(double learning_rate) {
  return {.kind = OptimizerSpec::Kind::adamw,
          .learning_rate = learning_rate,
          .epsilon = 1e-6,
          .weight_decay = 0.01,
          .decay_one_dimensional = false};
}

class Bert {
 public:
  Bert(Graph& graph, const ModelConfig& config)
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
    const ValueId positions = graph_.add_input("masked_positions", {{batch_, sample_.predictions}, DType::i32});
    const ValueId word_table = normal("bert.embeddings.word_embeddings.weight", {kVocabulary, units_});
    ValueId x = embeddings(ids, word_table);
    for (std::int64_t i = 0; i < count_; ++i) x = layer(x, "bert.encoder.layer." + std::to_string(i) + ".");
    const GatherRowsAttributes gather{sample_.sequence};
    x = graph_.add_node(Op::gather_rows, gather, {x, positions}, "masked")[0];
    return head(x, word_table);
  }

 private:
  ValueId normal(const std::string& name, Shape shape) {
    return graph_.add_variable(
        {name, {std::move(shape), DType::f32}, VariableRole::parameter, {Initializer::Kind::normal, kDeviation}});
  }
  ValueId linear(ValueId x, const std::string& name, std::int64_t outputs) {
    return layers_.linear(x, name, outputs, {Initializer::Kind::normal, kDeviation}, {});
  }
  ValueId layer_norm(ValueId x, const std::string& name) { return layers_.layer_norm(x, name, kLayerNormEpsilon); }
  ValueId dropout(ValueId x, const std::string& name) { return layers_.dropout(x, name, dropout_); }

  // Words, one segment and positions; x is [batch*sequence, units] from here on.
  ValueId embeddings(ValueId ids, ValueId word_table) {
    const std::string name = "bert.embeddings.";
    ValueId x = graph_.add_node(Op::embedding, {}, {word_table, ids}, name + "word_embeddings")[0];
    const ValueId segments = normal(name + "token_type_embeddings.weight", {kSegments, units_});
    x = graph_.add_node(Op::add_rows, AddRowsAttributes{.period = 1}, {x, segments}, name + "token_type_embeddings")[0];
    const ValueId positions = normal(name + "position_embeddings.weight", {kPositions, units_});
    const AddRowsAttributes by_position{.period = sample_.sequence};
    x = graph_.add_node(Op::add_rows, by_position, {x, positions}, name + "position_embeddings")[0];
    return dropout(layer_norm(x, name + "LayerNorm"), name + "dropout");
  }

  ValueId layer(ValueId x, const std::string& name) {
    const std::string self = name + "attention.self.", output = name + "attention.output.";
    const ValueId q = linear(x, self + "query", units_), k = linear(x, self + "key", units_),
                  v = linear(x, self + "value", units_);
    const AttentionAttributes attention{heads_, sample_.sequence, dropout_};
    ValueId y = graph_.add_node(Op::attention, attention, {q, k, v, step_}, name + "attention")[0];
    y = dropout(linear(y, output + "dense", units_), output + "dropout");
    x = layer_norm(layers_.add(y, x, output + "add"), output + "LayerNorm");
    y = layers_.gelu(linear(x, name + "intermediate.dense", 4 * units_), name + "intermediate.gelu");
    y = dropout(linear(y, name + "output.dense", units_), name + "output.dropout");
    return layer_norm(layers_.add(y, x, name + "output.add"), name + "output.LayerNorm");
  }

  ValueId head(ValueId x, ValueId word_table) {
    const std::string name = "cls.predictions.";
    x = layers_.gelu(linear(x, name + "transform.dense", units_), name + "transform.gelu");
    x = layer_norm(x, name + "transform.LayerNorm");
    x = graph_.add_node(Op::matmul, MatmulAttributes{.transpose_b = true}, {x, word_table}, name + "decoder")[0];
    const ValueId bias = graph_.add_variable({name + "bias", {{kVocabulary}, DType::f32}, VariableRole::parameter, {}});
    return graph_.add_node(Op::bias_add, {}, {x, bias}, name + "bias")[0];
  }

  Graph& graph_;
  Layers layers_;
  std::int64_t count_, units_, heads_;
  SampleSpec sample_;
  std::int64_t batch_;
  double dropout_;
  ValueId step_ = layers_.step();
};

ModelFamily family(const std::string& size, const std::string& description, std::int64_t layers, std::int64_t units,
                   std::int64_t heads, const std::string& data, std::int64_t batch,
                   OptimizerSpec (*optimizer)(const ModelConfig&)) {
  return {.name = "bert-" + size,
          .description = "BERT, masked language model (Devlin et al. 2018), " + description,
          .options = {{"layers", layers, 1, 96},
                      {"units", units, 8, 8192},
                      {"heads", heads, 1, 256},
                      {"sequence", 128, 3, kPositions}},
          .problem = problem_of_heads,
          .default_data = data,
          .default_batch = batch,
          .nominal_epoch = {"SQuAD", 87599},
          .dropout = kDropout,
          .sample = sample,
          .optimizer = optimizer,
          .build = [](Graph& graph, const ModelConfig& config) { return Bert(graph, config).build(); }};
}

}  // namespace

std::vector<ModelFamily> bert_families() {
  const auto fast = [](const ModelConfig&) { return optimizer(1e-3); };
  const auto slow = [](const ModelConfig&) { return optimizer(1e-4); };
  return {family("tiny", "2 layers, 128 wide, 2 heads", 2, 128, 2, "founding-documents", 16, fast),
          family("base", "12 layers, 768 wide, 12 heads", 12, 768, 12, "synthetic", 8, slow),
          family("large", "24 layers, 1,024 wide, 16 heads", 24, 1024, 16, "synthetic", 4, slow)};
}

}  // namespace epochbench
