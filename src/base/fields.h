// The fields of a struct, listed once, next to it: key, member and, if the type alone does not determine it, the form.
//
//   void fields(auto& visit, Is<Latency> auto& latency) {
//     VISIT(latency, samples, p50_seconds, worst_seconds);  // keys are the members' names
//     visit("step_seconds", latency.step_seconds, {.addition = true, .positive = true});
//   }
//
// Everything that handles the struct as text visits this list: FieldWriter and FieldReader (json_fields.h), the columns of CSV,
// the test that compares keys with results/schema.json. The order of the list is the order in a file.
//
// An empty optional is null. Members that may be missing from a file keep their value: optionals, booleans, maps, groups of
// keys (`visit.group(key, [&](auto& part) { part("cpu", ...); })`) and those whose form says so. Everything else must be there.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace epochbench {

template <class T, class Struct>
concept Is = std::same_as<std::remove_const_t<T>, Struct>;  // one list serves writing (a const struct) and reading

// The base class `Part` of a struct, as const as the struct: fields(visit, part<MeasuredCpu>(cpu)).
template <class Part, class Struct>
auto& part(Struct& whole) {
  return static_cast<std::conditional_t<std::is_const_v<Struct>, const Part, Part>&>(whole);
}

// How a member is written and read if its type alone does not determine it.
struct Form {
  bool addition = false;          // added later: a file without it, or with null, is still read
  bool positive = false;          // a number, or each of a list, must be above 0
  bool any_sign = false;          // a time (its key ends with "seconds") that may be below 0, e.g. the difference of two clocks
  bool null_if_empty = false;     // a text or a list
  bool omitted_if_empty = false;  // an optional or a container: its key is left out
  bool hidden = false;            // null, whatever the member contains
  std::optional<std::int64_t> minimum = {}, maximum = {};  // only for a whole number
  const char* default_text = nullptr;                      // what an empty optional text means
  std::span<const char* const> keys = {};  // only for a map: exactly these are written, as null if the map lacks one

  bool may_be_missing() const { return addition || null_if_empty || omitted_if_empty; }
};

}  // namespace epochbench

// visit("a", object.a); visit("b", object.b); ... for VISIT(object, a, b, ...): up to 64 members.
#define VISIT(object, ...) EPOCHBENCH_RESCAN(EPOCHBENCH_VISIT(object, __VA_ARGS__))
#define EPOCHBENCH_VISIT(object, member, ...) \
  visit(#member, object.member);              \
  __VA_OPT__(EPOCHBENCH_VISIT_AGAIN EPOCHBENCH_PARENTHESES(object, __VA_ARGS__))
#define EPOCHBENCH_VISIT_AGAIN() EPOCHBENCH_VISIT
#define EPOCHBENCH_PARENTHESES ()
#define EPOCHBENCH_RESCAN(...) \
  EPOCHBENCH_RESCAN_16(EPOCHBENCH_RESCAN_16(EPOCHBENCH_RESCAN_16(EPOCHBENCH_RESCAN_16(__VA_ARGS__))))
#define EPOCHBENCH_RESCAN_16(...) \
  EPOCHBENCH_RESCAN_4(EPOCHBENCH_RESCAN_4(EPOCHBENCH_RESCAN_4(EPOCHBENCH_RESCAN_4(__VA_ARGS__))))
#define EPOCHBENCH_RESCAN_4(...) EPOCHBENCH_RESCAN_1(EPOCHBENCH_RESCAN_1(EPOCHBENCH_RESCAN_1(EPOCHBENCH_RESCAN_1(__VA_ARGS__))))
#define EPOCHBENCH_RESCAN_1(...) __VA_ARGS__
