// A backend that has every composite, in every precision, and runs nothing: for tests of the passes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "epochbench/backend.h"

namespace epochbench::test {

class EveryComposite final : public Backend {
 public:
  explicit EveryComposite(std::function<bool(const Node&)> lacks = [](const Node&) { return false; })
      : lacks_(std::move(lacks)) {}
  DeviceInfo device() const override { return {}; }
  std::optional<std::string> unsupported(const Graph&, const Node& node) const override {
    return lacks_(node) ? std::optional<std::string>("fake") : std::nullopt;
  }
  std::size_t workspace_bytes(const Graph&, const Node&) const override { return 0; }
  std::unique_ptr<Executable> compile(const Program&) const override { throw std::logic_error("runs nothing"); }

 private:
  std::function<bool(const Node&)> lacks_;
};

}  // namespace epochbench::test
