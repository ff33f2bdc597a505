// A model: a family with options, its defaults, and a function that writes its forward graph.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "epochbench/tensor.h"

namespace epochbench {

class Graph;

struct OptimizerSpec {
  enum class Kind : std::uint8_t { sgd, adamw };
  Kind kind = Kind::sgd;
  double learning_rate = 0.1;
  double momentum = 0.9;                              // sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adamw
  double weight_decay = 0;
  bool decay_one_dimensional = true;  // false: only tensors of two or more dimensions decay
  double clip_norm = 0;               // upper limit of the norm of all gradients together (Pascanu et al. 2013); 0: none
  // Above 0: evaluation uses averages of the parameters: after each update, average = ema * average + (1 - ema) * parameter.
  // They start as the initial weights; running statistics are not averaged again.
  double ema = 0;
  std::string to_string() const;  // "sgd lr=0.05 momentum=0.9 weight_decay=0.0001"
};

// The samples that a model takes: an image with a label; or a text with masked positions, with the token that follows each
// position, or with a label.
struct SampleSpec {
  // Images: input "images" f32 [batch, height, width, channels], labels i32 [batch].
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t classes = 0;  // labels are 0 to classes - 1; for texts, the vocabulary
  // Texts, if sequence > 0: inputs "input_ids" i32 [batch, sequence] and "masked_positions" i32 [batch, predictions],
  // labels i32 [batch, predictions], the ids before masking. With next_token: only "input_ids", and labels i32 [batch,
  // sequence], each the id after its position; predictions equals sequence.
  std::int64_t sequence = 0, predictions = 0;
  bool next_token = false;
  std::int64_t text_classes = 0;  // instead of masked positions: labels i32 [batch] of this many classes
  bool text() const { return sequence > 0; }
  std::int64_t labels() const { return !text() || text_classes > 0 ? 1 : next_token ? sequence : predictions; }  // per sample
  bool operator==(const SampleSpec&) const = default;
};

struct ModelOption {
  std::string name;
  std::int64_t value, minimum, maximum;
  // The default instead of `value` if the data is text as bytes; if set, a name that gives `value` keeps it. For text as
  // tokens, the default is the number of ids.
  std::optional<std::int64_t> of_byte_text = {};
};

struct ModelConfig {
  std::map<std::string, std::int64_t> options;  // every option of the family, resolved
  std::int64_t batch = 0;
  double dropout = -1;   // negative: the model's own
  bool training = true;  // false: running statistics, no dropout
};

// The training split whose size an epoch of synthetic data has.
struct NominalEpoch {
  std::string dataset;  // "ImageNet"
  std::int64_t samples = 0;
  // Where the split is one text that is cut into samples: the tokens of each. In samples of another length it has another
  // number of them. 0: a sample is an image, a question or a story, whatever its length.
  std::int64_t cut_to_tokens = 0;
};

struct ModelFamily {
  std::string name;
  std::string description;  // one line with the source
  std::vector<ModelOption> options;
  // What is wrong with options that are each in range: "heads=5 must divide units=768"; empty: nothing. May be null.
  std::string (*problem)(const std::map<std::string, std::int64_t>& options) = nullptr;
  std::string default_data;
  std::int64_t default_batch;
  NominalEpoch nominal_epoch;
  std::optional<double> dropout = {};  // the model's own rate; empty: no dropout
  SampleSpec (*sample)(const ModelConfig&);
  OptimizerSpec (*optimizer)(const ModelConfig&);
  // Adds the inputs and returns the logits [labels, classes]; for two classes, one column may be enough.
  ValueId (*build)(Graph&, const ModelConfig&);
};

const std::vector<ModelFamily>& model_registry();

// A model as the command line names it: the family with its options.
struct Model {
  const ModelFamily* family = nullptr;               // null: only the name is known
  std::map<std::string, std::int64_t> options = {};  // all, defaults included
  std::map<std::string, std::int64_t> named = {};    // those that differ from their defaults
  std::string name = {};                             // "mlp:depth=3,width=4096": the family with `named`
};
// Parses "mlp:width=4096,depth=3". Errors: std::invalid_argument, one line, with the allowed range of an option.
Model find_model(std::string_view text);
// The model that the same name means if the data is text as bytes, or as tokens of a vocabulary with this many ids.
Model with_text_ids(const Model& model, std::optional<std::int64_t> ids = {});

}  // namespace epochbench
