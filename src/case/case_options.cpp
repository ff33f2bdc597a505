#include <algorithm>
#include <filesystem>

#include "epochbench/communicator.h"
#include "epochbench/dataset.h"
#include "epochbench/model.h"
#include "epochbench/tokenizer_kinds.h"
#include "src/base/text.h"
#include "src/case/case_block.h"
#include "src/case/nearest_model.h"
#include "src/case/option_row.h"

namespace epochbench {
namespace {

using Class = SettingClass;

constexpr std::int64_t kMaxSteps = 1'000'000'000;
constexpr std::int64_t kMaxSamples = 1'000'000'000'000;
constexpr int kMaxThreads = 1024;
constexpr double kMaxSeconds = 1e7;
constexpr double kMaxDecodeSeconds = 60;
constexpr double kMaxBucketMib = 1 << 20;
// Titles in the help.
constexpr const char *kMain = "What to run", *kLength = "How long", *kData = "Data and training", *kExperiments = "Experiments",
                     *kOutput = "Output";

std::string data_sources() { return joined(kDataSources, &DataSource::spec); }

// What to run in place of a model that is not built in.
std::string instead_of_model(const std::string& name) {
  const std::string own = name.ends_with(".py")
                              ? "`scripts/peers/profile_module " + name + " --out mine.json` measures its module"
                              : "scripts/peers/profile_module measures a PyTorch module of your own";
  if (name.ends_with(".onnx")) return "; ONNX files cannot be imported, and " + own;
  const std::string nearest = nearest_model(name);
  return nearest.empty() ? "; " + own : "; the nearest built-in model is " + nearest + ", and " + own;
}

Model parse_model(const std::string& text) {
  try {
    return find_model(text);
  } catch (const std::invalid_argument&) {
    if (find_family(text)) throw;
    std::vector<std::string> families;
    for (const ModelFamily& family : model_registry()) families.push_back(family.name);
    const std::string name = text.substr(0, text.find(':')), guess = did_you_mean(name, families);
    throw std::invalid_argument("unknown model '" + name + "'" + (guess.empty() ? instead_of_model(name) : guess) +
                                " (all: epochbench list models)");
  }
}

std::string parse_data(const std::string& text) {
  if (text.empty()) throw CallError("an empty value; choose from " + data_sources());
  return text;
}

std::string parse_path(const std::string& text) {
  if (text.empty() || text.find('\0') != std::string::npos) throw CallError("an empty path; name a file or folder");
  return text;
}

int parse_threads(const std::string& text) {
  if (text == "all" || text == "auto" || text == "max")
    throw CallError("'" + text + "' must be a whole number; leave the option out for all cores that epochbench may use");
  return whole<int>(1, kMaxThreads)(text);
}

Mode parse_mode(const std::string& text) {
  for (const char* other : {"inference", "infer", "eval", "predict", "test"})
    if (text == other)
      throw CallError("'" + text + "' is unknown; choose from " + all_words<Mode>() + "; did you mean " + name(Mode::forward) +
                      "?");
  return parse_choice<Mode>(text);
}

std::string parse_launcher(const std::string& text) {
  if (text.find(kRanksPlaceholder) == std::string::npos || text.find('\0') != std::string::npos)
    throw CallError("'" + text + "' must have " + kRanksPlaceholder + " where the number of ranks belongs, as in srun -n " +
                    kRanksPlaceholder);
  const auto parts = split_command(text);
  if (!parts) throw CallError("'" + text + "' has a quote that is not closed, or ends in a backslash; quote as in a shell");
  if (parts->front().empty()) throw CallError("'" + text + "' begins with an empty word; begin with the program to call");
  return text;
}

// The path after the kind of tokenizer; empty if the kind is unknown or no path follows.
std::string path_of_tokenizer(const std::string& spec) {
  for (const auto& [name, kind] : kTokenizerKinds)
    if (spec.starts_with(name)) return spec.substr(name.size());
  return "";
}

std::string parse_tokenizer(const std::string& text) {
  if (path_of_tokenizer(text).empty() || text.find('\0') != std::string::npos)
    throw CallError("'" + text +
                    "' must be gpt2:DIR, with the folder of vocab.json and merges.txt, or wordpiece:FILE, with BERT's " +
                    "vocab.txt");
  return text;
}

bool parse_switch(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";  // as a suite's JSON has it
  return parse_word(text, {"on", "off"}) == "on";
}

Until parse_until(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) throw CallError("'" + text + "' must be METRIC=VALUE, such as accuracy=0.97 or loss=0.1");
  Until until;
  until.metric = parse_choice<EvalMetric>(text.substr(0, equals));
  const std::string value = text.substr(equals + 1);
  if (until.metric == EvalMetric::accuracy && (value.ends_with("%") || parse_real(value, {0, 1e6, false, true}) > 1))
    throw CallError("'" + text + "': accuracy is a share of 1; write accuracy=0.97 for 97 %");
  until.value = parse_real(value, {0, 1e6, false, true});
  return until;
}

// Does not check what this machine has.
void parse_condition(CaseSpec& spec, const std::string& text) {
  constexpr std::string_view kCores = "cores:";
  if (text.rfind(kCores, 0) == 0) {
    spec.min_cores = static_cast<int>(parse_integer(text.substr(kCores.size()), 1, kMaxThreads));
    return;
  }
  if (text == "data") {
    spec.needs_data = true;
    return;
  }
  if (!text.starts_with(name(DeviceKind::cuda)))
    throw CallError("'" + text + "' must be cores:N for N CPU cores, data for the files of --data, or cuda:N for a GPU");
  spec.beside_device = parse_device(text);
}

auto one_of(std::vector<std::string> choices) {
  return [choices = std::move(choices)](const std::string& text) { return parse_word(text, choices); };
}

bool has_ranks(const CaseSpec& spec) { return spec.ranks > 1; }
bool on_cpu(const CaseSpec& spec) { return spec.device.kind == DeviceKind::cpu; }
bool ranks_on_cpu(const CaseSpec& spec) { return has_ranks(spec) && on_cpu(spec); }

bool may_have_dropout(const CaseSpec& spec) { return !spec.model.family || spec.model.family->dropout; }

// Empty for the default number.
std::optional<SettingValue> changed_warm_up(const CaseSpec& spec) {
  return spec.warmup == default_warm_up_steps(spec) ? std::nullopt : to_setting(spec.warmup);
}

// Processes of older builds, which take no part in the warm-up, know it as a number only.
CaseOption warm_up_option() {
  CaseOption option =
      row("warmup", "N",
          "steps before the timed ones (default 3; on a GPU 2 s or more, unless a number of steps or epochs is asked for)",
          Class::measurement, &CaseSpec::warmup, whole<int>(0, 1'000'000), {.value = changed_warm_up});
  option.to_protocol = [](const CaseSpec& spec) { return Json(spec.warmup.value_or(kDefaultWarmUpSteps)); };
  return option;
}

// The model is one text in calls and the protocol, but two settings: its family and its options.
std::optional<SettingValue> options_of_model(const CaseSpec& spec) {
  return spec.model.named.empty() ? std::nullopt : std::optional<SettingValue>(spec.model.named);
}

// Its folder stays private.
std::optional<SettingValue> file_of_weights(const CaseSpec& spec) {
  const std::filesystem::path path(spec.init);
  return to_setting((path.has_filename() ? path : path.parent_path()).filename().string());  // of "DIR/"
}

std::optional<SettingValue> name_of_tokenizer(const CaseSpec& spec) {
  if (spec.tokenizer.empty()) return std::nullopt;
  const std::string given = path_of_tokenizer(spec.tokenizer);
  std::filesystem::path path(given);
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // of "DIR/"
  return SettingValue(spec.tokenizer.substr(0, spec.tokenizer.size() - given.size()) + path.filename().string());
}

using Rows = std::vector<CaseOption>;

// What every name of a run shows.
Rows main_options() {
  return {
      row("model", "M,...", "a model, with options as in mlp:width=4096,depth=3; `list models` has them", Class::workload,
          &CaseSpec::model, parse_model, {.in_name = false}),
      {.key = "model_options",
       .setting_class = Class::workload,
       .in_name = false,
       .offered_to = OfferedTo::nobody,
       .protocol_key = "-",
       .value = options_of_model},
      row("framework", "F", "", Class::placement, &CaseSpec::framework, {.in_name = false, .offered_to = OfferedTo::peers}),
      row("device", "D,...", "cpu, cuda:0, or reference: naive loops that sum in double, to compare with", Class::placement,
          &CaseSpec::device, parse_device),
      row("precision", "P,...", "", Class::rounding, &CaseSpec::precision, {.in_name = false}),
      row("mode", "MODE", "train or forward", Class::workload, &CaseSpec::mode, parse_mode),
      row("batch", "N,...", "samples per update (default: the model's)", Class::workload, &CaseSpec::batch, whole(1, kMaxBatch),
          {.in_name = false}),
      row("accumulate", "N,...",
          "number of parts of a batch that run one after another; one update uses the sum of their gradients", Class::workload,
          &CaseSpec::accumulate, whole(1, kMaxBatch)),
      row("checkpoint", "WHAT,...",
          "none, or blocks: keep only what passes between blocks of layers, and recompute the rest in the backward pass",
          Class::workload, &CaseSpec::checkpoint),
  };
}

// How the device runs it.
Rows execution_options() {
  return {
      row("threads", "N,...", "CPU threads (default: the physical cores allowed, of the fastest kind)", Class::placement,
          &CaseSpec::threads, parse_threads, {.applies = on_cpu}),
      row("pin", "P,...", "pin each CPU thread to one core: cores, none, or auto; auto pins unless a quota shares the cores",
          Class::placement, &CaseSpec::pin, {.protocol_key = "-", .applies = on_cpu}),
      row("ranks", "N,...",
          "number of processes that share each batch and sum their gradients, started by mpirun; each has --threads or its own "
          "GPU",
          Class::placement, &CaseSpec::ranks, whole<int>(1, kMaxRanks)),
      row("communication_threads", "N,...", "1: an extra thread per rank exchanges gradients while the others compute; 0: none",
          Class::placement, &CaseSpec::communication_threads, whole<int>(0, 1), {.applies = ranks_on_cpu}),
      row("launcher", "COMMAND", "command that starts ranks, such as 'srun -n {ranks}' (default: mpirun)", std::nullopt,
          &CaseSpec::launcher, parse_launcher, {.protocol_key = "-", .applies = has_ranks}),
      row("oversubscribe", "", "allow more ranks than cores, which then wait for each other", Class::placement,
          &CaseSpec::oversubscribe, parse_switch, {.protocol_key = "-", .applies = has_ranks}),
      row("shard", "WHAT,...",
          "none, or optimizer: each rank updates only its share of the parameters and stores the optimizer state for that "
          "share",
          Class::placement, &CaseSpec::shard, {.applies = has_ranks}),
      row("bucket", "MIB,...", "MiB of gradients that ranks exchange at once", Class::placement, &CaseSpec::bucket_mib,
          real({0, kMaxBucketMib, false, true}), {.group = kExperiments, .applies = has_ranks}),
      row("without", "PARTS,...",
          "leave out fusion, graph-capture, library-attention, packed-weights, prefetch, winograd, or several as in "
          "fusion+prefetch, to measure their effect; none leaves out nothing",
          Class::ablation, &CaseSpec::without, parse_parts<Without>, {.group = kExperiments}),
      row("kernels", "KERNELS,...",
          "best; avx2: those of CPUs without AVX-512; portable: compiled for the baseline instruction set, without wide "
          "vectors; or fastest: for each product and convolution the best ones or OpenBLAS or oneDNN, whichever is faster "
          "(needs a build with EPOCHBENCH_LIBRARIES=ON)",
          Class::rounding, &CaseSpec::kernels, {.group = kExperiments, .old_key = "gemm"}),
      row("meters", "M,...", "read energy and the GPU's state while steps run: on or off", Class::measurement,
          &CaseSpec::meters, parse_switch, {.group = kOutput, .protocol_key = "-"}),
  };
}

// Which data, and how long.
Rows length_options() {
  return {
      row("data", "SPEC", data_sources() + " (default: the model's)", Class::workload, &CaseSpec::data, parse_data,
          {.group = kData}),
      row("tokenizer", "KIND:PATH",
          "tokenizer of a text: gpt2:DIR with vocab.json and merges.txt, or wordpiece:FILE with BERT's vocab.txt; "
          "wordpiece-cased: or wordpiece-uncased: says whether it keeps capitals (default: bytes)",
          Class::workload, &CaseSpec::tokenizer, parse_tokenizer, {.group = kData, .value = name_of_tokenizer}),
      row("epochs", "N", "train N whole epochs", Class::measurement, stop(&StopSpec::epochs), whole(1, kMaxSteps),
          {.stops = true}),
      row("steps", "N", "time N steps", Class::measurement, stop(&StopSpec::steps), whole(1, kMaxSteps), {.stops = true}),
      row("min_time", "SECONDS", "time steps for at least that long", Class::measurement, stop(&StopSpec::min_time_seconds),
          real({0, kMaxSeconds, false, true}), {.stops = true, .old_key = "min_time_seconds"}),
      row("until", "METRIC=VALUE", "train whole epochs until accuracy=0.97 or loss=0.1 on the test split", Class::measurement,
          stop(&StopSpec::until), parse_until, {.stops = true}),
      warm_up_option(),
      row("repetitions", "N", "all cases once, then all again", std::nullopt, &CaseSpec::repetitions,
          whole<int>(1, kMaxRepetitions), {.protocol_key = "-"}),
  };
}

Rows training_options() {
  return {
      row("epoch_samples", "N", "samples in an epoch of synthetic data", Class::workload, &CaseSpec::epoch_samples,
          whole(1, kMaxSamples)),
      row("seed", "N", "seed of weights, order and synthetic data", Class::sample, &CaseSpec::seed, parse_seed),
      row("learning_rate", "X", "learning rate (default: the model's)", Class::workload, &CaseSpec::learning_rate,
          real({0, std::numeric_limits<float>::max(), false, true})),
      row("lr_schedule", "S",
          "constant, cosine or step: cosine falls to 0 along half a cosine, step to a tenth after a third of the steps and to "
          "a "
          "hundredth after two thirds; both need --epochs or --steps",
          Class::workload, &CaseSpec::lr_schedule),
      row("lr_warmup", "N", "number of first steps over which the learning rate rises linearly", Class::workload,
          &CaseSpec::lr_warmup, whole(0, kMaxSteps)),
      row("weight_decay", "X", "weight decay (default: the model's)", Class::workload, &CaseSpec::weight_decay,
          real({0, 1, true, false})),
      row("label_smoothing", "X",
          "label smoothing: mix each label with the uniform distribution at weight X, in the training loss only",
          Class::workload, &CaseSpec::label_smoothing, real({0, 1, true, false})),
      row("mixup", "ALPHA",
          "mix pairs of training images and their labels with weights drawn from Beta(ALPHA, ALPHA), often 0.2; 0: none",
          Class::workload, &CaseSpec::mixup, real({0, 100, true, true})),
      row("ema", "DECAY",
          "evaluate an average of the weights: average = DECAY * average + (1 - DECAY) * weights, after each update; 0: none",
          Class::workload, &CaseSpec::ema, real({0, 1, true, false})),
      row("order", "ORDER", "shuffled or sequential", Class::workload, &CaseSpec::order),
      row("dropout", "P", "probability of dropout (default: the model's); without effect on a model that has none",
          Class::workload, &CaseSpec::dropout, real({0, 1, true, false}), {.applies = may_have_dropout}),
  };
}

template <class T>
auto image(T ImageOptions::*member) {
  return [=](auto& spec) -> auto& { return spec.images.*member; };
}

// Options of --data images:PATH.
Rows image_options() {
  return {
      row("augment", "PARTS",
          "change training images at random: crop (and resize), flip, color, or several as in crop+flip; none changes nothing",
          Class::workload, image(&ImageOptions::augmentation), parse_parts<Augmentation>),
      row("normalize", "HOW",
          "mean and deviation that images are normalized by: imagenet, or measured: those of 256 training images",
          Class::workload, image(&ImageOptions::normalization), parse_choice<Normalization>),
      row("on_bad_image", "WHAT",
          "what to do with an image that cannot be decoded: stop, or skip; skip reads the next one in its place", Class::input,
          image(&ImageOptions::bad_images), parse_choice<BadImages>),
      row("cold", "C,...",
          "drop image files from the page cache before they are read, so that they come from the disk: on or off", Class::input,
          image(&ImageOptions::cold), parse_switch),
  };
}

// How samples reach the steps.
Rows input_options() {
  return {
      row("loader_threads", "N,...",
          "threads that read and decode; 0: the thread that runs the steps does, when it needs a batch", Class::input,
          &CaseSpec::loader_threads, whole<int>(0, kMaxThreads)),
      row("decode_cost", "SECONDS,...", "CPU seconds to add to the decoding of each sample", Class::input,
          &CaseSpec::decode_cost_seconds, real({0, kMaxDecodeSeconds}),
          {.group = kExperiments, .protocol_key = "decode_cost_seconds"}),
      row("cache", "WHAT,...", "none, or decoded: decode all images before the first step and keep them", Class::input,
          &CaseSpec::cache),
  };
}

// What must exist, and what is written.
Rows file_options() {
  return {
      {.key = "only_with",
       .value_name = "WHAT",
       .help = "skip the case unless this machine has WHAT: cuda:0, cores:4 for 4 CPU cores, or data for the files of --data",
       .group = kMain,
       .protocol_key = "-",
       .parse = parse_condition},
      row("init", "FILE", "begin with the weights of a safetensors file, or of an index or a folder of them", Class::workload,
          &CaseSpec::init, parse_path, {.group = kData, .value = file_of_weights}),
      row("save", "FILE", "write the final weights there, as safetensors", std::nullopt, &CaseSpec::save, parse_path),
      row("trace", "DIR", "write batches, losses and weights into an empty folder, to replay elsewhere", std::nullopt,
          &CaseSpec::trace, parse_path),
  };
}

Rows peer_options() {
  constexpr OfferedTo kPeers = OfferedTo::peers;
  return {
      row("compile", "MODE,...", "mode of torch.compile, or eager", Class::placement, &CaseSpec::compile,
          one_of({"eager", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}),
          {.offered_to = kPeers}),
      row("wait", "HOW", "sleep, or spin: what idle threads do", Class::measurement, &CaseSpec::wait, one_of({"sleep", "spin"}),
          {.offered_to = kPeers}),
      row("bind", "HOW", "yes, or no: the system places the threads", Class::placement, &CaseSpec::bind, one_of({"yes", "no"}),
          {.offered_to = kPeers}),
  };
}

// Appends each default that has a value to the help.
std::vector<CaseOption> make_options() {
  std::vector<CaseOption> options;
  const std::pair<const char*, Rows (*)()> groups[] = {
      {kMain, main_options},  {kMain, execution_options}, {kLength, length_options}, {kData, training_options},
      {kData, image_options}, {kData, input_options},     {kOutput, file_options},   {kMain, peer_options}};
  for (const auto& [title, rows] : groups)
    for (CaseOption& option : rows()) {
      if (option.group.empty()) option.group = title;
      options.push_back(std::move(option));
    }
  for (CaseOption& option : options)
    if (const auto value = option.value ? option.value(CaseSpec{}) : std::nullopt; value && option.parse)
      option.help += " (default " + to_text(*value) + ")";
  return options;
}

template <class Condition>
const CaseOption* first_option(const Condition& condition) {
  const auto found = std::ranges::find_if(case_options(), condition);
  return found == case_options().end() ? nullptr : &*found;
}

std::string with_dashes(std::string key) {
  std::ranges::replace(key, '_', '-');
  return key;
}

}  // namespace

const std::vector<CaseOption>& case_options() {
  static const std::vector<CaseOption> options = make_options();
  return options;
}

const CaseOption* find_case_option(std::string_view key) {
  return first_option([&](const CaseOption& option) {
    return option.offered_to != OfferedTo::nobody && (option.key == key || (!option.old_key.empty() && option.old_key == key));
  });
}

const CaseOption* find_setting(std::string_view key) {
  return first_option([&](const CaseOption& option) { return option.setting_class && option.key == key; });
}

std::string flag(const CaseOption& option) { return "--" + with_dashes(option.key); }

std::string name_part(const CaseOption& option) { return with_dashes(option.old_key.empty() ? option.key : option.old_key); }

}  // namespace epochbench
