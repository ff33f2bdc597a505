// The choices of a case, and the one word for each, as typed by users and as stored in files and the protocol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "epochbench/dataset.h"
#include "epochbench/precision.h"
#include "src/base/errors.h"
#include "src/base/text.h"
#include "src/case/named_parts.h"
#include "src/data/order.h"

namespace epochbench {

enum class Mode : std::uint8_t { train, forward };
enum class Cache : std::uint8_t { none, decoded };             // decoded: images are decoded before the first step and kept
enum class Pinning : std::uint8_t { automatic, cores, none };  // automatic: to one core each unless a quota shares the cores
// How the learning rate changes (src/workload/schedule.h).
enum class Schedule : std::uint8_t { constant, cosine, step };
// portable: those compiled for every processor of its kind; fastest: of the best ones and other libraries', by timing
enum class Kernels : std::uint8_t { best, portable, avx2, fastest };
// blocks: activations are dropped and recomputed (src/graph/checkpoint.cpp)
enum class Checkpoint : std::uint8_t { none, blocks };
enum class Shard : std::uint8_t { none, optimizer };  // what ranks divide among themselves (src/graph/data_parallel.cpp)
enum class Framework : std::uint8_t { epochbench, pytorch };
// What an evaluation on the test split reports: accuracy is better the higher, loss the lower.
enum class EvalMetric : std::uint8_t { accuracy, loss };

// The words of an enumeration, in the order of its values; every other enumeration of choices has such a function beside it.
constexpr auto texts_of(Mode) { return std::array{"train", "forward"}; }
constexpr auto texts_of(Cache) { return std::array{"none", "decoded"}; }
constexpr auto texts_of(Pinning) { return std::array{"auto", "cores", "none"}; }
constexpr auto texts_of(Schedule) { return std::array{"constant", "cosine", "step"}; }
constexpr auto texts_of(Kernels) { return std::array{"best", "portable", "avx2", "fastest"}; }
constexpr auto texts_of(Checkpoint) { return std::array{"none", "blocks"}; }
constexpr auto texts_of(Shard) { return std::array{"none", "optimizer"}; }
constexpr auto texts_of(Framework) { return std::array{"epochbench", "pytorch"}; }
constexpr auto texts_of(EvalMetric) { return std::array{"accuracy", "loss"}; }
constexpr auto texts_of(Order) { return std::array{"shuffled", "sequential"}; }
constexpr auto texts_of(Normalization) { return std::array{"imagenet", "measured"}; }
constexpr auto texts_of(BadImages) { return std::array{"stop", "skip"}; }
// the text of each is that of epochbench/precision.h
constexpr auto texts_of(Precision) {
  return std::array{name(Precision::fp32), name(Precision::tf32), name(Precision::bf16), name(Precision::fp16),
                    name(Precision::int8)};
}

constexpr auto parts_of(const Augmentation&) {
  using Part = NamedPart<Augmentation>;
  return std::array{Part{"color", &Augmentation::color}, Part{"crop", &Augmentation::crop}, Part{"flip", &Augmentation::flip}};
}

template <class E>
concept Choice = requires(E value) {
  texts_of(value);
};

template <Choice E>
constexpr const char* name(E value) {
  return texts_of(value)[static_cast<std::size_t>(value)];
}

template <Choice E>
constexpr std::optional<E> from_name(std::string_view text) {
  constexpr auto kWords = texts_of(E{});
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (text == kWords[i]) return static_cast<E>(i);
  return std::nullopt;
}

template <Choice E>
std::string all_words() {  // "train, forward"
  return joined(texts_of(E{}), [](const char* word) { return word; });
}

// Errors: CallError that lists the words, except for precisions, which depend on the machine.
template <Choice E>
E parse_choice(const std::string& text) {
  if (const auto value = from_name<E>(text)) return *value;
  if constexpr (std::is_same_v<E, Precision>) throw CallError(Unknown::precision, text);
  constexpr auto kWords = texts_of(E{});
  throw CallError("'" + text + "' is unknown; choose from " + all_words<E>() +
                  did_you_mean(text, std::vector<std::string>(kWords.begin(), kWords.end())));
}

}  // namespace epochbench
