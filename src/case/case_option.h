// The table of options: the one place that says how a member of CaseSpec is called, what it may be, what it means to those who
// compare runs, and how it is written on a command line, in a suite, in the case protocol, in a result and in a run's name.
// A new option is a member of CaseSpec and a row of this table.
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

enum class OfferedTo : std::uint8_t { calls, peers, nobody };  // peers: scripts that measure other frameworks, and have all

struct CaseOption {
  std::string key = {};  // in suites and in runs[].settings: "min_time"; with dashes the flag, and a part of a run's name
  std::string value_name = {};  // "SECONDS"; "N,..." takes several values; "": a switch, on where it is given
  std::string help = {};        // the default is added where it has one
  std::string group = {};       // title above it in the help
  std::optional<SettingClass> setting_class = {};  // empty: not a setting of a run
  bool stops = false;                              // says when a case ends, and not which case it is
  bool in_name = true;                             // with its key, where it is a setting that does not stop
  OfferedTo offered_to = OfferedTo::calls;
  std::string old_key = {};       // an earlier name: still accepted, and what names and the protocol hold
  std::string protocol_key = {};  // where it is neither the old key nor the key; "-": the child need not know
  std::function<bool(const CaseSpec&)> applies = {};  // whether it changes anything in this case; empty: always

  std::function<void(CaseSpec&, const std::string&)> parse = {};  // errors: CallError, std::invalid_argument
  std::function<std::optional<SettingValue>(const CaseSpec&)> value = {};
  std::function<Json(const CaseSpec&)> to_protocol = {};
  std::function<void(CaseSpec&, const Json&)> from_protocol = {};  // errors: CallError, nlohmann::json::exception
};

const std::vector<CaseOption>& case_options();             // in the order in which lists multiply out, the first slowest
const CaseOption* find_case_option(std::string_view key);  // as a call or suite names it, also by its old key
const CaseOption* find_setting(std::string_view key);      // as runs[].settings have it
inline bool takes_list(const CaseOption& option) { return option.value_name.ends_with(",..."); }
std::string flag(const CaseOption& option);       // "--min-time"
std::string name_part(const CaseOption& option);  // "decode-cost"

// The case as the protocol between processes has it. Errors of reading: FormatError with the key that is missing or wrong.
Json case_to_json(const CaseSpec& spec);
CaseSpec case_from_json(const Json& object);

}  // namespace epochbench
