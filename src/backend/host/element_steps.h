// Steps of ops that compute each element, or each row with a bias, by itself, and of the bias's gradient.
#pragma once

#include "src/backend/host/host_executable.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

// As common_step (node_steps.h). Empty for every other op.
template <typename Kernels, typename Operands, typename Make>
auto element_step(const Graph& graph, const Node& node, std::uint64_t seed, const Kernels& k, const Operands& o,
                  const Make& make) -> decltype(make(k.add, nullptr)) {
  const TensorDesc first = graph.desc(node.inputs[0]);
  const std::int64_t n = first.elements();
  const RowsChannels size = rows_channels(first);
  const std::int64_t rows = size.rows, channels = size.channels;
  switch (node.op) {
    case Op::bias_add:
      return make(k.bias_add, [=](auto run) { run(o.y(0), o.x(0), o.x(1), rows, channels); });
    case Op::bias_add_grad:
      return make(k.bias_add_grad, [=](auto run) { run(o.y(0), o.x(0), rows, channels); });
    case Op::relu:
      return make(k.relu, [=](auto run) { run(o.y(0), o.x(0), n); });
    case Op::relu_grad:
      return make(k.relu_grad, [=](auto run) { run(o.y(0), o.x(0), o.x(1), n); });
    case Op::relu6:
      return make(k.relu6, [=](auto run) { run(o.y(0), o.x(0), n); });
    case Op::relu6_grad:
      return make(k.relu6_grad, [=](auto run) { run(o.y(0), o.x(0), o.x(1), n); });
    case Op::sigmoid:
      return make(k.sigmoid, [=](auto run) { run(o.y(0), o.x(0), n); });
    case Op::sigmoid_grad:
      return make(k.sigmoid_grad, [=](auto run) { run(o.y(0), o.x(0), o.x(1), n); });
    case Op::silu:
      return make(k.silu, [=](auto run) { run(o.y(0), o.x(0), n); });
    case Op::silu_grad:
      return make(k.silu_grad, [=](auto run) { run(o.y(0), o.x(0), o.x(1), n); });
    case Op::add:
      return make(k.add, [=](auto run) { run(o.y(0), o.x(0), o.x(1), n); });
    case Op::accumulate:
      return make(k.accumulate, [=, factor = static_cast<float>(attributes<AccumulateAttributes>(node).factor)](auto run) {
        run(o.y32(0), o.x(0), factor, o.part() == 0, n);
      });
    case Op::gelu:
      return make(is_tanh(node.attributes) ? k.gelu_tanh : k.gelu, [=](auto run) { run(o.y(0), o.x(0), n); });
    case Op::gelu_grad:
      return make(is_tanh(node.attributes) ? k.gelu_tanh_grad : k.gelu_grad, [=](auto run) { run(o.y(0), o.x(0), o.x(1), n); });
    case Op::dropout:
      return make(k.dropout, [=, dropout = dropout_of(node, seed)](auto run) {
        run(o.y(0), o.x(0), o.integers(1), of_part(dropout, o.part_of_batch(), n), n);
      });
    case Op::stochastic_depth:
      return make(k.stochastic_depth, [=, dropout = dropout_of(node, seed), batch = first.shape[0]](auto run) {
        run(o.y(0), o.x(0), o.integers(1), of_part(dropout, o.part_of_batch(), batch), batch, n / batch);
      });
    case Op::mix_rows:
      return make(k.mix_rows, [=, samples = first.shape[0], n = first.elements() / first.shape[0]](auto run) {
        run(o.y(0), o.x(0), o.x32(1), samples, n);
      });
    case Op::swiglu:
    case Op::joint_swiglu:
      return make(k.swiglu, [=, s = swiglu_shape(graph, node), bytes = size_bytes(first.dtype)](auto run) {
        const auto t = swiglu_tensors(o, s, false, bytes);
        run(t.y, t.gate, t.up, s);
      });
    case Op::swiglu_grad:
    case Op::joint_swiglu_grad:
      return make(k.swiglu_grad, [=, s = swiglu_shape(graph, node), bytes = size_bytes(first.dtype)](auto run) {
        const auto t = swiglu_tensors(o, s, true, bytes);
        run(t.dgate, t.dup, t.y, t.gate, t.up, s);
      });
    default:
      return {};
  }
}

}  // namespace epochbench
