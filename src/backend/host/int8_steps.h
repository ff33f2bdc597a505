// Maps the nodes of int8 inference to steps that run their kernels, for the backends that run on the host.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/int8.h"
#include "src/backend/host/host_executable.h"
#include "src/backend/host/kernel_shapes.h"

namespace epochbench {

// `k` has the members observe_range, quantize, int8_product and int8_max_pool; `make` as in host_step (node_steps.h).
template <typename Kernels, typename Memory>
HostStep int8_step(const Graph& graph, const Node& node, const Kernels& k, const NodeOperands<float, Memory>& o,
                   const auto& make) {
  const std::int64_t n = graph.desc(node.inputs[0]).elements();
  switch (node.op) {
    case Op::observe_range:
      return make(k.observe_range, [=](auto run) { run(o.y32(0), o.x32(0), n); });
    case Op::quantize:
      return make(k.quantize, [=](auto run) { run(o.y_index(0), o.x32(0), o.x32(1), n); });
    case Op::max_pool:
      return make(k.int8_max_pool, [=, s = pool_shape(graph, node)](auto run) { run(o.y_index(0), o.index(0), s); });
    case Op::int8_weights:
      return [=, s = int8_weights_shape(graph, node), a = attributes<Int8WeightsAttributes>(node)] {
        const std::size_t norm = a.bias ? 3 : 2;
        Int8Affine affine{.bias = o.x_if(a.bias, 2), .epsilon = a.epsilon};
        affine.scale = o.x_if(a.batch_norm, norm);
        affine.shift = o.x_if(a.batch_norm, norm + 1);
        affine.mean = o.x_if(a.batch_norm, norm + 2);
        affine.variance = o.x_if(a.batch_norm, norm + 3);
        pack_int8_weights(o.y_bytes(0), o.y32(1), o.y32(2), o.x32(0), o.x32(1), s, affine);
      };
    case Op::linear_int8:
    case Op::conv2d_int8: {
      const auto a = attributes<Int8ProductAttributes>(node);
      return make(k.int8_product, [=, s = int8_product_shape(graph, node), at = Int8Operands(a)](auto run) {
        Int8Epilogue epilogue{.multiplier = o.x32(at.kMultiplier), .offset = o.x32(at.kOffset)};
        if (a.shortcut) epilogue.shortcut = o.x32(at.shortcut);
        if (a.shortcut_codes) epilogue.shortcut_range = o.x32(at.shortcut_range);
        if (a.codes) epilogue.y_range = o.x32(at.range);
        epilogue.activation = a.relu ? Int8Activation::relu : a.gelu ? Int8Activation::gelu : Int8Activation::none;
        run(o.y32(0), o.index(at.kX), o.bytes(at.kWeights), o.x32(at.kRangeOfX), s, epilogue);
      });
    }
    default:
      throw std::logic_error(std::string(name(node.op)) + " has no step on bytes");
  }
}

}  // namespace epochbench
