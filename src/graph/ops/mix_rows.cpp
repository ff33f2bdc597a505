// mix_rows: samples mixed with their neighbors (Zhang et al., "mixup", 2018). It has no gradient, as nothing before it is
// trained.
#include "src/graph/op_rule.h"

namespace epochbench {
namespace {

std::vector<TensorDesc> infer(const Graph& graph, const Node& node) {
  require(node.inputs.size() == 2, "needs samples and their shares");
  const TensorDesc& x = input(graph, node, 0);
  require_float(x);
  require(!x.shape.empty() && input(graph, node, 1) == TensorDesc{{x.shape[0]}, DType::f32}, "share must be f32 [rows]");
  return like_first_input(graph, node);
}

}  // namespace

const OpRule kMixRowsRule{.infer = infer, .f32_parameters = true};

}  // namespace epochbench
