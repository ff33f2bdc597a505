#include "src/result/price_source.h"

#include <cstdio>
#include <string_view>

namespace epochbench {
namespace {

constexpr std::string_view kHypothetical = "hypothetical ", kWhole = "whole ", kPriceFor = "price for ";

// npos: the source states no share, or that all of the price counts.
std::size_t place_of_share(std::string_view source) {
  const std::size_t place = source.find(kPriceFor);
  return place == source.npos || source.substr(0, place).ends_with(kWhole) ? source.npos : place;
}

}  // namespace

std::string share_text(const std::string& all, int used) {
  return std::string(kHypothetical) + std::string(kPriceFor) + all + ", " + std::to_string(used) + " used";
}

std::optional<double> whole_over_share(const std::string& source) {
  const std::size_t place = place_of_share(source);
  if (place == source.npos) return std::nullopt;
  int all = 0, used = 0;
  if (std::sscanf(source.c_str() + place + kPriceFor.size(), "%d %*s %d used", &all, &used) != 2 || all <= 0 || used <= 0)
    return std::nullopt;
  return static_cast<double>(all) / used;
}

std::string labeled_share(std::string source) {
  const std::size_t place = place_of_share(source);
  if (place != source.npos && !std::string_view(source).substr(0, place).ends_with(kHypothetical))
    source.insert(place, kHypothetical);
  return source;
}

}  // namespace epochbench
