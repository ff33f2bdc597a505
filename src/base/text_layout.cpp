// How text is laid out in the columns of a terminal: filled lines and tables.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include <sys/ioctl.h>
#include <unistd.h>

#include "src/base/text.h"

namespace epochbench {

namespace {

// Bytes of the color escape sequence that begins here, which takes no column; 0: there is none.
std::size_t color_bytes(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\033[") return 0;
  const std::size_t end = text.find('m', at);
  return end == std::string_view::npos ? 0 : end + 1 - at;
}

// Whether the blank stands between a number and its unit: "3.00 %", "24,651 samples/s".
bool parts_number_and_unit(std::string_view text, std::size_t blank) {
  constexpr std::array<std::string_view, 12> kUnits{"%", "s", "ms", "µs", "min", "h", "d", "W", "KiB", "MiB", "GiB", "TiB"};
  if (blank == 0 || text[blank - 1] < '0' || text[blank - 1] > '9') return false;
  std::string_view word = text.substr(blank + 1);
  word = word.substr(0, word.find(' '));
  while (!word.empty() && std::string_view(".,;:)").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
  return word.ends_with("/s") || std::ranges::find(kUnits, word) != kUnits.end();
}

}  // namespace

std::size_t display_width(std::string_view utf8) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < utf8.size(); ++at)
    if (const std::size_t color = color_bytes(utf8, at))
      at += color - 1;
    else
      columns += (static_cast<unsigned char>(utf8[at]) & 0xC0) != 0x80;
  return columns;
}

std::size_t output_columns(Stream stream) {
  constexpr std::size_t kMin = 20, kDefault = 80;
  const int descriptor = static_cast<int>(stream);
  if (::isatty(descriptor) == 0) return kUnlimitedColumns;
  std::size_t columns = 0;
  if (const char* given = std::getenv("COLUMNS")) {
    const std::string_view text = given;
    if (std::from_chars(text.data(), text.data() + text.size(), columns).ec != std::errc()) columns = 0;
  }
  winsize size{};
  if (columns == 0 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns == 0 ? kDefault : std::max(columns, kMin);
}

bool obeys_controls(Stream stream) {
  const char* terminal = std::getenv("TERM");
  return ::isatty(static_cast<int>(stream)) != 0 && !(terminal && std::string_view(terminal) == "dumb");
}

bool shows_colors(Stream stream) {
  const char* refused = std::getenv("NO_COLOR");
  return obeys_controls(stream) && !(refused && *refused);
}

std::vector<std::string> wrapped_lines(const std::string& head, const std::string& indent, const std::string& text,
                                       std::size_t columns) {
  std::vector<std::string> lines;
  std::string line = head;
  bool empty = true;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    while (end < text.size() && parts_number_and_unit(text, end)) end = std::min(text.find(' ', end + 1), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!empty && display_width(line) + 1 + display_width(word) > std::min(columns, kTextColumns)) {
      lines.push_back(std::move(line));
      line = indent;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  lines.push_back(std::move(line));
  return lines;
}

std::string wrapped(const std::string& head, const std::string& indent, const std::string& text, std::size_t columns) {
  std::string all;
  for (const std::string& line : wrapped_lines(head, indent, text, columns)) all += line + "\n";
  return all;
}

namespace {

// Bytes of the first `columns` columns of a text.
std::size_t bytes_of_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (const std::size_t color = color_bytes(text, at))
      at += color - 1;
    else if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && columns-- == 0)
      break;
  return std::min(at, text.size());
}

constexpr const char* kBreaks = " /,";     // a line may end after these
constexpr const char* kHyphens = "-=_:+";  // and after these within a word that no line has room for

// Whether a line may end before text[at]: after a blank, '/' or ',', or between two references, "[1]" and "[2]".
bool may_break(std::string_view text, std::size_t at) {
  return std::string_view(kBreaks).find(text[at - 1]) != std::string_view::npos || text.substr(at - 1, 2) == "][";
}

// The end of the word that begins at text[at].
std::size_t end_of_word(std::string_view text, std::size_t at) {
  do ++at;
  while (at < text.size() && !may_break(text, at));
  return std::min(at, text.size());
}

// The last place in (least, end] where a line may end; 0: there is none.
std::size_t last_break(std::string_view text, std::size_t least, std::size_t end) {
  for (std::size_t at = end; at > least; --at)
    if (may_break(text, at)) return at;
  const std::size_t hyphen = text.find_last_of(kHyphens, end - 1);
  return hyphen != std::string_view::npos && hyphen >= least ? hyphen + 1 : 0;
}

// The last blank up to `end` where a line may end, or npos.
std::size_t last_blank(std::string_view text, std::size_t end) {
  std::size_t blank = text.rfind(' ', end);
  while (blank != std::string_view::npos && blank > 0 && parts_number_and_unit(text, blank)) blank = text.rfind(' ', blank - 1);
  return blank;
}

// Removes and returns the first piece of `rest`, at most `columns` wide: up to the last place where a line may end. A word is
// cut only if it is longer than that, or would leave most of the line empty.
std::string take_piece(std::string& rest, std::size_t columns) {
  std::size_t end = bytes_of_columns(rest, columns);
  if (end < rest.size()) {
    const auto word_fits = [&](std::size_t at) {
      return display_width(rest.substr(at, end_of_word(rest, at) - at)) <= columns;
    };
    if (const std::size_t blank = last_blank(rest, end);
        blank != std::string::npos && blank > 0 && (blank > end / 2 || word_fits(blank + 1)))
      end = blank;
    else if (const std::size_t last = last_break(rest, end / 3 + 1, end); last > 0)
      end = last;
  }
  const std::string piece = rest.substr(0, end);
  rest.erase(0, std::min(rest.find_first_not_of(' ', end), rest.size()));
  return piece;
}

std::vector<std::string> pieces(std::string text, std::size_t columns) {
  std::vector<std::string> all{take_piece(text, columns)};
  while (!text.empty()) all.push_back(take_piece(text, columns));
  return all;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = end_of_word(text, begin);
    longest = std::max(longest, display_width(text.substr(begin, end - begin)));
    begin = end;
  }
  return longest;
}

constexpr std::size_t kGap = 2;  // between columns of a table

}  // namespace

std::string fitted(const std::string& text, std::size_t columns) {
  if (columns == kUnlimitedColumns) return text;
  std::string all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (display_width(line) > columns) {
      const std::size_t blanks = std::min(line.find_first_not_of(' '), columns / 3);
      const std::string head = line.substr(0, blanks), indent(std::min(blanks + 2, columns / 2), ' ');
      line.erase(0, blanks);
      all += head + take_piece(line, columns - blanks);
      while (!line.empty()) all += "\n" + indent + take_piece(line, columns - indent.size());
    } else {
      all += line;
    }
    if (end < text.size()) all += "\n";
  }
  return all;
}

Table::Table(const std::vector<std::string>& titles) {
  for (std::string title : titles) {
    Column& column = columns_.emplace_back();
    column.spare = std::min(title.find_first_not_of('-'), title.size());
    column.right = title.compare(column.spare, 1, ">") == 0;
    column.title = title.substr(column.spare + (column.right ? 1 : 0));
  }
}

void Table::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw std::invalid_argument("a table row with another number of cells than columns");
  rows_.push_back(std::move(cells));
}

bool Table::is_constant(std::size_t column) const {
  const auto same = [&](const auto& row) { return row[column] == rows_.front()[column]; };
  return rows_.size() > 1 && !rows_.front()[column].empty() && rows_.front()[column] != "-" && std::ranges::all_of(rows_, same);
}

// The columns that are shown, with their widths.
std::vector<std::size_t> Table::shown_within(std::vector<Column>& columns, std::size_t limit, bool named_above) const {
  constexpr std::size_t kNarrowest = 8;
  constexpr std::size_t kWholeWord = 12;                    // words up to "inconclusive" stay whole
  std::vector<std::size_t> shown, longest(columns.size());  // word of each column; of numbers, which stay whole, the longest
  std::size_t total = 0;
  for (std::size_t i = named_above ? 1 : 0; i < columns.size(); ++i) {
    longest[i] = longest_word(columns[i].title);
    for (const auto& row : rows_) {
      columns[i].width = std::max(columns[i].width, display_width(row[i]));
      longest[i] = std::max(longest[i], columns[i].right ? display_width(row[i]) : longest_word(row[i]));
    }
    if (columns[i].width == 0) continue;
    columns[i].width = std::max(columns[i].width, display_width(columns[i].title));
    shown.push_back(i);
    total += columns[i].width + (shown.size() > 1 ? kGap : 0);
  }
  const bool single = rows_.size() == 1;  // has room below the table for what does not fit
  const auto leave_out = [&](std::vector<std::size_t>::iterator place) {
    total -= columns[*place].width + kGap;
    if (single) columns[*place].below = true;
    shown.erase(place);
  };
  const auto most_spare = [&](const auto& of_these) {
    auto spare = shown.end();
    for (auto each = shown.begin(); each != shown.end(); ++each)
      if (of_these(*each) && (spare == shown.end() || columns[*each].spare >= columns[*spare].spare)) spare = each;
    return spare;
  };
  while (total > limit) {
    const auto spare = most_spare([&](std::size_t i) { return i != shown.front() && is_constant(i); });
    if (spare == shown.end()) break;
    columns[*spare].below = true;
    leave_out(spare);
  }
  const auto different_rows = [&](std::size_t without) {
    std::set<std::string> texts;
    for (const auto& row : rows_) {
      std::string text = row[0];
      for (const std::size_t i : shown)
        if (i != without && !columns[i].right) text += '\n' + row[i];
      texts.insert(std::move(text));
    }
    return texts.size();
  };
  const auto tells_rows_apart = [&](std::size_t i) {
    return !columns[i].right && different_rows(i) < different_rows(columns.size());
  };
  while (total > limit) {
    const auto spare = most_spare([&](std::size_t i) { return columns[i].spare > 0 && !tells_rows_apart(i); });
    if (spare == shown.end()) break;
    leave_out(spare);
  }
  // The widest column shrinks: those of texts down to their longest words, then through longer words, then those of numbers,
  // whose titles get several lines.
  const auto least_for_text = [&](std::size_t i) {
    return columns[i].right ? columns[i].width : std::max(kNarrowest, longest[i]);
  };
  const auto least_within_words = [&](std::size_t i) {
    return columns[i].right ? columns[i].width : std::min(longest[i], kWholeWord);
  };
  const auto least_for_title = [&](std::size_t i) { return columns[i].right ? longest[i] : columns[i].width; };
  const auto shrink = [&](const auto& least) {
    while (total > limit) {
      const auto room = [&](std::size_t i) { return columns[i].width <= least(i) ? 0 : columns[i].width; };
      const auto widest = std::ranges::max_element(shown, {}, room);
      if (widest == shown.end() || room(*widest) == 0) return;
      --columns[*widest].width;
      --total;
    }
  };
  shrink(least_for_text);
  shrink(least_within_words);
  std::size_t in_titles = 0;
  for (const std::size_t i : shown) in_titles += columns[i].width - least_for_title(i);
  if (total <= limit + in_titles) shrink(least_for_title);  // otherwise a column goes, and leaves room for titles
  while (total > limit && shown.size() > 1) leave_out(shown.end() - 1);
  return shown;
}

std::string Table::to_string(std::size_t limit) const {
  constexpr std::size_t kMaxNameLines = 2, kIndent = 2;
  std::vector<Column> columns = columns_;
  std::vector<std::size_t> shown = shown_within(columns, limit, false);
  const auto has_room = [&](const auto& row) { return pieces(row[0], columns[0].width).size() <= kMaxNameLines; };
  const auto is_lost = [&](std::size_t i) {
    const bool constant = columns[i].below && rows_.size() > 1;
    return columns[i].width > 0 && columns[i].spare == 0 && !constant && std::ranges::find(shown, i) == shown.end();
  };
  // A name that would take many lines, or leave no room for what answers, gets a line of its own above its row.
  bool named_above = !std::ranges::all_of(rows_, has_room);
  for (std::size_t i = 0; i < columns.size(); ++i) named_above = named_above || is_lost(i);
  named_above = named_above && columns[0].width > 0 && columns.size() > 1;
  if (named_above) {
    columns = columns_;
    shown = shown_within(columns, limit - kIndent, true);
  }
  std::string text;
  const auto line = [&](const auto& cell_of) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (const std::size_t i : shown) {
      cells.push_back(pieces(cell_of(i), columns[i].width));
      height = std::max(height, cells.back().size());
    }
    if (named_above) text += fitted(cell_of(0), limit) + "\n";
    for (std::size_t y = 0; y < height; ++y) {
      std::string row(named_above ? kIndent : 0, ' ');
      for (std::size_t at = 0; at < shown.size(); ++at) {
        const Column& column = columns[shown[at]];
        const std::string cell = y < cells[at].size() ? cells[at][y] : "", padding(column.width - display_width(cell), ' ');
        if (at > 0) row += std::string(kGap, ' ');
        row += column.right ? padding + cell : cell + padding;
      }
      row.erase(row.find_last_not_of(' ') + 1);
      text += row + "\n";
    }
  };
  line([&](std::size_t i) { return columns[i].title; });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
  std::vector<std::string> constant, hidden;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].below)
      constant.push_back(columns[i].title + (columns[i].title.empty() ? "" : " ") + rows_.front()[i]);
    else if (columns[i].width > 0 && !columns[i].title.empty() && std::ranges::find(shown, i) == shown.end())
      hidden.push_back(columns[i].title);
  }
  if (!constant.empty()) text += wrapped("", "  ", (rows_.size() == 1 ? "also: " : "in all rows: ") + joined(constant), limit);
  if (!hidden.empty())
    text +=
        wrapped("", "  ", "columns hidden to fit: " + joined(hidden) + "; pipe through `cat` or `less -S` to see all", limit);
  return text;
}

}  // namespace epochbench
