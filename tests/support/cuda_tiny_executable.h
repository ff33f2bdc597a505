// A program so small that the host knows every loss, and its CUDA executable on a fake device.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/backend/cuda/cuda_executable.h"
#include "src/graph/passes.h"
#include "tests/support/cuda_fake_device.h"

namespace epochbench::test {

inline constexpr std::uint64_t kSeeds = 12;
inline constexpr int kCopyStream = 1;  // an executable creates it second
inline constexpr float kRate = 0.5f;
inline constexpr float kTable[] = {0, 10, 200, 3000};

// train: loss = x + table[id] + w, then w <- w - rate x and a count; evaluate: the same loss, and w as `correct`.
inline Graph tiny_graph(Entry entry) {
  Graph graph;
  const ValueId x = graph.add_input("x", {{1}, DType::f32}), id = graph.add_input("id", {{1}, DType::i32});
  auto variable = [&](const char* name, TensorDesc desc, VariableRole role) {
    return graph.add_variable({name, desc, role, {}});
  };
  const ValueId table = variable("table", {{4, 1}, DType::f32}, VariableRole::parameter);
  const ValueId w = variable("w", {{1}, DType::f32}, VariableRole::parameter);
  const ValueId row = graph.add_node(Op::embedding, {}, {table, id}, "row")[0];
  const ValueId flat = graph.add_node(Op::reshape, ReshapeAttributes{{1}}, {row}, "flat")[0];
  const ValueId sum = graph.add_node(Op::add, {}, {x, flat}, "sum")[0];
  graph.add_output("loss", graph.add_node(Op::add, {}, {sum, w}, "loss")[0]);
  if (entry == Entry::train) {
    const ValueId rate = variable("learning_rate", {{1}, DType::f32}, VariableRole::control);
    const ValueId velocity = variable("velocity", {{1}, DType::f32}, VariableRole::optimizer);
    graph.add_node(Op::sgd, SgdAttributes{}, {rate, w, x, velocity}, "update");
    graph.add_node(Op::increment, {}, {variable("step", {{1}, DType::i32}, VariableRole::control)}, "count");
  } else {
    graph.add_output("correct", w);
  }
  return graph;
}

inline Program tiny_program() {
  Program program;
  for (Entry entry : {Entry::train, Entry::evaluate}) {
    Graph graph = tiny_graph(entry);
    for (const Variable& variable : graph.variables)
      if (std::none_of(program.variables.begin(), program.variables.end(),
                       [&](const Variable& known) { return known.name == variable.name; }))
        program.variables.push_back(variable);
    MemoryPlan plan = plan_memory(graph, [](const Graph&, const Node&) { return std::size_t{64}; });
    program.entries[static_cast<std::size_t>(entry)] = EntryGraph{std::move(graph), std::move(plan)};
  }
  return program;
}

// What the ops of the tiny program do, enqueued on the device. Compiling leaves NaN in their outputs and workspace.
using CompileTinyNode = std::function<CudaNode(const Node&, const CudaNodeContext&)>;
inline CudaCompiler each_node(CompileTinyNode compile) {
  return [compile = std::move(compile)](const std::vector<CudaNodePlace>& places) {
    std::vector<CudaNode> nodes;
    for (const CudaNodePlace& at : places) nodes.push_back(compile(at.node, at.context));
    return nodes;
  };
}
inline CompileTinyNode tiny_node_compiler(FakeDevice& device) {
  return [&device](const Node& node, const CudaNodeContext& context) -> CudaNode {
    const ValueMemory& v = context.values;
    const std::vector<ValueId> in = node.inputs, out = node.outputs;
    std::function<void(cuda::Stream)> enqueue;
    switch (node.op) {
      case Op::embedding:
        enqueue = [=, &v, &device](cuda::Stream stream) {
          device.enqueue(stream, [y = v.get<float>(out[0]), table = v.get<float>(in[0]), id = v.get<std::int32_t>(in[1])] {
            *y = table[*id];
          });
        };
        break;
      case Op::reshape:
        return {{}, "view"};
      case Op::add:
        enqueue = [=, &v, &device](cuda::Stream stream) {
          device.enqueue(stream,
                         [y = v.get<float>(out[0]), a = v.get<float>(in[0]), b = v.get<float>(in[1])] { *y = *a + *b; });
        };
        break;
      case Op::sgd: {
        // Through a table, as the multi-tensor kernels do.
        const std::vector<float*> weights{v.get<float>(in[1])};
        enqueue = [=, &v, &device, table = context.tables.upload(weights)](cuda::Stream stream) {
          device.enqueue(stream, [=, rate = v.get<float>(in[0]), g = v.get<float>(in[2])] { *table[0] -= *rate * *g; });
        };
        break;
      }
      case Op::increment:
        enqueue = [=, &v, &device](cuda::Stream stream) {
          device.enqueue(stream, [counter = v.get<std::int32_t>(out[0])] { ++*counter; });
        };
        break;
      default:
        throw cuda::Error("not in the tiny program");
    }
    for (ValueId id : out)
      if (void* const memory = v.get(id))
        device.enqueue(context.stream, [memory] { std::memset(memory, 0xff, sizeof(float)); });
    device.enqueue(context.stream, [workspace = context.workspace] { std::memset(workspace, 0xff, 64); });
    return {enqueue, "fake"};
  };
}
inline CudaCompiler tiny_compiler(FakeDevice& device) { return each_node(tiny_node_compiler(device)); }

struct Tiny {
  explicit Tiny(std::uint64_t seed = 0, bool captures = true)
      : device(std::make_shared<FakeDevice>(seed)),
        executable(std::make_unique<CudaExecutable>(device, tiny_program(), tiny_compiler(*device), captures)) {
    executable->write("table", kTable);
    executable->write("learning_rate", std::vector<float>{kRate});
  }

  void stage(InputSlot slot, float x, std::int32_t id) {
    std::memcpy(executable->stage(slot, 0).data(), &x, sizeof x);
    std::memcpy(executable->stage(slot, 1).data(), &id, sizeof id);
  }
  std::vector<double> losses() {
    std::vector<StepRecord> records;
    executable->drain(records);
    std::vector<double> values;
    for (const StepRecord& record : records) values.push_back(record.loss);
    return values;
  }

  std::shared_ptr<FakeDevice> device;
  std::unique_ptr<CudaExecutable> executable;
};

// The tiny program on the host.
struct Expected {
  float w = 0;
  std::vector<double> losses;

  void step(float x, std::int32_t id, bool train = true) {
    losses.push_back(x + kTable[id] + w);
    if (train) w -= kRate * x;
  }
};

// Runs steps with up to `running` of them unfinished, each on a new batch, as from a loader.
inline void train(Tiny& tiny, Expected& expected, int steps, int running) {
  for (int i = 0; i < steps; ++i) {
    const InputSlot slot = i % kInputSlots;
    const auto x = static_cast<float>(1 << (i % 10));
    tiny.stage(slot, x, i % 4);
    tiny.executable->submit(slot);
    tiny.executable->run(Entry::train);
    expected.step(x, i % 4);
    tiny.executable->await(running);
  }
  tiny.executable->synchronize();
}

}  // namespace epochbench::test
