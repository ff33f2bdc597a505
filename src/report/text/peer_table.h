// The table of scripts/peers/take_turns, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/compare/peer_ratios.h"
#include "src/base/json.h"

namespace epochbench {

std::string peer_table(const std::vector<PeerRow>& rows);
Json peer_json(const std::vector<PeerRow>& rows);

}  // namespace epochbench
