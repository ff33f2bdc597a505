#include "src/analysis/predict/leader.h"

#include <algorithm>

namespace epochbench {

std::optional<Leader> find_leader(const std::vector<RangedFigure>& figures, Better better) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < figures.size(); ++i)
    if (figures[i].value) places.push_back(i);
  if (places.size() < 2) return std::nullopt;
  std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) {
    return better == Better::smaller ? *figures[a].value < *figures[b].value : *figures[a].value > *figures[b].value;
  });
  const auto bounds = [&](std::size_t place) {
    return figures[place].ends.value_or(std::pair(*figures[place].value, *figures[place].value));
  };
  Leader leader{places[0], places[1], {}};
  const auto [low, high] = bounds(leader.place);
  for (std::size_t i = 1; i < places.size(); ++i)
    if (const auto other = bounds(places[i]); other.first <= high && other.second >= low) leader.rivals.push_back(places[i]);
  return leader;
}

}  // namespace epochbench
