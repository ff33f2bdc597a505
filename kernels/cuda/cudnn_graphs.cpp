// The one file that includes cudnn_frontend. A graph is built (no device), then planned: the library's heuristics name engines
// for the current device, and the fastest of those that fit the scratch is kept.
//
// The library may run a 16-bit or tf32 convolution by an engine whose sums depend on the order of its atomics.
#include "kernels/cuda/cudnn_graphs.h"

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <cudnn_frontend.h>

#include "kernels/cuda/library_error.h"
#include "kernels/cuda/specs.h"
#include "kernels/cuda/tuning.h"

namespace epochbench::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Shape = std::vector<std::int64_t>;

// Plans are built and timed until there are this many of them, or it took this long: some engines are compiled on the spot.
// The heuristics' first ones are their best guesses.
constexpr int kMostPlans = 10;
constexpr std::chrono::seconds kTuning{2};

// Tensors are told apart by numbers, and handed over in their order. Of a convolution:
enum : std::int64_t { kOut = 1, kA, kB, kBias };
// Of attention; forward and backward are graphs of their own.
enum : std::int64_t { kY = 1, kLogSumExp, kQ, kK, kV, kSeed, kOffset, kDy, kDq, kDk, kDv };

fe::DataType_t type_of(Element element) {
  switch (element) {
    case Element::f32:
      return fe::DataType_t::FLOAT;
    case Element::bf16:
      return fe::DataType_t::BFLOAT16;
    case Element::f16:
      return fe::DataType_t::HALF;
  }
  return fe::DataType_t::NOT_SET;
}

void check(fe::error_t status, const std::string& what) {
  if (status.is_bad()) throw Error(what + ": " + in_short(status.get_message()));
}

class Graph : public fe::graph::Graph {
 public:
  Graph(Element element, const DescribedDevice* device) {
    if (device) set_sm_version(device->compute_capability);
    set_io_data_type(type_of(element));
    set_intermediate_data_type(fe::DataType_t::FLOAT);
    set_compute_data_type(fe::DataType_t::FLOAT);
    set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);  // whoever captures a plan keeps it
  }

  // Whether that engine fits the device and keeps the rules, short of building its plan.
  bool supports(std::int64_t index) { return plans.check_support_at_index(index).is_good(); }

  // shape and strides in the library's order: n, c, h, w.
  Tensor input(const char* name, std::int64_t number, const Shape& shape, const Shape& strides) {
    numbers_.insert(number);
    return tensor(fe::graph::Tensor_attributes().set_name(name).set_uid(number).set_dim(shape).set_stride(strides));
  }
  void output(const Tensor& tensor, std::int64_t number, const Shape& shape, const Shape& strides) {
    numbers_.insert(number);
    tensor->set_output(true).set_uid(number).set_dim(shape).set_stride(strides);
  }

  // That a plan is handed the tensors of input() and output(), in the order of their numbers, and no others.
  void check_tensors() {
    check(prepare_variant_pack_template(), "the graph's tensors");
    if (get_variant_pack_uids_sorted() != std::vector<std::int64_t>(numbers_.begin(), numbers_.end()))
      throw Error("cuDNN asks for other tensors than the graph has");
  }

 private:
  std::set<std::int64_t> numbers_;
};

// A tensor that lies channels last; of weights: [out_channels, height, width, channels].
Shape nhwc(std::int64_t c, std::int64_t h, std::int64_t w) { return {h * w * c, 1, w * c, c}; }

std::shared_ptr<Graph> convolution_graph(const ConvolutionSpec& spec, const DescribedDevice* device = nullptr) {
  const Conv2dShape& s = spec.shape;
  const Shape x{s.batch, s.channels, s.height, s.width}, x_strides = nhwc(s.channels, s.height, s.width);
  const Shape y{s.batch, s.out_channels, s.out_height, s.out_width},
      y_strides = nhwc(s.out_channels, s.out_height, s.out_width);
  const Shape weight{s.out_channels, s.channels, s.kernel_height, s.kernel_width},
      weight_strides = nhwc(s.channels, s.kernel_height, s.kernel_width);
  // The last rows and columns that a stride leaves out are no padding of the library's: it counts as many outputs as fit.
  auto set = [&](auto&& attributes) {
    return attributes.set_padding({s.padding, s.padding}).set_stride({s.stride, s.stride}).set_dilation({1, 1});
  };
  auto graph = std::make_shared<Graph>(spec.element, device);
  switch (spec.pass) {
    case ConvolutionPass::forward: {
      Tensor out = graph->conv_fprop(graph->input("x", kA, x, x_strides), graph->input("weight", kB, weight, weight_strides),
                                     set(fe::graph::Conv_fprop_attributes()));
      if (spec.bias)
        out = graph->pointwise(
            out, graph->input("bias", kBias, {1, s.out_channels, 1, 1}, {s.out_channels, 1, s.out_channels, s.out_channels}),
            fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
      if (spec.relu) out = graph->pointwise(out, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));
      graph->output(out, kOut, y, y_strides);
      break;
    }
    case ConvolutionPass::grad_input:
      graph->output(graph->conv_dgrad(graph->input("dy", kA, y, y_strides), graph->input("weight", kB, weight, weight_strides),
                                      set(fe::graph::Conv_dgrad_attributes())),
                    kOut, x, x_strides);
      break;
    case ConvolutionPass::grad_weight:
      graph->output(graph->conv_wgrad(graph->input("dy", kA, y, y_strides), graph->input("x", kB, x, x_strides),
                                      set(fe::graph::Conv_wgrad_attributes())),
                    kOut, weight, weight_strides);
      break;
  }
  check(graph->validate(), describe(spec));
  return graph;
}

// The library's order of a [batch, sequence, heads, width] tensor: batch, heads, sequence, width.
Shape heads_shape(const AttentionShape& s) { return {s.batch, s.heads, s.sequence, s.width}; }
Shape heads_strides(const AttentionShape& s) { return {s.sequence * s.heads * s.width, s.width, s.heads * s.width, 1}; }
Shape row_shape(const AttentionShape& s) { return {s.batch, s.heads, s.sequence, 1}; }
Shape row_strides(const AttentionShape& s) { return {s.heads * s.sequence, s.sequence, 1, 1}; }

Tensor number_input(Graph& graph, const char* name, std::int64_t number) {
  const Tensor tensor = graph.input(name, number, {1, 1, 1, 1}, {1, 1, 1, 1});
  tensor->set_data_type(fe::DataType_t::INT64);
  return tensor;
}

float score_scale(const AttentionShape& s) { return static_cast<float>(1 / std::sqrt(static_cast<double>(s.width))); }

std::shared_ptr<Graph> attention_graph(const AttentionSpec& spec, const DescribedDevice* device = nullptr) {
  auto graph = std::make_shared<Graph>(spec.element, device);
  const AttentionShape& s = spec.shape;
  const Shape shape = heads_shape(s), strides = heads_strides(s);
  auto attributes = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true).set_attn_scale(score_scale(s));
  if (spec.dropout > 0)
    attributes.set_dropout(static_cast<float>(spec.dropout), number_input(*graph, "seed", kSeed),
                           number_input(*graph, "offset", kOffset));
  const auto [y, log_sum_exp] = graph->sdpa(graph->input("q", kQ, shape, strides), graph->input("k", kK, shape, strides),
                                            graph->input("v", kV, shape, strides), attributes);
  graph->output(y, kY, shape, strides);
  graph->output(log_sum_exp, kLogSumExp, row_shape(s), row_strides(s));
  log_sum_exp->set_data_type(fe::DataType_t::FLOAT);
  check(graph->validate(), describe(spec) + ", forward");
  return graph;
}

std::shared_ptr<Graph> attention_gradient_graph(const AttentionSpec& spec, const DescribedDevice* device = nullptr) {
  auto graph = std::make_shared<Graph>(spec.element, device);
  const AttentionShape& s = spec.shape;
  const Shape shape = heads_shape(s), strides = heads_strides(s);
  auto attributes = fe::graph::SDPA_backward_attributes().set_name("attention_grad").set_attn_scale(score_scale(s));
  if (spec.dropout > 0)
    attributes.set_dropout(static_cast<float>(spec.dropout), number_input(*graph, "seed", kSeed),
                           number_input(*graph, "offset", kOffset));
  const Tensor log_sum_exp = graph->input("log_sum_exp", kLogSumExp, row_shape(s), row_strides(s));
  log_sum_exp->set_data_type(fe::DataType_t::FLOAT);
  const auto [dq, dk, dv] = graph->sdpa_backward(graph->input("q", kQ, shape, strides), graph->input("k", kK, shape, strides),
                                                 graph->input("v", kV, shape, strides), graph->input("y", kY, shape, strides),
                                                 graph->input("dy", kDy, shape, strides), log_sum_exp, attributes);
  graph->output(dq, kDq, shape, strides);
  graph->output(dk, kDk, shape, strides);
  graph->output(dv, kDv, shape, strides);
  check(graph->validate(), describe(spec) + ", backward");
  return graph;
}

bool strict(const ConvolutionSpec& spec) { return spec.element == Element::f32 && spec.math == Math::exact; }

// Engines of both heuristics for the handle's device or the graph's, without those that break the precision's promise.
void find_engines(Graph& graph, cudnnHandle_t handle, bool strict) {
  check(graph.build_operation_graph(handle), "cuDNN does not take the graph");
  graph.check_tensors();
  check(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "cuDNN has no engine");
  graph.deselect_workspace_greater_than(static_cast<std::int64_t>(kConvolutionWorkspaceBytes));
  graph.deselect_numeric_notes({fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION});
  if (strict) graph.deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE, fe::NumericalNote_t::DOWN_CONVERT_INPUTS});
}

struct Plan {
  std::shared_ptr<Graph> graph;
  std::int64_t index = 0;  // of the engine among those found
  std::string words;

  template <std::size_t kCount>
  void run(cudnnHandle_t handle, std::array<void*, kCount> tensors, int count, void* workspace, Stream stream) const {
    cuda::check(cudnnSetStream(handle, stream), "cuDNN's stream");
    check(graph->execute_plan_at_index(handle, tensors.data(), count, workspace, index), words);
  }
};

std::string words(const Graph& graph, std::int64_t index) {
  std::string engine;
  check(graph.get_plan_name_at_index(index, engine), "naming a plan");
  return "cudnn " + engine;
}

// Out, a, b and, where there is one, bias.
std::array<void*, 4> tensors_of(void* out, const void* a, const void* b, const void* bias) {
  return {out, const_cast<void*>(a), const_cast<void*>(b), const_cast<void*>(bias)};
}
int tensor_count(const ConvolutionSpec& spec) { return spec.bias ? 4 : 3; }

// Of a layer's operands in bytes: a, b.
std::array<std::size_t, 2> operand_bytes(const ConvolutionSpec& spec) {
  const Conv2dShape& s = spec.shape;
  const auto x = static_cast<std::size_t>(s.batch * s.height * s.width * s.channels) * bytes_of(spec.element);
  const auto y = static_cast<std::size_t>(s.batch * s.out_height * s.out_width * s.out_channels) * bytes_of(spec.element);
  const auto weight =
      static_cast<std::size_t>(s.out_channels * s.kernel_height * s.kernel_width * s.channels) * bytes_of(spec.element);
  switch (spec.pass) {
    case ConvolutionPass::forward:
      return {x, weight};
    case ConvolutionPass::grad_input:
      return {y, weight};
    case ConvolutionPass::grad_weight:
      return {y, x};
  }
  return {};
}

// Of the engine with this index. Errors: Error where it cannot be built, or needs more than the scratch has.
Plan build(const std::shared_ptr<Graph>& graph, std::int64_t index) {
  check(graph->build_plan_at_index(index), "engine " + std::to_string(index));
  std::int64_t workspace = 0;  // with what the graph itself adds to the engine's
  check(graph->get_workspace_size_plan_at_index(index, workspace), "engine " + std::to_string(index));
  if (workspace > static_cast<std::int64_t>(kConvolutionWorkspaceBytes))
    throw Error("engine " + std::to_string(index) + " needs " + std::to_string(workspace >> 20) + " MiB of scratch");
  return {graph, index, words(*graph, index)};
}

// The fastest plan, by the clock.
Plan fastest(const ConvolutionSpec& spec, cudnnHandle_t handle, const Scratch& scratch, Stream stream) {
  const std::shared_ptr<Graph> graph = convolution_graph(spec);
  find_engines(*graph, handle, strict(spec));
  const auto [a_bytes, b_bytes] = operand_bytes(spec);
  fill_random(scratch.a, a_bytes, spec.element, stream);
  fill_random(scratch.b, b_bytes, spec.element, stream);

  Plan best;
  double best_seconds = std::numeric_limits<double>::infinity();
  Stopwatch stopwatch(stream);
  std::string refusals;
  int built = 0;
  const auto enough = std::chrono::steady_clock::now() + kTuning;
  for (std::int64_t index = 0; index < graph->get_execution_plan_count() && built < kMostPlans; ++index) {
    if (best.graph && std::chrono::steady_clock::now() > enough) break;
    try {
      const Plan plan = build(graph, index);
      const auto tensors = tensors_of(scratch.out, scratch.a, scratch.b, scratch.bias);
      const double seconds =
          stopwatch.seconds([&] { plan.run(handle, tensors, tensor_count(spec), scratch.workspace, stream); }, best_seconds);
      ++built;
      if (seconds >= best_seconds) continue;
      best_seconds = seconds;
      best = plan;
    } catch (const Error& error) {  // of this engine alone; what the device cannot get over fails the next call as well
      if (refusals.empty()) refusals = error.what();
    }
  }
  if (!best.graph) throw Error("no engine of cuDNN fits: " + (refusals.empty() ? "it names none" : refusals));
  return best;
}

// The heuristics' first plan that can be built.
Plan first(const std::shared_ptr<Graph>& graph, cudnnHandle_t handle) {
  find_engines(*graph, handle, false);
  std::string refusals;
  for (std::int64_t index = 0; index < graph->get_execution_plan_count(); ++index) {
    try {
      return build(graph, index);
    } catch (const Error& error) {
      if (refusals.empty()) refusals = error.what();
    }
  }
  throw Error("no engine of cuDNN fits: " + (refusals.empty() ? "it names none" : refusals));
}

std::vector<std::string> offered(Graph& graph, const DescribedDevice& device, bool strict) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  check(properties->deserialize({device.json.begin(), device.json.end()}), "a device's description");
  graph.set_device_properties(properties);
  find_engines(graph, nullptr, strict);
  check(graph.check_support(), "no engine of cuDNN fits");
  std::vector<std::string> names;
  for (std::int64_t index = 0; index < graph.get_execution_plan_count(); ++index)
    if (graph.supports(index)) names.push_back(words(graph, index));
  return names;
}

class PlannedConvolution : public Convolution {
 public:
  PlannedConvolution(cudnnHandle_t handle, Plan plan, int count) : handle_(handle), plan_(std::move(plan)), count_(count) {}
  void run(void* out, const void* a, const void* b, const void* bias, void* workspace, Stream stream) override {
    plan_.run(handle_, tensors_of(out, a, b, bias), count_, workspace, stream);
  }
  std::string implementation() const override { return plan_.words; }

 private:
  cudnnHandle_t handle_;
  Plan plan_;
  int count_;
};

class PlannedAttention : public Attention {
 public:
  PlannedAttention(cudnnHandle_t handle, Plan forward, Plan backward, bool dropout)
      : handle_(handle), forward_(std::move(forward)), backward_(std::move(backward)), dropout_(dropout) {}
  void forward(const Forward& t, void* workspace, Stream stream) override {
    std::array<void*, 7> tensors{t.y, t.log_sum_exp, const_cast<void*>(t.q), const_cast<void*>(t.k), const_cast<void*>(t.v)};
    int count = 5;
    if (dropout_) append_seed(tensors, count, t.seed_offset);
    forward_.run(handle_, tensors, count, workspace, stream);
  }
  void backward(const Backward& t, void* workspace, Stream stream) override {
    std::array<void*, 11> tensors{const_cast<void*>(t.y), const_cast<float*>(t.log_sum_exp), const_cast<void*>(t.q),
                                  const_cast<void*>(t.k), const_cast<void*>(t.v)};
    int count = 5;
    if (dropout_) append_seed(tensors, count, t.seed_offset);
    for (void* tensor : {const_cast<void*>(t.dy), t.dq, t.dk, t.dv}) tensors[static_cast<std::size_t>(count++)] = tensor;
    backward_.run(handle_, tensors, count, workspace, stream);
  }
  std::string implementation() const override { return forward_.words + " / " + backward_.words; }

 private:
  template <std::size_t kCount>
  static void append_seed(std::array<void*, kCount>& tensors, int& count, const std::int64_t* seed_offset) {
    auto* seed = const_cast<std::int64_t*>(seed_offset);
    for (void* tensor : {seed, seed + 1}) tensors[static_cast<std::size_t>(count++)] = tensor;
  }
  cudnnHandle_t handle_;
  Plan forward_, backward_;
  bool dropout_;
};

}  // namespace

void validate(const ConvolutionSpec& spec, const DescribedDevice& device) { convolution_graph(spec, &device); }
void validate(const AttentionSpec& spec, const DescribedDevice& device) {
  attention_graph(spec, &device);
  attention_gradient_graph(spec, &device);
}

std::vector<std::string> engines(const ConvolutionSpec& spec, const DescribedDevice& device) {
  return offered(*convolution_graph(spec, &device), device, strict(spec));
}
AttentionEngines engines(const AttentionSpec& spec, const DescribedDevice& device) {
  return {offered(*attention_graph(spec, &device), device, false),
          offered(*attention_gradient_graph(spec, &device), device, false)};
}

struct CudnnGraphs::State {
  State() { cuda::check(cudnnCreate(&handle), "starting cuDNN"); }
  ~State() { cudnnDestroy(handle); }

  cudnnHandle_t handle = nullptr;
  // By their description: equal layers share a plan.
  std::map<std::string, Plan> convolutions;
  std::map<std::string, std::pair<Plan, Plan>> attentions;  // forward, backward
};

CudnnGraphs::CudnnGraphs() : state_(std::make_unique<State>()) {}
CudnnGraphs::~CudnnGraphs() = default;

std::unique_ptr<Convolution> CudnnGraphs::convolution(const ConvolutionSpec& spec, const Scratch& scratch, Stream stream,
                                                      std::string& reason) {
  auto found = state_->convolutions.find(describe(spec));
  if (found == state_->convolutions.end()) {
    try {
      found = state_->convolutions.emplace(describe(spec), fastest(spec, state_->handle, scratch, stream)).first;
    } catch (const Error& error) {
      reason = error.what();
      return nullptr;
    }
  }
  return std::make_unique<PlannedConvolution>(state_->handle, found->second, tensor_count(spec));
}

std::unique_ptr<Attention> CudnnGraphs::attention(const AttentionSpec& spec, std::string& reason) {
  auto found = state_->attentions.find(describe(spec));
  if (found == state_->attentions.end()) {
    try {
      Plan forward = first(attention_graph(spec), state_->handle);
      Plan backward = first(attention_gradient_graph(spec), state_->handle);
      found = state_->attentions.emplace(describe(spec), std::pair(std::move(forward), std::move(backward))).first;
    } catch (const Error& error) {
      reason = error.what();
      return nullptr;
    }
  }
  const auto& [forward, backward] = found->second;
  return std::make_unique<PlannedAttention>(state_->handle, forward, backward, spec.dropout > 0);
}

}  // namespace epochbench::cuda
