#include "src/report/html/html_page.h"

#include <algorithm>
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

// The table of data.rows for readers who block scripts; "" without rows.
std::string plain_table(const Json& data) {
  if (!data.contains("rows") || data["rows"].empty()) return "";
  const Json& columns = data["columns"];
  const auto place = [&](const char* key) {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), key) - columns.begin());
  };
  const auto cell = [](const std::string& tag, const std::string& text) {
    return "<" + tag + ">" + html_text(text) + "</" + tag + ">";
  };
  std::string text = "<table>\n<tr>" + cell("th", "run");
  for (const Json& column : data["case_columns"]) text += cell("th", column["title"]);
  for (const Json& row : data["rows"]) {
    text += "</tr>\n<tr>" + cell("th", row[place("name")]);
    for (const Json& one : row[place("cells")]) text += cell("td", one[0]);
  }
  return text + "</tr>\n</table>";
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
                                                             {"table", plain_table(data)},
                                                             {"images", use == PageUse::chart_files ? "; img-src data:" : ""},
                                                             {"style", page_file("page.css")},
                                                             {"license", html_text(page_file("d3-license.txt"))},
                                                             {"library", std::string(chart_library())},
                                                             {"data", json_for_html(data)},
                                                             {"script", script}});
}

}  // namespace epochbench
