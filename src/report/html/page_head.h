// The first screen of the page: its title, cards with the answers, and how far they can be trusted.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/fairness.h"
#include "src/analysis/series.h"
#include "src/analysis/speedup/speedup.h"
#include "src/base/json.h"

namespace epochbench {

// data.head: title (`title`, or one by subject where that is empty); cards[], each with an id and entries[] {subject, value,
// spread, ends, n, unit, doubts[]}; lead, the section whose chart matters most; trust. To be added after the other parts.
void add_head(Json& data, const AllSeries& all, const Speedup& speedup, const std::vector<NamedTurns>& turns,
              const std::string& title);

// "ResNet-50", "BERT-base:layers=6", as papers write them; a name of another kind stays.
std::string model_title(const std::string& model);

// `families`: of the models, the largest first.
std::string page_title(const std::vector<std::string>& families, const AllSeries& all, const std::vector<NamedTurns>& turns);

// What puts times in doubt, one text each: "other processes took 0.21 cores". Of a pair the worse side's.
std::vector<std::string> doubt_texts(const Series& series);
std::vector<std::string> doubt_texts(const std::vector<Warning>& warnings);
std::string load_doubt(double foreign_cores);

// {sure, lines[]}: whether every figure has an interval and no doubt, and what there is to say of it.
Json page_trust(const AllSeries& all);

}  // namespace epochbench
