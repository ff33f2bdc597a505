#include "src/backend/cuda/choice_store.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "src/base/errors.h"
#include "src/base/files.h"

namespace epochbench {

// The choices of one place; a file has those of several.
struct PlaceChoices {
  ChoicePlace place;
  std::vector<StoredChoice> choices;
};

void fields(auto& visit, Is<PlaceChoices> auto& part) { VISIT(part, place, choices); }

struct ChoiceFile {
  std::vector<PlaceChoices> places;  // the last one written comes first
};

void fields(auto& visit, Is<ChoiceFile> auto& file) { VISIT(file, places); }

namespace {

constexpr std::size_t kPlaces = 16;  // some cards and libraries that take turns; older places are dropped
constexpr std::size_t kFileBytes = std::size_t{16} << 20;

PlaceChoices take(ChoiceFile& file, const ChoicePlace& place) {
  const auto found =
      std::find_if(file.places.begin(), file.places.end(), [&](const PlaceChoices& part) { return part.place == place; });
  if (found == file.places.end()) return {place, {}};
  PlaceChoices part = std::move(*found);
  file.places.erase(found);
  return part;
}

}  // namespace

std::string how_chosen(const StoredChoice& choice) {
  const std::string left_out = choice.left_out.empty() ? "" : " " + choice.left_out;
  if (choice.timed < 2 && !choice.blind())
    return left_out.empty() ? "" : " [" + std::to_string(choice.offered) + left_out + "]";
  std::string text = choice.here ? " [" : " [stored: ";
  if (choice.timed < 2) return text + "first of " + std::to_string(choice.offered) + left_out + "]";
  text += "fastest of " + std::to_string(choice.timed);
  if (choice.timed < choice.offered) text += ", " + std::to_string(choice.offered) + " offered";
  return text + left_out + "]";
}

std::string choices_file(const char* xdg_cache_home, const char* home) {
  constexpr const char* kName = "/epochbench/choices-3.json";
  if (xdg_cache_home && *xdg_cache_home == '/') return std::string(xdg_cache_home) + kName;  // relative paths are to be ignored
  if (home && *home == '/') return std::string(home) + "/.cache" + kName;
  return "";
}

// Empty if the file is missing or damaged.
ChoiceFile ChoiceStore::read() {
  if (std::error_code error; !std::filesystem::exists(file_, error)) return {};
  try {
    return read_value<ChoiceFile>(parse_json(read_text_file(file_, kFileBytes), file_), file_);
  } catch (const FormatError& error) {
    if (!reported_) print_error(std::string(error.what()) + "; the file is written again, its choices are measured again");
    reported_ = true;
    return {};
  }
}

ChoiceStore::ChoiceStore(std::string file, ChoicePlace place) : file_(std::move(file)), place_(std::move(place)) {
  if (file_.empty()) return;
  ChoiceFile stored = read();
  for (StoredChoice& choice : take(stored, place_).choices) choices_.insert_or_assign(choice.problem, choice);
}

const StoredChoice* ChoiceStore::find(const std::string& problem) const {
  const auto found = choices_.find(problem);
  return found == choices_.end() ? nullptr : &found->second;
}

void ChoiceStore::keep(StoredChoice choice) {
  choice.here = true;
  choices_.insert_or_assign(choice.problem, choice);
  changed_ = true;
}

void ChoiceStore::save() {
  if (file_.empty() || !changed_) return;
  changed_ = false;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(file_).parent_path(), error);
  const FileLock lock(file_ + ".lock");
  ChoiceFile all = read();
  PlaceChoices part = take(all, place_);
  std::erase_if(part.choices, [&](const StoredChoice& stored) { return choices_.contains(stored.problem); });
  for (const auto& [problem, choice] : choices_) part.choices.push_back(choice);
  all.places.insert(all.places.begin(), std::move(part));
  all.places.resize(std::min(all.places.size(), kPlaces));
  TemporaryFile file(file_);
  if (!file.write(print_json(json_of(all)) + "\n") || !file.move_to_place(Sync::none))
    print_error(file_ + " cannot be written (" + error_text(file.error()) +
                "): later runs measure again which algorithms are the fastest; name a writable folder in XDG_CACHE_HOME");
}

}  // namespace epochbench
