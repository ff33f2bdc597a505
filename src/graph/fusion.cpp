// The fusion pass: small patterns over producers and their only consumers. Joint products have their own file.
#include <algorithm>

#include "src/graph/composer.h"
#include "src/graph/op_rule.h"
#include "src/graph/passes.h"

namespace epochbench {
namespace {

class Fuser : private Composer {
 public:
  using Composer::Composer;

  void run() {
    fuse_patterns();
    remove_parts();
  }

  // Runs after everything that moves nodes, so that a value's last reader stays the last.
  void run_sums() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i)
      if (!is_gone(i) && node(i).op == Op::matmul) fuse_sum(i);
    remove_parts();
  }

 private:
  void fuse_patterns() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
      if (is_gone(i)) continue;
      switch (node(i).op) {
        case Op::matmul:
        case Op::conv2d:
          fuse_bias(i);
          break;
        case Op::linear:
          fuse_gelu(i);
          break;
        case Op::gelu_grad:
          fuse_gelu_grad(i);
          break;
        case Op::batch_norm:
        case Op::batch_norm_inference:
          fuse_batch_norm(i);
          break;
        case Op::bias_add_grad:
          fuse_linear_gradient(i);
          break;
        case Op::relu_grad:
        case Op::relu6_grad:
          fuse_batch_norm_grad(i);
          break;
        case Op::global_average_pool_grad:
          fuse_squeeze_excite_grad(i);
          break;
        case Op::layer_norm:
          fuse_layer_norm(i);
          break;
        case Op::rms_norm:
          fuse_rms_norm(i);
          break;
        case Op::layer_norm_grad:
          fuse_layer_norm_grad(i);
          break;
        default:
          break;  // starts no pattern
      }
    }
  }

  // matmul or conv2d, bias_add [, relu].
  void fuse_bias(int product) {
    const int bias = only_user(node(product).outputs[0], Op::bias_add);
    if (bias < 0) return;
    const int relu = only_user(node(bias).outputs[0], Op::relu);
    auto composite = [&](bool with_relu) {
      const Node& base = node(product);
      Node fused;
      if (base.op == Op::matmul) {
        fused.op = Op::linear;
        fused.attributes = LinearAttributes{std::get<MatmulAttributes>(base.attributes), with_relu};
      } else {
        fused.op = Op::conv2d_bias;
        fused.attributes = Conv2dBiasAttributes{std::get<Conv2dAttributes>(base.attributes), with_relu};
      }
      fused.inputs = {base.inputs[0], base.inputs[1], node(bias).inputs[1]};
      fused.outputs = node(with_relu ? relu : bias).outputs;
      return fused;
    };
    if (relu >= 0 && replace(relu, {product, bias, relu}, composite(true))) return;
    replace(bias, {product, bias}, composite(false));
  }

  // linear, gelu. The composite takes gelu's place; gelu's input stays a value if others read it later.
  void fuse_gelu(int linear) {
    const auto& a = std::get<LinearAttributes>(node(linear).attributes);
    const ValueId x = node(linear).outputs[0];
    const auto& readers = users(x);  // in node order
    const int gelu = readers.empty() ? kNone : readers.front();
    if (a.relu || gelu < 0 || node(gelu).op != Op::gelu) return;
    Node fused;
    fused.op = Op::linear_gelu;
    fused.attributes = LinearGeluAttributes{a.matmul, readers.size() > 1};
    fused.inputs = node(linear).inputs;
    fused.outputs = node(gelu).outputs;
    if (readers.size() > 1) fused.outputs.push_back(x);
    replace(gelu, {linear, gelu}, std::move(fused));
  }

  // matmul, gelu_grad as the only reader of the product.
  void fuse_gelu_grad(int gelu_grad) {
    const ValueId dy = node(gelu_grad).inputs[0];
    const int product = producer_of(dy, Op::matmul);
    if (product == kNone || only_user(dy, Op::gelu_grad) == kNone) return;
    Node fused;
    fused.op = Op::matmul_gelu_grad;
    fused.attributes = node(product).attributes;
    fused.inputs = node(product).inputs;
    fused.inputs.push_back(node(gelu_grad).inputs[1]);
    fused.outputs = node(gelu_grad).outputs;
    replace(gelu_grad, {product, gelu_grad}, std::move(fused));
  }

  // matmul, add: the product is added to the other operand in place, so that operand must be an intermediate whose last other
  // reader comes before. The composite takes matmul's place.
  void fuse_sum(int product) {
    const ValueId y = node(product).outputs[0];
    const int add = only_user(y, Op::add);
    if (add == kNone) return;
    const auto& operands = node(add).inputs;
    const ValueId sum = operands[0] == y ? operands[1] : operands[0];
    const int from = producer(sum);
    if (from == kNone || from > product || rule(node(from).op).view) return;
    for (int user : users(sum))
      if (user != add && (user == kGraphOutput || user >= product || rule(node(user).op).view)) return;
    Node fused;
    fused.op = Op::matmul_add;
    fused.attributes = node(product).attributes;
    fused.inputs = {node(product).inputs[0], node(product).inputs[1], sum};
    fused.outputs = node(add).outputs;
    const ValueId total = fused.outputs[0];
    if (replace(product, {product, add}, std::move(fused))) set_producer(total, product);
  }

  // batch_norm [, add], relu or relu6. The composite takes relu's place, since the shortcut has been computed by then.
  void fuse_batch_norm(int norm) {
    const int add = only_user(node(norm).outputs[0], Op::add);
    const ValueId sum = node(add >= 0 ? add : norm).outputs[0];
    const int six = only_user(sum, Op::relu6), relu = six >= 0 ? six : only_user(sum, Op::relu);
    if (relu < 0) return;
    Node fused;
    fused.op = node(norm).op == Op::batch_norm ? Op::batch_norm_relu : Op::batch_norm_inference_relu;
    fused.attributes =
        BatchNormReluAttributes{.batch_norm = std::get<BatchNormAttributes>(node(norm).attributes), .six = six >= 0};
    fused.inputs = node(norm).inputs;
    fused.outputs = node(norm).outputs;
    fused.outputs[0] = node(relu).outputs[0];
    std::vector<int> parts{norm, relu};
    if (add >= 0) {
      const auto& operands = node(add).inputs;
      fused.inputs.push_back(operands[0] == node(norm).outputs[0] ? operands[1] : operands[0]);
      parts = {norm, add, relu};
    }
    replace(relu, parts, std::move(fused));
  }

  // bias_add_grad, and the product of the same dy, transposed, with a value computed before bias_add_grad.
  void fuse_linear_gradient(int bias_grad) {
    const ValueId dy = node(bias_grad).inputs[0];
    for (int user : users(dy)) {
      if (user == kGraphOutput || is_gone(user) || node(user).op != Op::matmul) continue;
      const Node& product = node(user);
      const auto& a = std::get<MatmulAttributes>(product.attributes);
      if (product.inputs[0] != dy || !a.transpose_a || a.transpose_b) continue;
      if (producer(product.inputs[1]) > bias_grad) continue;
      Node fused;
      fused.op = Op::linear_grad_weight;
      fused.attributes = a;
      fused.inputs = product.inputs;
      fused.outputs = {product.outputs[0], node(bias_grad).outputs[0]};
      if (replace(bias_grad, {user, bias_grad}, std::move(fused))) return;
    }
  }

  // [add of two gradients,] relu_grad or relu6_grad, then the first batch_norm_grad that reads it as dy. The composite takes
  // relu_grad's place: the forward values exist, and other readers of dz (the shortcut) come later. Of relu6 the composite
  // reads only a mask.
  void fuse_batch_norm_grad(int relu_grad) {
    const ValueId dz = node(relu_grad).outputs[0];
    const auto& readers = users(dz);
    const auto found = std::find_if(readers.begin(), readers.end(), [&](int user) {
      return user != kGraphOutput && node(user).op == Op::batch_norm_grad && node(user).inputs[0] == dz;
    });
    if (found == readers.end()) return;
    const ValueId dy = node(relu_grad).inputs[0], y = node(relu_grad).inputs[1];
    const int add = sum_for(dy, relu_grad);
    const ValueId mask = mask_of(y);
    for (bool second : {true, false})
      for (bool masked : {true, false}) {
        if ((second && add == kNone) || (masked && mask == kNoValue)) continue;
        if (!masked && node(relu_grad).op == Op::relu6_grad) continue;
        Node fused;
        fused.op = Op::batch_norm_relu_grad;
        fused.attributes = BatchNormReluGradAttributes{masked, second};
        fused.inputs = second ? node(add).inputs : std::vector<ValueId>{dy};
        fused.inputs.push_back(masked ? mask : y);
        fused.inputs.insert(fused.inputs.end(), node(*found).inputs.begin() + 1, node(*found).inputs.end());
        fused.outputs = node(*found).outputs;
        fused.outputs.push_back(dz);
        std::vector<int> parts{relu_grad, *found};
        if (second) parts.push_back(add);
        if (replace(relu_grad, parts, std::move(fused))) {
          if (masked) write_mask(y, mask);
          return;
        }
      }
  }

  // scale_channels and global_average_pool_grad, whose sum is the gradient of what is squeezed and scaled [, silu_grad of it].
  // The composite takes the last node's place.
  void fuse_squeeze_excite_grad(int pool) {
    const ValueId spread = node(pool).outputs[0];
    const int add = only_user(spread, Op::add);
    if (add == kNone) return;
    const auto& operands = node(add).inputs;
    const ValueId scaled = operands[0] == spread ? operands[1] : operands[0];
    const int scale = producer_of(scaled, Op::scale_channels);
    if (scale == kNone || only_user(scaled, Op::add) == kNone) return;
    Node fused;
    fused.op = Op::squeeze_excite_grad;
    fused.inputs = {node(scale).inputs[0], node(scale).inputs[1], node(pool).inputs[0]};
    fused.outputs = node(add).outputs;
    const int silu = only_user(fused.outputs[0], Op::silu_grad);
    if (silu != kNone && node(silu).inputs[0] == fused.outputs[0]) {
      Node with_silu = fused;
      with_silu.inputs.push_back(node(silu).inputs[1]);
      with_silu.outputs = node(silu).outputs;
      if (replace(silu, {scale, pool, add, silu}, std::move(with_silu))) return;
    }
    replace(add, {scale, pool, add}, std::move(fused));
  }

  // [dropout,] add, layer_norm. The composite takes layer_norm's place; the sum stays a value if others read it later.
  void fuse_layer_norm(int norm) {
    const ValueId sum = node(norm).inputs[0];
    const int add = producer_of(sum, Op::add);
    if (add == kNone || is_read_before(sum, norm)) return;
    AddLayerNormAttributes attributes{std::get<LayerNormAttributes>(node(norm).attributes), 0, users(sum).size() > 1};
    std::vector<ValueId> operands = node(add).inputs;
    std::vector<int> parts{add, norm};
    std::vector<ValueId> step;
    for (std::size_t i = 0; i < operands.size() && step.empty(); ++i) {
      const int dropout = producer_of(operands[i], Op::dropout);
      if (dropout == kNone || only_user(operands[i], Op::add) != add) continue;
      attributes.dropout = std::get<DropoutAttributes>(node(dropout).attributes).probability;
      step = {node(dropout).inputs[1]};
      operands = {node(dropout).inputs[0], operands[1 - i]};
      parts.insert(parts.begin(), dropout);
    }
    Node fused;
    fused.op = Op::add_layer_norm;
    fused.attributes = attributes;
    fused.inputs = {operands[0], operands[1], node(norm).inputs[1], node(norm).inputs[2]};
    fused.inputs.insert(fused.inputs.end(), step.begin(), step.end());
    fused.outputs = node(norm).outputs;
    if (attributes.sum) fused.outputs.push_back(sum);
    replace(norm, parts, std::move(fused));
  }

  // add, rms_norm: the same without dropout.
  void fuse_rms_norm(int norm) {
    const ValueId sum = node(norm).inputs[0];
    const int add = producer_of(sum, Op::add);
    if (add == kNone || is_read_before(sum, norm)) return;
    const AddLayerNormAttributes attributes{std::get<LayerNormAttributes>(node(norm).attributes), 0, users(sum).size() > 1};
    Node fused;
    fused.op = Op::add_rms_norm;
    fused.attributes = attributes;
    fused.inputs = {node(add).inputs[0], node(add).inputs[1], node(norm).inputs[1]};
    fused.outputs = node(norm).outputs;
    if (attributes.sum) fused.outputs.push_back(sum);
    replace(norm, {add, norm}, std::move(fused));
  }

  bool is_read_before(ValueId value, int index) const {
    return std::any_of(users(value).begin(), users(value).end(),
                       [&](int user) { return user != kGraphOutput && user < index; });
  }

  // layer_norm_grad, and the dropout that reads its dx: the gradient of a forward dropout, whose mask follows from its ordinal.
  void fuse_layer_norm_grad(int norm_grad) {
    const ValueId dsum = node(norm_grad).outputs[0];
    for (int dropout : users(dsum)) {
      if (dropout == kGraphOutput || is_gone(dropout) || node(dropout).op != Op::dropout) continue;
      Node fused;
      fused.op = Op::add_layer_norm_grad;
      fused.attributes = node(dropout).attributes;
      fused.inputs = node(norm_grad).inputs;
      fused.inputs.push_back(node(dropout).inputs[1]);
      fused.outputs = node(norm_grad).outputs;
      fused.outputs[0] = node(dropout).outputs[0];
      fused.outputs.push_back(dsum);
      if (replace(norm_grad, {dropout, norm_grad}, std::move(fused))) return;
    }
  }

  // The add that computes `dy` only for node `reader`, or kNone.
  int sum_for(ValueId dy, int reader) {
    const int add = producer(dy);
    const auto& readers = users(dy);
    return add != kNone && node(add).op == Op::add && readers.size() == 1 && readers[0] == reader ? add : kNone;
  }

  // A value for the mask of `y`, if `y` is the output of a batch_norm_relu that can write one; otherwise kNoValue.
  ValueId mask_of(ValueId y) {
    const int norm = producer(y);
    if (norm == kNone || node(norm).op != Op::batch_norm_relu) return kNoValue;
    Node masked = node(norm);
    std::get<BatchNormReluAttributes>(masked.attributes).mask = true;
    if (!has_(graph_, masked)) return kNoValue;
    return graph_.add_value(masked.name + ".mask", rule(masked.op).infer(graph_, masked).back());
  }

  void write_mask(ValueId y, ValueId mask) {
    Node& norm = node(producer(y));
    std::get<BatchNormReluAttributes>(norm.attributes).mask = true;
    norm.outputs.push_back(mask);
  }
};

}  // namespace

void fuse(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has) {
  join_products(graph, has);
  Fuser(graph, has).run();
  fuse_convolutions(graph, has);
  Fuser(graph, has).run_sums();
}

}  // namespace epochbench
