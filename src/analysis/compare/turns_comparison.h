// What two binaries that took turns say about each other: from the document of their pairs to the answer of `compare`.
#pragma once

#include <cstddef>
#include <vector>

#include "src/analysis/compare/comparison.h"
#include "src/analysis/compare/decision.h"
#include "src/result/turns.h"

namespace epochbench {

// That by which the document's pairs were measured; the default's parts where it does not say.
PairedRule rule_of(const TurnsDocument& document);

// How many pairs each case should have before anybody decides again, in the document's order; 0 where it has all that it needs,
// or where more would say nothing: it is skipped, one side has another workload, or a side did not end well.
std::vector<std::size_t> pairs_wanted(const TurnsDocument& document, const PairedRule& rule);

// A case whose new side ended badly in any pair, and the baseline did not, is a regression, whatever the other pairs say. One
// whose baseline did after good pairs, or whose two processes were not measured beside each other, is inconclusive.
// Cases without a pair are listed under not_measured.
Comparison compare_turns(const TurnsDocument& document, const PairedRule& rule);

}  // namespace epochbench
