// The gradient check.
#include "support/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "epochbench/backend.h"
#include "epochbench/philox.h"
#include "src/graph/passes.h"
#include "support/roundoff.h"

namespace epochbench::test {
namespace {

using Values = std::map<std::string, std::vector<float>>;

constexpr std::int64_t kProjections = 3;
constexpr float kLossScale = 256;  // small enough that no gradient of these functions overflows

// This many roundings in one direction may add up in a gradient, relative to the largest gradient of the same parameter and to
// 1e-2 times the largest of all.
constexpr double kRoundings = 8;

std::vector<float> random_values(std::int64_t count, std::uint32_t stream) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(2 * uniform01(philox(7, {static_cast<std::uint32_t>(i), 0, stream, 0})[0]) - 1);
  return values;
}

// Distinct multiples of `spacing` around 0, shuffled, without 0.
std::vector<float> spaced_values(std::int64_t count, double spacing) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto rank = static_cast<double>(i) - static_cast<double>(count / 2);
    values[i] = static_cast<float>((rank >= 0 ? rank + 1 : rank) * spacing);
  }
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[philox(3, {static_cast<std::uint32_t>(i), 0, 0, 0})[0] % i]);
  return values;
}

// One training step with SGD of learning rate 1 and no momentum: the velocity is then the gradient.
class Step {
 public:
  Step(const Shape& x, const GraphUnderTest& build, const Backend& backend, const Values& controls,
       Precision precision = Precision::fp32) {
    Graph forward;
    const ValueId x_value = forward.add_variable({"x", {x, DType::f32}, VariableRole::parameter, {}});
    const ValueId y = build(forward, x_value);
    const std::int64_t n = forward.desc(y).elements();
    const ValueId flat = forward.add_node(Op::reshape, ReshapeAttributes{{1, n}}, {y}, "flat")[0];
    const ValueId projection = forward.add_input("projection", {{n, kProjections}, DType::f32});
    const ValueId labels = forward.add_input("labels", {{1}, DType::i32});
    const ValueId logits = forward.add_node(Op::matmul, MatmulAttributes{}, {flat, projection}, "logits")[0];
    const CrossEntropyAttributes loss{.smoothing = 0.1};  // so that every gradient depends on its own, too
    forward.add_output("loss", forward.add_node(Op::cross_entropy, loss, {logits, labels}, "loss")[0]);
    Graph graph = with_precision(forward, precision);
    const ValueId loss_scale = precision == Precision::fp16 ? add_loss_scale(graph) : kNoValue;
    append_optimizer(graph, {.learning_rate = 1, .momentum = 0}, append_gradient(graph, graph.output("loss"), loss_scale),
                     loss_scale);
    fuse(graph, [&](const Graph& whole, const Node& node) { return !backend.unsupported(whole, node); });
    Program program;
    program.variables = graph.variables;
    auto plan = plan_memory(graph, backend);
    program.entries[0] = EntryGraph{std::move(graph), std::move(plan)};
    executable_ = backend.compile(program);
    executable_->write("learning_rate", std::vector<float>{1});
    if (precision == Precision::fp16) executable_->write("loss_scale", std::vector<float>{kLossScale});
    for (const auto& [name, data] : controls) executable_->write(name, data);
    // Divided by sqrt(n), so that no logit saturates softmax, which would make the loss independent of it.
    const std::vector<float> projections = random_values(n * kProjections, 99);
    std::transform(projections.begin(), projections.end(), reinterpret_cast<float*>(executable_->stage(0, 0).data()),
                   [n](float value) { return value / std::sqrt(static_cast<float>(n)); });
    *reinterpret_cast<std::int32_t*>(executable_->stage(0, 1).data()) = 1;
    for (const Variable& variable : program.variables)
      if (variable.role == VariableRole::parameter) parameters_.push_back(variable);
  }

  const std::vector<Variable>& parameters() const { return parameters_; }

  double loss(const Values& values) {
    for (const auto& [name, data] : values) executable_->write(name, data);
    executable_->write("step", std::vector<float>{0});  // each run increments it
    executable_->submit(0);
    executable_->run(Entry::train);
    std::vector<StepRecord> records;
    executable_->drain(records);
    return records.back().loss;
  }

  Values gradients(const Values& values) {
    loss(values);
    Values gradients;
    for (const Variable& variable : parameters_) {
      auto& gradient = gradients[variable.name];
      gradient.resize(static_cast<std::size_t>(variable.desc.elements()));
      executable_->read(variable.name + ".velocity", gradient);
    }
    return gradients;
  }

 private:
  std::unique_ptr<Executable> executable_;
  std::vector<Variable> parameters_;
};

double largest(const std::vector<float>& values) {
  double most = 0;
  for (float value : values) most = std::max(most, std::fabs(static_cast<double>(value)));
  return most;
}

}  // namespace

void expect_gradient_matches(const Shape& x, const GraphUnderTest& build, const GradientCheck& check) {
  const auto reference_backend = make_reference_backend();
  Step reference(x, build, *reference_backend, check.controls);
  Values values;
  std::uint32_t stream = 0;
  for (const Variable& variable : reference.parameters())
    values[variable.name] = random_values(variable.desc.elements(), ++stream);
  if (check.spacing > 0) values["x"] = spaced_values(element_count(x), check.spacing);

  const Values gradients = reference.gradients(values);
  double scale = 0;
  for (const auto& [name, gradient] : gradients) scale = std::max(scale, largest(gradient));
  ASSERT_GT(scale, 0) << "the function does not depend on its parameters";
  const auto magnitude = [&](const std::string& name, const std::vector<float>& gradient) {
    return std::max(largest(gradient), (name == check.vanishing ? 1 : 1e-2) * scale);
  };
  for (const auto& [name, gradient] : gradients) {
    const double bound = check.tolerance * magnitude(name, gradient);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      Values moved = values;
      moved[name][i] = values[name][i] + static_cast<float>(check.step);
      const double above = reference.loss(moved), high = moved[name][i];
      moved[name][i] = values[name][i] - static_cast<float>(check.step);
      const double below = reference.loss(moved), low = moved[name][i];
      EXPECT_NEAR(gradient[i], (above - below) / (high - low), bound) << name << " element " << i;
    }
  }

  for (Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16}) {
    const Values mixed = Step(x, build, *reference_backend, check.controls, precision).gradients(values);
    bool differs = false;
    for (const auto& [name, gradient] : gradients) {
      const double bound = kRoundings * unit_roundoff(precision) * magnitude(name, gradient);
      for (std::size_t i = 0; i < gradient.size(); ++i)
        EXPECT_NEAR(mixed.at(name)[i], gradient[i], bound) << epochbench::name(precision) << ": " << name << " element " << i;
      differs = differs || mixed.at(name) != gradient;
    }
    EXPECT_TRUE(differs) << epochbench::name(precision) << " rounds nothing";
  }

  for (int threads : {1, 3}) {
    const auto cpu_backend = make_cpu_backend(threads);
    const Values on_cpu = Step(x, build, *cpu_backend, check.controls).gradients(values);
    for (const auto& [name, gradient] : gradients)
      for (std::size_t i = 0; i < gradient.size(); ++i)
        EXPECT_NEAR(on_cpu.at(name)[i], gradient[i], 1e-5 * magnitude(name, gradient))
            << "CPU, " << threads << " threads: " << name << " element " << i;
  }
}

}  // namespace epochbench::test
