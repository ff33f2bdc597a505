// A backend that compiles programs without composites, which round where the reference does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "epochbench/backend.h"

namespace epochbench::test {

class PartsOnly final : public Backend {
 public:
  explicit PartsOnly(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  DeviceInfo device() const override { return backend_->device(); }
  std::optional<std::string> unsupported(const Graph& graph, const Node& node) const override {
    return is_composite(node.op) ? "parts only" : backend_->unsupported(graph, node);
  }
  std::size_t workspace_bytes(const Graph& graph, const Node& node) const override {
    return backend_->workspace_bytes(graph, node);
  }
  std::size_t value_bytes(const Graph& graph, ValueId value) const override { return backend_->value_bytes(graph, value); }
  std::unique_ptr<Executable> compile(const Program& program) const override { return backend_->compile(program); }

 private:
  std::unique_ptr<Backend> backend_;
};

}  // namespace epochbench::test
