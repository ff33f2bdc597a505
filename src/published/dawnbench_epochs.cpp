#include "src/published/dawnbench_epochs.h"

#include <algorithm>
#include <cmath>

#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxRows = 100'000;
constexpr double kMaxHours = 1e5, kMaxEpochs = 1e6;

// A column by its title, and the range of its numbers.
struct Column {
  std::string_view title;
  std::vector<double>* values;
  double most;
};

double number_in(std::string_view text, double most, const std::string& place) {
  constexpr std::size_t kLongest = 40;
  if (text.size() > kLongest) throw FormatError(place + ": a number of more than " + std::to_string(kLongest) + " characters");
  try {
    return parse_real(text, {0, most});
  } catch (const CallError& error) {
    throw FormatError(place + ": " + error.what());
  }
}

// The column of each place of a row; null where the title is another one.
std::vector<const Column*> columns_of(const std::vector<std::string>& titles, const std::vector<Column>& columns,
                                      const std::string& source) {
  std::vector<const Column*> found;
  for (const std::string& title : titles) {
    const auto column = std::ranges::find(columns, trimmed(title), &Column::title);
    if (column != columns.end() && std::ranges::find(found, &*column) != found.end())
      throw FormatError(source + ":1: the column " + std::string(column->title) + " is there twice; keep one");
    found.push_back(column == columns.end() ? nullptr : &*column);
  }
  for (std::size_t i = 0; i < 3; ++i)  // the last one may be missing
    if (std::ranges::find(found, &columns[i]) == found.end())
      throw FormatError(source + ":1: no column " + std::string(columns[i].title) +
                        "; the first line of a DAWNBench table is: epoch, hours, top1Accuracy, separated by tabs");
  return found;
}

}  // namespace

DawnbenchEpochs parse_dawnbench_epochs(std::string_view text, const std::string& source) {
  text = without_byte_order_mark(text);
  DawnbenchEpochs table;
  const std::vector<Column> columns = {{"epoch", &table.epochs, kMaxEpochs},
                                       {"hours", &table.hours, kMaxHours},
                                       {"top1Accuracy", &table.top1_percent, 100},
                                       {"top5Accuracy", &table.top5_percent, 100}};
  const auto lines = split(text, '\n');
  const auto places = columns_of(split(trimmed(lines.front()), '\t'), columns, source);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (trimmed(lines[i]).empty()) continue;
    const std::string place = source + ":" + std::to_string(i + 1);
    const auto cells = split(trimmed(lines[i]), '\t');
    if (cells.size() != places.size())
      throw FormatError(place + ": has " + counted(cells.size(), "cell", "cells") + ", and the first line has " +
                        std::to_string(places.size()) + "; the file may be cut off");
    for (std::size_t j = 0; j < cells.size(); ++j)
      if (places[j]) places[j]->values->push_back(number_in(trimmed(cells[j]), places[j]->most, place));
    const std::size_t rows = table.hours.size();
    if (rows > kMaxRows)
      throw FormatError(place + ": more than " + format_count(kMaxRows) + " rows; this is not a table of epochs");
    // An epoch may be there twice: some entries evaluate it again where the size of the images changes.
    if (rows > 1 && (table.hours[rows - 1] < table.hours[rows - 2] || table.epochs[rows - 1] < table.epochs[rows - 2]))
      throw FormatError(place + ": epoch and hours must not fall from row to row; put the rows in order");
  }
  if (table.hours.empty() || table.hours.back() <= 0)
    throw FormatError(source + ": no row with a time above 0; the file may be cut off");
  return table;
}

std::optional<double> counted_epochs(const DawnbenchEpochs& table) {
  constexpr double kUneven = 0.01;  // as a share of the distance between rows
  const double distance = table.epochs.front();
  for (std::size_t i = 0; i < table.epochs.size(); ++i)
    if (!(std::abs(table.epochs[i] - static_cast<double>(i + 1) * distance) < kUneven * distance)) return std::nullopt;
  return table.epochs.back();
}

}  // namespace epochbench
