// Plans the graphs of cudnn_layers.h: the library's heuristics list engines for the current device, and those that keep the
// rules and fit the scratch are offered.
//
// The library may run a 16-bit or tf32 convolution with an engine whose sums depend on the order of atomic operations. In
// strict fp32 such engines are left out, so that equal steps give equal bits.
#include "kernels/cuda/libraries/cudnn_graphs.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
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

// What an engine may not do, by its notes.
struct Ban {
  std::vector<fe::NumericalNote_t> notes;
  const char* what;  // "use tensor cores"
};

// Fourier transforms are always excluded: results have no name for the multiplications they save.
std::vector<Ban> bans(const Rules& rules) {
  std::vector<Ban> list;
  if (rules.strict)
    list = {{{fe::NumericalNote_t::TENSOR_CORE}, "use tensor cores"},
            {{fe::NumericalNote_t::DOWN_CONVERT_INPUTS}, "round their inputs"},
            {{fe::NumericalNote_t::NONDETERMINISTIC}, "sum in no fixed order"}};
  list.push_back({{fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION}, "sum in less than fp32"});
  list.push_back({{fe::NumericalNote_t::FFT}, "use Fourier transforms"});
  if (!rules.winograd) list.push_back({kWinograd, "use Winograd"});
  return list;
}

struct Engine {
  std::string name;
  std::int64_t index;  // among the engines listed
};
struct EngineList {
  std::vector<Engine> offered;
  std::string left_out;  // as Algorithms::left_out()
};

// "24 use tensor cores, 4 need 392 to 980 MiB"
class Reasons {
 public:
  void add(const std::string& what) { ++counts_[what]; }
  void add_scratch(std::int64_t bytes) {
    add(kScratch);
    least_ = std::min(least_, bytes);
    most_ = std::max(most_, bytes);
  }
  std::string text() const {
    std::vector<std::pair<std::string, int>> sorted(counts_.begin(), counts_.end());
    std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, int>::second);
    std::string text;
    for (const auto& [what, count] : sorted)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + (what == kScratch ? scratch_text() : what);
    return text;
  }

 private:
  static constexpr const char* kScratch = "need";
  std::string scratch_text() const {
    const auto mib = [](std::int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20); };
    return "need " + (least_ < most_ ? mib(least_) + " to " : "") + mib(most_) + " MiB";
  }
  std::map<std::string, int> counts_;
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max(), most_ = 0;
};

// The engines of both heuristics for the handle's device or the graph's, each once, without those that violate the precision or
// the rules. Throws Error if none is left.
EngineList find_engines(Graph& graph, cudnnHandle_t handle, const Rules& rules) {
  check(graph.build_operation_graph(handle), "cuDNN does not support the graph");
  graph.check_tensors();
  check(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "cuDNN has no engine");
  const std::vector<Graph::Engine> listed = graph.listed();
  const std::vector<Ban> banned = bans(rules);
  const std::int64_t workspace = static_cast<std::int64_t>(rules.workspace_bytes) - graph.own_workspace();
  for (const Ban& ban : banned) graph.deselect_numeric_notes(ban.notes);
  graph.deselect_workspace_greater_than(workspace);

  EngineList list;
  Reasons reasons;
  std::set<std::string> names;  // both heuristics may list an engine
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const Graph::Engine& engine = listed[i];
    if (!names.insert(engine.name).second) continue;
    const auto does = [&](const Ban& ban) { return std::ranges::find_first_of(engine.notes, ban.notes) != engine.notes.end(); };
    if (graph.supports(static_cast<std::int64_t>(i)))
      list.offered.push_back({engine.name, static_cast<std::int64_t>(i)});
    else if (const auto ban = std::ranges::find_if(banned, does); ban != banned.end())
      reasons.add(ban->what);
    else if (engine.workspace > workspace)
      reasons.add_scratch(engine.workspace);
    else
      reasons.add("cannot be planned here");
  }
  if (list.offered.size() < names.size()) list.left_out = "of " + std::to_string(names.size()) + "; " + reasons.text();
  if (list.offered.empty()) throw Error("no cuDNN engine fits" + (names.empty() ? "" : ": 0 " + list.left_out));
  return list;
}

std::string plan_name(const Graph& graph, const Engine& engine) {
  return "cudnn " + engine.name + (graph.is_winograd(engine.index) ? " winograd" : "");
}

// A built engine of a graph: it holds kernels on the device until it is destroyed, and must not be running then.
class Plan {
 public:
  // Throws Error if the engine cannot be built or needs more scratch than is available.
  Plan(cudnnHandle_t handle, std::shared_ptr<Graph> graph, const Engine& engine, std::size_t workspace_bytes)
      : handle_(handle), graph_(std::move(graph)), index_(engine.index), name_(plan_name(*graph_, engine)) {
    try {
      check(graph_->build_plan_at_index(index_), name_);
      std::int64_t workspace = 0;  // including what the graph adds to the engine's
      check(graph_->get_workspace_size_plan_at_index(index_, workspace), name_);
      if (workspace > static_cast<std::int64_t>(workspace_bytes))
        throw Error(name_ + " needs " + std::to_string(workspace >> 20) + " MiB of scratch");
    } catch (const Error&) {
      graph_->release(index_);
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

OfferedEngines offered(Graph& graph, const DescribedDevice& device, const Rules& rules) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  check(properties->deserialize({device.json.begin(), device.json.end()}), "a device's description");
  graph.set_device_properties(properties);
  const EngineList list = find_engines(graph, nullptr, rules);
  OfferedEngines offered{.left_out = list.left_out};
  for (const Engine& engine : list.offered) offered.names.push_back(plan_name(graph, engine));
  return offered;
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

OfferedEngines engines(const GeluProductSpec& spec, const DescribedDevice& device) {
  return offered(*gelu_product_graph(spec, &device), device, rules_of(spec));
}
OfferedEngines engines(const ConvolutionSpec& spec, const DescribedDevice& device) {
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
  ~State() {
    for (cudnnHandle_t each : idle) cudnnDestroy(each);
    cudnnDestroy(handle);
  }

  // A plan by problem and engine: equal layers share it. Null if there is none.
  std::shared_ptr<const Plan> plan(const std::string& text) {
    const std::lock_guard lock(mutex);
    return plans[text].lock();
  }
  void keep(const std::string& text, const std::shared_ptr<const Plan>& plan) {
    const std::lock_guard lock(mutex);
    plans[text] = plan;
  }

  cudnnHandle_t handle = nullptr;   // of the thread that runs plans
  std::mutex mutex;                 // of the following, which threads that compile share
  std::vector<cudnnHandle_t> idle;  // handles to compile with; the graphs of compiled plans refer to them
  std::map<std::string, std::weak_ptr<const Plan>> plans;
};

// A handle that no other thread uses while this object exists: threads may not share one (cuDNN's documentation, "Thread
// Safety").
class CompilingHandle {
 public:
  explicit CompilingHandle(CudnnGraphs::State& state) : state_(state) {
    const std::lock_guard lock(state.mutex);
    if (state.idle.empty()) {
      cuda::check(cudnnCreate(&handle_), "starting cuDNN");
    } else {
      handle_ = state.idle.back();
      state.idle.pop_back();
    }
  }
  ~CompilingHandle() {
    const std::lock_guard lock(state_.mutex);
    state_.idle.push_back(handle_);
  }
  CompilingHandle(const CompilingHandle&) = delete;
  CompilingHandle& operator=(const CompilingHandle&) = delete;
  cudnnHandle_t get() const { return handle_; }

 private:
  CudnnGraphs::State& state_;
  cudnnHandle_t handle_ = nullptr;
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
    for (const Engine& engine : engines().offered) offers.push_back({.tag = engine.name, .compiles = compiles_});
    return offers;
  }
  std::string left_out() override { return engines().left_out; }

  std::function<std::shared_ptr<void>()> compiling(const std::string& tag) override {
    if (!compiles_) return {};
    int device = 0;
    cuda::check(cudaGetDevice(&device), "asking for the device");
    return [tag, device, state = state_, text = text_of(tag), rules = rules_,
            make_graph = make_graph_]() -> std::shared_ptr<void> {
      std::shared_ptr<const Plan> plan = state->plan(text);
      if (!plan) {
        cuda::check(cudaSetDevice(device), "choosing the device");  // of this thread
        const CompilingHandle handle(*state);
        std::shared_ptr<Graph> graph = make_graph();
        const EngineList list = find_engines(*graph, handle.get(), rules);
        plan = std::make_shared<const Plan>(state->handle, graph, find(list, tag), rules.workspace_bytes);
        state->keep(text, plan);
      }
      return std::const_pointer_cast<Plan>(plan);
    };
  }

  std::shared_ptr<T> build(const std::string& tag) override {
    std::shared_ptr<const Plan> plan = state_->plan(text_of(tag));
    if (!plan) {
      const Engine& found = find(engines(), tag);
      plan = std::make_shared<const Plan>(state_->handle, graph_, found, rules_.workspace_bytes);
      state_->keep(text_of(tag), plan);
    }
    return make_layer_(std::move(plan));
  }

 private:
  std::string text_of(const std::string& tag) const { return problem_ + " " + tag; }
  const EngineList& engines() {
    if (!graph_) {
      std::shared_ptr<Graph> graph = make_graph_();
      engines_ = find_engines(*graph, state_->handle, rules_);
      graph_ = std::move(graph);
    }
    return engines_;
  }
  static const Engine& find(const EngineList& list, const std::string& name) {
    for (const Engine& engine : list.offered)
      if (engine.name == name) return engine;
    throw Error("cuDNN offers no engine " + name);
  }

  std::shared_ptr<CudnnGraphs::State> state_;
  std::string problem_;
  Rules rules_;
  bool compiles_;
  MakeGraph make_graph_;
  MakeLayer make_layer_;
  std::shared_ptr<Graph> graph_;
  EngineList engines_;  // of the graph
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
