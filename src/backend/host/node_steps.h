// Maps nodes to the steps that run their kernels, for ops whose kernels take the same arguments on several devices.
//
// `k` has a member per kernel, a function pointer named as in kernels/kernel_list.inc. `make(kernel, call)` returns the step:
// call(run) calls `run` with the kernel's arguments, and `run` adds the other arguments of the device's kernels (a workspace,
// the number of threads, an element type, a stream). The same argument may have different types on different devices.
#pragma once

#include <stdexcept>

#include "src/backend/host/element_steps.h"
#include "src/backend/host/image_steps.h"
#include "src/backend/host/norm_steps.h"
#include "src/backend/host/row_steps.h"

namespace epochbench {

// Errors: std::logic_error for an op that each backend handles itself.
template <typename Kernels, typename Operands>
auto common_step(const Graph& graph, const Node& node, std::uint64_t seed, const Kernels& k, const Operands& o,
                 const auto& make) {
  if (auto step = element_step(graph, node, seed, k, o, make)) return step;
  if (auto step = image_step(graph, node, k, o, make)) return step;
  if (auto step = norm_step(graph, node, seed, k, o, make)) return step;
  if (auto step = row_step(graph, node, k, o, make)) return step;
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
