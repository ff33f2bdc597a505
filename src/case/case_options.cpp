#include "src/case/case_options.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "src/base/errors.h"
#include "src/base/numbers.h"

namespace epochbench {
namespace {

// Above any batch that fits into memory, and small enough that no size computed from it overflows.
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 20;
constexpr std::int64_t kMaxSteps = 1'000'000'000;
constexpr std::int64_t kMaxSamples = 1'000'000'000'000;
constexpr int kMaxThreads = 1024;
constexpr int kMaxDevice = 255;
constexpr double kMaxSeconds = 1e7;
constexpr double kMaxDecodeSeconds = 60;

void set_device(CaseDraft& draft, const std::string& value) {
  if (value == "cpu" || value == "reference") {
    draft.device = value;
    return;
  }
  if (value.rfind("cuda", 0) != 0 || (value.size() > 4 && value[4] != ':'))
    throw CallError("'" + value + "' is unknown; choose from cpu, cuda:0, cuda:1, ..., reference");
  const std::int64_t index = value.size() == 4 ? 0 : parse_integer(value.substr(5), 0, kMaxDevice);
  draft.device = "cuda:" + std::to_string(index);
}

// Kept as it is read, "cuda:0" or "cores:4": what this machine has is not looked at here.
void set_condition(CaseDraft& draft, const std::string& value) {
  constexpr std::string_view kCores = "cores:";
  if (value.rfind(kCores, 0) == 0) {
    draft.least_cores = static_cast<int>(parse_integer(value.substr(kCores.size()), 1, kMaxThreads));
    return;
  }
  CaseDraft device;
  set_device(device, value);
  if (device.device.rfind("cuda:", 0) != 0) throw CallError("'" + value + "' must be a GPU such as cuda:0, or cores:4");
  draft.beside_device = device.device;
}

void set_until(CaseDraft& draft, const std::string& value) {
  const auto equals = value.find('=');
  if (equals == std::string::npos) throw CallError("'" + value + "' must be METRIC=VALUE, such as accuracy=0.97 or loss=0.1");
  Until until;
  until.metric = parse_word(value.substr(0, equals), {"accuracy", "loss"});
  const std::string number = value.substr(equals + 1);
  until.value =
      until.metric == "accuracy" ? parse_real(number, {0, 1, false, true}) : parse_real(number, {0, 1e6, false, true});
  draft.stop.until = until;
}

void set_without(CaseDraft& draft, const std::string& value) {
  const auto without = without_from_text(value);
  if (!without) {
    std::string known = "none";
    for (const WithoutPart& part : kWithoutParts) known += std::string(", ") + part.name;
    throw CallError("'" + value + "' is unknown; choose from " + known + ", or several as in fusion+prefetch");
  }
  draft.without = *without;
}

std::string parse_path(const std::string& value) {
  if (value.empty() || value.find('\0') != std::string::npos) throw CallError("an empty path; name a file or folder");
  return value;
}

std::vector<CaseOption> make_options() {
  using Draft = CaseDraft;
  using Text = const std::string;
  return {
      {"model", "M,...", "with options as in mlp:width=4096,depth=3; `list models` has them", true, false,
       [](Draft& d, Text& v) { d.model = find_model(v); }},
      {"device", "D,...", "cpu, cuda:0, or reference: naive loops that sum in double, to compare with (default cpu)", true,
       false, set_device},
      {"precision", "P,...", "fp32, tf32, bf16, fp16 (default fp32)", true, false,
       [](Draft& d, Text& v) {
         d.precision = parse_word(v, {"fp32", "tf32", "bf16", "fp16"});
       }},
      {"mode", "MODE", "train or forward (default train)", false, false,
       [](Draft& d, Text& v) {
         d.mode = parse_word(v, {"train", "forward"});
       }},
      {"batch", "N,...", "samples a step (default: the model's)", true, false,
       [](Draft& d, Text& v) { d.batch = parse_integer(v, 1, kMaxBatch); }},
      {"threads", "N,...", "CPU threads (default: the physical cores allowed)", true, false,
       [](Draft& d, Text& v) { d.threads = static_cast<int>(parse_integer(v, 1, kMaxThreads)); }},
      {"pin", "P,...", "CPU threads to one core each: cores, none, or auto: where no quota shares the cores (default auto)",
       true, false,
       [](Draft& d, Text& v) {
         d.pin = parse_word(v, {"auto", "cores", "none"});
       }},
      {"without", "PARTS,...",
       "leave out fusion, graph-capture, prefetch, winograd, or several as in fusion+prefetch, to see what it is worth; none "
       "leaves out nothing (default none)",
       true, false, set_without},
      {"gemm", "KERNELS,...",
       "best, or portable: all kernels of the CPU, convolutions and the rest too, as compiled for every processor of its kind, "
       "without wide vectors (default best)",
       true, false,
       [](Draft& d, Text& v) {
         d.gemm = parse_word(v, {"best", "portable"});
       }},
      {"meters", "M,...", "energy and the GPU's state, read while steps are timed: on or off (default on)", true, false,
       [](Draft& d, Text& v) {
         d.meters = parse_word(v, {"on", "off"}) == "on";
       }},
      {"data", "SPEC", "synthetic, digits, founding-documents, idx:DIR, cifar10:DIR, text:FILE (default: the model's)", false,
       false,
       [](Draft& d, Text& v) {
         if (v.empty())
           throw CallError(
               "an empty value; choose from synthetic, digits, founding-documents, idx:DIR, cifar10:DIR, text:FILE");
         d.data = v;
       }},
      {"epochs", "N", "train N whole epochs", false, true,
       [](Draft& d, Text& v) { d.stop.epochs = parse_integer(v, 1, kMaxSteps); }},
      {"steps", "N", "time N steps", false, true, [](Draft& d, Text& v) { d.stop.steps = parse_integer(v, 1, kMaxSteps); }},
      {"min_time", "SECONDS", "time steps for at least that long", false, true,
       [](Draft& d, Text& v) {
         d.stop.min_time_seconds = parse_real(v, {0, kMaxSeconds, false, true});
       }},
      {"until", "METRIC=VALUE", "train whole epochs until accuracy=0.97 or loss=0.1 on the test split", false, true, set_until},
      {"warmup", "N", "steps before the timed ones (default 3)", false, false,
       [](Draft& d, Text& v) { d.warmup = static_cast<int>(parse_integer(v, 0, 1'000'000)); }},
      {"repetitions", "N", "all cases once, then all again", false, false,
       [](Draft& d, Text& v) { d.repetitions = static_cast<int>(parse_integer(v, 1, kMaxRepetitions)); }},
      {"epoch_samples", "N", "samples in an epoch of synthetic data", false, false,
       [](Draft& d, Text& v) { d.epoch_samples = parse_integer(v, 1, kMaxSamples); }},
      {"seed", "N", "of weights, order and synthetic data (default 0)", false, false,
       [](Draft& d, Text& v) { d.seed = parse_seed(v); }},
      {"learning_rate", "X", "in place of the model's", false, false,
       [](Draft& d, Text& v) {
         d.learning_rate = parse_real(v, {0, std::numeric_limits<float>::max(), false, true});
       }},
      {"order", "ORDER", "shuffled or sequential (default shuffled)", false, false,
       [](Draft& d, Text& v) {
         d.order = parse_word(v, {"shuffled", "sequential"});
       }},
      {"dropout", "P", "in place of the model's; without effect on a model that has none", false, false,
       [](Draft& d, Text& v) {
         d.dropout = parse_real(v, {0, 1, true, false});
       }},
      {"loader_threads", "N,...",
       "threads that read and decode; 0: the one that runs the steps, when it needs a batch (default 1)", true, false,
       [](Draft& d, Text& v) { d.loader_threads = static_cast<int>(parse_integer(v, 0, kMaxThreads)); }},
      {"decode_cost", "SECONDS,...", "of a core, added to the decoding of each sample (default 0)", true, false,
       [](Draft& d, Text& v) {
         d.decode_cost_seconds = parse_real(v, {0, kMaxDecodeSeconds});
       }},
      {"cache", "WHAT,...", "none, or decoded: all images are decoded before the first step and kept (default none)", true,
       false,
       [](Draft& d, Text& v) {
         d.cache = parse_word(v, {"none", "decoded"});
       }},
      {"only_with", "WHAT", "skip it unless this machine has that: cuda:0, or cores:4 for so many CPU cores", false, false,
       set_condition},
      {"init", "FILE", "begin with the weights of a safetensors file", false, false,
       [](Draft& d, Text& v) { d.init = parse_path(v); }},
      {"save", "FILE", "write the final weights there, as safetensors", false, false,
       [](Draft& d, Text& v) { d.save = parse_path(v); }},
      {"trace", "DIR", "write batches, losses and weights into an empty folder, to replay elsewhere", false, false,
       [](Draft& d, Text& v) { d.trace = parse_path(v); }},
  };
}

// How many cases the lists of a block multiply out to. Errors: CallError above kMaxCases.
void check_size(const CaseBlock& block) {
  std::size_t cases = 1;
  for (const auto& [key, option] : block) {
    if (option.values.size() > kMaxCases / cases)
      throw CallError(option.where + ": the lists multiply out to more than " + std::to_string(kMaxCases) +
                      " cases; leave some values out");
    cases *= std::max<std::size_t>(option.values.size(), 1);
  }
}

// Where two options of a case contradict each other.
void check_together(const CaseDraft& draft) {
  const StopSpec& stop = draft.stop;
  if (stop.steps.has_value() + stop.epochs.has_value() + stop.min_time_seconds.has_value() > 1)
    throw CallError("steps, epochs and min-time exclude each other; give one");
  if (stop.until && (stop.steps || stop.min_time_seconds))
    throw CallError("until trains whole epochs, so steps and min-time exclude it; limit it with epochs");
  if (stop.until && draft.mode == "forward") throw CallError("until needs training; leave out mode=forward");
}

}  // namespace

const std::vector<CaseOption>& case_options() {
  static const std::vector<CaseOption> options = make_options();
  return options;
}

const CaseOption* find_case_option(const std::string& key) {
  const auto& options = case_options();
  const auto found = std::find_if(options.begin(), options.end(), [&](const CaseOption& option) { return option.key == key; });
  return found == options.end() ? nullptr : &*found;
}

std::string flag(const CaseOption& option) {
  std::string text = std::string("--") + option.key;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::vector<std::string> split_values(const CaseOption& option, const std::string& text) {
  if (!option.is_list) return {text};
  std::vector<std::string> values;
  for (const std::string& part : split_list(text)) {
    const bool belongs_to_model =
        std::string(option.key) == "model" && part.find('=') != std::string::npos && part.find(':') == std::string::npos;
    if (!belongs_to_model) {
      values.push_back(part);
      continue;
    }
    if (values.empty()) throw CallError("'" + part + "' must stand after the model that it belongs to, as in mlp:" + part);
    values.back() += (values.back().find(':') == std::string::npos ? ":" : ",") + part;
  }
  return values;
}

CaseBlock merged(CaseBlock block, const CaseBlock& over) {
  const bool stops =
      std::any_of(over.begin(), over.end(), [](const auto& entry) { return find_case_option(entry.first)->stops; });
  if (stops) std::erase_if(block, [](const auto& entry) { return find_case_option(entry.first)->stops; });
  for (const auto& [key, values] : over) block[key] = values;
  return block;
}

std::vector<CaseDraft> expand(const CaseBlock& block) {
  check_size(block);
  std::vector<CaseDraft> drafts(1);
  for (const CaseOption& option : case_options()) {
    const auto found = block.find(option.key);
    if (found == block.end()) continue;
    const auto& [values, where] = found->second;
    std::vector<CaseDraft> next;
    for (const CaseDraft& draft : drafts)
      for (const std::string& value : values) {
        next.push_back(draft);
        try {
          option.apply(next.back(), value);
        } catch (const std::exception& error) {  // CallError, or std::invalid_argument of the model's registry
          throw CallError(where + ": " + error.what());
        }
      }
    drafts = std::move(next);
  }
  for (const CaseDraft& draft : drafts) try {
      check_together(draft);
    } catch (const CallError& error) {
      throw CallError(block.begin()->second.where + ": " + error.what());
    }
  return drafts;
}

}  // namespace epochbench
