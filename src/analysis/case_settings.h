// A run's settings as answers compare them. A run's name is a label that no answer reads. Code that matches, pairs or pools
// runs names the classes of settings it uses with of_classes() (src/case/setting_class.h); docs/architecture.md has the table.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/case/settings.h"
#include "src/result/turns.h"

namespace epochbench {

using ModelOptions = std::map<std::string, std::int64_t>;

// All settings of the run's case: `Run::settings` with model, device, precision and batch even if they are the defaults, and
// without the rule that stops it. `device` is the backend if that is not CUDA. Repetitions of a case have the same settings.
Settings case_settings(const Run& run);
Settings case_settings(const TurnsCase& turns);
// The same without the seed: for speed, runs that differ only in the seed are repetitions.
Settings speed_settings(const Run& run);

// The settings that a label shows besides model, device, precision and batch.
Settings further_settings(Settings settings);

// A case's work and conditions besides what Workload and Run state: the classes workload, rounding, ablation and input, and how
// ranks share the work.
Settings conditions_of(const Run& run);

// "resnet20/cpu/fp32/b32/threads=1", "mlp:width=64/b16": model, device, precision and batch if the settings have them, and the
// others by key.
std::string label_of(const Settings& settings);

// "order=sequential", "without=fusion+prefetch", as in names, sorted.
std::vector<std::string> setting_texts(const Settings& settings);
// The same, with slashes between them.
std::string settings_text(const Settings& settings);

std::string device_text(const Settings& settings);  // "cpu", "cuda:1", "pytorch"
std::string model_family(const Run& run);           // "mlp"
// An option that differs from its default; empty if it does not.
std::optional<std::int64_t> model_option(const Run& run, const std::string& option);

// The parts that are left out; empty if none.
std::vector<std::string> left_out_parts(const Settings& settings);

}  // namespace epochbench
