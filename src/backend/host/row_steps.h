// Steps of ops on rows: of logits, of tables, of positions.
#pragma once

#include "src/backend/host/host_executable.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

// As common_step (node_steps.h). Empty for every other op.
template <typename Kernels, typename Operands, typename Make>
auto row_step(const Graph& graph, const Node& node, const Kernels& k, const Operands& o, const Make& make)
    -> decltype(make(k.add, nullptr)) {
  const RowsChannels size = rows_channels(graph.desc(node.inputs[0]));
  const std::int64_t rows = size.rows, channels = size.channels;
  switch (node.op) {
    case Op::cross_entropy:
      return make(k.cross_entropy, [=, targets = targets_of(node), at = cross_entropy_operands(node)](auto run) {
        run(o.y32(0), o.y32(1), o.x(0), o.integers(1), rows, channels,
            targets.with_share(at.share ? o.x32(at.share) : nullptr));
      });
    case Op::count_correct:
      return make(k.count_correct, [=](auto run) { run(o.y32(0), o.x(0), o.integers(1), rows, channels); });
    case Op::rotary:
      return make(k.rotary, [=, s = rotary_shape(graph, node)](auto run) { run(o.y(0), o.x(0), o.x32(1), s); });
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
    default:
      return {};
  }
}

}  // namespace epochbench
