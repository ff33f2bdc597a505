#include "src/base/table.h"

#include <algorithm>
#include <stdexcept>

#include "src/base/text.h"

namespace epochbench {

void Table::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw std::invalid_argument("a table row with another number of cells than columns");
  rows_.push_back(std::move(cells));
}

std::string Table::to_string() const {
  std::vector<std::size_t> widths(columns_.size(), 0), shown;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i]));
    if (widths[i] == 0) continue;
    shown.push_back(i);
    widths[i] = std::max(widths[i], display_width(columns_[i].title));
  }
  std::string text;
  const auto line = [&](const auto& cell_of) {
    std::string row;
    for (const std::size_t i : shown) {
      const std::string cell = cell_of(i), padding(widths[i] - display_width(cell), ' ');
      if (!row.empty()) row += "  ";
      row += columns_[i].align == Align::right ? padding + cell : cell + padding;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
  return text;
}

}  // namespace epochbench
