// Plain-text tables in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace epochbench {

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells);  // as many as there are columns
  // Columns without any text are left out. UTF-8: a code point counts as one column. Ends with a line break.
  std::string to_string() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace epochbench
