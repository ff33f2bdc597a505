// The losses of PyTorch that scripts/peers/ten_losses stored, and the case that they are of: same initial weights, same
// batches, no dropout. TEN_LOSSES_FOLDER is where they lie.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "src/case/case_spec.h"
#include "src/workload/workload.h"

namespace epochbench::test {

// Small shapes of every family, for backends that take long.
inline constexpr const char* kSmallLosses[] = {"gpt2-small",         "llama-small",  "vit-small",  "mobilenet-small",
                                               "efficientnet-small", "nasnet-small", "lstm-small", "lstm-lm-small"};

struct StoredLosses {
  CaseSpec spec;
  std::vector<double> losses;
};

inline StoredLosses stored_losses(const std::string& name) {
  const std::string path = std::string(TEN_LOSSES_FOLDER) + "/" + name + ".json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be read");
  const auto stored = nlohmann::json::parse(file);
  StoredLosses of;
  of.spec.model = find_model(stored.at("model").get<std::string>());
  of.spec.data = stored.at("data");
  of.spec.order = from_name<Order>(stored.at("order").get<std::string>()).value();
  of.spec.batch = stored.at("batch");
  of.spec.seed = stored.at("seed");
  of.spec.dropout = stored.at("dropout").get<double>();
  of.spec.label_smoothing = stored.at("label_smoothing").get<double>();
  if (const auto rate = stored.find("learning_rate"); rate != stored.end() && !rate->is_null())
    of.spec.learning_rate = rate->get<double>();
  of.losses = stored.at("loss").get<std::vector<double>>();
  return of;
}

// Letters and digits, as the name of a test's parameter.
inline std::string letters_of(std::string name) {
  std::erase(name, '-');
  return name;
}

}  // namespace epochbench::test
