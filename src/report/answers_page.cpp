#include "src/report/answers_page.h"

#include <algorithm>
#include <utility>

namespace epochbench {
namespace {

// A page: a head of two lines, two for each section beside its answers, and one over the reasons.
constexpr std::size_t kPageLines = 60, kHeadLines = 2, kReasons = 4;

std::string machine_text(const Result& result) {
  std::string text = result.context.cpu.model;
  for (const GpuInfo& gpu : result.context.gpus) text += ", " + gpu.name;
  return text;
}

// What did not end well, by reason: "12 runs: no GPU is usable here".
std::vector<std::string> not_measured(const Result& result) {
  std::vector<std::pair<std::string, int>> reasons;
  for (const Run& run : result.runs) {
    if (run.status == RunStatus::ok) continue;
    const std::string reason = run.message.value_or(name(run.status));
    auto known = std::find_if(reasons.begin(), reasons.end(), [&](const auto& entry) { return entry.first == reason; });
    if (known == reasons.end()) known = reasons.insert(reasons.end(), {reason, 0});
    ++known->second;
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons)
    lines.push_back(std::to_string(count) + (count == 1 ? " run: " : " runs: ") + reason);
  return lines;
}

// How many lines of answers each section gets: in turns, until all have theirs or the page is full.
std::vector<std::size_t> shares(const std::vector<AnswerSection>& sections) {
  std::size_t left = kPageLines - kHeadLines - 2 * sections.size() - 1 - kReasons;
  std::vector<std::size_t> lines(sections.size(), 0);
  for (bool given = true; given && left > 0;) {
    given = false;
    for (std::size_t i = 0; i < sections.size() && left > 0; ++i) {
      if (lines[i] == sections[i].answers.size()) continue;
      ++lines[i];
      --left;
      given = true;
    }
  }
  return lines;
}

// The first lines, and how many there are besides, in at most `most` of them.
void add_lines(std::string& text, const std::vector<std::string>& lines, std::size_t most, const std::string& more) {
  const std::size_t shown = lines.size() > most ? most - 1 : lines.size();
  for (std::size_t i = 0; i < shown; ++i) text += "   " + lines[i] + "\n";
  if (shown < lines.size()) text += "   and " + std::to_string(lines.size() - shown) + " more" + more + "\n";
}

}  // namespace

std::string answers_page(const NamedResult& named) {
  std::string text = "Answers: " + machine_text(named.result) + ", " + named.result.context.date.substr(0, 10) + "\n\n";
  const std::vector<AnswerSection> sections = answer_sections(named);
  const std::vector<std::size_t> lines = shares(sections);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    text += std::to_string(i + 1) + ". " + sections[i].question + "\n";
    add_lines(text, sections[i].answers, lines[i], " (epochbench answers RESULT --json)");
    text += "   read: " + sections[i].read + "\n";
  }
  const std::vector<std::string> missing = not_measured(named.result);
  if (missing.empty()) return text;
  text += "Not measured\n";
  add_lines(text, missing, kReasons, " reasons");
  return text;
}

Json answers_json(const NamedResult& named) {
  Json json{{"machine", machine_text(named.result)}, {"date", named.result.context.date}, {"sections", Json::array()}};
  for (const AnswerSection& section : answer_sections(named))
    json["sections"].push_back({{"question", section.question}, {"answers", section.answers}, {"read", section.read}});
  json["not_measured"] = not_measured(named.result);
  return json;
}

}  // namespace epochbench
