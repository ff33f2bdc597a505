// The first screen of the page: its title, cards with the answers, and how far they can be trusted.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/fairness.h"
#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"
#include "src/base/json.h"

namespace epochbench {

// data.head: title (`title`, or one by subject if empty); cards[], each with an id, a title, a foot and entries[] {subject,
// text, spread, doubts[]}, or a finding in place of text and spread; lead, the section whose chart matters most; trust. Call
// this after adding the other parts.
void add_head(Json& data, const AllSeries& all, const Speedup& speedup, const std::vector<NamedTurns>& turns,
              const std::string& title);

// "ResNet-50", "BERT-base:layers=6", as papers write them; other names stay as they are.
std::string model_title(const std::string& model);

// `families`: of the models, the largest first.
std::string page_title(const std::vector<std::string>& families, const AllSeries& all, const std::vector<NamedTurns>& turns);

// What puts times in doubt, one text each: "other processes took 0.21 cores". For a pair, that of the worse side.
std::vector<std::string> doubt_texts(const Series& series);
std::vector<std::string> doubt_texts(const std::vector<Warning>& warnings);
std::string load_doubt(double foreign_cores);

// {sure, lines[]}: whether every figure has an interval and no doubt, and the remarks.
Json page_trust(const AllSeries& all);

}  // namespace epochbench
