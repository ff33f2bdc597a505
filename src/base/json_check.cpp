#include <algorithm>
#include <span>
#include <vector>

#include "src/base/file_kind.h"
#include "src/base/json.h"

namespace epochbench {
namespace {

// Bytes that UTF-8 never contains, and that UTF-16 begins with.
bool is_foreign(char byte) { return static_cast<unsigned char>(byte) >= 0xfe; }

constexpr const char* kEndsEarly = "it ends too early, so copy it again or write it again";

struct Level {  // an object or a list that is not closed yet
  bool is_object;
  std::size_t elements = 0;       // of a list, begun so far
  std::vector<std::string> keys;  // of an object
};

// The parser's message without its identifier, its place and the text that it quotes from the file.
std::string reason(const std::exception& error) {
  std::string message = error.what();
  if (const auto identifier = message.find("] "); identifier != std::string::npos) message.erase(0, identifier + 2);
  if (const auto place = message.find(" - "); place != std::string::npos) message.erase(0, place + 3);
  if (const auto detail = message.find("; "); detail != std::string::npos) message.erase(detail);
  for (char& c : message)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return message.substr(0, 200);
}

FormatError not_json(std::string_view text, const std::string& source, std::size_t offset, const std::string& why) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // without a line break rfind() + 1 is 0
  return FormatError(source + ": not valid JSON at line " + std::to_string(line) + ", column " + std::to_string(column) + ": " +
                     why);
}

// Holds one level per open bracket, with the keys of open objects.
class Inspector final : public Json::json_sax_t {
 public:
  Inspector(std::string_view text, const std::string& source, RepeatedKeys repeated)
      : text_(text), source_(source), repeated_(repeated) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(Json::number_integer_t) override { return value(); }
  bool number_unsigned(Json::number_unsigned_t) override { return value(); }
  bool number_float(Json::number_float_t, const std::string&) override { return value(); }
  bool string(std::string&) override { return value(); }
  bool binary(Json::binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& key) override {
    std::vector<std::string>& keys = levels_.back().keys;
    if (repeated_ == RepeatedKeys::refused && std::find(keys.begin(), keys.end(), key) != keys.end())
      throw FormatError(place(levels_.size() - 1) + "has '" + key.substr(0, kShownKey) + "' twice; keep one of them");
    if (keys.size() == kMaxJsonMembers)
      throw FormatError(place(levels_.size() - 1) + "has more than " + std::to_string(kMaxJsonMembers) +
                        " members, so this is not a file of epochbench; name another");
    keys.push_back(key);
    return true;
  }

  // `position` counts the bytes that were read, and one more at the end of the text.
  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) override {
    const std::string why = reason(error);
    const std::size_t offset = std::max<std::size_t>(position, 1) - 1;
    const bool at_end = offset >= text_.size();
    const char* remedy = "fix that place (an unknown value is null, never NaN)";
    const std::size_t begin = text_.find_first_not_of(" \t\r\n");
    if (at_end)
      remedy = kEndsEarly;
    else if (why.find("UTF-8") != std::string::npos || is_foreign(text_[offset]))
      remedy = "save it as UTF-8";
    else if (text_[offset] == '/' || text_[offset] == '#')
      remedy = "remove the comment, which JSON does not have";
    else if (text_[begin] != '{' && text_[begin] != '[' && !is_foreign(text_[begin]))
      remedy = "so this is not a file of epochbench; name another";
    else if (levels_.empty() && values_ > 0)
      remedy = "a second document begins there, so put each into a file of its own";
    else if (!levels_.empty() && text_[offset] == (levels_.back().is_object ? '}' : ']') &&
             text_[text_.find_last_not_of(" \t\r\n", offset - 1)] == ',')
      remedy = "remove the comma before it";
    throw not_json(text_, source_, offset, why + "; " + remedy);
  }

 private:
  static constexpr std::size_t kShownKey = 40;

  // "file.json: runs[3].timing ": what `levels` brackets lead to.
  std::string place(std::size_t levels) const {
    std::string path;
    for (std::size_t i = 0; i < levels; ++i) {
      const Level& level = levels_[i];
      if (level.is_object)
        path += (path.empty() ? "" : ".") + level.keys.back().substr(0, kShownKey);
      else
        path += "[" + std::to_string(level.elements - 1) + "]";
    }
    return source_ + ": " + path + (path.empty() ? "" : " ");
  }

  bool value() {
    if (!levels_.empty()) ++levels_.back().elements;
    if (++values_ > kMaxJsonValues)
      throw FormatError(place(levels_.size()) + "comes after " + std::to_string(kMaxJsonValues) +
                        " values, more than epochbench reads; divide the file");
    return true;
  }

  bool open(bool is_object) {
    value();
    if (levels_.size() == kMaxJsonDepth)
      throw FormatError(place(levels_.size()) + "is nested deeper than " + std::to_string(kMaxJsonDepth) +
                        " levels, so this is not a file of epochbench; name another");
    levels_.push_back({is_object, 0, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& source_;
  const RepeatedKeys repeated_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
};

}  // namespace

void check_json(std::string_view text, const std::string& source, RepeatedKeys repeated) {
  // The parser's message for this depends on its version.
  if (text.empty()) throw not_json(text, source, 0, std::string("unexpected end of input; ") + kEndsEarly);
  const FileKind kind = file_kind(text.substr(0, kFileKindBytes));
  if (!kind.reader.empty())
    throw FormatError(source + ": " + std::string(kind.name) + "; give <(" + std::string(kind.reader) + " FILE) in its place");
  if (!kind.name.empty())
    throw FormatError(source + ": " + std::string(kind.name) + ", not JSON; " +
                      (kind.remedy.empty() ? "name a file of epochbench" : std::string(kind.remedy)));
  // A parser takes a zero byte for the end. File systems leave zero bytes if a crash came before the data.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos && !is_foreign(text.front())) {
    constexpr std::string_view kBegins{"{[\0", 3};
    if (const std::size_t begin = text.find_first_not_of(" \t\r\n"); kBegins.find(text[begin]) == std::string_view::npos)
      throw FormatError(source + ": not JSON but other data, so this is not a file of epochbench; name another");
    throw not_json(text, source, zero, "a zero byte, so the file is damaged; copy it again or write it again");
  }
  Inspector inspector(text, source, repeated);
  const std::span bytes(text);
  Json::sax_parse(bytes.begin(), bytes.end(), &inspector);
}

}  // namespace epochbench
