// What another framework reaches on the devices and workloads of this program's runs: from runs of one result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"

namespace epochbench {

// One of our cases beside the fastest of the other framework's runs with its work, precision, device and threads.
struct PeerRatio {
  RunGroup ours, theirs;
  Estimate ratio;  // ours / theirs, samples per second
};

// In the order of our cases. Points to `runs`.
std::vector<PeerRatio> peer_ratios(const std::vector<Run>& runs);

// How much faster the other framework is on the contender's device than on the baseline's, with the work of each side; for a
// pair at its best, with the fastest precision and batch of the model on each kind of device. Empty if it has no run on one of
// them.
std::optional<Estimate> peer_speedup(const std::vector<Run>& runs, const SpeedupPair& pair);

// "PyTorch 2.9.0, torch.compile, attention flash, channels_last, timed by CUDA events": what is known about a run of a peer.
std::string peer_text(const Run& run);

}  // namespace epochbench
