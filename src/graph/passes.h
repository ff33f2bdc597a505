// The passes between a model's forward graph and a program, in the order in which they run.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "epochbench/backend.h"
#include "epochbench/model.h"
#include "epochbench/precision.h"
#include "epochbench/program.h"

namespace epochbench {

enum class Weights : std::uint8_t {
  f32,      // for an optimizer, which adds changes that 16 bits would lose
  as_read,  // in 16 bits, unless a node reads them in f32: for inference
};

// The same forward graph in this precision: tf32 marks products, bf16 and fp16 give a graph of 16-bit values that begins with
// casts of its inputs and of weights that are f32. Names, ordinals and outputs stay. fp16 needs a loss scale as well. For int8
// see with_int8.
Graph with_precision(const Graph& forward, Precision precision, Weights weights = Weights::f32);

// Turns a forward graph without updates into three graphs for int8 inference. `calibrate` is the same graph, but also widens
// the range of every tensor that will be codes; `prepare` packs the weights for these ranges; `forward` has the same outputs
// and reads packed weights, multipliers and offsets instead of the weights of its products. Outputs and node names stay.
struct Int8Graphs {
  Graph calibrate, prepare, forward;
};
Int8Graphs with_int8(const Graph& forward);

// Adds the variable "loss_scale" f32 [1] for the two passes below, with the initial value 65536.
ValueId add_loss_scale(Graph& graph);

// Reverse-mode differentiation (Griewank and Walther, "Evaluating Derivatives"), graph to graph: appends the nodes that
// compute the gradient of `loss` with respect to every parameter. Returns the gradients by variable index; kNoValue for
// variables other than parameters. A gradient has its parameter's shape, but in a mixed-precision graph not always its type. If
// `loss_scale` (f32 [1]) is given, gradients are multiplied by it. Errors: GraphError if a parameter has no gradient, or an op
// between loss and parameter is not differentiable.
std::vector<ValueId> append_gradient(Graph& graph, ValueId loss, ValueId loss_scale = kNoValue);

// Appends one optimizer node over all parameters with their state, and the step counter. Adds the variables
// "learning_rate" f32 [1] and "step" i32 [1]. With a loss scale, also the nodes that divide gradients by it, skip
// steps that are not finite and update the scale, with the variables "finite_steps" and "skipped_steps" i32 [1].
void append_optimizer(Graph& graph, const OptimizerSpec& optimizer, const std::vector<ValueId>& gradients,
                      ValueId loss_scale = kNoValue);
// The variable that holds the average of a parameter, where OptimizerSpec::ema asks for averages.
std::string averaged_name(const std::string& parameter);
// The same graph, which reads averages in place of its parameters. Precondition: it has no joint values.
Graph reading_averages(const Graph& graph);

// For a graph of one part of a batch. Each output becomes a variable, the sum over the parts of `factor` times its original
// value.
void accumulate_outputs(Graph& graph, double factor);
// The same for gradients, as append_gradient() returns them. Returns a graph with the parameters and the sums, and the latter
// by variable index, as append_optimizer() takes them.
struct UpdateGraph {
  Graph graph;
  std::vector<ValueId> gradients;
};
UpdateGraph accumulate_gradients(Graph& graph, const std::vector<ValueId>& gradients, double factor);
// After fuse(): moves each `accumulate` right after the node that computes its operand, whose memory is then free.
void accumulate_early(Graph& graph);

// The same graph with variables that `change` has changed. Precondition: it has no joint values.
Graph with_variables(const Graph& graph, const std::function<void(Variable&)>& change);

// For ranks that each run parts of one batch, after accumulate_early(): prepends to `update` nodes that sum over the ranks what
// `part` accumulates. Each takes sums of `bucket_bytes` or slightly more, in the order in which a part finishes them.
void all_reduce_sums(Graph& update, const Graph& part, std::int64_t bucket_bytes);
// After all_reduce_sums(): each rank sums, updates and keeps the optimizer's state of only its share of every parameter
// (Rajbhandari et al. 2020, "ZeRO", stage 1), and gets the other shares by nodes after the optimizer, one per bucket. Averages
// of parameters stay whole. Errors: GraphError with a loss scale.
Graph shard_optimizer(const Graph& update, std::int64_t ranks);

// The last pass of a training graph: divides its forward nodes into blocks, keeps only what later blocks read, and repeats the
// other nodes of a block in the backward pass, right before their results are read. Blocks are chosen to minimize the kept
// values plus the largest block. Repeated nodes keep their ordinals, so their dropout masks are the same, and do not update
// running statistics. False: nothing is gained, and the graph stays as it is.
bool checkpoint_blocks(Graph& graph);

// If the backend's AdamW, a node of `updating` (which may be `graph` itself), can write 16-bit copies of weights: the copies
// become variables, which AdamW updates, and no step casts weights. Returns the graph that makes the copies of weights from
// outside; no value if the graph stays as it is: in float, without AdamW, or if it casts a variable that is not trained. What
// readers get is bit-identical.
std::optional<Graph> keep_copies(Graph& graph, Graph& updating, const std::function<bool(const Graph&, const Node&)>& has);

// For a fused graph whose weights no entry changes: products read weights that are packed once, where the backend packs them.
// Returns the graph that packs them; no value if there are none, and the graph stays as it is. Results change
// only by rounding.
std::optional<Graph> pack_weights(Graph& graph, const Backend& backend);

// Mixes neighbors (mix_rows) where the graph reads "images", by the new input "share" f32 [n], which is returned. Runs before
// the gradient pass. Errors: GraphError for a graph without images.
ValueId mix_images(Graph& graph);

// If the backend has decode_pixels: the input "images" is u8 instead of f32, and a decode_pixels node gives its readers the
// `values` f32 [channels,256] of the bytes, which are the initial values of the variable "pixel_values". If its only reader is
// a cast, the node takes the cast's place; what readers get is bit-identical. A graph without images stays as it is. Runs after
// the gradient pass and before fuse(). Errors: GraphError for images with another number of channels.
void stage_bytes(Graph& graph, const std::vector<float>& values, const std::function<bool(const Graph&, const Node&)>& has);

// If the backend has attention or swiglu over joint operands: the products of query, key and value, or of gate and up, become
// one, forward and in their gradients. The first step of fuse(), before a product and its bias are one node.
void join_products(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has);

// Replaces groups of nodes by the composites that `has` accepts. Values keep their ids; values that only pass between the parts
// of a composite are not computed.
void fuse(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has);

// Joins convolutions with the batch norm that reads their outputs, and gradients of their inputs with the gradient of the norm
// before. The last step of fuse() except for sums, since it reads the composites of batch norm and ReLU.
void fuse_convolutions(Graph& graph, const std::function<bool(const Graph&, const Node&)>& has);

// Assigns arena offsets by liveness: views share memory, element-wise results overwrite operands after their last use, and the
// rest is placed largest first at the lowest free offset ("greedy by size", Pisarchyk and Lee 2020). The second form is for
// values without padding.
MemoryPlan plan_memory(const Graph& graph, const Backend& backend);
MemoryPlan plan_memory(const Graph& graph, const std::function<std::size_t(const Graph&, const Node&)>& workspace_bytes);

}  // namespace epochbench
