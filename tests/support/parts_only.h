// A backend that compiles programs without some nodes: unless it is given others, without composites, so that values are
// rounded where the reference rounds them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "epochbench/backend.h"

namespace epochbench::test {

class PartsOnly final : public Backend {
 public:
  explicit PartsOnly(
      std::unique_ptr<Backend> backend,
      std::function<bool(const Node&)> lacks = [](const Node& node) { return is_composite(node.op); })
      : backend_(std::move(backend)), lacks_(std::move(lacks)) {}
  DeviceInfo device() const override { return backend_->device(); }
  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const override {
    return lacks_(node) ? "parts only" : backend_->unsupported(graph, node);
  }
  std::size_t workspace_bytes(const Graph& graph, const Node& node) const override {
    return backend_->workspace_bytes(graph, node);
  }
  std::size_t value_bytes(const Graph& graph, ValueId value) const override { return backend_->value_bytes(graph, value); }
  std::unique_ptr<Executable> compile(const Program& program) const override { return backend_->compile(program); }

 private:
  std::unique_ptr<Backend> backend_;
  std::function<bool(const Node&)> lacks_;
};

}  // namespace epochbench::test
