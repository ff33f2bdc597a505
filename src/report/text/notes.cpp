#include "src/report/text/notes.h"

#include <algorithm>

#include "src/base/text.h"

namespace epochbench {

std::string Notes::mark(const std::string& note) {
  const auto known = std::find(notes_.begin(), notes_.end(), note);
  const std::string number = std::to_string(known - notes_.begin() + 1);
  if (known == notes_.end()) notes_.push_back(note);
  return "[" + number + "]";
}

std::string Notes::to_string() const {
  std::string text;
  for (std::size_t i = 0; i < notes_.size(); ++i)
    text += wrapped("  [" + std::to_string(i + 1) + "] ", std::string(6, ' '), notes_[i]);
  return text;
}

}  // namespace epochbench
