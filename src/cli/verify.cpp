// epochbench verify: whether the numbers of results agree with each other.
#include <algorithm>
#include <set>
#include <utility>

#include "src/base/json_fields.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/cli/commands.h"
#include "src/cli/result_arguments.h"
#include "src/report/text/text_parts.h"
#include "src/session/contradictions.h"

namespace epochbench {
namespace {

constexpr const char* kVerifyExamples = R"(Examples:
  epochbench verify hour.json             a file that somebody else wrote
  epochbench verify results/ --json)";

constexpr const char* kWhatItCannotSay =
    "a file is not signed: numbers that agree may still be made up, and a side may have been slowed on purpose\n";

struct VerifyOptions {
  std::vector<std::string> results;
  bool json = false;
};

// What a reader should know who wants to repeat the measurement; no contradictions.
std::vector<std::string> notes_about(const Context& context) {
  std::vector<std::string> notes;
  if (context.build_type == "Debug") notes.emplace_back("a debug build measured it");
  if (context.git_dirty.value_or(false)) notes.emplace_back("the sources of its build had changes that no commit has");
  if (!context.git_sha) notes.emplace_back("it does not name the commit of its build");
  if (!context.earlier_calls.empty())
    notes.push_back(counted(context.earlier_calls.size(), "earlier call", "earlier calls") + " began it (--resume)");
  for (const auto& [variable, value] : context.environment) notes.push_back("the program was started with " + variable);
  return notes;
}

struct Verified {
  NamedResult named;
  std::vector<Contradiction> contradictions;
};

const Run& contradicting(const Verified& file, const Contradiction& found) { return file.named.result.runs[found.run]; }

std::string verify_text(const Verified& file) {
  std::set<std::size_t> runs;
  for (const Contradiction& found : file.contradictions) runs.insert(found.run);
  const std::size_t all = file.named.result.runs.size();
  std::string text =
      file.named.path + ": " +
      (runs.empty() ? counted(all, "run agrees with itself", "runs agree with themselves")
                    : std::to_string(runs.size()) + " of " + counted(all, "run", "runs") + " contradict themselves") +
      "\n";
  for (const Contradiction& found : file.contradictions)
    text += "  " + label_of(contradicting(file, found)) + ": " + found.text + "\n";
  for (const std::string& note : notes_about(file.named.result.context)) text += "  note: " + note + "\n";
  return text;
}

Json verify_json(const Verified& file) {
  return {{"file", file.named.path},
          {"runs", file.named.result.runs.size()},
          {"contradictions",
           json_list(
               file.contradictions,
               [&](const Contradiction& found) {
                 const Run& run = contradicting(file, found);
                 return Json{{"run", run.name}, {"repetition", run.repetition}, {"identity", found.key}, {"text", found.text}};
               })},
          {"notes", notes_about(file.named.result.context)}};
}

int verify(const VerifyOptions& options) {
  std::vector<Verified> files;
  for (NamedResult& named : read_result_arguments("verify", options.results, [](Result&) {})) {
    std::vector<Contradiction> contradictions = find_contradictions(named.result);
    files.push_back({std::move(named), std::move(contradictions)});
  }
  if (options.json) {
    print(print_json({{"files", json_list(files, verify_json)}}));
  } else {
    std::string text;
    for (const Verified& file : files) text += verify_text(file);
    print(fitted(text + kWhatItCannotSay));
  }
  return std::ranges::all_of(files, [](const Verified& file) { return file.contradictions.empty(); }) ? kExitDone
                                                                                                      : kExitAnswerIsNo;
}

}  // namespace

void add_verify(Commands& commands) {
  auto [command, options] =
      commands.add("verify", "check that the numbers of results agree with each other", kVerifyExamples, verify);
  command.add_option("RESULT", options.results, "result files, or folders of them");
  command.add_flag("--json", options.json, "as JSON");
}

}  // namespace epochbench
