#include <algorithm>
#include <filesystem>

#include "epochbench/model.h"
#include "src/case/option_row.h"

namespace epochbench {
namespace {

using Class = SettingClass;

// Above any batch that fits into memory, and small enough that no size computed from it overflows.
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;
constexpr std::int64_t kMaxSteps = 1'000'000'000;
constexpr std::int64_t kMaxSamples = 1'000'000'000'000;
constexpr int kMaxThreads = 1024;
constexpr double kMaxSeconds = 1e7;
constexpr double kMaxDecodeSeconds = 60;
constexpr const char* kDataSets = "synthetic, digits, founding-documents, idx:DIR, cifar10:DIR, text:FILE";

std::string parse_model(const std::string& text) { return find_model(text).name; }

std::string parse_data(const std::string& text) {
  if (text.empty()) throw CallError(std::string("an empty value; choose from ") + kDataSets);
  return text;
}

std::string parse_path(const std::string& text) {
  if (text.empty() || text.find('\0') != std::string::npos) throw CallError("an empty path; name a file or folder");
  return text;
}

bool parse_switch(const std::string& text) { return parse_word(text, {"on", "off"}) == "on"; }

Until parse_until(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) throw CallError("'" + text + "' must be METRIC=VALUE, such as accuracy=0.97 or loss=0.1");
  Until until;
  until.metric = parse_word(text.substr(0, equals), {"accuracy", "loss"});
  until.value = parse_real(text.substr(equals + 1), {0, until.metric == "accuracy" ? 1 : 1e6, false, true});
  return until;
}

// What this machine has is not looked at here.
void parse_condition(CaseSpec& spec, const std::string& text) {
  constexpr std::string_view kCores = "cores:";
  if (text.rfind(kCores, 0) == 0) {
    spec.least_cores = static_cast<int>(parse_integer(text.substr(kCores.size()), 1, kMaxThreads));
    return;
  }
  spec.beside_device = parse_device(text);
  if (spec.beside_device->kind != DeviceKind::cuda) throw CallError("'" + text + "' must be a GPU such as cuda:0, or cores:4");
}

std::function<std::string(const std::string&)> parse_word_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) { return parse_word(text, words); };
}

bool on_cpu(const CaseSpec& spec) { return spec.device.kind == DeviceKind::cpu; }

bool may_have_dropout(const CaseSpec& spec) {
  const ModelFamily* family = find_family(spec.model);
  return !family || family->has_dropout;
}

CaseOption init_row() {
  CaseOption option = row({.key = "init",
                           .value_name = "FILE",
                           .help = "begin with the weights of a safetensors file",
                           .setting_class = Class::workload},
                          &CaseSpec::init, parse_path);
  option.value = [](const CaseSpec& spec) { return to_setting(std::filesystem::path(spec.init).filename().string()); };
  return option;  // its folder stays private
}

// The model is one text for people and the protocol, and two settings: its family and its options.
CaseOption model_row() {
  CaseOption option = row({.key = "model",
                           .value_name = "M,...",
                           .help = "a model, with options as in mlp:width=4096,depth=3; `list models` has them",
                           .setting_class = Class::workload,
                           .in_name = false},
                          &CaseSpec::model, parse_model);
  option.value = [](const CaseSpec& spec) { return to_setting(family_name(spec.model)); };
  return option;
}

CaseOption model_options_row() {
  CaseOption option{.key = "model_options",
                    .setting_class = Class::workload,
                    .in_name = false,
                    .offered_to = OfferedTo::nobody,
                    .protocol_key = "-"};
  option.value = [](const CaseSpec& spec) -> std::optional<SettingValue> {
    const auto options = model_options(spec.model);
    return options.empty() ? std::nullopt : std::optional<SettingValue>(options);
  };
  return option;
}

CaseOption condition_row() {
  CaseOption option{.key = "only_with",
                    .value_name = "WHAT",
                    .help = "skip the case unless this machine has that: cuda:0, or cores:4 for 4 CPU cores",
                    .protocol_key = "-"};
  option.parse = parse_condition;
  return option;
}

std::vector<CaseOption> make_options() {
  return {
      model_row(),
      model_options_row(),
      row({.key = "framework",
           .value_name = "F",
           .setting_class = Class::placement,
           .in_name = false,
           .offered_to = OfferedTo::peers},
          &CaseSpec::framework),
      row({.key = "device",
           .value_name = "D,...",
           .help = "cpu, cuda:0, or reference: naive loops that sum in double, to compare with",
           .setting_class = Class::placement},
          &CaseSpec::device, parse_device),
      row({.key = "precision", .value_name = "P,...", .setting_class = Class::rounding, .in_name = false},
          &CaseSpec::precision),
      row({.key = "mode", .value_name = "MODE", .help = "train or forward", .setting_class = Class::workload}, &CaseSpec::mode),
      row({.key = "batch",
           .value_name = "N,...",
           .help = "samples per step (default: the model's)",
           .setting_class = Class::workload,
           .in_name = false},
          &CaseSpec::batch, whole(1, kMaxBatch)),
      row({.key = "threads",
           .value_name = "N,...",
           .help = "CPU threads (default: the physical cores allowed)",
           .setting_class = Class::placement,
           .applies = on_cpu},
          &CaseSpec::threads, small_whole(1, kMaxThreads)),
      row({.key = "pin",
           .value_name = "P,...",
           .help = "CPU threads to one core each: cores, none, or auto: where no quota shares the cores",
           .setting_class = Class::placement,
           .protocol_key = "-",
           .applies = on_cpu},
          &CaseSpec::pin),
      row({.key = "without",
           .value_name = "PARTS,...",
           .help = "leave out fusion, graph-capture, prefetch, winograd, or several as in fusion+prefetch, to measure their "
                   "effect; "
                   "none leaves out nothing",
           .setting_class = Class::ablation},
          &CaseSpec::without, parse_without),
      row({.key = "kernels",
           .value_name = "KERNELS,...",
           .help = "best, or portable: all kernels of the CPU, convolutions and the rest too, as compiled for every processor "
                   "of its "
                   "kind, without wide vectors",
           .setting_class = Class::rounding,
           .old_key = "gemm"},
          &CaseSpec::kernels),
      row({.key = "meters",
           .value_name = "M,...",
           .help = "energy and the GPU's state, read while steps are timed: on or off",
           .setting_class = Class::measurement,
           .protocol_key = "-"},
          &CaseSpec::meters, parse_switch),
      row({.key = "data",
           .value_name = "SPEC",
           .help = std::string(kDataSets) + " (default: the model's)",
           .setting_class = Class::workload},
          &CaseSpec::data, parse_data),
      row({.key = "epochs",
           .value_name = "N",
           .help = "train N whole epochs",
           .setting_class = Class::measurement,
           .stops = true},
          stop(&StopSpec::epochs), whole(1, kMaxSteps)),
      row({.key = "steps", .value_name = "N", .help = "time N steps", .setting_class = Class::measurement, .stops = true},
          stop(&StopSpec::steps), whole(1, kMaxSteps)),
      row({.key = "min_time",
           .value_name = "SECONDS",
           .help = "time steps for at least that long",
           .setting_class = Class::measurement,
           .stops = true,
           .old_key = "min_time_seconds"},
          stop(&StopSpec::min_time_seconds), real({0, kMaxSeconds, false, true})),
      row({.key = "until",
           .value_name = "METRIC=VALUE",
           .help = "train whole epochs until accuracy=0.97 or loss=0.1 on the test split",
           .setting_class = Class::measurement,
           .stops = true},
          stop(&StopSpec::until), parse_until),
      row({.key = "warmup", .value_name = "N", .help = "steps before the timed ones", .setting_class = Class::measurement},
          &CaseSpec::warmup, small_whole(0, 1'000'000)),
      row({.key = "repetitions", .value_name = "N", .help = "all cases once, then all again", .protocol_key = "-"},
          &CaseSpec::repetitions, small_whole(1, kMaxRepetitions)),
      row({.key = "epoch_samples",
           .value_name = "N",
           .help = "samples in an epoch of synthetic data",
           .setting_class = Class::workload},
          &CaseSpec::epoch_samples, whole(1, kMaxSamples)),
      row({.key = "seed",
           .value_name = "N",
           .help = "seed of weights, order and synthetic data",
           .setting_class = Class::sample},
          &CaseSpec::seed, parse_seed),
      row({.key = "learning_rate",
           .value_name = "X",
           .help = "learning rate in place of the model's",
           .setting_class = Class::workload},
          &CaseSpec::learning_rate, real({0, std::numeric_limits<float>::max(), false, true})),
      row({.key = "order", .value_name = "ORDER", .help = "shuffled or sequential", .setting_class = Class::workload},
          &CaseSpec::order),
      row({.key = "dropout",
           .value_name = "P",
           .help = "dropout in place of the model's; without effect on a model that has none",
           .setting_class = Class::workload,
           .applies = may_have_dropout},
          &CaseSpec::dropout, real({0, 1, true, false})),
      row({.key = "loader_threads",
           .value_name = "N,...",
           .help = "threads that read and decode; 0: the one that runs the steps, when it needs a batch",
           .setting_class = Class::input},
          &CaseSpec::loader_threads, small_whole(0, kMaxThreads)),
      row({.key = "decode_cost",
           .value_name = "SECONDS,...",
           .help = "seconds of a core, added to the decoding of each sample",
           .setting_class = Class::input,
           .protocol_key = "decode_cost_seconds"},
          &CaseSpec::decode_cost_seconds, real({0, kMaxDecodeSeconds})),
      row({.key = "cache",
           .value_name = "WHAT,...",
           .help = "none, or decoded: all images are decoded before the first step and kept",
           .setting_class = Class::input},
          &CaseSpec::cache),
      condition_row(),
      init_row(),
      row({.key = "save", .value_name = "FILE", .help = "write the final weights there, as safetensors"}, &CaseSpec::save,
          parse_path),
      row({.key = "trace",
           .value_name = "DIR",
           .help = "write batches, losses and weights into an empty folder, to replay elsewhere"},
          &CaseSpec::trace, parse_path),
      row({.key = "compile",
           .value_name = "MODE,...",
           .help = "mode of torch.compile, or eager",
           .setting_class = Class::placement,
           .offered_to = OfferedTo::peers},
          &CaseSpec::compile,
          parse_word_of({"eager", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"})),
      row({.key = "wait",
           .value_name = "HOW",
           .help = "sleep, or spin: what idle threads do",
           .setting_class = Class::measurement,
           .offered_to = OfferedTo::peers},
          &CaseSpec::wait, parse_word_of({"sleep", "spin"})),
      row({.key = "bind",
           .value_name = "HOW",
           .help = "yes, or no: the system places the threads",
           .setting_class = Class::placement,
           .offered_to = OfferedTo::peers},
          &CaseSpec::bind, parse_word_of({"yes", "no"})),
  };
}

// A default that is a value of its own is part of the help.
std::vector<CaseOption> with_defaults(std::vector<CaseOption> options) {
  for (CaseOption& option : options)
    if (const auto usual = option.value ? option.value(CaseSpec{}) : std::nullopt; usual && option.parse)
      option.help += " (default " + to_text(*usual) + ")";
  return options;
}

}  // namespace

const std::vector<CaseOption>& case_options() {
  static const std::vector<CaseOption> options = with_defaults(make_options());
  return options;
}

const CaseOption* find_case_option(std::string_view key) {
  const auto& options = case_options();
  const auto found = std::find_if(options.begin(), options.end(), [&](const CaseOption& option) {
    return option.offered_to != OfferedTo::nobody && (option.key == key || (!option.old_key.empty() && option.old_key == key));
  });
  return found == options.end() ? nullptr : &*found;
}

const CaseOption* find_setting(std::string_view key) {
  const auto& options = case_options();
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const CaseOption& option) { return option.setting_class && option.key == key; });
  return found == options.end() ? nullptr : &*found;
}

std::string with_dashes(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

std::string flag(const CaseOption& option) { return "--" + with_dashes(option.key); }

std::string name_part(const CaseOption& option) { return with_dashes(option.old_key.empty() ? option.key : option.old_key); }

}  // namespace epochbench
