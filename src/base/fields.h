// The fields of a struct, listed once and beside it: key, member and, where the type alone does not say it, the form.
//
//   void fields(auto& visit, Is<Throughput> auto& throughput) {
//     visit("samples_per_second", throughput.samples_per_second);
//     visit("tokens_per_second", throughput.tokens_per_second);
//   }
//
// Everything that handles the struct as text visits this list: FieldWriter and FieldReader (json_fields.h), the columns of CSV,
// the test that compares keys with results/schema.json. The order of the list is the order in a file.
//
// An empty optional is null. Members that may be missing from a file keep their value: optionals, booleans, maps, groups of
// keys (`visit.group(key, [&](auto& part) { part("cpu", ...); })`) and additions. Everything else must be there.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace epochbench {

template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;  // a list serves writing, of a const struct, and reading

// Forms: how a member is written and read where its type alone does not say it.
template <class T>
concept FieldForm = requires {
  typename std::remove_cvref_t<T>::IsFieldForm;
};

// A member that came later: a file without it, or with null, is read all the same. Of a member or of another form.
template <class T>
struct Addition {
  using IsFieldForm = void;
  T member;
};
template <class T>
Addition<T> addition(T&& member) {
  return {std::forward<T>(member)};
}

// An optional number, or each of a list, that must be above 0.
template <class T>
struct Positive {
  using IsFieldForm = void;
  T& member;
};
template <class T>
Positive<T> positive(T& member) {
  return {member};
}

// A whole number, also an optional one, from `minimum` to `maximum`.
template <class T>
struct Within {
  using IsFieldForm = void;
  T& member;
  std::int64_t minimum, maximum;
};
template <class T>
Within<T> within(T& member, std::int64_t minimum, std::int64_t maximum) {
  return {member, minimum, maximum};
}

// A text or a list that is null where it is empty.
template <class T>
struct NullIfEmpty {
  using IsFieldForm = void;
  T& member;
};
template <class T>
NullIfEmpty<T> null_if_empty(T& member) {
  return {member};
}

// A key that is left out where the member, an optional or a container, is empty.
template <class T>
struct OmittedIfEmpty {
  using IsFieldForm = void;
  T& member;
};
template <class T>
OmittedIfEmpty<T> omitted_if_empty(T& member) {
  return {member};
}

// An optional that is null unless `condition` holds, whatever it contains.
template <class T>
struct OnlyIf {
  using IsFieldForm = void;
  bool condition;
  T& member;
};
template <class T>
OnlyIf<T> only_if(bool condition, T& member) {
  return {condition, member};
}

// An optional text that is written as `text` where it is empty.
template <class T>
struct WithDefault {
  using IsFieldForm = void;
  T& member;
  const char* text;
};
template <class T>
WithDefault<T> with_default(T& member, const char* text) {
  return {member, text};
}

// A map from text to an optional. These keys are always written, with null where the map lacks them.
template <class T>
struct WithKeys {
  using IsFieldForm = void;
  T& member;
  std::span<const char* const> keys;
};
template <class T>
WithKeys<T> with_keys(T& member, std::span<const char* const> keys) {
  return {member, keys};
}

// Two optional numbers as the ends of one interval: [low, high], each null where it is open.
template <class T>
struct Ends {
  using IsFieldForm = void;
  T& low;
  T& high;
};
template <class T>
Ends<T> ends(T& low, T& high) {
  return {low, high};
}

}  // namespace epochbench
