// One page of answers out of a result: what `run --suite hour` ends with, and `answers` prints again.
//
// Each section is a question, its answers with their intervals or the reason why there are none, and a line on how to read
// them. The numbers come from src/analysis; here the runs are chosen and the sentences are written.
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
};

// Speed at the same batch, power and utilization, mixed precision, cost, batch, input: always all six, in this order; then what
// ranks cost, where a run has several.
std::vector<AnswerSection> answer_sections(const NamedResult& result);

// Those of them that need no curves and no inputs (answer_sections.cpp). `to_quality`: pairs of trainings to a target.
AnswerSection speed_section(const std::vector<Run>& runs, const Speedup& speedup, const Speedup& to_quality);
AnswerSection utilization_section(const std::vector<Run>& runs);
AnswerSection precision_section(const std::vector<Run>& runs, const Speedup& speedup, const Speedup& to_quality);
AnswerSection cost_section(const std::vector<Run>& runs, const Speedup& speedup);

// At most 60 lines of 100 columns, whatever the result holds (a word that is longer than a line stands in one of its own): a
// section that has more to say names the command that says all of it. Numbers of a case are those of
// src/analysis/case_summary.h.
std::string answers_page(const NamedResult& result);

Json answers_json(const NamedResult& result);  // machine, date, sections[]{question, answers[], read}, not_measured[]

}  // namespace epochbench
