// One HTML file that shows results: template, style and script of src/report/html/page/, the charting library and the data, put
// together. It opens from disk and fetches nothing.
//
// Text of results travels in one JSON block alone, in which every "<" is written as \u003c, so no string can end the block or
// begin markup; the page's script inserts it as text.
#pragma once

#include <string>

#include "src/base/json.h"

namespace epochbench {

// `data`: of page_data(). `title`: of the window, any text.
std::string html_page(const Json& data, const std::string& title);

// "&lt;b&gt;" for "<b>": text between tags or within a quoted attribute.
std::string html_text(const std::string& text);

// JSON for within a script element: no "<", no byte that is not UTF-8, null for numbers that are not finite.
std::string json_for_html(const Json& data);

}  // namespace epochbench
