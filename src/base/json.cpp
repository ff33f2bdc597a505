#include "src/base/json.h"

#include <cmath>
#include <span>

#include "src/base/files.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

std::string scalar(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return "null";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print(const Json& value, std::size_t indent, std::string& out) {
  if (!value.is_structured() || value.empty()) {
    out += scalar(value);
    return;
  }
  const std::string inner(indent + 2, ' ');
  if (value.is_object()) {
    const char* separator = "{\n";
    for (const auto& [key, member] : value.items()) {
      out += separator + inner + scalar(key) + ": ";
      print(member, indent + 2, out);
      separator = ",\n";
    }
    out += "\n" + std::string(indent, ' ') + "}";
    return;
  }
  bool flat = true;
  for (const Json& element : value) flat = flat && !element.is_structured();
  const char* separator = "";
  out += "[";
  for (const Json& element : value) {
    out += separator;
    if (!flat) out += "\n" + inner;
    print(element, indent + 2, out);
    separator = flat ? ", " : ",";
  }
  out += flat ? "]" : "\n" + std::string(indent, ' ') + "]";
}

}  // namespace

void make_visible(Json& value) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    text = visible(text);
  } else if (value.is_object()) {
    bool renamed = false;
    for (auto& [key, member] : value.items()) {
      make_visible(member);
      renamed = renamed || visible(key) != key;
    }
    if (!renamed) return;
    Json members = Json::object();
    for (auto& [key, member] : value.items()) members[visible(key)] = std::move(member);
    value = std::move(members);
  } else if (value.is_array()) {
    for (Json& element : value) make_visible(element);
  }
}

Json parse_json(std::string_view text, const std::string& source, RepeatedKeys repeated) {
  require_at_most(kMaxTextBytes, text.size(), source);
  check_json(text, source, repeated);
  const std::span bytes(text);
  Json value = Json::parse(bytes.begin(), bytes.end());
  make_visible(value);
  return value;
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string print_json(const Json& value) {
  std::string out;
  print(value, 0, out);
  return out + "\n";
}

}  // namespace epochbench
