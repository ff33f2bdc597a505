#include "tests/support/cuda_emulated/machine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace epochbench::test {
namespace {

std::string mark_of_loss(const std::string& file, int index) { return file + ".lost." + std::to_string(index); }

EmulatedCard card_of(const nlohmann::json& described, int index) {
  EmulatedCard card;
  card.index = index;
  card.name = "emulated " + described.at("name").get<std::string>();
  card.uuid = described.value("uuid", std::string(31, '0') + std::to_string(index % 10));
  card.capability = described.value("capability", card.capability);
  card.memory_bytes = described.value("memory_bytes", card.memory_bytes);
  card.held_bytes = described.value("held_bytes", card.held_bytes);
  card.instances = described.value("instances", card.instances);
  if (described.contains("lost_at_launch")) card.lost_at_launch = described["lost_at_launch"].get<std::int64_t>();
  card.error = static_cast<cudaError_t>(described.value("error", static_cast<int>(card.error)));
  return card;
}

// The instance with this uuid as processes see it; its memory is an equal part of the card's.
EmulatedCard instance_of(const EmulatedCard& card, const std::string& uuid) {
  EmulatedCard instance = card;
  instance.name += " MIG";
  instance.uuid = uuid;
  instance.memory_bytes /= static_cast<std::int64_t>(card.instances.size());
  return instance;
}

std::string without_dashes(std::string text) {
  std::erase(text, '-');
  return text;
}

// What one part of CUDA_VISIBLE_DEVICES selects: an index, "GPU-" and the beginning of a uuid, or "MIG-" and a uuid.
std::optional<EmulatedCard> selected(const std::vector<EmulatedCard>& cards, const std::string& word) {
  const std::string uuid = without_dashes(word.size() > 4 ? word.substr(4) : "");
  for (const EmulatedCard& card : cards) {
    if (word.starts_with("MIG-") && std::ranges::find(card.instances, uuid) != card.instances.end())
      return instance_of(card, uuid);
    if (word.starts_with("GPU-") && !uuid.empty() && card.uuid.starts_with(uuid)) return card;
  }
  char* end = nullptr;
  const long index = std::strtol(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || index < 0 || static_cast<std::size_t>(index) >= cards.size()) return std::nullopt;
  return cards[static_cast<std::size_t>(index)];
}

// As the CUDA programming guide says: everything up to the first that selects nothing, and of instances only the first.
std::vector<EmulatedCard> visible_cards(const std::vector<EmulatedCard>& cards) {
  const char* variable = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<EmulatedCard> visible;
  if (!variable) {
    for (const EmulatedCard& card : cards) {
      if (card.instances.empty())
        visible.push_back(card);
      else if (visible.empty())
        return {instance_of(card, card.instances.front())};
    }
    return visible;
  }
  std::istringstream list(variable);
  for (std::string word; std::getline(list, word, ',');) {
    const auto card = selected(cards, word);
    if (!card) break;
    if (!card->instances.empty()) return {word.starts_with("MIG-") ? *card : instance_of(*card, card->instances.front())};
    visible.push_back(*card);
  }
  return visible;
}

EmulatedMachine read_machine() {
  EmulatedMachine machine;
  const char* file = std::getenv("EPOCHBENCH_EMULATED_GPUS");
  if (!file) return machine;
  machine.file = file;
  std::ifstream stream(machine.file);
  const auto described = nlohmann::json::parse(stream);
  machine.driver = described.value("driver", CUDART_VERSION);
  if (described.contains("no_nccl")) machine.no_nccl = described["no_nccl"].get<std::string>();
  std::vector<EmulatedCard> cards;
  for (const auto& card : described.at("cards")) cards.push_back(card_of(card, static_cast<int>(cards.size())));
  machine.visible = visible_cards(cards);
  std::erase_if(machine.visible,
                [&](const EmulatedCard& card) { return std::filesystem::exists(mark_of_loss(machine.file, card.index)); });
  return machine;
}

}  // namespace

void EmulatedMachine::lose(EmulatedCard& card) const {
  card.lost = true;
  std::ofstream(mark_of_loss(file, card.index)) << "lost\n";
}

EmulatedMachine& emulated_machine() {
  static EmulatedMachine machine = [] {
    try {
      return read_machine();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "EPOCHBENCH_EMULATED_GPUS: %s\n", error.what());
      std::abort();
    }
  }();
  return machine;
}

}  // namespace epochbench::test
