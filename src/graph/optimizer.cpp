// The optimizer pass.
#include <cstdio>

#include "src/graph/passes.h"

namespace epochbench {

std::string OptimizerSpec::to_string() const {
  char text[200];
  if (kind == Kind::sgd)
    std::snprintf(text, sizeof text, "sgd lr=%g momentum=%g weight_decay=%g", learning_rate, momentum, weight_decay);
  else
    std::snprintf(text, sizeof text, "adamw lr=%g beta1=%g beta2=%g epsilon=%g weight_decay=%g", learning_rate, beta1, beta2,
                  epsilon, weight_decay);
  std::string all = text;
  if (clip_norm > 0) {
    std::snprintf(text, sizeof text, " clip_norm=%g", clip_norm);
    all += text;
  }
  if (ema > 0) {
    std::snprintf(text, sizeof text, " ema=%g", ema);
    all += text;
  }
  return all;
}

std::string averaged_name(const std::string& parameter) { return parameter + ".ema"; }

Graph reading_averages(const Graph& graph) {
  return with_variables(graph, [](Variable& variable) {
    if (variable.role == VariableRole::parameter) variable.name = averaged_name(variable.name);
  });
}

// Values are added in order, so they keep their ids and nodes stay as they are.
Graph with_variables(const Graph& graph, const std::function<void(Variable&)>& change) {
  Graph changed;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    const Value& value = graph.value(id);
    if (value.kind == ValueKind::input) {
      changed.add_input(value.name, value.desc);
    } else if (value.kind == ValueKind::variable) {
      Variable variable = graph.variables[static_cast<std::size_t>(value.index)];
      change(variable);
      changed.add_variable(std::move(variable));
    } else {
      changed.add_value(value.name, value.desc);
    }
  }
  changed.nodes = graph.nodes;
  changed.outputs = graph.outputs;
  changed.unread = graph.unread;
  return changed;
}

namespace {

struct Parameter {
  ValueId value, gradient;
  std::string name;
  TensorDesc desc;
};

std::vector<Parameter> parameters_of(const Graph& graph, const std::vector<ValueId>& gradients) {
  std::vector<Parameter> found;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.value_count()); ++id) {
    const Value& value = graph.value(id);
    if (value.kind != ValueKind::variable) continue;
    const ValueId gradient = gradients.at(static_cast<std::size_t>(value.index));
    if (gradient != kNoValue) found.push_back({id, gradient, value.name, value.desc});
  }
  return found;
}

ValueId add_state(Graph& graph, const Parameter& parameter, const char* what) {
  return graph.add_variable({parameter.name + "." + what, parameter.desc, VariableRole::optimizer, {}});
}

ValueId add_counter(Graph& graph, const char* name) {
  return graph.add_variable({name, {{1}, DType::i32}, VariableRole::control, {}});
}

// An average moves toward its parameter as gradient descent on half their squared distance does, so it is a step of SGD: with
// `parameter` as the gradient and a decay of -1 it descends along parameter - average, hence the negative rate.
void append_averages(Graph& graph, double ema, const std::vector<Parameter>& parameters) {
  std::vector<ValueId> inputs{
      graph.add_variable({"ema_rate", {{1}, DType::f32}, VariableRole::control, {Initializer::Kind::constant, ema - 1}})};
  for (const Parameter& p : parameters) {
    const ValueId average = graph.add_variable({averaged_name(p.name), p.desc, VariableRole::optimizer, {}});
    inputs.insert(inputs.end(), {average, p.value, add_state(graph, p, "ema_velocity")});
  }
  graph.add_node(Op::sgd, SgdAttributes{.momentum = 0, .weight_decay = -1}, inputs, "ema");
}

constexpr double kFirstLossScale = 65536;  // as PyTorch's GradScaler; a scale that is too large costs only a few skipped steps

}  // namespace

ValueId add_loss_scale(Graph& graph) {
  return graph.add_variable(
      {"loss_scale", {{1}, DType::f32}, VariableRole::control, {Initializer::Kind::constant, kFirstLossScale}});
}

void append_optimizer(Graph& graph, const OptimizerSpec& optimizer, const std::vector<ValueId>& gradients, ValueId loss_scale) {
  const std::vector<Parameter> parameters = parameters_of(graph, gradients);
  const bool scaled = loss_scale != kNoValue;
  const ValueId learning_rate = graph.add_variable(
      {"learning_rate", {{1}, DType::f32}, VariableRole::control, {Initializer::Kind::constant, optimizer.learning_rate}});
  const ValueId step = add_counter(graph, "step");
  std::vector<ValueId> all;
  for (const Parameter& p : parameters) all.push_back(p.gradient);
  ValueId finite = kNoValue, finite_steps = kNoValue, skipped_steps = kNoValue;
  if (scaled) {
    finite = graph.add_node(Op::all_finite, {}, all, "finite")[0];
    finite_steps = add_counter(graph, "finite_steps");
    skipped_steps = add_counter(graph, "skipped_steps");
  }
  const bool clipped = optimizer.clip_norm > 0;
  ValueId clip = kNoValue;
  if (clipped) {
    if (scaled) all.insert(all.begin(), loss_scale);
    clip = graph.add_node(Op::clip_factor, ClipFactorAttributes{optimizer.clip_norm, scaled}, all, "clip")[0];
  }
  if (optimizer.kind == OptimizerSpec::Kind::sgd) {
    std::vector<ValueId> inputs{learning_rate};
    if (scaled) inputs.insert(inputs.end(), {loss_scale, finite});
    if (clipped) inputs.push_back(clip);
    for (const Parameter& p : parameters) inputs.insert(inputs.end(), {p.value, p.gradient, add_state(graph, p, "velocity")});
    graph.add_node(Op::sgd, SgdAttributes{optimizer.momentum, optimizer.weight_decay, scaled, clipped}, inputs, "optimizer");
  } else {
    std::vector<ValueId> inputs{learning_rate, step};
    if (scaled) inputs.insert(inputs.end(), {loss_scale, finite, skipped_steps});
    if (clipped) inputs.push_back(clip);
    AdamwAttributes attributes{optimizer.beta1, optimizer.beta2, optimizer.epsilon, {}, scaled, clipped};
    for (const Parameter& p : parameters) {
      inputs.insert(inputs.end(), {p.value, p.gradient, add_state(graph, p, "moment1"), add_state(graph, p, "moment2")});
      const bool decays = optimizer.decay_one_dimensional || p.desc.shape.size() >= 2;
      attributes.weight_decay.push_back(decays ? optimizer.weight_decay : 0);
    }
    graph.add_node(Op::adamw, attributes, inputs, "optimizer");
  }
  if (optimizer.ema > 0) append_averages(graph, optimizer.ema, parameters);
  if (scaled)
    graph.add_node(Op::update_loss_scale, LossScaleAttributes{}, {finite, loss_scale, finite_steps, skipped_steps},
                   "loss_scale");
  graph.add_node(Op::increment, {}, {step}, "step");
}

}  // namespace epochbench
