// Convolutions next to a batch norm. Forward, the convolution sums what the norm's statistics need while it writes its output;
// backward, the gradient of a convolution's input sums what the norm's gradient needs. This saves a pass over the tensor
// between the two.
#include <algorithm>
#include <utility>

#include "src/graph/composer.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

class ConvolutionFuser : private Composer {
 public:
  using Composer::Composer;

  void run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      const Op op = node(i).op;
      if (op == Op::batch_norm || op == Op::batch_norm_relu) fuse_norm(i);
      if (op == Op::batch_norm_relu_grad) fuse_gradient(i);
    }
    remove_parts();
  }

 private:
  // conv2d, batch_norm or batch_norm_relu. The composite takes the norm's place, so other readers of the convolution's output
  // (gradients) must come later.
  void fuse_norm(int norm) {
    const ValueId between = node(norm).inputs[0];
    const int convolution = producer_of(between, Op::conv2d);
    if (convolution == kNone) return;
    const auto& readers = users(between);
    if (std::ranges::any_of(readers, [&](int reader) { return reader != kGraphOutput && reader < norm; })) return;
    Node fused;
    fused.op = Op::conv2d_batch_norm;
    fused.attributes = node(convolution).attributes;
    fused.inputs = node(convolution).inputs;
    fused.inputs.insert(fused.inputs.end(), node(norm).inputs.begin() + 1, node(norm).inputs.end());
    fused.outputs = node(norm).outputs;
    fused.outputs.push_back(between);
    replace(norm, {convolution, norm}, std::move(fused));
  }

  // conv2d_grad_input, batch_norm_relu_grad of one gradient that no shortcut reads, but not of relu6. The positions with y > 0
  // are recomputed from x, so the norm's bias is read too.
  void fuse_gradient(int norm) {
    if (std::get<BatchNormReluGradAttributes>(node(norm).attributes).second) return;
    if (node(norm).parts.front().op == Op::relu6_grad) return;
    const ValueId between = node(norm).inputs[0], shortcut_gradient = node(norm).outputs[3];
    const int convolution = producer_of(between, Op::conv2d_grad_input);
    if (convolution == kNone || users(between).size() > 1 || !users(shortcut_gradient).empty()) return;
    const ValueId bias = bias_of(node(norm).inputs[4]);
    if (bias == kNoValue) return;
    Node fused;
    fused.op = Op::conv2d_batch_norm_grad;
    fused.attributes = node(convolution).attributes;
    fused.inputs = node(convolution).inputs;
    fused.inputs.insert(fused.inputs.end(), node(norm).inputs.begin() + 1, node(norm).inputs.end());
    fused.inputs.push_back(bias);
    fused.outputs = {node(norm).outputs.begin(), node(norm).outputs.begin() + 3};
    replace(norm, {convolution, norm}, std::move(fused));
  }

  // The bias of the batch norm without a shortcut that computed this mean, or kNoValue.
  ValueId bias_of(ValueId batch_mean) {
    const int norm = producer(batch_mean);
    if (norm == kNone) return kNoValue;
    const bool after_convolution = node(norm).op == Op::conv2d_batch_norm;  // the weight is an input too
    const std::size_t bias = after_convolution ? 3 : 2, without_shortcut = after_convolution ? 6 : 5;
    return node(norm).inputs.size() == without_shortcut ? node(norm).inputs[bias] : kNoValue;
  }
};

}  // namespace

void fuse_convolutions(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has) {
  ConvolutionFuser(graph, has).run();
}

}  // namespace epochbench
