#include "src/report/html/html_page.h"

#include <map>
#include <stdexcept>
#include <string_view>

#include "epochbench/embedded.h"
#include "src/base/errors.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::string_view kPage = "src/report/html/page/";
constexpr std::string_view kLibrary = "libraries/d3.min.js";
constexpr const char* kScripts[] = {"format.js", "table.js", "charts.js",  "places.js", "bars.js",     "pairs.js", "sweeps.js",
                                    "series.js", "turns.js", "history.js", "claims.js", "articles.js", "head.js",  "main.js"};

std::string_view embedded(const std::string& path) {
  const auto text = embedded_file(path);
  if (!text) throw std::logic_error(path + " was not embedded in this build");
  return *text;
}

std::string_view chart_library() {
  const auto text = embedded_file(kLibrary);
  if (!text) throw CallError("this build draws no pages, since it was made without D3: build it with -DEPOCHBENCH_D3=FILE");
  return *text;
}

std::string page_file(const std::string& name) { return std::string(embedded(std::string(kPage) + name)); }

// Replaces each {{name}} of the template once; the inserted text is not scanned again.
std::string filled(std::string_view text, const std::map<std::string, std::string>& parts) {
  std::string page;
  for (;;) {
    const std::size_t open = text.find("{{"), close = text.find("}}", open);
    if (close == std::string_view::npos) return page.append(text);
    page.append(text.substr(0, open)).append(parts.at(std::string(text.substr(open + 2, close - open - 2))));
    text.remove_prefix(close + 2);
  }
}

std::string element(const std::string& tag, const std::string& text) {
  return "<" + tag + ">" + html_text(text) + "</" + tag + ">";
}

std::string html_cell(const std::string& tag, const Json& cell) { return element(tag, cell.is_array() ? cell[0] : cell); }

// A table as page_table() makes it.
std::string html_table(const Json& table) {
  if (table["rows"].empty()) return "";
  std::string text = "<table>\n" + element("caption", table["title"]) + "\n<tr>";
  for (const Json& column : table["columns"]) text += element("th", column[0]);
  for (const Json& row : table["rows"]) {
    text += "</tr>\n<tr>" + html_cell("th", row[0]);
    for (std::size_t at = 1; at < row.size(); ++at) text += html_cell("td", row[at]);
  }
  text += "</tr>\n</table>\n";
  for (std::size_t at = 0; at < table["notes"].size(); ++at)
    text += element("p", "[" + std::to_string(at + 1) + "] " + table["notes"][at].get<std::string>()) + "\n";
  return text;
}

// All tables of the page, for readers who block scripts.
std::string plain_tables(const Json& data) {
  std::string text;
  for (const Json& table : data.value("tables", Json::object())) text += html_table(table);
  return text;
}

}  // namespace

std::string html_text(std::string text) {
  constexpr std::pair<const char*, const char*> kEntities[] = {
      {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}};  // & first: the others contain it
  for (const auto& [character, entity] : kEntities) replace_all(text, character, entity);
  return text;
}

std::string json_for_html(const Json& data) {
  std::string escaped;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace))
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

std::string html_page(const Json& data, const std::string& title, PageUse use) {
  std::string script;
  for (const char* name : kScripts) script += page_file(name);
  if (use == PageUse::chart_files) script += page_file("export.js");
  return filled(embedded(std::string(kPage) + "page.html"), {{"title", html_text(title)},
                                                             {"tables", plain_tables(data)},
                                                             {"images", use == PageUse::chart_files ? "; img-src data:" : ""},
                                                             {"style", page_file("page.css")},
                                                             {"license", html_text(page_file("d3-license.txt"))},
                                                             {"library", std::string(chart_library())},
                                                             {"data", json_for_html(data)},
                                                             {"script", script}});
}

}  // namespace epochbench
