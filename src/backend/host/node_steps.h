// Maps nodes to the steps that run their kernels, for ops whose kernels take the same arguments on several devices.
//
// `k` has a member per kernel, a function pointer named as in kernels/kernel_list.inc. `make(kernel, call)` returns the step:
// call(run) calls `run` with the kernel's arguments, and `run` adds the other arguments of the device's kernels (a workspace,
// the number of threads, an element type, a stream). The same argument may have different types on different devices.
#pragma once

#include <stdexcept>

#include "src/backend/host/host_executable.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

// Errors: std::logic_error for an op that each backend handles itself.
template <typename Kernels, typename Operands>
auto common_step(const Graph& graph, const Node& node, std::uint64_t seed, const Kernels& k, const Operands& o,
                 const auto& make) {
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
      break;
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
      break;
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
      break;
    case Op::batch_norm_relu_grad:
      if constexpr (requires { k.batch_norm_grad; }) {
        const auto a = attributes<BatchNormReluGradAttributes>(node);
        const std::size_t y = a.second ? 2 : 1;  // or mask
        return make(k.batch_norm_grad, [=](auto run) {
          run(o.y(0), o.y32(1), o.y32(2), o.y(3), o.x(0), o.x_if(a.second, 1), a.mask ? o.mask(y) : nullptr, o.x_if(!a.mask, y),
              o.x(y + 1), o.x32(y + 2), o.x32(y + 3), o.x32(y + 4), rows, channels);
        });
      }
      break;
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
    case Op::cross_entropy:
      return make(k.cross_entropy, [=, targets = targets_of(node), at = cross_entropy_operands(node)](auto run) {
        run(o.y32(0), o.y32(1), o.x(0), o.integers(1), rows, channels,
            targets.with_share(at.share ? o.x32(at.share) : nullptr));
      });
    case Op::mix_rows:
      return make(k.mix_rows, [=, samples = first.shape[0], n = first.elements() / first.shape[0]](auto run) {
        run(o.y(0), o.x(0), o.x32(1), samples, n);
      });
    case Op::count_correct:
      return make(k.count_correct, [=](auto run) { run(o.y32(0), o.x(0), o.integers(1), rows, channels); });
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
      break;
    case Op::add_layer_norm_grad:
      if constexpr (requires { k.add_layer_norm_grad; })
        return make(k.add_layer_norm_grad, [=, dropout = dropout_of(node, seed)](auto run) {
          run(o.y(0), o.y32(1), o.y32(2), o.y(3), o.x(0), o.x(1), o.x32(2), o.x32(3), o.x32(4), o.integers(5),
              of_part(dropout, o.part_of_batch(), n), rows, channels);
        });
      break;
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
      break;
    case Op::rotary:
      return make(k.rotary, [=, s = rotary_shape(graph, node)](auto run) { run(o.y(0), o.x(0), o.x32(1), s); });
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
    case Op::embedding:
      return make(k.embedding, [=, ids = graph.desc(node.inputs[1]).elements()](auto run) {
        run(o.y(0), o.x(0), o.integers(1), ids, channels);
      });
    case Op::add_rows:
      return make(k.add_rows, [=, period = attributes<AddRowsAttributes>(node).period](auto run) {
        run(o.y(0), o.x(0), o.x(1), rows, channels, period);
      });
    case Op::add_rows_grad:
      return make(k.add_rows_grad, [=, a = attributes<AddRowsAttributes>(node)](auto run) {
        run(o.y32(0), o.x(0), rows, channels, a.period, a.table_rows);
      });
    case Op::gather_rows:
    case Op::gather_rows_grad:
      return make(node.op == Op::gather_rows ? k.gather_rows : k.gather_rows_grad,
                  [=, p = graph.desc(node.inputs[1]).shape, sequence = attributes<GatherRowsAttributes>(node).sequence](
                      auto run) { run(o.y(0), o.x(0), o.integers(1), p[0], sequence, p[1], channels); });
    case Op::matmul:
    case Op::linear:
    case Op::linear_gelu:
    case Op::matmul_gelu_grad:
    case Op::matmul_add:
    case Op::linear_grad_weight:
    case Op::conv2d:
    case Op::conv2d_bias:
    case Op::conv2d_batch_norm:
    case Op::conv2d_batch_norm_grad:
    case Op::conv2d_grad_input:
    case Op::conv2d_grad_weight:
    case Op::cross_entropy_grad:
    case Op::embedding_grad:
    case Op::attention:
    case Op::attention_grad:
    case Op::joint_attention:
    case Op::joint_attention_grad:
    case Op::lstm:
    case Op::lstm_grad:
    case Op::reshape:
    case Op::cast:
    case Op::decode_pixels:
    case Op::observe_range:
    case Op::int8_weights:
    case Op::pack_weight:
    case Op::quantize:
    case Op::linear_int8:
    case Op::conv2d_int8:
    case Op::all_finite:
    case Op::clip_factor:
    case Op::update_loss_scale:
    case Op::increment:
    case Op::all_reduce:
    case Op::reduce_scatter:
    case Op::all_gather:
    case Op::sgd:
    case Op::adamw:
      break;
  }
  throw std::logic_error(std::string(name(node.op)) + ": the backend has no kernel");
}

// The same for kernels in host memory, which have more ops in common. `winograd`: whether convolutions may use Winograd
// transforms.
template <typename Kernels, typename Operands>
HostStep host_step(const Graph& graph, const Node& node, std::uint64_t seed, bool winograd, const Kernels& k, const Operands& o,
                   const auto& make) {
  const auto convolution = [&](auto kernel, auto... epilogue) {
    Conv2dShape s = conv2d_shape(graph, node);
    s.winograd = winograd;
    return make(kernel, [=, weight = weight_operand(node)](auto run) { run(o.y(0), o.x(0), o.x(weight), s, epilogue...); });
  };
  using Epilogue = epochbench::Epilogue<typename Operands::Type>;
  switch (node.op) {
    case Op::reshape:
      return {};
    case Op::matmul:
      return make(k.gemm, [=, s = gemm_shape(graph, node), weight = weight_operand(node)](auto run) {
        run(o.y(0), o.x(0), o.x(weight), s, Epilogue{});
      });
    case Op::conv2d:
      return convolution(k.conv2d, Epilogue{});
    case Op::conv2d_grad_input:
      return convolution(k.conv2d_grad_input);
    case Op::conv2d_grad_weight:
      return convolution(k.conv2d_grad_weight);
    case Op::embedding_grad:
      return make(k.embedding_grad, [=, rows = rows_channels(graph.desc(node.inputs[0])).rows,
                                     table = graph.desc(node.outputs[0]).shape, base = node.inputs.size() > 2](auto run) {
        run(o.y32(0), o.x(0), o.integers(1), o.x_if(base, 2), rows, table[0], table[1]);
      });
    case Op::attention:
    case Op::joint_attention:
      return make(k.attention, [=, s = attention_shape(graph, node), dropout = dropout_of(node, seed)](auto run) {
        const auto t = attention_tensors(o, s, sizeof(typename Operands::Type));
        run(t.y, t.log_sum_exp, t.q, t.k, t.v, t.step, s, of_part(dropout, o.part_of_batch(), weight_count(s)));
      });
    case Op::attention_grad:
    case Op::joint_attention_grad:
      return make(k.attention_grad, [=, s = attention_shape(graph, node), dropout = dropout_of(node, seed)](auto run) {
        const auto t = attention_grad_tensors(o, s, sizeof(typename Operands::Type));
        run(t.dq, t.dk, t.dv, t.dy, t.q, t.k, t.v, t.y, t.log_sum_exp, t.step, s,
            of_part(dropout, o.part_of_batch(), weight_count(s)));
      });
    case Op::lstm:
      return make(k.lstm,
                  [=, s = lstm_shape(graph, node)](auto run) { run(o.y(0), o.y32(1), o.y(2), o.y(3), o.x(0), o.x(1), s); });
    case Op::lstm_grad:
      return make(k.lstm_grad,
                  [=, s = lstm_shape(graph, node)](auto run) { run(o.y(0), o.x(0), o.x(1), o.x(2), o.x32(3), s); });
    default:
      return common_step(graph, node, seed, k, o, make);
  }
}

}  // namespace epochbench
