#include "src/cli/known_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "src/base/lookup.h"
#include "src/base/text.h"
#include "src/session/capabilities.h"
#include "src/session/predicting.h"

namespace epochbench {
namespace {

// "gpu:1" and "NVIDIA 1" as "cuda:1", "CUDA" as "cuda:0"; other words as they are.
std::string as_device(const std::string& word) {
  std::string lower = word;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool is_gpu = lower.starts_with("gpu") || lower.starts_with("nvidia") || lower.starts_with(name(DeviceKind::cuda));
  if (!is_gpu) return word;
  const std::size_t digit = std::min(lower.find_first_of("0123456789"), lower.size());
  const std::string index = lower.substr(digit, lower.find_first_not_of("0123456789", digit) - digit);
  return std::string(name(DeviceKind::cuda)) + ":" + (index.empty() ? "0" : index);
}

// "fp16" for "float16" and "half": what others call a precision.
std::string as_precision(const std::string& word) {
  constexpr std::pair<std::string_view, Precision> kOthers[] = {
      {"float32", Precision::fp32}, {"float", Precision::fp32}, {"single", Precision::fp32},
      {"float16", Precision::fp16}, {"half", Precision::fp16},  {"bfloat16", Precision::bf16},
      {"amp", Precision::bf16},     {"mixed", Precision::bf16}, {"16", Precision::fp16}};
  for (const auto& [other, precision] : kOthers)
    if (word == other) return name(precision);
  return word;
}

std::vector<std::string> known_devices(DeviceUse use) {
  std::vector<std::string> names;
  for (const DeviceId device : usable_devices()) names.push_back(to_string(device));
  const std::string gpu = to_string(cuda_device(0));
  if (use == DeviceUse::plan && plans_for_gpus() && !contains(names, gpu)) names.push_back(gpu);
  return names;
}

// Why a device that others name, as as_device() gives it, is none of this machine's; empty: not known.
std::string why_not_device(const std::string& word) {
  const DeviceId gpu = cuda_device(0);
  if (const auto obstacle = device_obstacle(gpu); obstacle && word.starts_with(name(DeviceKind::cuda)))
    return to_string(gpu) + " is not usable here: " + *obstacle;
  for (const std::string_view other : {"mps", "metal", "rocm", "hip", "xpu", "tpu", "npu"})
    if (word.starts_with(other)) return "epochbench runs on CPUs and NVIDIA GPUs";
  return "";
}

// The values of the call's option; those that cannot be read are left out.
template <class Parse>
auto given(const CaseBlock* cases, const char* key, const Parse& parse) {
  std::vector<decltype(parse(std::string()))> values;
  if (!cases || !cases->contains(key)) return values;
  for (const std::string& text : cases->at(key).values) try {
      values.push_back(parse(text));
    } catch (const CallError&) {
      continue;
    }
  return values;
}

// Those of the devices that the call names, or of the CPU, in all of its modes.
std::set<Precision> known_precisions(const NamingCall& call) {
  const std::vector<Precision> of_catalog = precisions_on(call.on);
  const std::set<Precision> all(of_catalog.begin(), of_catalog.end());
  if (call.use == DeviceUse::predict) return all;
  std::vector<DeviceId> devices = given(call.cases, "device", parse_device);
  const bool named = !devices.empty();
  if (!named) devices.push_back({DeviceKind::cpu});
  std::vector<Mode> modes = given(call.cases, "mode", parse_choice<Mode>);
  if (modes.empty()) modes.push_back(Mode::train);
  std::set<Precision> known;
  for (const DeviceId device : devices) {
    if (device_obstacle(device)) continue;
    std::set<Precision> of_device = all;
    of_device.insert(Precision::int8);
    for (const Mode mode : modes) {
      const std::vector<Precision> usable = usable_precisions(device, mode);
      std::erase_if(of_device, [&](Precision precision) { return !contains(usable, precision); });
    }
    known.insert(of_device.begin(), of_device.end());
  }
  const bool on_gpu = !named || std::ranges::any_of(devices, [](DeviceId device) { return device.kind == DeviceKind::cuda; });
  if (call.use == DeviceUse::plan && on_gpu && plans_for_gpus()) known.insert(all.begin(), all.end());
  return known;
}

}  // namespace

std::string known_names(const CallError& error, const NamingCall& call) {
  std::vector<std::string> names;
  std::string word = error.word();
  switch (error.unknown()) {
    case Unknown::nothing:
      return "";
    case Unknown::device:
      names = known_devices(call.use);
      word = as_device(word);
      break;
    case Unknown::precision:
      word = as_precision(word);
      for (const Precision precision : known_precisions(call)) names.emplace_back(name(precision));
      break;
  }
  if (names.empty()) return "";
  if (contains(names, word)) return "; choose from " + joined(names) + "; did you mean " + word + "?";
  const std::string obstacle = error.unknown() == Unknown::device ? why_not_device(word) : "";
  return "; choose from " + joined(names) + (obstacle.empty() ? did_you_mean(word, names) : "; " + obstacle);
}

}  // namespace epochbench
