// DAWNBench's table of epochs: a *.tsv with a row per epoch, and what follows from it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace epochbench {

struct DawnbenchEpochs {
  std::vector<double> epochs, hours, top1_percent, top5_percent;  // the last two are empty if the table lacks the column
};

// Errors: FormatError that names the line, for a table without the columns epoch, hours and top1Accuracy, a row of another
// length, a number that is none, an accuracy outside 0 to 100, hours or epochs that fall, and no row.
DawnbenchEpochs parse_dawnbench_epochs(std::string_view text, const std::string& source);

// How many epochs its hours are about: the last one, where rows are evenly spaced from the start on (1, 2, 3, or 1.001, 2.002,
// as some tools count batches); empty where they are not.
std::optional<double> counted_epochs(const DawnbenchEpochs& table);

}  // namespace epochbench
