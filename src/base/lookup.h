// Look-ups in lists and optional parts that the C++20 library lacks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace epochbench {

template <class List, class Value>
bool contains(const List& list, const Value& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

// The value of this key in a map; null: it has none.
template <class Map, class Key>
auto* find_value(Map& map, const Key& key) {
  const auto place = map.find(key);
  return place == map.end() ? nullptr : &place->second;
}

template <class Pointer>
struct MemberPointer;
template <class Part, class Type>
struct MemberPointer<Type Part::*> {
  using Class = Part;
  using Member = Type;
};

// Elements in the order in which their keys first appeared, each found by its key in logarithmic time:
// ListByKey<&RunGroup::name> groups; groups[run.name].runs.push_back(&run);
// Callers give only kKey. Element and Key are parameters because GCC takes a class's linkage from types, not from kKey:
// otherwise lists of two files whose local types have the same name would share their functions.
template <auto kKey, class Element = typename MemberPointer<decltype(kKey)>::Class,
          class Key = typename MemberPointer<decltype(kKey)>::Member>
class ListByKey {
 public:
  // The element with this key, added at the end if there is none.
  Element& operator[](const Key& key) {
    const auto [place, is_new] = places_.try_emplace(key, list_.size());
    if (is_new) list_.emplace_back().*kKey = key;
    return list_[place->second];
  }

  const Element* find(const Key& key) const {  // null: none
    const auto place = places_.find(key);
    return place == places_.end() ? nullptr : &list_[place->second];
  }

  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  auto begin() { return list_.begin(); }
  auto end() { return list_.end(); }
  bool empty() const { return list_.empty(); }
  const std::vector<Element>& list() const { return list_; }

  // Leaves it empty.
  std::vector<Element> take() {
    places_.clear();
    return std::exchange(list_, {});
  }

 private:
  std::vector<Element> list_;
  std::map<Key, std::size_t> places_;
};

template <class T>
struct AsOptional {
  using Type = std::optional<T>;
};
template <class T>
struct AsOptional<std::optional<T>> {
  using Type = std::optional<T>;
};

// A member of an optional part: member_of(run.memory, &Memory::peak_bytes). Empty if the part or the member is.
template <class Part, class Member>
typename AsOptional<Member>::Type member_of(const std::optional<Part>& part, Member Part::*member) {
  if (!part) return std::nullopt;
  return (*part).*member;
}

// The optional numbers that `get` returns for the elements, without empty and non-finite ones.
template <class List, class Get>
std::vector<double> known_values(const List& list, const Get& get) {
  std::vector<double> values;
  for (const auto& element : list)
    if (const auto value = get(element); value && std::isfinite(static_cast<double>(*value)))
      values.push_back(static_cast<double>(*value));
  return values;
}

}  // namespace epochbench
