// bench/networks.json: what connects devices, as rated. Nothing here is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

struct Network {
  std::string id, name;  // "25gbe", "25 GbE"
  double latency_seconds = 0, bytes_per_second = 0;
  std::optional<std::int64_t> max_ranks;  // that one such connection joins
};

// `source` names the text in messages. Errors: FormatError.
std::vector<Network> parse_networks(std::string_view text, const std::string& source);
const std::vector<Network>& embedded_networks();

}  // namespace epochbench
