// What is cheapest and what is fastest, in at most two sentences, which say what the intervals leave undecided.
#pragma once

#include <string>
#include <vector>

#include "src/analysis/predict/elsewhere.h"
#include "src/analysis/predict/prediction.h"

namespace epochbench {

// "H100 SXM 80GB, tuned", "cpu †".
std::string device_text(const ElsewhereRow& row);

// "$1,005": without cents from $100 on, which no prediction knows.
std::string predicted_usd_text(double usd);

// "cheapest epoch: T4 at $0.526/h, predicted: 23.9x (15.0x to 31.9x) as fast as cpu † and 0.24 of its cost (0.18 to 0.39);
// A100 SXM 40GB may be cheaper: the intervals overlap".
std::vector<std::string> conclusions(const Elsewhere& answer);

// "cheapest: g4dn.xlarge (t4), $54.15 ($40.65 to $85.90) and 103 hours (77.3 to 163)". Empty for several models, whose epochs
// differ. `predictions`: the cheapest first.
std::vector<std::string> conclusions(const std::vector<Prediction>& predictions);

}  // namespace epochbench
