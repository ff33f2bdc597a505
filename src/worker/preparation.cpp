#include "src/worker/preparation.h"

#include <string>

#include <nlohmann/json.hpp>

#include "src/case/case_option.h"
#include "src/worker/protocol.h"

namespace epochbench {
namespace {

using nlohmann::json;

void require_understood(const json& sent, const json& understood) {
  const json defaults = case_to_json(CaseSpec{});
  for (const auto& [key, value] : defaults.items())
    if (!understood.contains(key) && sent.at(key) != value)
      throw CaseEnded{RunStatus::failed, "it does not know '" + key + "', which this case asks for"};
}

void require_equal(const char* what, const json& theirs, std::int64_t ours) {
  if (!theirs.is_number() || theirs.get<std::int64_t>() == ours) return;
  throw CaseEnded{RunStatus::failed, "it has " + theirs.dump() + ' ' + what + ", and the case has " + std::to_string(ours) +
                                         ": not the same workload"};
}

}  // namespace

json prepare_worker(Conversation& conversation, const CaseSpec& spec, const std::optional<Workload>& workload) {
  json sent = case_to_json(spec);
  if (workload) {
    sent["samples_per_epoch"] = workload->samples_per_epoch;
    sent["optimizer"] = workload->optimizer;
    sent["parameters"] = workload->parameters;
    if (workload->tokens_per_sample) sent["tokens"] = *workload->tokens_per_sample;
  }
  json ready = conversation.ask({{"protocol", kProtocolVersion}, {"command", "prepare"}, {"case", sent}}, "ready");
  require_version(ready);
  require_understood(sent, ready.at("case"));
  if (workload) require_equal("parameters", ready.value("parameters", json()), workload->parameters);
  if (spec.threads.value_or(0) > 0) require_equal("threads", ready.at("device").value("threads", json()), *spec.threads);
  return ready;
}

}  // namespace epochbench
