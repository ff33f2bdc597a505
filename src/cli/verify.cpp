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

// A run of a result, or a case of a document of turns.
struct Subject {
  std::string name;
  std::optional<int> repetition;  // empty: a case
};

struct Verified {
  std::string path;
  std::vector<Subject> subjects;
  const char *one, *several;  // "run", "runs"
  std::vector<Contradiction> contradictions;
  std::vector<std::string> notes;
};

Verified verified(const NamedResult& named) {
  std::vector<Subject> runs;
  for (const Run& run : named.result.runs) runs.push_back({run.name, run.repetition});
  return {named.path, std::move(runs), "run", "runs", find_contradictions(named.result), notes_about(named.result.context)};
}

Verified verified(const NamedTurns& named) {
  std::vector<Subject> cases;
  for (const TurnsCase& turns : named.document.cases) cases.push_back({turns.name, {}});
  return {
      named.path, std::move(cases), "case", "cases", contradictions_in(named.document), notes_about(named.document.context)};
}

std::string verify_text(const Verified& file) {
  std::set<std::size_t> places;
  for (const Contradiction& found : file.contradictions) places.insert(found.place);
  const std::size_t all = file.subjects.size();
  const std::string subjects = counted(all, file.one, file.several);
  std::string text = file.path + ": ";
  if (places.empty())
    text += subjects + (all == 1 ? " agrees with itself\n" : " agree with themselves\n");
  else
    text += std::to_string(places.size()) + " of " + subjects + " contradict themselves\n";
  for (const Contradiction& found : file.contradictions) {
    const Subject& subject = file.subjects[found.place];
    text += "  " + subject.name + (subject.repetition ? " (" + std::to_string(*subject.repetition) + ")" : "") + ": " +
            found.text + "\n";
  }
  for (const std::string& note : file.notes) text += "  note: " + note + "\n";
  return text;
}

Json verify_json(const Verified& file) {
  return {{"file", file.path},
          {file.several, file.subjects.size()},
          {"contradictions", json_list(file.contradictions,
                                       [&](const Contradiction& found) {
                                         const Subject& subject = file.subjects[found.place];
                                         Json json{{file.one, subject.name}};
                                         if (subject.repetition) json["repetition"] = *subject.repetition;
                                         json.update({{"identity", found.key}, {"text", found.text}});
                                         return json;
                                       })},
          {"notes", file.notes}};
}

int verify(const VerifyOptions& options) {
  std::vector<Verified> files;
  const Measurements measured = read_stored_measurements("verify", options.results);
  for (const NamedResult& named : measured.results) files.push_back(verified(named));
  for (const NamedTurns& named : measured.turns) files.push_back(verified(named));
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
  command.add_option("RESULT", options.results, "files of `run --out` or of `compare --interleave -o`, or folders of them");
  command.add_flag("--json", options.json, "as JSON");
}

}  // namespace epochbench
