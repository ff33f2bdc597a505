// What a case chooses among, and the one word for each choice: what people type, what files and the protocol hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "epochbench/precision.h"
#include "src/base/errors.h"
#include "src/data/order.h"

namespace epochbench {

enum class Mode : std::uint8_t { train, forward };
enum class Cache : std::uint8_t { none, decoded };             // decoded: before the first step, and kept in memory
enum class Pinning : std::uint8_t { automatic, cores, none };  // automatic: to one core each where no quota shares the cores
enum class Kernels : std::uint8_t { best, portable };          // portable: those compiled for every processor of its kind
enum class Framework : std::uint8_t { epochbench, pytorch };

// The words of an enumeration, in the order of its values.
template <class E>
struct Words;
template <>
struct Words<Mode> {
  static constexpr std::array kAll{"train", "forward"};
};
template <>
struct Words<Cache> {
  static constexpr std::array kAll{"none", "decoded"};
};
template <>
struct Words<Pinning> {
  static constexpr std::array kAll{"auto", "cores", "none"};
};
template <>
struct Words<Kernels> {
  static constexpr std::array kAll{"best", "portable"};
};
template <>
struct Words<Framework> {
  static constexpr std::array kAll{"epochbench", "pytorch"};
};
template <>
struct Words<Order> {
  static constexpr std::array kAll{"shuffled", "sequential"};
};
template <>
struct Words<Precision> {  // the text of each is that of epochbench/precision.h
  static constexpr std::array kAll{name(Precision::fp32), name(Precision::tf32), name(Precision::bf16), name(Precision::fp16)};
};

template <class E>
concept Choice = requires {
  Words<E>::kAll;
};

template <Choice E>
constexpr const char* name(E value) {
  return Words<E>::kAll[static_cast<std::size_t>(value)];
}

template <Choice E>
constexpr std::optional<E> from_name(std::string_view text) {
  for (std::size_t i = 0; i < Words<E>::kAll.size(); ++i)
    if (text == Words<E>::kAll[i]) return static_cast<E>(i);
  return std::nullopt;
}

template <Choice E>
std::string all_words() {  // "train, forward"
  std::string known;
  for (const char* word : Words<E>::kAll) known += (known.empty() ? "" : ", ") + std::string(word);
  return known;
}

// Errors: CallError that lists the words.
template <Choice E>
E parse_choice(const std::string& text) {
  if (const auto value = from_name<E>(text)) return *value;
  throw CallError("'" + text + "' is unknown; choose from " + all_words<E>());
}

}  // namespace epochbench
