// Choices that outlive the process: the fastest algorithm of each problem, by device, driver and libraries. One JSON
// file holds all of them; an error with it prints one line on stderr and only costs the time to measure again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/json_fields.h"

namespace epochbench {

// Where a choice is valid. If anything differs, it is measured again.
struct ChoicePlace {
  std::string device, compute_capability, driver, cublas, cudnn;
  bool operator==(const ChoicePlace&) const = default;
};

void fields(auto& visit, Is<ChoicePlace> auto& place) { VISIT(place, device, compute_capability, driver, cublas, cudnn); }

struct StoredChoice {
  std::string problem = {}, chosen = {};  // as the problem and a tag of cuda::Algorithms
  std::int64_t timed = 0, offered = 0;    // algorithms
  std::string left_out = {};              // as cuda::Algorithms::left_out()
  std::string refused = {};  // why the first algorithm that failed does not work; empty if all that were tried work
  double seconds = 0;        // of a run
  // While some are left for lack of time: the tags of those that were tried, and those among them that are choices which are
  // unfinished themselves.
  std::vector<std::string> tried = {}, open = {};
  bool here = false;  // made by this process

  bool operator==(const StoredChoice&) const = default;
  bool unfinished() const { return !tried.empty(); }
  bool blind() const { return unfinished() && timed < 2; }  // there was no time to compare it with another
};

void fields(auto& visit, Is<StoredChoice> auto& choice) {
  VISIT(choice, problem, chosen, timed, offered, seconds);
  visit("left_out", choice.left_out, {.null_if_empty = true});
  visit("refused", choice.refused, {.null_if_empty = true});
  visit("tried", choice.tried, {.omitted_if_empty = true});
  visit("open", choice.open, {.omitted_if_empty = true});
}

// " [fastest of 9]", " [stored: fastest of 9]", or " [first of 9]" if there was no time to compare, with what was left out
// " [fastest of 9 of 29; 20 use tensor cores]". If there was nothing to compare, only that: " [1 of 29; ...]", or nothing.
std::string how_chosen(const StoredChoice& choice);

// $XDG_CACHE_HOME/epochbench/choices-3.json, or the same in ~/.cache; empty if neither is known. The number is the version of
// the file format, and of what problems and tags mean.
std::string choices_file(const char* xdg_cache_home, const char* home);

struct ChoiceFile;

class ChoiceStore {
 public:
  // Reads the choices that `file` has for this place. `file`: empty to keep choices in memory only.
  ChoiceStore(std::string file, ChoicePlace place);

  const StoredChoice* find(const std::string& problem) const;
  void keep(StoredChoice choice);
  // Adds the choices made here since the last call to the file, which other processes may have changed meanwhile.
  void save();

 private:
  ChoiceFile read();

  std::string file_;
  ChoicePlace place_;
  std::map<std::string, StoredChoice> choices_;  // by problem
  bool changed_ = false, reported_ = false;
};

}  // namespace epochbench
