// Programs: the passes in their order, and the initial values.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_set>

#include "epochbench/philox.h"
#include "src/base/numbers.h"
#include "src/graph/passes.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

// Adds the model's nodes and returns the logits. Options and batch may be too small in combination, although each is in range.
ValueId build_model(Graph& graph, const WorkloadSpec& workload, const ModelConfig& config) {
  const std::string part = workload.parts() > 1 ? ", in parts of " + std::to_string(config.batch) : "";
  try {
    return workload.model.family->build(graph, config);
  } catch (const GraphError& error) {
    throw std::invalid_argument("model " + workload.model.name + ", batch " + std::to_string(workload.config.batch) + part +
                                ": " + error.what() + "; use a larger --batch or a larger image");
  }
}

// The forward graph of `batch` samples up to the loss or the logits; its outputs are "loss", "correct", "logits".
Graph forward_graph(const WorkloadSpec& workload, Entry entry, std::int64_t batch) {
  ModelConfig config = workload.config;
  config.training = entry == Entry::train;
  config.batch = batch;
  Graph graph;
  const ValueId logits = build_model(graph, workload, config);
  if (entry == Entry::forward) {
    graph.add_output("logits", logits);
    return graph;
  }
  const ValueId labels = graph.add_input("labels", {{graph.desc(logits).shape[0]}, DType::i32});
  CrossEntropyAttributes loss{.mean = false};
  std::vector<ValueId> compared{logits, labels};
  if (entry == Entry::train) {
    loss = {.smoothing = workload.label_smoothing, .mixed = workload.mixup > 0};
    if (loss.mixed) compared.push_back(mix_images(graph));
  }
  graph.add_output("loss", graph.add_node(Op::cross_entropy, loss, compared, "loss")[0]);
  if (entry == Entry::evaluate)
    graph.add_output("correct", graph.add_node(Op::count_correct, {}, {logits, labels}, "correct")[0]);
  return graph;
}

void append_training(Graph& graph, const OptimizerSpec& optimizer, Precision precision) {
  const ValueId loss_scale = precision == Precision::fp16 ? add_loss_scale(graph) : kNoValue;
  append_optimizer(graph, optimizer, append_gradient(graph, graph.output("loss"), loss_scale), loss_scale);
}

// Like append_training(), for one of `parts` parts of a batch. Returns the graph of the update that follows them.
Graph append_part(Graph& graph, const OptimizerSpec& optimizer, Precision precision, std::int64_t parts) {
  const double share = 1 / static_cast<double>(parts);
  const bool scaled = precision == Precision::fp16;
  const std::vector<ValueId> gradients =
      append_gradient(graph, graph.output("loss"), scaled ? add_loss_scale(graph) : kNoValue);
  accumulate_outputs(graph, share);
  UpdateGraph update = accumulate_gradients(graph, gradients, share);
  const ValueId loss_scale = scaled ? add_loss_scale(update.graph) : kNoValue;
  update.gradients.resize(update.graph.variables.size(), kNoValue);
  append_optimizer(update.graph, optimizer, update.gradients, loss_scale);
  return std::move(update.graph);
}

// The graphs of an entry, each with the entry that runs it: for int8 also those that run before it, for a training step in
// parts also its update. The entry's own graph comes last.
std::vector<std::pair<Entry, Graph>> graphs_of(const WorkloadSpec& workload, Entry entry, Precision precision,
                                               Weights weights) {
  std::vector<std::pair<Entry, Graph>> graphs;
  if (precision == Precision::int8) {
    if (entry == Entry::train) throw GraphError(std::string(name(precision)) + " is for inference");
    Int8Graphs made = with_int8(forward_graph(workload, entry, workload.config.batch));
    graphs.emplace_back(Entry::calibrate, std::move(made.calibrate));
    graphs.emplace_back(Entry::prepare, std::move(made.prepare));
    graphs.emplace_back(entry, std::move(made.forward));
    return graphs;
  }
  const std::int64_t parts = workload.parts();
  Graph graph = with_precision(forward_graph(workload, entry, workload.config.batch / parts), precision, weights);
  if (entry == Entry::evaluate && workload.optimizer.ema > 0) graph = reading_averages(graph);
  if (entry == Entry::train && parts > 1)
    graphs.emplace_back(Entry::update, append_part(graph, workload.optimizer, precision, parts));
  else if (entry == Entry::train)
    append_training(graph, workload.optimizer, precision);
  else if (workload.accumulate > 1)
    accumulate_outputs(graph, 1);
  graphs.emplace_back(entry, std::move(graph));
  return graphs;
}

Graph& graph_of(std::vector<std::pair<Entry, Graph>>& graphs, Entry entry) {
  return std::ranges::find(graphs, entry, &std::pair<Entry, Graph>::first)->second;
}

Weights weights_for(const std::vector<Entry>& entries) {
  return std::ranges::find(entries, Entry::train) == entries.end() ? Weights::as_read : Weights::f32;
}

float initial_value(const Initializer& initializer, const PhiloxBlock& numbers, int lane) {
  switch (initializer.kind) {
    case Initializer::Kind::constant:
      return static_cast<float>(initializer.scale);
    case Initializer::Kind::uniform:
      return static_cast<float>((2 * uniform01(numbers[static_cast<std::size_t>(lane)]) - 1) * initializer.scale);
    case Initializer::Kind::normal: {
      const auto pair = normal_pair(numbers[lane < 2 ? 0 : 2], numbers[lane < 2 ? 1 : 3]);
      return static_cast<float>(pair[static_cast<std::size_t>(lane % 2)] * initializer.scale);
    }
    case Initializer::Kind::values:
      break;  // not drawn
  }
  return 0;
}

// How images are prepared, where that differs from the default.
std::string images_text(const ImageOptions& images) {
  std::string text;
  if (images.augmentation != Augmentation{}) text += "augment " + to_string(images.augmentation) + "\n";
  if (images.normalization != Normalization::imagenet) text += std::string("normalize ") + name(images.normalization) + "\n";
  return text;
}

// Batch norm takes its statistics from one part of the batch, so the size of a part matters.
std::string identity_of_parts(const Graph& graph, const WorkloadSpec& workload) {
  const bool has_batch_norm = std::ranges::find(graph.nodes, Op::batch_norm, &Node::op) != graph.nodes.end();
  return workload.parts() > 1 && has_batch_norm
             ? "micro-batch " + std::to_string(workload.config.batch / workload.parts()) + "\n"
             : "";
}

}  // namespace

Counts count(const WorkloadSpec& workload) {
  Graph graph = forward_graph(workload, Entry::train, workload.config.batch);
  Counts counts;
  for (const Variable& variable : graph.variables)
    if (variable.role == VariableRole::parameter) counts.parameters += variable.desc.elements();
  const auto batch = static_cast<double>(workload.config.batch);
  counts.forward_flops_per_sample = flops(graph) / batch;
  counts.fingerprint = fingerprint(graph, workload.optimizer_text() + "\nbatch " + std::to_string(workload.config.batch) +
                                              "\n" + identity_of_parts(graph, workload) +
                                              (workload.mixup > 0 ? "mixup " + shortest(workload.mixup) + "\n" : "") +
                                              (workload.tokenizer ? "tokenizer " + workload.tokenizer->identity() + "\n" : "") +
                                              images_text(workload.images));
  append_training(graph, workload.optimizer, Precision::fp32);
  counts.train_flops_per_sample = flops(graph) / batch;
  return counts;
}

std::vector<Entry> entries_of_mode(Mode mode, bool trained) {
  if (mode == Mode::train) return {Entry::train, Entry::evaluate};
  return trained ? std::vector<Entry>{Entry::forward, Entry::evaluate} : std::vector<Entry>{Entry::forward};
}

Program make_program(const WorkloadSpec& workload, const Backend& backend, const std::vector<Entry>& entries,
                     Precision precision, bool fusion, const std::vector<float>& pixel_values) {
  Program program;
  std::unordered_set<std::string> known;  // names of program.variables
  program.parts = workload.accumulate;
  const bool sharded = workload.ranks > 1 && workload.shard == Shard::optimizer;
  const auto has = [&](const Graph& whole, const Node& node) { return !backend.unsupported(whole, node); };
  for (Entry requested : entries) {
    auto graphs = graphs_of(workload, requested, precision, weights_for(entries));
    Graph& own = graphs.back().second;
    Graph& updating = graphs.front().first == Entry::update ? graphs.front().second : own;
    // A rank updates only its share of the weights, so its copies of the others would be out of date.
    if (!sharded)
      if (auto copying = keep_copies(own, updating, has)) graphs.emplace_back(Entry::prepare, std::move(*copying));
    for (auto& [entry, graph] : graphs) {
      if (!pixel_values.empty()) stage_bytes(graph, pixel_values, has);
      if (fusion) fuse(graph, has);
      accumulate_early(graph);
      if (entry == Entry::train && workload.checkpoint == Checkpoint::blocks) checkpoint_blocks(graph);
    }
    if (requested == Entry::forward && weights_for(entries) == Weights::as_read && precision != Precision::int8)
      if (auto packing = pack_weights(own, backend)) graphs.emplace_back(Entry::prepare, std::move(*packing));
    if (requested == Entry::train && workload.ranks > 1) {
      Graph& update = graph_of(graphs, Entry::update);
      all_reduce_sums(update, graph_of(graphs, Entry::train), static_cast<std::int64_t>(workload.bucket_mib * (1 << 20)));
      if (sharded) update = shard_optimizer(update, workload.ranks);
    }
    for (auto& [entry, graph] : graphs) {
      for (const Node& node : graph.nodes)
        if (const auto reason = backend.unsupported(graph, node))
          throw GraphError(workload.model.name + ": " + node.name + ": " + *reason);
      MemoryPlan plan = plan_memory(graph, backend);
      for (const Variable& variable : graph.variables)
        if (known.insert(variable.name).second) program.variables.push_back(variable);
      program.entries[static_cast<std::size_t>(entry)] = EntryGraph{std::move(graph), std::move(plan)};
    }
  }
  return program;
}

std::optional<DType> images_of(const Program& program) {
  for (const auto& entry : program.entries)
    for (const Value& input : entry ? entry->graph.inputs : std::vector<Value>{})
      if (input.name == "images") return input.desc.dtype;
  return std::nullopt;
}

std::optional<std::string> unsupported(const WorkloadSpec& workload, const Backend& backend, const std::vector<Entry>& entries,
                                       Precision precision) {
  for (Entry entry : entries) {
    for (const auto& [run_by, graph] : graphs_of(workload, entry, precision, weights_for(entries)))
      for (const Node& node : graph.nodes)
        if (auto reason = backend.unsupported(graph, node)) return reason;
  }
  return std::nullopt;
}

std::vector<Variable> model_variables(const WorkloadSpec& workload) {
  std::vector<Variable> variables = forward_graph(workload, Entry::train, workload.config.batch).variables;
  std::erase_if(variables, [](const Variable& variable) {
    return variable.role != VariableRole::parameter && variable.role != VariableRole::statistic;
  });
  return variables;
}

void initialize(Executable& executable, const Program& program, std::uint64_t seed) {
  constexpr std::int64_t kPart = std::int64_t{1} << 16;  // a multiple of 4, as Philox gives four numbers at a time
  std::vector<float> values;
  for (const Variable& variable : program.variables) {
    if (variable.initializer.kind == Initializer::Kind::values) {
      executable.write(variable.name, variable.initializer.values);
      continue;
    }
    const std::int64_t elements = variable.desc.elements();
    const std::uint32_t name = name_hash(variable.name);
    for (std::int64_t first = 0; first < elements; first += kPart) {
      const std::int64_t size = std::min(kPart, elements - first);
      values.assign(static_cast<std::size_t>(size), static_cast<float>(variable.initializer.scale));
      for (std::int64_t i = 0; i < size && variable.initializer.kind != Initializer::Kind::constant; i += 4) {
        const auto block = static_cast<std::uint32_t>((first + i) / 4);
        const PhiloxBlock numbers = philox(seed, {block, 0, name, static_cast<std::uint32_t>(RandomStream::weights)});
        for (std::int64_t lane = 0; lane < std::min<std::int64_t>(4, size - i); ++lane)
          values[static_cast<std::size_t>(i + lane)] = initial_value(variable.initializer, numbers, static_cast<int>(lane));
      }
      executable.write_part(variable.name, first, values);
    }
  }
}

void begin_averages(Executable& executable, const Program& program) {
  for (const Variable& parameter : program.variables) {
    const auto average = std::ranges::find(program.variables, averaged_name(parameter.name), &Variable::name);
    if (parameter.role != VariableRole::parameter || average == program.variables.end()) continue;
    std::vector<float> values(static_cast<std::size_t>(parameter.desc.elements()));
    executable.read(parameter.name, values);
    executable.write(average->name, values);
  }
}

void prepare(Executable& executable, const Program& program) {
  if (program.entry(Entry::prepare) == nullptr) return;
  executable.run(Entry::prepare);
  executable.synchronize();
  std::vector<StepRecord> records;  // not of measured steps
  executable.drain(records);
}

}  // namespace epochbench
