// The passes between a model's forward graph and a program, in the order in which they run.
#pragma once

#include <functional>
#include <vector>

#include "epochbench/model.h"
#include "epochbench/precision.h"
#include "epochbench/program.h"

namespace epochbench {

// The same forward graph in this precision: tf32 marks products, bf16 and fp16 make a graph of 16-bit values, with casts in
// front. Names, ordinals and outputs stay. fp16 needs a loss scale as well.
Graph with_precision(const Graph& forward, Precision precision);

// Adds the variable "loss_scale" f32 [1] for the two passes below; it starts at 65536.
ValueId add_loss_scale(Graph& graph);

// Reverse-mode differentiation (Griewank and Walther, "Evaluating Derivatives"), graph to graph: appends the nodes that
// compute the gradient of `loss` with respect to every parameter. Returns the gradients by variable index; kNoValue for
// variables that are no parameters; they have the parameter's shape, in a mixed graph not always its type. Where `loss_scale`
// (f32 [1]) is given, they are multiplied by it. Errors: GraphError if a parameter has no gradient, or an op on the way has no
// rule.
std::vector<ValueId> append_gradient(Graph& graph, ValueId loss, ValueId loss_scale = kNoValue);

// Appends one optimizer node over all parameters with their state, and the step counter. Adds the variables
// "learning_rate" f32 [1] and "step" i32 [1]. Where the gradients are those of a scaled loss, also what divides by the scale,
// skips steps that are not finite and moves the scale, with the variables "finite_steps" and "skipped_steps" i32 [1].
void append_optimizer(Graph& graph, const OptimizerSpec& optimizer, const std::vector<ValueId>& gradients,
                      ValueId loss_scale = kNoValue);

// Replaces groups of nodes by the composites that `has` accepts. Values keep their ids; what only lay between the parts of
// a composite is no longer computed.
void fuse(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has);

// Assigns arena offsets by liveness: views share memory, element-wise results overwrite operands that die, and the rest is
// placed largest first at the lowest free offset ("greedy by size", Pisarchyk and Lee 2020).
MemoryPlan plan_memory(const Graph& graph, const std::function<std::size_t(const Graph&, const Node&)>& workspace_bytes);

}  // namespace epochbench
