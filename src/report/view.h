// A table for people: its numbers become text once, where the table is made. Three renderers arrange it: for the terminal and
// the page here, for Markdown in src/report/export/export_markdown.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/json.h"

namespace epochbench {

struct Cell {
  // `value`: by which a page sorts; empty: by the text. `below`: smaller, in the page. `in_doubt`: gray.
  Cell(std::string text = "", std::string below = "", std::optional<double> value = {}, bool in_doubt = false)
      : text(std::move(text)), below(std::move(below)), value(value), in_doubt(in_doubt) {}
  Cell(const char* text) : text(text) {}

  std::string text, below;
  std::optional<double> value;
  bool in_doubt = false;
};

enum class ColumnKind : std::uint8_t { text, name, number, prose, commands, finding };  // how a page shows it

struct Column {
  std::string title;
  ColumnKind kind = ColumnKind::text;
  std::string marks = {};  // of a terminal's column (Table in src/base/text.h)
};

// "/run|>step|--notes": titles with marks. Those of Table, whose '>' makes a column of numbers; or '/' for names, '"' for
// prose,
// '$' for commands, '=' for findings.
std::vector<Column> columns(const std::string& marked_titles);

struct View {
  std::string title;            // the caption in a page
  std::vector<Column> columns;  // the first is the head of a row
  std::vector<std::vector<Cell>> rows = {};
  std::vector<std::string> notes = {};  // below the table, to which cells refer as [1], [2]
};

// In aligned columns, without the notes; a line about load above it if a cell has the mark.
std::string terminal_table(const View& view);

// title, columns [[title, kind]], rows [[cell]] and notes; a cell is a text or [text, below, value, in doubt]. Columns without
// any text are left out.
Json page_table(const View& view);

}  // namespace epochbench
