// Text: joined and split parts, replaced parts, near names, lines filled for a terminal, tables.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace epochbench {

// Appends a part, unless it is empty, after a separator if the text is not empty: "a" and "b" give "a, b".
void append(std::string& text, std::string_view part, std::string_view separator = ", ");
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

// The same for any elements, by the text that `text_of`, a function or a member, returns for each:
// joined(suites, &Suite::name), joined(counts, format_count).
template <class Elements, std::invocable<std::ranges::range_reference_t<const Elements>> TextOf>
std::string joined(const Elements& elements, const TextOf& text_of, std::string_view separator = ", ") {
  std::string text;
  for (const auto& element : elements) append(text, std::invoke(text_of, element), separator);
  return text;
}

// "a,b" -> {"a", "b"}; an empty text gives one empty part.
std::vector<std::string> split(std::string_view text, char separator = ',');

// An identifier as people read it: "out_of_memory" as "out of memory".
std::string spaced(std::string identifier);

// Replaces every `from`, which must not be empty, by `to`.
void replace_all(std::string& text, std::string_view from, std::string_view to);

// One word of a shell: quoted if necessary, and on one line (visible).
std::string shell_word(const std::string& text);

// The words of a command as a shell splits them: at blanks outside quotes, and without the quotes; a backslash takes the next
// character as it is, and nothing else is special. Empty: a quote is not closed, or a backslash is the last character.
std::optional<std::vector<std::string>> split_command(std::string_view text);

// Text of unknown origin as one line that cannot affect a terminal, a log or a page: line breaks, control characters,
// characters that change the direction of writing and bytes that are not UTF-8 become visible, as in C: "\\n", "\\x1b",
// "\\u202e".
std::string visible(std::string_view text);

// The UTF-8 character that begins at text[at]. Surrogates, values above U+10FFFF and overlong forms are not UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};
CodePoint code_point_at(std::string_view text, std::size_t at);

// Without the mark that editors of Windows put before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

// The names that `given` is likely to mean, nearest first, at most three: equal except for case, '-', '_', quotes and blanks;
// or one a prefix of the other; or few typing errors apart, where a swap of neighbors is one error (Damerau-Levenshtein,
// optimal alignment).
std::vector<std::string> nearest(std::string_view given, const std::vector<std::string>& names);
// "; did you mean cpu or cuda:0?"; empty if no name is near.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& names);

// Without the blanks at both ends.
std::string_view trimmed(std::string_view text);

std::size_t display_width(std::string_view utf8);  // in columns of a terminal: one per code point

inline constexpr std::size_t kTextColumns = 100;
inline constexpr std::size_t kUnlimitedColumns = static_cast<std::size_t>(-1);

enum class Stream : unsigned char { out = 1, error = 2 };  // a descriptor of the process

// Columns of the stream: COLUMNS if that is set, otherwise the terminal's, or 80 if it does not say. Unlimited if it is not a
// terminal, so files and pipes get all of a table. At least 20.
std::size_t output_columns(Stream stream = Stream::out);

// Whether the stream is a terminal that obeys control sequences (TERM is not "dumb"), and whether it should also show colors
// (NO_COLOR is not set).
bool obeys_controls(Stream stream);
bool shows_colors(Stream stream);

// The words of `text` in lines of at most `columns` and kTextColumns; the first line begins with `head`, the others with
// `indent`. A word longer than a line gets its own line; a unit stays with its number.
std::vector<std::string> wrapped_lines(const std::string& head, const std::string& indent, const std::string& text,
                                       std::size_t columns = output_columns());

// The same as one text, each line with its line break.
std::string wrapped(const std::string& head, const std::string& indent, const std::string& text,
                    std::size_t columns = output_columns());

// The text with lines of at most that width: a longer one continues below, indented by two more blanks. It breaks after a
// blank, a slash or a comma, between references as in [1][2], within a long word after '-' or '=', or where the columns end.
std::string fitted(const std::string& text, std::size_t columns = output_columns());

// A table in aligned columns: Table table({"run", ">samples/s", "--notes"}).
class Table {
 public:
  // Titles of the columns. Marks before a title are not shown: a column with '-' is left out if the table is too wide, those
  // with the most marks first and among them the last first; '>' after them right-aligns the title and its column.
  explicit Table(const std::vector<std::string>& titles);
  void add(std::vector<std::string> cells);  // as many as there are columns
  // Columns without any text are left out. UTF-8: a code point counts as one column. If the table is too wide, a text that all
  // rows share is first moved below it, except from the first column; then columns that may be left out are, unless only their
  // texts tell two rows apart, and are named below, or in a table of one row moved there; then text cells are wrapped. Ends
  // with a line break.
  std::string to_string(std::size_t columns = output_columns()) const;

 private:
  struct Column {
    std::string title;
    bool right = false;
    std::size_t spare = 0;  // marks '-'
    std::size_t width = 0;
    bool below = false;  // shared by all rows, or of the only row
  };
  bool is_constant(std::size_t column) const;
  // `named_above`: the first column stands on lines of its own.
  std::vector<std::size_t> shown_within(std::vector<Column>& columns, std::size_t limit, bool named_above) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace epochbench
