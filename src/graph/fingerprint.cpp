// Canonical text of a forward graph and its hash. The text does not depend on backend, precision, data set or seed.
#include <cstdio>

#include "epochbench/graph.h"
#include "src/base/hash.h"

namespace epochbench {

std::string fingerprint(const Graph& forward, std::string_view suffix) {
  std::string text;
  for (std::size_t id = 0; id < forward.value_count(); ++id) {
    const Value& value = forward.value(static_cast<ValueId>(id));
    if (value.kind == ValueKind::intermediate) continue;
    text += std::to_string(id) + (value.kind == ValueKind::input ? " input " : " variable ") + value.name + " " +
            to_string(value.desc);
    if (value.kind == ValueKind::variable) {
      const Initializer& initializer = forward.variables[static_cast<std::size_t>(value.index)].initializer;
      char scale[40];
      std::snprintf(scale, sizeof scale, " init %d %.17g", static_cast<int>(initializer.kind), initializer.scale);
      text += scale;
    }
    text += "\n";
  }
  for (const Node& node : forward.nodes) {
    text += name(node.op);
    for (ValueId id : node.inputs) text += " " + std::to_string(id);
    text += " ->";
    for (ValueId id : node.outputs) text += " " + std::to_string(id) + ":" + to_string(forward.desc(id));
    text += " " + to_string(node.attributes) + "\n";
  }
  text += suffix;
  return text_hash(text);
}

}  // namespace epochbench
