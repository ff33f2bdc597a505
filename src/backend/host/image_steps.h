// Steps of ops on images: depthwise convolutions, channels, pooling.
#pragma once

#include "src/backend/host/host_executable.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

// As common_step (node_steps.h). Empty for every other op.
template <typename Kernels, typename Operands, typename Make>
auto image_step(const Graph& graph, const Node& node, const Kernels& k, const Operands& o, const Make& make)
    -> decltype(make(k.add, nullptr)) {
  const TensorDesc first = graph.desc(node.inputs[0]);
  const RowsChannels size = rows_channels(first);
  const std::int64_t rows = size.rows;
  switch (node.op) {
    case Op::depthwise_conv2d:
      return make(k.depthwise_conv2d,
                  [=, s = depthwise_conv2d_shape(graph, node)](auto run) { run(o.y(0), o.x(0), o.x(1), s); });
    case Op::depthwise_conv2d_grad_input:
      return make(k.depthwise_conv2d_grad_input,
                  [=, s = depthwise_conv2d_shape(graph, node)](auto run) { run(o.y(0), o.x(0), o.x(1), s); });
    case Op::depthwise_conv2d_grad_weight:
      return make(k.depthwise_conv2d_grad_weight,
                  [=, s = depthwise_conv2d_shape(graph, node)](auto run) { run(o.y(0), o.x(0), o.x(1), s); });
    case Op::scale_channels:
      return make(k.scale_channels, [=, x = first.shape](auto run) { run(o.y(0), o.x(0), o.x(1), x[0], x[1] * x[2], x[3]); });
    case Op::scale_channels_grad:
      return make(k.scale_channels_grad,
                  [=, x = first.shape](auto run) { run(o.y(0), o.x(0), o.x(1), x[0], x[1] * x[2], x[3]); });
    case Op::squeeze_excite_grad:
      if constexpr (requires { k.squeeze_excite_grad; })
        return make(k.squeeze_excite_grad, [=, dy = first.shape, silu = node.inputs.size() > 3](auto run) {
          run(o.y(0), o.x(0), o.x(1), o.x(2), o.x_if(silu, 3), dy[0], dy[1] * dy[2], dy[3]);
        });
      return {};
    case Op::max_pool:
      return make(k.max_pool, [=, s = pool_shape(graph, node)](auto run) { run(o.y(0), o.y_index(1), o.x(0), s); });
    case Op::max_pool_grad:
      return make(k.max_pool_grad, [=, s = pool_shape(graph, node)](auto run) { run(o.y(0), o.x(0), o.index(1), s); });
    case Op::average_pool:
    case Op::average_pool_grad:
      return make(node.op == Op::average_pool ? k.average_pool : k.average_pool_grad,
                  [=, s = pool_shape(graph, node)](auto run) { run(o.y(0), o.x(0), s); });
    case Op::global_average_pool:
      return make(k.global_average_pool, [=, x = first.shape](auto run) { run(o.y(0), o.x(0), x[0], x[1] * x[2], x[3]); });
    case Op::global_average_pool_grad:
      return make(k.global_average_pool_grad,
                  [=, x = graph.desc(node.outputs[0]).shape](auto run) { run(o.y(0), o.x(0), x[0], x[1] * x[2], x[3]); });
    case Op::concatenate:
      return make(k.concatenate, [=, sizes = parts_of<const typename Operands::Type*>(graph, node.inputs)](auto run) {
        auto parts = sizes;
        for (int i = 0; i < parts.count; ++i) parts.part[i] = o.x(static_cast<std::size_t>(i));
        run(o.y(0), parts, rows);
      });
    case Op::concatenate_grad:
      return make(k.concatenate_grad, [=, sizes = parts_of<typename Operands::Type*>(graph, node.outputs)](auto run) {
        auto parts = sizes;
        for (int i = 0; i < parts.count; ++i) parts.part[i] = o.y(static_cast<std::size_t>(i));
        run(parts, o.x(0), rows);
      });
    default:
      return {};
  }
}

}  // namespace epochbench
