// What a shell can offer while a call is typed, read from the options that commands declare.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace epochbench {

struct Completable {
  std::vector<std::string> flags;   // "--out", "-o"; empty: an argument
  std::vector<std::string> values;  // values to choose from; empty: unknown
  bool takes_value = false;
  bool takes_file = false;
};

Completable completable(const CLI::Option& option);

}  // namespace epochbench
