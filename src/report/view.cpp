#include "src/report/view.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/report/text/text_parts.h"

namespace epochbench {
namespace {

const char* name(ColumnKind kind) {
  constexpr const char* kNames[] = {"text", "name", "number", "prose", "commands", "finding"};
  return kNames[static_cast<std::size_t>(kind)];
}

Json cell_json(const Cell& cell) {
  if (cell.below.empty() && !cell.value && !cell.in_doubt) return cell.text;
  return {cell.text, cell.below, cell.value ? Json(*cell.value) : Json(nullptr), cell.in_doubt};
}

}  // namespace

std::vector<Column> columns(const std::string& marked_titles) {
  constexpr std::pair<char, ColumnKind> kKinds[] = {{'/', ColumnKind::name},
                                                    {'"', ColumnKind::prose},
                                                    {'$', ColumnKind::commands},
                                                    {'=', ColumnKind::finding},
                                                    {'>', ColumnKind::number}};
  std::vector<Column> list;
  for (const std::string& marked : split(marked_titles, '|')) {
    Column column = {marked.substr(std::min(marked.find_first_not_of("->/\"$="), marked.size()))};
    column.marks = marked.substr(0, marked.size() - column.title.size());
    for (const auto& [mark, kind] : kKinds)
      if (column.marks.ends_with(mark)) column.kind = kind;
    if (column.kind != ColumnKind::number) std::erase_if(column.marks, [](char mark) { return mark != '-'; });
    list.push_back(std::move(column));
  }
  return list;
}

std::string terminal_table(const View& view) {
  std::vector<std::string> titles;
  for (const Column& column : view.columns) titles.push_back(column.marks + column.title);
  Table table(titles);
  for (const std::vector<Cell>& row : view.rows) {
    std::vector<std::string> texts;
    for (const Cell& cell : row) texts.push_back(in_doubt(cell.in_doubt, cell.text));
    table.add(std::move(texts));
  }
  return below_load_note(table.to_string());
}

Json page_table(const View& view) {
  Json table = {{"title", view.title}, {"columns", Json::array()}, {"rows", Json::array()}, {"notes", view.notes}};
  std::vector<std::size_t> shown;
  for (std::size_t at = 0; at < view.columns.size(); ++at) {
    if (std::ranges::all_of(view.rows, [&](const auto& row) { return row[at].text.empty(); })) continue;
    shown.push_back(at);
    table["columns"].push_back({view.columns[at].title, name(view.columns[at].kind)});
  }
  for (const std::vector<Cell>& row : view.rows)
    table["rows"].push_back(json_list(shown, [&](std::size_t at) { return cell_json(row[at]); }));
  return table;
}

}  // namespace epochbench
