// One page of answers from a result, printed at the end of `run --suite hour` and by `answers`.
//
// Each section has a question, answers with intervals or the reason why there are none, and a line on how to read them. The
// numbers come from src/analysis; this code selects the runs and writes the sentences.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/speedup/speedup.h"
#include "src/base/json.h"
#include "src/result/turns.h"

namespace epochbench {

struct AnswerSection {
  std::string question;
  std::vector<std::string> answers;  // one line each; never empty
  std::string read;                  // how to read them
  bool answered = true;              // otherwise `answers` are the reasons why not
};

// Sections of one result. Commands in them name its file.
//
// Speed, power and utilization, mixed precision, cost, batch, input: always all six, in this order; then, if a result answers
// them, parts, threads and ranks.
std::vector<AnswerSection> answer_sections(const NamedResult& result);

// The sections that need no curves and no inputs (answer_sections.cpp). `to_quality`: pairs of trainings to a target.
AnswerSection speed_section(const std::vector<Run>& runs, const Speedup& speedup, const Speedup& to_quality);
AnswerSection utilization_section(const std::vector<Run>& runs);
AnswerSection precision_section(const std::vector<Run>& runs, const Speedup& speedup, const Speedup& to_quality);
AnswerSection cost_section(const std::vector<Run>& runs, const Speedup& speedup);
// A file that has no such pair gets no answers.
AnswerSection parts_section(const Speedup& speedup, const Speedup& to_quality);
AnswerSection threads_section(const Speedup& speedup, const Speedup& to_quality);

// At most 60 lines of 100 columns, whatever the result holds (a word longer than a line gets its own line). Questions that the
// result does not answer are named in one line. A section that has more to say names the command that prints all of it. The
// numbers of a case come from src/figures/summarize.h.
std::string answers_page(const NamedResult& result);

Json answers_json(const NamedResult& result);  // machine, date, sections[]{question, answered, answers[], read}, not_measured[]

}  // namespace epochbench
