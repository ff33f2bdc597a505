// Mutations that keep JSON valid: a value is replaced by a hostile one or by another value, or removed. One in four is
// libFuzzer's own mutation of bytes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr int kDeepest = 80;

using Random = std::minstd_rand;

std::size_t below(std::size_t bound, Random& random) { return random() % bound; }

// All values of a document; false if it is nested too deeply.
bool collect(Json& value, int depth, std::vector<Json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return true;
  if (depth == kDeepest) return false;
  for (Json& element : value)
    if (!collect(element, depth + 1, all)) return false;
  return true;
}

Json hostile(Random& random) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::array<Json, 22> values{nullptr,
                                    true,
                                    false,
                                    0,
                                    -0.0,
                                    1,
                                    -1,
                                    2,
                                    1e300,
                                    -1e300,
                                    5e-324,
                                    0.5,
                                    Limits::max(),
                                    Limits::min(),
                                    std::numeric_limits<std::uint64_t>::max(),
                                    std::numeric_limits<std::int32_t>::max(),
                                    "",
                                    "ok",
                                    std::string(1, '\0'),
                                    std::string(300, 'x'),
                                    Json::array(),
                                    Json::object()};
  return values[below(values.size(), random)];
}

void erase_one(Json& value, Random& random) {
  if (!value.is_structured() || value.empty()) return;
  value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(below(value.size(), random))));
}

void repeat_one(Json& value, Random& random) {
  if (!value.is_array() || value.empty()) return;
  const Json copy = value[below(value.size(), random)];
  value.push_back(copy);
}

void scale(Json& value, Random& random) {
  constexpr std::array kFactors{-1.0, 1e-9, 0.5, 2.0, 1e3, 1e9};
  if (value.is_number()) value = value.get<double>() * kFactors[below(kFactors.size(), random)];
}

bool mutate(Json& document, Random& random) {
  std::vector<Json*> all;
  if (!collect(document, 0, all)) return false;
  Json& chosen = *all[below(all.size(), random)];
  switch (below(5, random)) {
    case 0:
      chosen = hostile(random);
      return true;
    case 1:
      erase_one(chosen, random);
      return true;
    case 2:
      repeat_one(chosen, random);
      return true;
    case 3:
      scale(chosen, random);
      return true;
    default:
      const Json other = *all[below(all.size(), random)];
      chosen = other;
      return true;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  Random random(seed);
  if (below(4, random) == 0) return LLVMFuzzerMutate(data, size, max_size);
  Json document = Json::parse(data, data + size, nullptr, false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, max_size);
  for (std::size_t times = 1 + below(3, random); times > 0; --times)
    if (!mutate(document, random)) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
