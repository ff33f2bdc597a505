// Notes below a table, by number: what several rows share is written once.
#pragma once

#include <string>
#include <vector>

namespace epochbench {

class Notes {
 public:
  // "[1]", the same for the same note.
  std::string mark(const std::string& note);

  // "  [1] the note", filled into lines, in the order in which they were first marked; empty without any.
  std::string to_string() const;

 private:
  std::vector<std::string> notes_;
};

}  // namespace epochbench
