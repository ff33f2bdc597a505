#include "src/session/peers.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "src/base/errors.h"
#include "src/base/json.h"
#include "src/base/process.h"
#include "src/case/run_name.h"
#include "src/case/settings.h"
#include "src/session/outside_program.h"

namespace epochbench {
namespace {

constexpr double kFindSeconds = 1000;  // several imports of PyTorch from a cold disk
constexpr const char* kInstall =
    "install it with `python3 -m pip install torch torchvision`, or name a Python that has it in EPOCHBENCH_PYTHON";

// What the scripts find, by the first Python that can run them.
Json found_by_scripts(const std::string& folder) {
  const char* chosen = std::getenv("EPOCHBENCH_PYTHON");
  const auto python = find_program({"python3", "python", chosen && *chosen ? chosen : "python3"});
  if (!python) throw CallError(std::string("--with pytorch: there is no python3 on PATH; ") + kInstall);
  const ProgramEnd end = run_program({*python, folder + "/environment.py", "--find"}, kFindSeconds);
  if (!end.reason.empty()) throw CallError("--with pytorch: " + *python + " " + end.reason + "; " + kInstall);
  try {
    return Json::parse(end.output);
  } catch (const Json::exception&) {
    throw CallError("--with pytorch: " + *python + " gave no answer; " + kInstall);
  }
}

}  // namespace

std::string peers_folder() {
  std::error_code unknown;
  std::filesystem::path program = std::filesystem::canonical(own_program(), unknown);
  if (unknown) program = own_program();
  const std::filesystem::path folder = program.parent_path().parent_path();
  for (const char* place : {"share/epochbench/peers", "scripts/peers"})
    if (std::filesystem::exists(folder / place / "pytorch_case")) return (folder / place).string();
  throw CallError("--with pytorch: its scripts are neither in " + (folder / "share/epochbench/peers").string() + " nor in " +
                  (folder / "scripts/peers").string() + "; install the program with its folder share/");
}

PeerPython find_pytorch() {
  const std::string folder = peers_folder();
  const Json found = found_by_scripts(folder);
  if (found.contains("python"))
    return {found.at("python"), found.at("torch"), found.at("cuda"), {found.at("python"), folder + "/pytorch_case"}};
  std::string tried;
  for (const Json& attempt : found.at("attempts"))
    tried +=
        (tried.empty() ? "" : ", ") + attempt.at("python").get<std::string>() + ": " + attempt.at("reason").get<std::string>();
  throw CallError("--with pytorch: no Python here has PyTorch (" + tried + "); " + kInstall);
}

std::vector<std::string> take_compile_modes(CaseBlock& block) {
  const auto given = block.find("compile");
  if (given == block.end()) return {"eager", "default"};
  std::vector<std::string> modes = given->second.values;
  block.erase(given);
  return modes;
}

std::vector<CaseSpec> peers_for(const CaseSpec& ours, const std::vector<std::string>& modes) {
  std::vector<CaseSpec> peers;
  for (const std::string& mode : modes) {
    CaseSpec& peer = peers.emplace_back(ours);
    peer.framework = Framework::pytorch;
    peer.threads = ours.threads.value_or(default_process_threads(ours));
    located("--compile", [&] { find_case_option("compile")->parse(peer, mode); });
  }
  return peers;
}

bool has_peer(const CaseSpec& ours) {
  const Settings settings = settings_of(ours, default_case(ours.model.family, 1));
  constexpr const char* kShared[] = {
      "model", "model_options", "device",   "precision",     "batch",        "threads",         "pin",
      "data",  "warmup",        "seed",     "learning_rate", "weight_decay", "label_smoothing", "dropout",
      "steps", "epochs",        "min_time", "epoch_samples", "meters"};
  const bool shared = std::ranges::all_of(settings, [&](const auto& setting) {
    return std::ranges::any_of(kShared, [&](const char* key) { return setting.first == key; });
  });
  return shared && ours.device.kind != DeviceKind::reference && ours.precision != Precision::int8 &&
         ours.data.value_or(ours.model.family->default_data) == "synthetic";
}

std::vector<CaseSpec> with_peers(const std::vector<CaseSpec>& ours, const std::vector<std::string>& modes) {
  std::vector<CaseSpec> all;
  for (const CaseSpec& spec : ours) {
    all.push_back(spec);
    if (!has_peer(spec)) continue;
    for (CaseSpec& peer : peers_for(spec, modes)) all.push_back(std::move(peer));
  }
  if (all.size() == ours.size())
    throw CallError(
        "--with pytorch: PyTorch takes training steps on synthetic data, in one process and with all parts, and no case of "
        "this call does; leave out --with, or what asks for more");
  return all;
}

void add_peer_obstacles(std::vector<PlannedCase>& cases, const PeerPython& peer) {
  for (PlannedCase& planned : cases)
    if (planned.spec.framework == Framework::pytorch && planned.spec.device.kind == DeviceKind::cuda && !peer.cuda)
      planned.obstacle = Obstacle{"--with pytorch: PyTorch " + peer.version + " of " + peer.python +
                                      " can use no GPU here; name another Python in EPOCHBENCH_PYTHON",
                                  kExitDeviceMissing};
}

}  // namespace epochbench
