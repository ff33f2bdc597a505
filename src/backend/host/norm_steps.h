// Steps of batch norm, layer norm and RMS norm.
#pragma once

#include "src/backend/host/host_executable.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

// As common_step (node_steps.h). Empty for every other op.
template <typename Kernels, typename Operands, typename Make>
auto norm_step(const Graph& graph, const Node& node, std::uint64_t seed, const Kernels& k, const Operands& o, const Make& make)
    -> decltype(make(k.add, nullptr)) {
  const std::int64_t n = graph.desc(node.inputs[0]).elements();
  const RowsChannels size = rows_channels(graph.desc(node.inputs[0]));
  const std::int64_t rows = size.rows, channels = size.channels;
  switch (node.op) {
    case Op::batch_norm:
    case Op::batch_norm_relu:
      if constexpr (requires { k.batch_norm; }) {
        const bool shortcut = node.inputs.size() > 5;
        const BatchNormReluAttributes a = batch_norm_attributes(node);
        const Activation activation = activation_of(node);
        return make(k.batch_norm, [=](auto run) {
          run(o.y(0), a.mask ? o.y_mask(5) : nullptr, o.y32(1), o.y32(2), o.y32(3), o.y32(4), o.x(0), o.x32(1), o.x32(2),
              o.x_if(shortcut, 5), rows, channels, a.batch_norm.epsilon, a.batch_norm.momentum, activation);
        });
      }
      return {};
    case Op::batch_norm_inference:
    case Op::batch_norm_inference_relu: {
      const bool shortcut = node.inputs.size() > 5;
      const double epsilon = batch_norm_attributes(node).batch_norm.epsilon;
      return make(k.batch_norm_inference, [=, activation = activation_of(node)](auto run) {
        run(o.y(0), o.x(0), o.x32(1), o.x32(2), o.x32(3), o.x32(4), o.x_if(shortcut, 5), rows, channels, epsilon, activation);
      });
    }
    case Op::batch_norm_grad:
      if constexpr (requires { k.batch_norm_grad; })
        return make(k.batch_norm_grad, [=](auto run) {
          run(o.y(0), o.y32(1), o.y32(2), nullptr, o.x(0), nullptr, nullptr, nullptr, o.x(1), o.x32(2), o.x32(3), o.x32(4),
              rows, channels);
        });
      return {};
    case Op::batch_norm_relu_grad:
      if constexpr (requires { k.batch_norm_grad; }) {
        const auto a = attributes<BatchNormReluGradAttributes>(node);
        const std::size_t y = a.second ? 2 : 1;  // or mask
        return make(k.batch_norm_grad, [=](auto run) {
          run(o.y(0), o.y32(1), o.y32(2), o.y(3), o.x(0), o.x_if(a.second, 1), a.mask ? o.mask(y) : nullptr, o.x_if(!a.mask, y),
              o.x(y + 1), o.x32(y + 2), o.x32(y + 3), o.x32(y + 4), rows, channels);
        });
      }
      return {};
    case Op::layer_norm:
      return make(k.layer_norm, [=, epsilon = attributes<LayerNormAttributes>(node).epsilon](auto run) {
        run(o.y(0), o.y32(1), o.y32(2), o.x(0), o.x32(1), o.x32(2), rows, channels, epsilon);
      });
    case Op::layer_norm_grad:
      return make(k.layer_norm_grad, [=](auto run) {
        run(o.y(0), o.y32(1), o.y32(2), o.x(0), o.x(1), o.x32(2), o.x32(3), o.x32(4), rows, channels);
      });
    case Op::add_layer_norm:
      if constexpr (requires { k.add_layer_norm; })
        return make(k.add_layer_norm,
                    [=, a = attributes<AddLayerNormAttributes>(node), dropout = dropout_of(node, seed)](auto run) {
                      run(o.y(0), o.y32(1), o.y32(2), a.sum ? o.y(3) : nullptr, o.x(0), o.x(1), o.x32(2), o.x32(3),
                          a.dropout > 0 ? o.integers(4) : nullptr, of_part(dropout, o.part_of_batch(), n), rows, channels,
                          a.layer_norm.epsilon);
                    });
      return {};
    case Op::add_layer_norm_grad:
      if constexpr (requires { k.add_layer_norm_grad; })
        return make(k.add_layer_norm_grad, [=, dropout = dropout_of(node, seed)](auto run) {
          run(o.y(0), o.y32(1), o.y32(2), o.y(3), o.x(0), o.x(1), o.x32(2), o.x32(3), o.x32(4), o.integers(5),
              of_part(dropout, o.part_of_batch(), n), rows, channels);
        });
      return {};
    case Op::rms_norm:
      return make(k.rms_norm, [=, epsilon = attributes<LayerNormAttributes>(node).epsilon](auto run) {
        run(o.y(0), o.y32(1), o.x(0), o.x32(1), rows, channels, epsilon);
      });
    case Op::rms_norm_grad:
      return make(k.rms_norm_grad,
                  [=](auto run) { run(o.y(0), o.y32(1), o.x(0), o.x(1), o.x32(2), o.x32(3), rows, channels); });
    case Op::add_rms_norm:
      if constexpr (requires { k.add_rms_norm; })
        return make(k.add_rms_norm, [=, a = attributes<AddLayerNormAttributes>(node)](auto run) {
          run(o.y(0), o.y32(1), a.sum ? o.y(2) : nullptr, o.x(0), o.x(1), o.x32(2), rows, channels, a.layer_norm.epsilon);
        });
      return {};
    default:
      return {};
  }
}

}  // namespace epochbench
