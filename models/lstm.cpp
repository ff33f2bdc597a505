// Recurrent networks of LSTM layers (Hochreiter and Schmidhuber 1997): a classifier of texts by the last state, and a language
// model that predicts each next token. Layers have the parameters of PyTorch's nn.LSTM, two biases each, and its names.
#include <cmath>

#include "models/families.h"
#include "models/layers.h"

namespace epochbench {
namespace {

constexpr double kTableBound = 0.05;  // of embeddings in Keras, and of Zaremba et al.'s medium model
constexpr double kDropout = 0.5;
constexpr std::int64_t kMaxUnits = 8192, kMaxLayers = 32, kMaxPositions = 4096, kMaxTokens = 1'000'000;

struct Names {
  const char *table, *layers, *head;
};

// Adam, as in Keras' example. The language model was trained by SGD with clipped gradients and a falling learning rate; Adam
// learns without either.
OptimizerSpec optimizer(const ModelConfig&) {
  return {.kind = OptimizerSpec::Kind::adamw, .learning_rate = 1e-3, .weight_decay = 0};
}

class Lstm {
 public:
  Lstm(Graph& graph, const ModelConfig& config, const Names& names, double dropout)
      : graph_(graph),
        layers_(graph, config.training),
        names_(names),
        units_(config.options.at("units")),
        count_(config.options.at("layers")),
        sequence_(config.options.at("sequence")),
        vocabulary_(config.options.at("vocabulary")),
        batch_(config.batch),
        dropout_(dropout_of(config, dropout)) {
    if (dropout_ > 0) layers_.step();  // the first variable
  }

  // Logits of class 1 of each sequence.
  ValueId classifier() {
    const ValueId positions = graph_.add_variable({"last_position",
                                                   {{batch_, 1}, DType::i32},
                                                   VariableRole::control,
                                                   {Initializer::Kind::constant, static_cast<double>(sequence_ - 1)}});
    const ValueId last = graph_.add_node(Op::gather_rows, GatherRowsAttributes{sequence_}, {states(), positions}, "last")[0];
    return layers_.linear(last, names_.head, 1);
  }

  // Logits of the token after each position.
  ValueId language_model() { return layers_.linear(states(), names_.head, vocabulary_); }

 private:
  ValueId parameter(const std::string& name, Shape shape, double bound) {
    return graph_.add_variable(
        {name, {std::move(shape), DType::f32}, VariableRole::parameter, {Initializer::Kind::uniform, bound}});
  }

  // On the input of a layer or the head, never between the steps of a layer (Zaremba et al. 2014).
  ValueId dropout(ValueId x, const std::string& name) { return layers_.dropout(x, name, dropout_); }

  // [batch*sequence, units]: h of the last layer at each position.
  ValueId states() {
    const ValueId ids = graph_.add_input("input_ids", {{batch_, sequence_}, DType::i32});
    const std::string name = names_.table;
    const ValueId table = parameter(name + ".weight", {vocabulary_, units_}, kTableBound);
    ValueId x = dropout(graph_.add_node(Op::embedding, {}, {table, ids}, name)[0], name + ".dropout");
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::string of_layer = "_l" + std::to_string(i);
      x = dropout(layer(x, of_layer), names_.layers + of_layer + ".dropout");
    }
    return x;
  }

  // The two biases are added first, which costs less than adding the second to all rows.
  ValueId layer(ValueId x, const std::string& suffix) {
    const std::string name = names_.layers;
    const double bound = 1 / std::sqrt(static_cast<double>(units_));
    const ValueId weight = parameter(name + ".weight_ih" + suffix, {4 * units_, units_}, bound);
    const ValueId recurrent = parameter(name + ".weight_hh" + suffix, {4 * units_, units_}, bound);
    const ValueId biases[] = {parameter(name + ".bias_ih" + suffix, {4 * units_}, bound),
                              parameter(name + ".bias_hh" + suffix, {4 * units_}, bound)};
    const ValueId bias = layers_.add(biases[0], biases[1], name + suffix + ".bias");
    x = graph_.add_node(Op::matmul, MatmulAttributes{.transpose_b = true}, {x, weight}, name + suffix + ".inputs")[0];
    x = graph_.add_node(Op::bias_add, {}, {x, bias}, name + suffix + ".inputs.bias")[0];
    return graph_.add_node(Op::lstm, LstmAttributes{sequence_}, {x, recurrent}, name + suffix)[2];
  }

  Graph& graph_;
  Layers layers_;
  Names names_;
  std::int64_t units_, count_, sequence_, vocabulary_, batch_;
  double dropout_;
};

std::vector<ModelOption> options(std::int64_t units, std::int64_t layers, std::int64_t sequence, std::int64_t vocabulary,
                                 std::optional<std::int64_t> of_byte_text = {}) {
  return {{"units", units, 1, kMaxUnits},
          {"layers", layers, 1, kMaxLayers},
          {"sequence", sequence, 1, kMaxPositions},
          {"vocabulary", vocabulary, 2, kMaxTokens, of_byte_text}};
}

}  // namespace

std::vector<ModelFamily> lstm_families() {
  ModelFamily classifier{
      .name = "lstm",
      .description = "classifier of texts by the last state of an LSTM (Keras' IMDB example), 80 tokens, 128 units",
      .options = options(128, 1, 80, 20000),
      .default_data = "synthetic",
      .default_batch = 32,
      .nominal_epoch = {"IMDB", 25000},
      .sample = [](const ModelConfig& config) -> SampleSpec {
        return {.classes = config.options.at("vocabulary"), .sequence = config.options.at("sequence"), .text_classes = 2};
      },
      .optimizer = optimizer,
      .build =
          [](Graph& graph, const ModelConfig& config) {
            return Lstm(graph, config, {"embedding", "lstm", "linear"}, 0).classifier();
          }};
  ModelFamily language_model{
      .name = "lstm-lm",
      .description = "language model of LSTM layers (Zaremba et al. 2014, medium), 2 layers of 650 units, 35 tokens",
      .options = options(650, 2, 35, 10000, kByteTokens),
      .default_data = "synthetic",
      .default_batch = 20,
      .nominal_epoch = {"Penn Treebank", 26559, 35},  // 929,589 tokens
      .dropout = kDropout,
      .sample = [](const ModelConfig& config) -> SampleSpec {
        const std::int64_t sequence = config.options.at("sequence");
        return {.classes = config.options.at("vocabulary"), .sequence = sequence, .predictions = sequence, .next_token = true};
      },
      .optimizer = optimizer,
      .build =
          [](Graph& graph, const ModelConfig& config) {
            return Lstm(graph, config, {"encoder", "rnn", "decoder"}, kDropout).language_model();
          }};
  return {classifier, language_model};
}

}  // namespace epochbench
