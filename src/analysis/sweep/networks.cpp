#include "src/analysis/sweep/networks.h"

#include <set>

#include "epochbench/embedded.h"
#include "src/base/json_fields.h"

namespace epochbench {

std::vector<Network> parse_networks(std::string_view text, const std::string& source) {
  const Json document = parse_json(text, source);
  const JsonFields fields(document, source);
  const Json& sources = fields.at("sources");
  std::vector<Network> networks;
  std::set<std::string> known;
  for (const JsonFields& row : fields.groups("networks")) {
    Network network{row.text("id"), row.text("name"), row.number("latency_seconds"), row.number("bytes_per_second"), {}};
    if (const auto most = row.maybe_number("most_ranks")) network.max_ranks = static_cast<std::int64_t>(*most);
    for (const char* key : {"rate_source", "latency_source"})
      if (!sources.contains(row.text(key))) throw FormatError(row.path(key) + ": is not under sources; add it there");
    if (!(network.latency_seconds > 0 && network.bytes_per_second > 0))
      throw FormatError(row.path("latency_seconds") + ": latency and rate must be above 0");
    if (!known.insert(network.id).second) throw FormatError(row.path("id") + ": is listed twice");
    networks.push_back(std::move(network));
  }
  return networks;
}

const std::vector<Network>& embedded_networks() {
  constexpr const char* kFile = "bench/networks.json";
  static const std::vector<Network> networks = parse_networks(embedded_file(kFile).value(), kFile);
  return networks;
}

}  // namespace epochbench
