// Plans the graphs of cudnn_layers.h: the library's heuristics list engines for the current device, and the fastest one that
// fits the scratch is selected.
//
// The library may run a 16-bit or tf32 convolution with an engine whose sums depend on the order of atomic operations.
#include "kernels/cuda/libraries/cudnn_graphs.h"

#include <array>
#include <utility>
#include <vector>

#include "kernels/cuda/libraries/cudnn_layers.h"
#include "kernels/cuda/libraries/library_error.h"
#include "kernels/cuda/libraries/tuner.h"
#include "kernels/cuda/libraries/tuning.h"
#include "kernels/cuda/specs.h"

namespace epochbench::cuda {
namespace {

using namespace layers;

// ResNet-50 needs 68 plans in each precision, and some engines are compiled when planned, which takes a second or more. The
// heuristics list their best guesses first: layers for which no time is left use the first one. scripts/check_gpu relies on
// these limits.
constexpr TuningLimits kTuning{.candidates = 10, .seconds_of_one = 0.5, .seconds_of_all = 20};

struct Rules {                      // restrictions on an engine
  bool strict = false;              // fp32 without tensor cores
  bool winograd = true;             // whether Winograd's transforms are allowed
  std::size_t workspace_bytes = 0;  // including what the graph stores there
};
Rules rules_of(const ConvolutionSpec& spec) {
  return {spec.element == Element::f32 && spec.math == Math::exact, spec.shape.winograd, kConvolutionWorkspaceBytes};
}
Rules rules_of(const AttentionSpec& spec, bool gradient) {
  return {.workspace_bytes = attention_workspace_bytes(spec.shape, gradient)};
}

// Lists the engines of both heuristics for the handle's device or the graph's, except those that violate the precision or the
// rules. Fourier transforms are always excluded: results have no name for the multiplications they save.
void find_engines(Graph& graph, cudnnHandle_t handle, const Rules& rules) {
  check(graph.build_operation_graph(handle), "cuDNN does not support the graph");
  graph.check_tensors();
  check(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "cuDNN has no engine");
  graph.deselect_workspace_greater_than(static_cast<std::int64_t>(rules.workspace_bytes) - graph.own_workspace());
  graph.deselect_numeric_notes({fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION, fe::NumericalNote_t::FFT});
  if (rules.strict) graph.deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE, fe::NumericalNote_t::DOWN_CONVERT_INPUTS});
  if (!rules.winograd) graph.deselect_numeric_notes(kWinograd);
}

struct Plan {
  std::shared_ptr<Graph> graph;
  std::int64_t index = 0;  // index among the engines found
  std::string name;

  template <std::size_t kCount>
  void run(cudnnHandle_t handle, std::array<void*, kCount> tensors, int count, void* workspace, Stream stream) const {
    cuda::check(cudnnSetStream(handle, stream), "cuDNN's stream");
    check(graph->execute_plan_at_index(handle, tensors.data(), count, workspace, index), name);
  }
};

std::string plan_name(const Graph& graph, std::int64_t index) {
  std::string engine;
  check(graph.get_plan_name_at_index(index, engine), "naming a plan");
  return "cudnn " + engine + (graph.is_winograd(index) ? " winograd" : "");
}

// Out, a, b and, if there is one, bias.
std::array<void*, 4> tensors_of(void* out, const void* a, const void* b, const void* bias) {
  return {out, const_cast<void*>(a), const_cast<void*>(b), const_cast<void*>(bias)};
}
int tensor_count(const ConvolutionSpec& spec) { return spec.bias ? 4 : 3; }

// Sizes of a layer's operands in bytes: a, b.
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

// Plans with the engine at this index. Throws Error if it cannot be built or needs more scratch than there is.
void build(Graph& graph, std::int64_t index, std::size_t workspace_bytes) {
  check(graph.build_plan_at_index(index), "engine " + std::to_string(index));
  std::int64_t workspace = 0;  // including what the graph adds to the engine's
  check(graph.get_workspace_size_plan_at_index(index, workspace), "engine " + std::to_string(index));
  if (workspace > static_cast<std::int64_t>(workspace_bytes))
    throw Error("engine " + std::to_string(index) + " needs " + std::to_string(workspace >> 20) + " MiB of scratch");
}

// The engines found for a convolution, timed on the scratch memory.
class ConvolutionPlans final : public Candidates {
 public:
  ConvolutionPlans(const ConvolutionSpec& spec, cudnnHandle_t handle, const Scratch& scratch, Stream stream)
      : graph_(convolution_graph(spec)),
        handle_(handle),
        scratch_(scratch),
        tensors_(tensors_of(scratch.out, scratch.a, scratch.b, scratch.bias)),
        tensor_count_(tensor_count(spec)),
        stream_(stream),
        stopwatch_(stream) {
    find_engines(*graph_, handle, rules_of(spec));
    const auto [a_bytes, b_bytes] = operand_bytes(spec);
    fill_random(scratch.a, a_bytes, spec.element, stream);
    fill_random(scratch.b, b_bytes, spec.element, stream);
  }

  std::int64_t count() const override { return graph_->get_execution_plan_count(); }
  void build(std::int64_t index) override { cuda::build(*graph_, index, kConvolutionWorkspaceBytes); }
  double seconds(std::int64_t index, double to_beat) override {
    const Plan candidate = plan(index);
    return stopwatch_.seconds([&] { candidate.run(handle_, tensors_, tensor_count_, scratch_.workspace, stream_); }, to_beat);
  }
  void release(std::int64_t index) noexcept override { graph_->release(index); }

  Plan plan(std::int64_t index) const { return {graph_, index, plan_name(*graph_, index)}; }

 private:
  std::shared_ptr<Graph> graph_;
  cudnnHandle_t handle_;
  Scratch scratch_;
  std::array<void*, 4> tensors_;
  int tensor_count_;
  Stream stream_;
  Stopwatch stopwatch_;
};

// The first plan of the heuristics that can be built.
Plan first(const std::shared_ptr<Graph>& graph, cudnnHandle_t handle, const Rules& rules) {
  find_engines(*graph, handle, rules);
  std::string refusals;
  for (std::int64_t index = 0; index < graph->get_execution_plan_count(); ++index) {
    try {
      build(*graph, index, rules.workspace_bytes);
      return {graph, index, plan_name(*graph, index)};
    } catch (const Error& error) {
      graph->release(index);
      if (refusals.empty()) refusals = error.what();
    }
  }
  throw Error("no cuDNN engine fits: " + (refusals.empty() ? "it offers none" : refusals));
}

std::vector<std::string> offered(Graph& graph, const DescribedDevice& device, const Rules& rules) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  check(properties->deserialize({device.json.begin(), device.json.end()}), "a device's description");
  graph.set_device_properties(properties);
  find_engines(graph, nullptr, rules);
  check(graph.check_support(), "no cuDNN engine fits");
  std::vector<std::string> names;
  for (std::int64_t index = 0; index < graph.get_execution_plan_count(); ++index)
    if (graph.supports(index)) names.push_back(plan_name(graph, index));
  return names;
}

class PlannedConvolution : public Convolution {
 public:
  PlannedConvolution(cudnnHandle_t handle, Plan plan, int count) : handle_(handle), plan_(std::move(plan)), count_(count) {}
  void run(void* out, const void* a, const void* b, const void* bias, void* workspace, Stream stream) override {
    plan_.run(handle_, tensors_of(out, a, b, bias), count_, workspace, stream);
  }
  std::string implementation() const override { return plan_.name; }
  std::string algorithm() const override { return plan_.graph->is_winograd(plan_.index) ? "winograd" : ""; }

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
  std::string implementation() const override { return forward_.name + " / " + backward_.name; }

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
  return offered(*convolution_graph(spec, &device), device, rules_of(spec));
}
AttentionEngines engines(const AttentionSpec& spec, const DescribedDevice& device) {
  const auto forward = attention_graph(spec, &device), backward = attention_gradient_graph(spec, &device);
  AttentionEngines engines{offered(*forward, device, rules_of(spec, false)), offered(*backward, device, rules_of(spec, true))};
  engines.forward_bytes = forward->own_workspace();
  engines.backward_bytes = backward->own_workspace();
  return engines;
}

struct CudnnGraphs::State {
  State() { cuda::check(cudnnCreate(&handle), "starting cuDNN"); }
  ~State() { cudnnDestroy(handle); }

  cudnnHandle_t handle = nullptr;
  Tuner tuner{kTuning};
  // Keyed by description: equal layers share a plan.
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
      ConvolutionPlans plans(spec, state_->handle, scratch, stream);
      const auto best = state_->tuner.fastest(plans, reason);
      if (!best) throw Error("no cuDNN engine fits: " + reason);
      found = state_->convolutions.emplace(describe(spec), plans.plan(*best)).first;
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
      Plan forward = first(attention_graph(spec), state_->handle, rules_of(spec, false));
      Plan backward = first(attention_gradient_graph(spec), state_->handle, rules_of(spec, true));
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
