// Finds the catalog entry that a call names.
#include <algorithm>
#include <cctype>
#include <set>

#include "src/analysis/predict/device_catalog.h"
#include "src/base/errors.h"
#include "src/base/lookup.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

using Tokens = std::vector<std::string>;

// Lowercase runs of letters and digits: "NVIDIA A100 80 GB" -> nvidia, a100, 80gb.
Tokens tokens_of(std::string_view text) {
  Tokens tokens;
  bool inside = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte)) {
      inside = false;
      continue;
    }
    if (!inside) tokens.emplace_back();
    inside = true;
    tokens.back() += static_cast<char>(std::tolower(byte));
  }
  for (std::size_t i = 1; i < tokens.size(); ++i)
    if (tokens[i] == "gb" && tokens[i - 1].find_first_not_of("0123456789") == std::string::npos) {
      tokens[i - 1] += "gb";
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i));
    }
  return tokens;
}

// Names of makers and product lines, which a call may leave out.
Tokens without_makers(Tokens tokens) {
  static const std::set<std::string> kMakers{"nvidia", "geforce", "tesla", "aws", "gcp", "azure"};
  if (tokens.size() > 1) std::erase_if(tokens, [](const std::string& token) { return kMakers.contains(token); });
  return tokens;
}

struct NamedTarget {
  PredictionTarget target;
  std::string shown;               // in messages: an unambiguous name
  std::vector<std::string> names;  // in full
  std::vector<std::string> parts;  // texts whose tokens find it
};

std::vector<NamedTarget> named_targets(const DeviceCatalog& catalog) {
  std::vector<NamedTarget> all;
  for (const CatalogDevice& device : catalog.devices) {
    if (device.is_gpu) {
      NamedTarget gpu{{&device, nullptr, nullptr}, device.id, {device.id, device.name}, {device.id + " " + device.name}};
      gpu.names.insert(gpu.names.end(), device.also.begin(), device.also.end());
      all.push_back(std::move(gpu));
    }
    for (const CpuInstance& instance : device.instances)
      all.push_back({{&device, &instance, nullptr}, instance.name, {instance.name}, {instance.name + " " + device.name}});
  }
  return all;
}

bool has_tokens(const NamedTarget& each, const Tokens& given) {
  return std::ranges::any_of(each.parts, [&](const std::string& part) {
    const Tokens tokens = tokens_of(part);
    return std::ranges::all_of(given, [&](const std::string& token) { return std::ranges::count(tokens, token) > 0; });
  });
}

// An instance of the price list, by its name or as "aws/g5.xlarge"; a row that is named as its GPU is that of one provider.
PredictionTarget priced_target(const DeviceCatalog& catalog, std::span<const CatalogPrice> prices, const std::string& text) {
  const CatalogPrice* price = find_price(prices, text);
  const auto is_id = [&](const std::string& name) {
    return std::ranges::find(catalog.devices, name, &CatalogDevice::id) != catalog.devices.end();
  };
  if (!price || price->gpu_count == 0 || is_id(text)) return {};
  const CatalogDevice* device = device_of_price(catalog, *price);
  if (!device)
    throw CallError("'" + text + "' has a " + price->gpu_model +
                    ", which is not in the catalog (epochbench list devices --catalog)");
  return {device, nullptr, price};
}

// The one of several GPUs that most instances of the price list have; none if none leads.
PredictionTarget usual_variant(const DeviceCatalog& catalog, std::span<const CatalogPrice> prices, const std::string& text,
                               const std::vector<const NamedTarget*>& found) {
  std::vector<std::pair<std::ptrdiff_t, const NamedTarget*>> by_instances;
  for (const NamedTarget* one : found) {
    if (!one->target.device->is_gpu) return {};
    const auto has_it = [&](const CatalogPrice& price) { return device_of_price(catalog, price) == one->target.device; };
    by_instances.emplace_back(std::ranges::count_if(prices, has_it), one);
  }
  std::ranges::stable_sort(by_instances, std::greater(), [](const auto& each) { return each.first; });
  if (by_instances.size() < 2 || by_instances[0].first == by_instances[1].first) return {};
  PredictionTarget target = by_instances[0].second->target;
  target.choice = "'" + text + "' is taken as " + by_instances[0].second->shown +
                  ", which most instances of the price list have; others: " +
                  joined(std::span(by_instances).subspan(1), [](const auto& other) { return other.second->shown; });
  return target;
}

}  // namespace

std::string PredictionTarget::name() const { return instance ? instance->name : price ? price->instance : device->name; }

const CatalogDevice* device_of_price(const DeviceCatalog& catalog, const CatalogPrice& price) {
  for (const CatalogDevice& device : catalog.devices)
    if (device.is_gpu && (device.name == price.gpu_model || std::ranges::count(device.also, price.gpu_model) > 0))
      return &device;
  return nullptr;
}

PredictionTarget find_target(const DeviceCatalog& catalog, std::span<const CatalogPrice> prices, const std::string& text) {
  if (PredictionTarget priced = priced_target(catalog, prices, text); priced.device) return priced;
  const Tokens given = without_makers(tokens_of(text));
  if (given.empty()) throw CallError("'" + text + "' names no device; see `epochbench list devices --catalog`");
  const std::vector<NamedTarget> all = named_targets(catalog);
  std::vector<const NamedTarget*> found;
  std::vector<std::string> names, kinds;  // kinds: "v100", which "V1000" is near
  for (const NamedTarget& each : all) {
    for (const std::string& name : each.names) {
      names.push_back(name);
      if (joined(without_makers(tokens_of(name)), "") == joined(given, "")) return each.target;  // "rtx3060", too
    }
    if (has_tokens(each, given)) found.push_back(&each);
    const std::string kind = each.shown.substr(0, each.shown.find_first_of("-."));
    if (!contains(kinds, kind)) kinds.push_back(kind);
  }
  if (found.size() == 1) return found.front()->target;
  if (PredictionTarget usual = usual_variant(catalog, prices, text, found); usual.device) return usual;
  if (!found.empty())
    throw CallError("'" + text + "' may be any of " + joined(found, [](const NamedTarget* one) { return one->shown; }) +
                    "; name one of them");
  std::vector<std::string> sizes;  // of a kind of instance: "g5"
  for (const CatalogPrice& price : prices)
    if (price.gpu_count > 0 && price.instance.starts_with(text + ".")) sizes.push_back(price.instance);
  if (!sizes.empty()) throw CallError("'" + text + "' may be any of " + joined(sizes) + "; name one of them");
  throw CallError("'" + text +
                  "' is not in the catalog (epochbench list devices --catalog; list prices has the instances with GPUs)" +
                  (nearest(text, names).empty() ? did_you_mean(text, kinds) : did_you_mean(text, names)));
}

}  // namespace epochbench
