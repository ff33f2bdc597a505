// Plans the graphs of cudnn_layers.h: the library's heuristics list engines for the current device, and those that keep the
// rules and fit the scratch are offered.
//
// The library may run a 16-bit or tf32 convolution with an engine whose sums depend on the order of atomic operations. In
// strict fp32 such engines are left out, so that equal steps give equal bits.
#include "kernels/cuda/libraries/cudnn_graphs.h"

#include <array>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernels/cuda/libraries/cudnn_layers.h"
#include "kernels/cuda/libraries/library_error.h"
#include "kernels/cuda/specs.h"

namespace epochbench::cuda {
namespace {

using namespace layers;

struct Rules {                      // restrictions on an engine
  bool strict = false;              // fp32 without tensor cores, with sums in one order
  bool winograd = true;             // whether Winograd's transforms are allowed
  std::size_t workspace_bytes = 0;  // including what the graph stores there
};
Rules rules_of(const GeluProductSpec& spec) {
  return {.strict = spec.element == Element::f32 && spec.math == Math::exact, .workspace_bytes = kProductWorkspaceBytes};
}
Rules rules_of(const ConvolutionSpec& spec) {
  return {is_strict(spec), spec.shape.winograd, convolution_workspace_bytes(spec)};
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
  if (rules.strict)
    graph.deselect_numeric_notes(
        {fe::NumericalNote_t::TENSOR_CORE, fe::NumericalNote_t::DOWN_CONVERT_INPUTS, fe::NumericalNote_t::NONDETERMINISTIC});
  if (!rules.winograd) graph.deselect_numeric_notes(kWinograd);
}

// Indices of the engines that were listed and keep the rules.
std::vector<std::int64_t> supported(Graph& graph) {
  std::vector<std::int64_t> indices;
  for (std::int64_t index = 0; index < graph.get_execution_plan_count(); ++index)
    if (graph.supports(index)) indices.push_back(index);
  return indices;
}

std::string engine_name(const Graph& graph, std::int64_t index) {
  std::string engine;
  check(graph.get_plan_name_at_index(index, engine), "naming a plan");
  return engine;
}

std::string plan_name(const Graph& graph, std::int64_t index) {
  return "cudnn " + engine_name(graph, index) + (graph.is_winograd(index) ? " winograd" : "");
}

// A built engine of a graph: it holds kernels on the device until it is destroyed, and must not be running then.
class Plan {
 public:
  // Throws Error if the engine cannot be built or needs more scratch than is available.
  Plan(cudnnHandle_t handle, std::shared_ptr<Graph> graph, std::int64_t index, std::size_t workspace_bytes)
      : handle_(handle), graph_(std::move(graph)), index_(index), name_(plan_name(*graph_, index)) {
    try {
      check(graph_->build_plan_at_index(index), name_);
      std::int64_t workspace = 0;  // including what the graph adds to the engine's
      check(graph_->get_workspace_size_plan_at_index(index, workspace), name_);
      if (workspace > static_cast<std::int64_t>(workspace_bytes))
        throw Error(name_ + " needs " + std::to_string(workspace >> 20) + " MiB of scratch");
    } catch (const Error&) {
      graph_->release(index);
      throw;
    }
  }
  ~Plan() { graph_->release(index_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  template <std::size_t kCount>
  void run(std::array<void*, kCount> tensors, int count, void* workspace, Stream stream) const {
    cuda::check(cudnnSetStream(handle_, stream), "cuDNN's stream");
    check(graph_->execute_plan_at_index(handle_, tensors.data(), count, workspace, index_), name_);
  }
  const std::string& name() const { return name_; }
  bool is_winograd() const { return graph_->is_winograd(index_); }

 private:
  cudnnHandle_t handle_;
  std::shared_ptr<Graph> graph_;
  std::int64_t index_;  // among the engines found
  std::string name_;
};

std::vector<std::string> offered(Graph& graph, const DescribedDevice& device, const Rules& rules) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  check(properties->deserialize({device.json.begin(), device.json.end()}), "a device's description");
  graph.set_device_properties(properties);
  find_engines(graph, nullptr, rules);
  check(graph.check_support(), "no cuDNN engine fits");
  std::vector<std::string> names;
  for (const std::int64_t index : supported(graph)) names.push_back(plan_name(graph, index));
  return names;
}

class PlannedGeluProduct : public GeluProduct {
 public:
  explicit PlannedGeluProduct(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  void run(const Tensors& t, void* workspace, Stream stream) override {
    std::array<void*, 5> tensors{t.out, const_cast<void*>(t.a), const_cast<void*>(t.b)};
    int count = 3;
    for (void* tensor : {const_cast<void*>(t.bias), t.x})
      if (tensor) tensors[static_cast<std::size_t>(count++)] = tensor;
    plan_->run(tensors, count, workspace, stream);
  }
  std::string implementation() const override { return plan_->name(); }

 private:
  std::shared_ptr<const Plan> plan_;
};

class PlannedConvolution : public Convolution {
 public:
  PlannedConvolution(std::shared_ptr<const Plan> plan, const ConvolutionSpec& spec) : plan_(std::move(plan)), spec_(spec) {}
  void run(const Tensors& t, void* workspace, Stream stream) override {
    std::array<void*, kNormBias> tensors{t.out, const_cast<void*>(t.a), const_cast<void*>(t.b)};
    int count = 3;
    const auto append = [&](const void* tensor) { tensors[static_cast<std::size_t>(count++)] = const_cast<void*>(tensor); };
    if (spec_.bias) append(t.bias);
    if (spec_.sums) {
      const bool forward = spec_.pass == ConvolutionPass::forward;
      const std::int64_t channels = forward ? spec_.shape.out_channels : spec_.shape.channels;
      const auto bytes = 2 * static_cast<std::size_t>(channels) * sizeof(float);
      // Whether an engine's atomic sums begin at 0 is not documented.
      cuda::check(cudaMemsetAsync(t.norm.sums, 0, bytes, stream), "clearing sums");
      for (const void* tensor : {static_cast<const void*>(t.norm.sums), static_cast<const void*>(t.norm.sums + channels),
                                 static_cast<const void*>(t.norm.mean)})
        append(tensor);
      if (!forward)
        for (const void* tensor : {t.norm.x, static_cast<const void*>(t.norm.inv_std), static_cast<const void*>(t.norm.scale),
                                   static_cast<const void*>(t.norm.bias)})
          append(tensor);
    }
    plan_->run(tensors, count, workspace, stream);
  }
  std::string implementation() const override { return plan_->name(); }
  std::string algorithm() const override { return plan_->is_winograd() ? "winograd" : ""; }

 private:
  std::shared_ptr<const Plan> plan_;
  ConvolutionSpec spec_;
};

template <std::size_t kCount>
void append_seed(std::array<void*, kCount>& tensors, int& count, const std::int64_t* seed_offset) {
  auto* seed = const_cast<std::int64_t*>(seed_offset);
  for (void* tensor : {seed, seed + 1}) tensors[static_cast<std::size_t>(count++)] = tensor;
}

class PlannedForward : public AttentionForward {
 public:
  PlannedForward(std::shared_ptr<const Plan> plan, bool dropout) : plan_(std::move(plan)), dropout_(dropout) {}
  void run(const Tensors& t, void* workspace, Stream stream) override {
    std::array<void*, 7> tensors{t.y, t.log_sum_exp, const_cast<void*>(t.q), const_cast<void*>(t.k), const_cast<void*>(t.v)};
    int count = 5;
    if (dropout_) append_seed(tensors, count, t.seed_offset);
    plan_->run(tensors, count, workspace, stream);
  }
  std::string implementation() const override { return plan_->name(); }

 private:
  std::shared_ptr<const Plan> plan_;
  bool dropout_;
};

class PlannedBackward : public AttentionBackward {
 public:
  PlannedBackward(std::shared_ptr<const Plan> plan, bool dropout) : plan_(std::move(plan)), dropout_(dropout) {}
  void run(const Tensors& t, void* workspace, Stream stream) override {
    std::array<void*, 11> tensors{const_cast<void*>(t.y), const_cast<float*>(t.log_sum_exp), const_cast<void*>(t.q),
                                  const_cast<void*>(t.k), const_cast<void*>(t.v)};
    int count = 5;
    if (dropout_) append_seed(tensors, count, t.seed_offset);
    for (void* tensor : {const_cast<void*>(t.dy), t.dq, t.dk, t.dv}) tensors[static_cast<std::size_t>(count++)] = tensor;
    plan_->run(tensors, count, workspace, stream);
  }
  std::string implementation() const override { return plan_->name(); }

 private:
  std::shared_ptr<const Plan> plan_;
  bool dropout_;
};

}  // namespace

void validate(const GeluProductSpec& spec, const DescribedDevice& device) { gelu_product_graph(spec, &device); }
void validate(const ConvolutionSpec& spec, const DescribedDevice& device) { convolution_graph(spec, &device); }
void validate(const AttentionSpec& spec, const DescribedDevice& device) {
  attention_graph(spec, &device);
  attention_gradient_graph(spec, &device);
}

std::vector<std::string> engines(const GeluProductSpec& spec, const DescribedDevice& device) {
  return offered(*gelu_product_graph(spec, &device), device, rules_of(spec));
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
  std::map<std::string, std::weak_ptr<const Plan>> plans;  // by problem and engine: equal layers share a plan
};

namespace {

// The engines of a layer's graph, which is built only when one of them is requested.
template <typename T>
class Engines final : public Algorithms<T> {
 public:
  using MakeGraph = std::function<std::shared_ptr<Graph>()>;
  using MakeLayer = std::function<std::shared_ptr<T>(std::shared_ptr<const Plan>)>;

  // compiles: whether cuDNN compiles the kernels of these engines when they are built.
  Engines(std::shared_ptr<CudnnGraphs::State> state, std::string problem, const Rules& rules, bool compiles,
          MakeGraph make_graph, MakeLayer make_layer)
      : state_(std::move(state)),
        problem_(std::move(problem)),
        rules_(rules),
        compiles_(compiles),
        make_graph_(std::move(make_graph)),
        make_layer_(std::move(make_layer)) {}

  std::string problem() const override { return problem_; }

  std::vector<Offer> offers() override {
    std::vector<Offer> offers;
    std::set<std::string> names;  // both heuristics may list an engine
    for (const std::int64_t index : supported(*graph()))
      if (const std::string name = engine_name(*graph(), index); names.insert(name).second)
        offers.push_back({.tag = name, .compiles = compiles_});
    if (offers.empty()) throw Error("no cuDNN engine fits");
    return offers;
  }

  std::shared_ptr<T> build(const std::string& tag) override {
    std::weak_ptr<const Plan>& known = state_->plans[problem_ + " " + tag];
    std::shared_ptr<const Plan> plan = known.lock();
    if (!plan) known = plan = std::make_shared<const Plan>(state_->handle, graph(), index_of(tag), rules_.workspace_bytes);
    return make_layer_(std::move(plan));
  }

 private:
  const std::shared_ptr<Graph>& graph() {
    if (!graph_) {
      std::shared_ptr<Graph> graph = make_graph_();
      find_engines(*graph, state_->handle, rules_);
      graph_ = std::move(graph);
    }
    return graph_;
  }
  std::int64_t index_of(const std::string& name) {
    for (const std::int64_t index : supported(*graph()))
      if (engine_name(*graph(), index) == name) return index;
    throw Error("cuDNN offers no engine " + name);
  }

  std::shared_ptr<CudnnGraphs::State> state_;
  std::string problem_;
  Rules rules_;
  bool compiles_;
  MakeGraph make_graph_;
  MakeLayer make_layer_;
  std::shared_ptr<Graph> graph_;
};

}  // namespace

CudnnGraphs::CudnnGraphs() : state_(std::make_shared<State>()) {}
CudnnGraphs::~CudnnGraphs() = default;

std::unique_ptr<Algorithms<GeluProduct>> CudnnGraphs::gelu_product(const GeluProductSpec& spec) {
  return std::make_unique<Engines<GeluProduct>>(
      state_, describe(spec), rules_of(spec), true, [spec] { return gelu_product_graph(spec); },
      [](auto plan) { return std::make_shared<PlannedGeluProduct>(std::move(plan)); });
}

std::unique_ptr<Algorithms<Convolution>> CudnnGraphs::convolution(const ConvolutionSpec& spec) {
  return std::make_unique<Engines<Convolution>>(
      state_, describe(spec), rules_of(spec), spec.sums, [spec] { return convolution_graph(spec); },
      [spec](auto plan) { return std::make_shared<PlannedConvolution>(std::move(plan), spec); });
}

std::unique_ptr<Algorithms<AttentionForward>> CudnnGraphs::attention_forward(const AttentionSpec& spec) {
  return std::make_unique<Engines<AttentionForward>>(
      state_, describe(spec) + " forward", rules_of(spec, false), true, [spec] { return attention_graph(spec); },
      [spec](auto plan) { return std::make_shared<PlannedForward>(std::move(plan), spec.dropout > 0); });
}

std::unique_ptr<Algorithms<AttentionBackward>> CudnnGraphs::attention_backward(const AttentionSpec& spec) {
  return std::make_unique<Engines<AttentionBackward>>(
      state_, describe(spec) + " backward", rules_of(spec, true), true, [spec] { return attention_gradient_graph(spec); },
      [spec](auto plan) { return std::make_shared<PlannedBackward>(std::move(plan), spec.dropout > 0); });
}

}  // namespace epochbench::cuda
