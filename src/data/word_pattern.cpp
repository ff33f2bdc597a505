#include "src/data/word_pattern.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "src/base/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace epochbench {
namespace {

// Unicode's White_Space, written out: libpcre2 counts U+180E as white space as well.
#define SPACE R"(\t-\r \x85\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})"
constexpr char kPattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+)"
                            "| ?[^" SPACE R"(\p{L}\p{N}]+)"
                            "|[" SPACE "]+(?![^" SPACE "])|[" SPACE "]+";
#undef SPACE

template <auto release>
struct Release {
  void operator()(auto* object) const { release(object); }
};

class WordPattern {
 public:
  WordPattern() {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern), sizeof kPattern - 1, PCRE2_UTF | PCRE2_ANCHORED, &error,
                              &offset, nullptr));
    if (!code_) throw std::runtime_error("libpcre2 does not compile the pattern of words: error " + std::to_string(error));
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // where it cannot, matches are interpreted, with the same results
    match_.reset(pcre2_match_data_create(1, nullptr));
    if (!match_) throw std::bad_alloc();
  }

  // The bytes of the word that begins at text[at]; `text` is UTF-8.
  std::size_t length(std::string_view text, std::size_t at) const {
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, PCRE2_NO_UTF_CHECK,
                                  match_.get(), nullptr);
    if (found < 1) throw std::runtime_error("libpcre2 finds no word in a text: error " + std::to_string(found));
    return pcre2_get_ovector_pointer(match_.get())[1] - at;
  }

 private:
  std::unique_ptr<pcre2_code, Release<pcre2_code_free>> code_;
  std::unique_ptr<pcre2_match_data, Release<pcre2_match_data_free>> match_;
};

// The position of the first byte at or after `at` that is not UTF-8.
std::size_t end_of_utf8(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t bytes = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : code_point_at(text, at).bytes;
    if (bytes == 0) break;
    at += bytes;
  }
  return at;
}

}  // namespace

void for_each_word(std::string_view text, const std::function<void(std::string_view)>& take) {
  const WordPattern pattern;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = end_of_utf8(text, begin);
    const std::string_view part = text.substr(begin, end - begin);
    for (std::size_t at = 0, length = 0; at < part.size(); at += length) {
      length = pattern.length(part, at);
      take(part.substr(at, length));
    }
    if (end < text.size()) take(text.substr(end, 1));
    begin = end + 1;
  }
}

}  // namespace epochbench
