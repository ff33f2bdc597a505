#include "src/analysis/case_settings.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "src/base/text.h"
#include "src/case/case_option.h"
#include "src/case/run_name.h"

namespace epochbench {
namespace {

void erase(Settings& settings, std::initializer_list<const char*> keys) {
  for (const char* key : keys) settings.erase(key);
}

// Adds model, batch, precision and device even if they are the defaults.
Settings complete(Settings settings, const std::string& model, std::int64_t batch, Precision precision,
                  const std::string& backend) {
  settings = identifying(std::move(settings));
  settings.erase("framework");  // the backend says it
  settings.try_emplace("model", model);
  settings.try_emplace("batch", batch);
  settings["precision"] = std::string(name(precision));
  if (backend == name(BackendKind::cuda))
    settings.try_emplace("device", std::string("cuda:0"));
  else
    settings["device"] = backend;
  return settings;
}

}  // namespace

Settings case_settings(const Run& run) {
  return complete(run.settings, run.workload.model, run.workload.batch, run.precision, name(run.device.backend));
}

Settings case_settings(const TurnsCase& turns) {
  return complete(turns.settings, turns.model, turns.batch, turns.precision, turns.device.substr(0, turns.device.find(':')));
}

Settings speed_settings(const Run& run) {
  return of_classes(case_settings(run), {SettingClass::workload, SettingClass::placement, SettingClass::rounding,
                                         SettingClass::ablation, SettingClass::input, SettingClass::measurement});
}

Settings further_settings(Settings settings) {
  const std::string device = device_text(settings);
  const bool is_another_gpu = device.starts_with("cuda:") && device != "cuda:0";
  if (!is_another_gpu) settings.erase("device");
  erase(settings, {"model", "model_options", "precision", "batch"});
  return settings;
}

Settings conditions_of(const Run& run) {
  Settings conditions = of_classes(
      case_settings(run), {SettingClass::workload, SettingClass::rounding, SettingClass::ablation, SettingClass::input});
  erase(conditions, {"model", "model_options", "batch", "data", "mode", "precision"});
  for (const char* key : {"ranks", "shard"})
    if (const auto found = run.settings.find(key); found != run.settings.end()) conditions.insert(*found);
  return conditions;
}

std::string label_of(const Settings& settings) {
  const std::string device = device_text(settings), batch = setting_text(settings, "batch");
  std::vector<std::string> parts{model_text(settings), device.substr(0, device.find(':')), setting_text(settings, "precision"),
                                 batch.empty() ? "" : "b" + batch};
  std::erase(parts, "");
  for (std::string& text : setting_texts(further_settings(settings))) parts.push_back(std::move(text));
  return joined(parts, "/");
}

std::string device_text(const Settings& settings) { return setting_text(settings, "device"); }

std::string model_family(const Run& run) { return setting_text(case_settings(run), "model"); }

std::optional<std::int64_t> model_option(const Run& run, const std::string& option) {
  const auto* options = setting_as<ModelOptions>(run.settings, "model_options");
  const std::int64_t* value = options ? find_value(*options, option) : nullptr;
  return value ? std::optional(*value) : std::nullopt;
}

std::vector<std::string> setting_texts(const Settings& settings) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : settings) {
    const CaseOption* option = find_setting(key);
    texts.push_back((option ? name_part(*option) : key) + "=" + to_text(value));
  }
  std::ranges::sort(texts);
  return texts;
}

std::string settings_text(const Settings& settings) { return joined(setting_texts(settings), "/"); }

std::vector<std::string> left_out_parts(const Settings& settings) {
  const auto* parts = setting_as<std::vector<std::string>>(settings, "without");
  return parts ? *parts : std::vector<std::string>{};
}

}  // namespace epochbench
