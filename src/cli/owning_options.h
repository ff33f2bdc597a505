// The figures of an owned machine and of a rented one, as `cost` and `claims` take them.
#pragma once

#include <optional>

#include "src/analysis/cost/local_cost.h"
#include "src/cli/commands.h"
#include "src/session/prices.h"

namespace epochbench {

struct OwningOptions {
  LocalMachine local;
  std::optional<AskedPrice> cloud;
  double cloud_speed = 1;

  bool any_given() const;
};

void add_owning_options(CLI::App& command, OwningOptions& options);

}  // namespace epochbench
