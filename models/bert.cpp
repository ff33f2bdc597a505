// BERT (Devlin et al. 2018) with its masked-language-model head, tied to the word embedding; without pooler, padding or a
// second segment. Parameter names and shapes are those of Hugging Face's BertForMaskedLM.
#include <algorithm>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr std::int64_t kVocabulary = 30522, kPositions = 512, kSegments = 2;
constexpr double kDeviation = 0.02, kLayerNormEpsilon = 1e-12, kDropout = 0.1;

struct Size {
  std::int64_t layers, width, heads;
};

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
  Bert(Graph& graph, const ModelConfig& config, const Size& size)
      : graph_(graph),
        layers_(graph, config.training),
        size_(size),
        sample_(sample(config)),
        batch_(config.batch),
        dropout_(!config.training      ? 0
                 : config.dropout >= 0 ? config.dropout
                                       : kDropout) {
    step_ = graph.add_variable({"step", {{1}, DType::i32}, VariableRole::control, {}});
  }

  ValueId build() {
    const ValueId ids = graph_.add_input("input_ids", {{batch_, sample_.sequence}, DType::i32});
    const ValueId positions = graph_.add_input("masked_positions", {{batch_, sample_.predictions}, DType::i32});
    const ValueId word_table = normal("bert.embeddings.word_embeddings.weight", {kVocabulary, size_.width});
    ValueId x = embeddings(ids, word_table);
    for (std::int64_t i = 0; i < size_.layers; ++i) x = layer(x, "bert.encoder.layer." + std::to_string(i) + ".");
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
  ValueId dropout(ValueId x, const std::string& name) {
    return dropout_ > 0 ? graph_.add_node(Op::dropout, DropoutAttributes{dropout_}, {x, step_}, name)[0] : x;
  }

  // Words, one segment and positions; x is [batch*sequence, width] from here on.
  ValueId embeddings(ValueId ids, ValueId word_table) {
    const std::string name = "bert.embeddings.";
    ValueId x = graph_.add_node(Op::embedding, {}, {word_table, ids}, name + "word_embeddings")[0];
    const ValueId segments = normal(name + "token_type_embeddings.weight", {kSegments, size_.width});
    x = graph_.add_node(Op::add_rows, AddRowsAttributes{.period = 1}, {x, segments}, name + "token_type_embeddings")[0];
    const ValueId positions = normal(name + "position_embeddings.weight", {kPositions, size_.width});
    const AddRowsAttributes by_position{.period = sample_.sequence};
    x = graph_.add_node(Op::add_rows, by_position, {x, positions}, name + "position_embeddings")[0];
    return dropout(layer_norm(x, name + "LayerNorm"), name + "dropout");
  }

  ValueId layer(ValueId x, const std::string& name) {
    const std::string self = name + "attention.self.", output = name + "attention.output.";
    const ValueId q = linear(x, self + "query", size_.width), k = linear(x, self + "key", size_.width),
                  v = linear(x, self + "value", size_.width);
    const AttentionAttributes attention{size_.heads, sample_.sequence, dropout_};
    ValueId y = graph_.add_node(Op::attention, attention, {q, k, v, step_}, name + "attention")[0];
    y = dropout(linear(y, output + "dense", size_.width), output + "dropout");
    x = layer_norm(layers_.add(y, x, output + "add"), output + "LayerNorm");
    y = layers_.gelu(linear(x, name + "intermediate.dense", 4 * size_.width), name + "intermediate.gelu");
    y = dropout(linear(y, name + "output.dense", size_.width), name + "output.dropout");
    return layer_norm(layers_.add(y, x, name + "output.add"), name + "output.LayerNorm");
  }

  ValueId head(ValueId x, ValueId word_table) {
    const std::string name = "cls.predictions.";
    x = layers_.gelu(linear(x, name + "transform.dense", size_.width), name + "transform.gelu");
    x = layer_norm(x, name + "transform.LayerNorm");
    x = graph_.add_node(Op::matmul, MatmulAttributes{.transpose_b = true}, {x, word_table}, name + "decoder")[0];
    const ValueId bias = graph_.add_variable({name + "bias", {{kVocabulary}, DType::f32}, VariableRole::parameter, {}});
    return graph_.add_node(Op::bias_add, {}, {x, bias}, name + "bias")[0];
  }

  Graph& graph_;
  Layers layers_;
  Size size_;
  SampleSpec sample_;
  std::int64_t batch_;
  double dropout_;
  ValueId step_;
};

template <std::int64_t kLayers, std::int64_t kWidth, std::int64_t kHeads>
ValueId build(Graph& graph, const ModelConfig& config) {
  return Bert(graph, config, {kLayers, kWidth, kHeads}).build();
}

ModelFamily family(const std::string& size, const std::string& description, const std::string& data, std::int64_t batch,
                   OptimizerSpec (*optimizer)(const ModelConfig&), ValueId (*build)(Graph&, const ModelConfig&)) {
  return {.name = "bert-" + size,
          .description = "BERT, masked language model (Devlin et al. 2018), " + description,
          .options = {{"sequence", 128, 3, kPositions}},
          .default_data = data,
          .default_batch = batch,
          .nominal_samples_per_epoch = 87599,  // SQuAD's training split
          .dropout = kDropout,
          .sample = sample,
          .optimizer = optimizer,
          .build = build};
}

}  // namespace

std::vector<ModelFamily> bert_families() {
  const auto fast = [](const ModelConfig&) { return optimizer(1e-3); };
  const auto slow = [](const ModelConfig&) { return optimizer(1e-4); };
  return {family("tiny", "2 layers, 128 wide, 2 heads", "founding-documents", 16, fast, build<2, 128, 2>),
          family("base", "12 layers, 768 wide, 12 heads", "synthetic", 8, slow, build<12, 768, 12>),
          family("large", "24 layers, 1,024 wide, 16 heads", "synthetic", 4, slow, build<24, 1024, 16>)};
}

}  // namespace epochbench
