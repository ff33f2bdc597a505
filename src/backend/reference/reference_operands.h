// The operands of a node's reference kernel, as floats: 16-bit inputs are widened before the kernel runs, 16-bit outputs are
// rounded after it, and the factors of a tf32 product are rounded before it.
#pragma once

#include <vector>

#include "kernels/shapes.h"
#include "src/backend/host/host_executable.h"

namespace epochbench {

class ReferenceOperands {
 public:
  ReferenceOperands(const Graph& graph, const Node& node, const ValueMemory& memory);

  template <typename T = float>
  T* get(ValueId id) {  // while the node runs; null: no node reads this value
    for (Shadow& shadow : shadows_)
      if (shadow.id == id) return memory_->get(id) == nullptr ? nullptr : reinterpret_cast<T*>(shadow.values.data());
    return memory_->get<T>(id);
  }

  bool converts() const { return !shadows_.empty(); }
  void load();   // before the kernel
  void store();  // after it

 private:
  struct Shadow {
    ValueId id;
    Element element;
    std::int64_t n;
    bool output, tf32;
    std::vector<float> values;  // empty between steps
  };
  void add(const Graph& graph, ValueId id, bool output, bool tf32);

  const ValueMemory* memory_;
  std::vector<Shadow> shadows_;
};

}  // namespace epochbench
