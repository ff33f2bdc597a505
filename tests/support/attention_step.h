// A step of one attention in both directions on any backend: tensors are written and read as floats, whatever the precision.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "epochbench/backend.h"
#include "kernels/shapes.h"
#include "src/backend/cuda/attention_identities.h"
#include "src/graph/passes.h"

namespace epochbench::test {

struct AttentionLayer {
  AttentionShape shape;
  DType dtype = DType::f32;
  double dropout = 0;
};

// The step's program: attention and its gradient on variables, whose results are read as the velocities that sgd makes of them.
struct AttentionStep {
  Graph graph;
  std::vector<ValueId> results;  // y, then dq, dk, dv or dqkv

  explicit AttentionStep(const AttentionLayer& layer) {
    const AttentionShape& s = layer.shape;
    const std::int64_t rows = s.batch * s.sequence, keys = key_heads(s) * s.width;
    const auto variable = [&](const std::string& name, Shape shape, DType dtype = DType::f32) {
      return graph.add_variable({name, {std::move(shape), dtype}, VariableRole::control, {}});
    };
    const auto given = [&](const std::string& name, std::int64_t columns) {
      const ValueId value = variable(name, {rows, columns});
      if (layer.dtype == DType::f32) return value;
      return graph.add_node(Op::cast, CastAttributes{layer.dtype}, {value}, "cast")[0];
    };
    const ValueId dy = given("dy", row_stride(s)), step = variable("step", {1}, DType::i32);
    std::vector<ValueId> inputs;
    if (s.joint)
      inputs = {given("qkv", joint_stride(s))};
    else
      inputs = {given("q", row_stride(s)), given("k", keys), given("v", keys)};
    const AttentionAttributes attributes{
        .heads = s.heads, .sequence = s.sequence, .dropout = layer.dropout, .causal = s.causal, .kv_heads = s.kv_heads};
    std::vector<ValueId> forward = inputs;
    forward.push_back(step);
    const auto y = graph.add_node(s.joint ? Op::joint_attention : Op::attention, attributes, std::move(forward), "attention");
    inputs.insert(inputs.begin(), dy);
    inputs.insert(inputs.end(), {y[0], y[1], step});
    results = graph.add_node(s.joint ? Op::joint_attention_grad : Op::attention_grad, attributes, std::move(inputs),
                             "attention_grad", graph.nodes.back().ordinal);
    results.insert(results.begin(), y[0]);
    const ValueId rate = variable("rate", {1});
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Shape shape = graph.desc(results[i]).shape;
      const std::string index = std::to_string(i);
      ValueId result = results[i];
      if (layer.dtype != DType::f32) result = graph.add_node(Op::cast, CastAttributes{DType::f32}, {result}, "as floats")[0];
      graph.add_node(Op::sgd, SgdAttributes{.momentum = 0},
                     {rate, variable("weight" + index, shape), result, variable("result" + index, shape)}, "read");
    }
  }
};

// q, k and v, or their gradients, side by side in each row; columns: of each.
inline std::vector<float> joined(const std::vector<std::vector<float>>& parts, const std::vector<std::int64_t>& columns) {
  std::vector<float> all;
  const std::size_t rows = parts[0].size() / static_cast<std::size_t>(columns[0]);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto begin = parts[i].begin() + static_cast<std::ptrdiff_t>(row) * columns[i];
      all.insert(all.end(), begin, begin + columns[i]);
    }
  return all;
}
inline std::vector<std::int64_t> columns_of_parts(const AttentionShape& s) {
  return {row_stride(s), key_heads(s) * s.width, key_heads(s) * s.width};
}

class CompiledAttentionStep {
 public:
  CompiledAttentionStep(const Backend& backend, const AttentionLayer& layer) : layer_(layer), step_(layer) {
    Program program;
    program.variables = step_.graph.variables;
    program.entries[0] = EntryGraph{step_.graph, plan_memory(step_.graph, backend)};
    executable_ = backend.compile(program);
  }

  Executable& executable() { return *executable_; }
  const AttentionStep& step() const { return step_; }

  // q, k, v and dy of the whole batch.
  void write(const std::vector<float>& dy, const std::vector<std::vector<float>>& qkv) {
    executable_->write("dy", dy);
    if (layer_.shape.joint) return executable_->write("qkv", joined(qkv, columns_of_parts(layer_.shape)));
    for (std::size_t i = 0; i < 3; ++i) executable_->write(std::string(1, "qkv"[i]), qkv[i]);
  }
  // What a step has computed, as AttentionStep::results.
  std::vector<std::vector<float>> read() const {
    std::vector<std::vector<float>> results;
    for (std::size_t i = 0; i < step_.results.size(); ++i) {
      results.emplace_back(static_cast<std::size_t>(step_.graph.desc(step_.results[i]).elements()));
      executable_->read("result" + std::to_string(i), results.back());
    }
    return results;
  }

  // For broken_attention_identity(); every sample is looked at.
  AttentionOutputs run_on(const AttentionInputs& in, std::int32_t step) {
    const auto repeated = [&](const std::vector<float>& sample) {
      std::vector<float> all;
      for (std::int64_t i = 0; i < layer_.shape.batch; ++i) all.insert(all.end(), sample.begin(), sample.end());
      return all;
    };
    write(repeated(in.dy), {repeated(in.q), repeated(in.k), repeated(in.v)});
    executable_->write("step", std::vector<float>{static_cast<float>(step)});
    executable_->run(Entry::train);
    executable_->synchronize();
    const std::vector<std::vector<float>> results = read();
    AttentionOutputs out{results[0], results.back()};
    if (!layer_.shape.joint) return out;
    const std::int64_t keys = key_heads(layer_.shape) * layer_.shape.width, row = joint_stride(layer_.shape);
    out.dv.clear();
    for (auto at = results[1].begin(); at != results[1].end(); at += row)
      out.dv.insert(out.dv.end(), at + row - keys, at + row);
    return out;
  }

 private:
  AttentionLayer layer_;
  AttentionStep step_;
  std::unique_ptr<Executable> executable_;
};

// As broken_attention_identity(), of the step on this backend.
inline std::string broken_identity(const Backend& backend, const AttentionLayer& layer, Element element) {
  CompiledAttentionStep compiled(backend, layer);
  return broken_attention_identity(layer.shape, element, layer.dropout,
                                   [&](const AttentionInputs& in, std::int32_t step) { return compiled.run_on(in, step); });
}

}  // namespace epochbench::test
