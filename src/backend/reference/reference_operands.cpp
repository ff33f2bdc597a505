// Widening and rounding around reference kernels.
#include "src/backend/reference/reference_operands.h"

#include <algorithm>

#include "kernels/reference/kernels.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {
namespace {

// The number of leading inputs that are factors of the node's products; the others are saved results.
std::size_t factors(const Node& node) {
  switch (node.op) {
    case Op::attention:
      return 3;  // q, k, v
    case Op::attention_grad:
      return 4;  // dy, q, k, v
    default:
      return 2;
  }
}

}  // namespace

ReferenceOperands::ReferenceOperands(const Graph& graph, const Node& node, const ValueMemory& memory) : memory_(&memory) {
  const bool tf32 = is_tf32(node.attributes);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) add(graph, node.inputs[i], false, tf32 && i < factors(node));
  for (ValueId id : node.outputs) add(graph, id, true, false);
}

void ReferenceOperands::add(const Graph& graph, ValueId id, bool output, bool tf32) {
  const TensorDesc& desc = graph.desc(id);
  const bool is_16_bit = desc.dtype == DType::bf16 || desc.dtype == DType::f16;
  if (!is_16_bit && !(tf32 && desc.dtype == DType::f32)) return;
  if (std::any_of(shadows_.begin(), shadows_.end(), [id](const Shadow& shadow) { return shadow.id == id; })) return;
  shadows_.push_back({id, element_of(desc.dtype), desc.elements(), output, tf32, {}});
}

void ReferenceOperands::load() {
  for (Shadow& shadow : shadows_) {
    shadow.values.resize(static_cast<std::size_t>(shadow.n));
    if (shadow.output) continue;
    float* values = shadow.values.data();
    reference::cast(values, memory_->get<std::byte>(shadow.id), Element::f32, shadow.element, shadow.n);
    if (shadow.tf32) reference::round_to_tf32(values, values, shadow.n);
  }
}

void ReferenceOperands::store() {
  for (Shadow& shadow : shadows_) {
    std::byte* memory = memory_->get<std::byte>(shadow.id);
    if (shadow.output && memory != nullptr)
      reference::cast(memory, shadow.values.data(), shadow.element, Element::f32, shadow.n);
    std::vector<float>().swap(shadow.values);
  }
}

}  // namespace epochbench
