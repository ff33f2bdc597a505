// The table of options: the only place that defines a CaseSpec member's name, its valid values, its meaning in comparisons of
// runs, and how it is written on a command line, in a suite, in the case protocol, in a result and in a run's name. A new
// option needs a member of CaseSpec and a row in this table.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/json.h"
#include "src/case/case_spec.h"
#include "src/case/settings.h"

namespace epochbench {

inline constexpr int kMaxRepetitions = 10'000;

enum class OfferedTo : std::uint8_t { calls, peers, nobody };  // peers: scripts for other frameworks, which get all options

struct CaseOption {
  std::string key = {};         // "min_time" in suites and runs[].settings; with dashes in the flag and in a run's name
  std::string value_name = {};  // "SECONDS"; "N,..." takes several values; "": a switch, on if given
  std::string help = {};        // the default, if any, is appended
  std::string group = {};       // title of its group in the help
  std::optional<SettingClass> setting_class = {};  // empty: not a setting of a run
  bool stops = false;                              // determines when a case ends, not which case it is
  bool in_name = true;                             // names show it by key, if it is a setting that does not stop
  OfferedTo offered_to = OfferedTo::calls;
  std::string old_key = {};                           // an earlier name: still accepted, and used in names and the protocol
  std::string protocol_key = {};                      // if neither the old key nor the key; "-": not sent to the child
  std::function<bool(const CaseSpec&)> applies = {};  // whether it changes anything in this case; empty: always

  std::function<void(CaseSpec&, const std::string&)> parse = {};  // errors: CallError, std::invalid_argument
  std::function<std::optional<SettingValue>(const CaseSpec&)> value = {};
  std::function<Json(const CaseSpec&)> to_protocol = {};
  std::function<void(CaseSpec&, const Json&)> from_protocol = {};  // errors: CallError, nlohmann::json::exception
};

const std::vector<CaseOption>& case_options();             // in the order in which lists multiply out, the first slowest
const CaseOption* find_case_option(std::string_view key);  // by its name in calls and suites, or its old key
const CaseOption* find_setting(std::string_view key);      // by its key in runs[].settings
inline bool takes_list(const CaseOption& option) { return option.value_name.ends_with(",..."); }
std::string flag(const CaseOption& option);       // "--min-time"
std::string name_part(const CaseOption& option);  // "decode-cost"

// A case in the protocol between processes. Errors when reading: FormatError with the missing or wrong key.
Json case_to_json(const CaseSpec& spec);
CaseSpec case_from_json(const Json& object);

}  // namespace epochbench
