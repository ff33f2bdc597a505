// PyTorch beside this program: the Python on this machine that has it, and its cases next to ours.
//
// The scripts of scripts/peers train there and speak the case protocol; they are installed in share/epochbench/peers.
#pragma once

#include <string>
#include <vector>

#include "src/case/case_block.h"
#include "src/case/case_spec.h"
#include "src/session/planned_case.h"

namespace epochbench {

struct PeerPython {
  std::string python, version;      // its path, and PyTorch's version
  bool cuda = false;                // whether it can use a GPU here
  std::vector<std::string> worker;  // the command of its worker
};

// The folder of the scripts: beside an installed program or in the checkout that it was built in. Errors: CallError.
std::string peers_folder();

// $EPOCHBENCH_PYTHON, or else the first Python with PyTorch of the active environment, PATH and the environment of
// scripts/peers. Takes some seconds. Errors: CallError, one line that says what was tried and how to install PyTorch.
PeerPython find_pytorch();

// Takes the modes of --compile out of the block: eager and default, unless it names others.
std::vector<std::string> take_compile_modes(CaseBlock& block);

// The same case in PyTorch, once per mode of compilation, with the threads that ours has. Errors: CallError for an unknown
// mode.
std::vector<CaseSpec> peers_for(const CaseSpec& ours, const std::vector<std::string>& modes);

// Whether PyTorch's worker can run such a case: training steps in one process, on synthetic data, with all parts.
bool has_peer(const CaseSpec& ours);

// Each case, followed by its peers where it has some. Errors: CallError if none has.
std::vector<CaseSpec> with_peers(const std::vector<CaseSpec>& ours, const std::vector<std::string>& modes);

// Cases of PyTorch on GPUs get an obstacle if it can use none.
void add_peer_obstacles(std::vector<PlannedCase>& cases, const PeerPython& peer);

}  // namespace epochbench
