// The devices and precisions that a call can name on this machine, for errors about a word that is none of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/errors.h"
#include "src/case/case_block.h"

namespace epochbench {

// What a command needs of a device: `run` one that is usable here, `plan` one that this build plans for, `plan --on` and `rent`
// one of the catalog.
enum class DeviceUse : std::uint8_t { run, plan, predict };

struct NamingCall {
  DeviceUse use = DeviceUse::run;
  std::vector<std::string> on = {};  // ids of the catalog; empty: all
  const CaseBlock* cases = nullptr;  // null: the command has none
};

// "; choose from cpu, cuda:0, reference; did you mean cuda:0?"; "" if the error is about another word.
std::string known_names(const CallError& error, const NamingCall& call);

}  // namespace epochbench
