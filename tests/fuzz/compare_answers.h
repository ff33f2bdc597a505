// The output of `compare` in each format.
#pragma once

#include "src/analysis/compare/comparison.h"
#include "src/report/compare/compare_report.h"

namespace epochbench::fuzz {

inline void write_answers(const Comparison& comparison) {
  compare_text(comparison);
  print_json(compare_json(comparison));
  github_annotations(comparison);
  github_summary(comparison);
}

}  // namespace epochbench::fuzz
