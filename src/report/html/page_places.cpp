// The page's machines and files. GPU identifiers stay in the result: a page is sent to others.
#include <algorithm>
#include <utility>

#include "src/report/html/page_parts.h"
#include "src/result/result_json.h"

namespace epochbench {
namespace {

bool same_gpus(const std::vector<GpuInfo>& a, const std::vector<GpuInfo>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const GpuInfo& x, const GpuInfo& y) { return x.name == y.name && x.uuid == y.uuid; });
}

// Without a host name nothing tells two machines of one kind apart, so then each file has its own.
bool same_machine(const Context& a, const Context& b) {
  return a.host_name && a.host_name == b.host_name && a.cpu.model == b.cpu.model && a.cpu.cores == b.cpu.cores &&
         same_gpus(a.gpus, b.gpus);
}

Json machine_json(const Context& context, const std::string& path) {
  Json gpus = Json::array();
  for (const GpuInfo& gpu : context.gpus) {
    gpus.push_back(json_of(gpu));
    gpus.back().erase("uuid");
    gpus.back().erase("pci_bus_id");
  }
  return {{"host", context.host_name ? Json(*context.host_name) : Json(nullptr)},
          {"cpu", json_of(context.cpu)},
          {"gpus", gpus},
          {"measured_in", path}};
}

std::string command_text(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : " ") + argument;
  return text;
}

Json file_json(const NamedResult& named, std::size_t machine) {
  const Context& context = named.result.context;
  const auto ok = std::count_if(named.result.runs.begin(), named.result.runs.end(),
                                [](const Run& run) { return run.status == RunStatus::ok; });
  return {{"file", named.path},
          {"machine", machine},
          {"date", context.date},
          {"version", context.epochbench_version},
          {"git_sha", context.git_sha ? Json(*context.git_sha) : Json(nullptr)},
          {"git_dirty", context.git_dirty ? Json(*context.git_dirty) : Json(nullptr)},
          {"build_type", context.build_type},
          {"compiler", context.compiler},
          {"command", context.command_line ? Json(command_text(*context.command_line)) : Json(nullptr)},
          {"runs", named.result.runs.size()},
          {"ok", ok}};
}

class Machines {
 public:
  std::size_t number_of(const Context& context, const std::string& path) {
    const auto known =
        std::find_if(known_.begin(), known_.end(), [&](const Context* other) { return same_machine(*other, context); });
    const auto number = static_cast<std::size_t>(known - known_.begin());
    if (known == known_.end()) {
      known_.push_back(&context);
      json_.push_back(machine_json(context, path));
    }
    return number;
  }
  Json take() { return std::move(json_); }

 private:
  std::vector<const Context*> known_;
  Json json_ = Json::array();
};

}  // namespace

void add_places(Json& data, const std::vector<NamedResult>& results, const std::vector<NamedTurns>& turns) {
  Machines machines;
  data["files"] = Json::array();
  data["turns"] = Json::array();
  for (const NamedResult& named : results)
    data["files"].push_back(file_json(named, machines.number_of(named.result.context, named.path)));
  for (const auto& [path, document] : turns)
    data["turns"].push_back(
        {{"file", path}, {"date", document.context.date}, {"machine", machines.number_of(document.context, path)}});
  data["machines"] = machines.take();
}

}  // namespace epochbench
