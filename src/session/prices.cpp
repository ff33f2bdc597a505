#include "src/session/prices.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "epochbench/embedded.h"
#include "src/analysis/predict/price_file.h"
#include "src/analysis/series.h"
#include "src/base/errors.h"
#include "src/base/files.h"
#include "src/base/numbers.h"
#include "src/figures/figure.h"
#include "src/machine/environment.h"
#include "src/result/price_source.h"

namespace epochbench {
namespace {

constexpr double kMaxUsdPerHour = 1e6;

int gpus_of(DeviceKind device) { return device == DeviceKind::cuda ? 1 : 0; }

// The physical cores of the CPUs that the program may use; 0: not known. A machine with more has at most one of them per CPU.
int usable_cores(const CpuInfo& cpu) { return std::min(cpu.cores.value_or(0), std::max(1, cpu.threads_available)); }

HourlyPrice shared(double usd_per_hour, const CatalogPrice& row, const PriceShare& share, bool measured_machine, Day today) {
  return {usd_per_hour * share.factor, describe(row, share.text, measured_machine, today), share.scaling};
}

bool looks_like_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-eE") == std::string::npos;
}

}  // namespace

Day today() { return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()); }

AskedPrice parse_price(const std::string& text) {
  if (const CatalogPrice* row = find_price(embedded_prices().prices, text)) return {row->usd_per_hour, row};
  if (looks_like_number(text)) return {parse_real(text, {0, kMaxUsdPerHour, false, true}), nullptr};
  std::vector<std::string> instances;
  for (const CatalogPrice& price : embedded_prices().prices) instances.push_back(price.instance);
  instances.erase(std::unique(instances.begin(), instances.end()), instances.end());
  const std::string number = number_meant(text);
  throw CallError("'" + text + "' is neither USD per hour nor an instance of the catalog (epochbench list prices)" +
                  (number.empty() ? did_you_mean(text, instances) : "; did you mean " + number + "?"));
}

const PriceCatalog& embedded_prices() {
  constexpr const char* kPath = "bench/prices.json";
  static const PriceCatalog catalog = [&] {
    PriceCatalog parsed = parse_prices(embedded_file(kPath).value_or(""), kPath);
    std::map<std::string, int> cores;
    for (const CatalogDevice& device : embedded_devices().devices)
      for (const CpuInstance& instance : device.instances) cores[instance.name] = instance.cores;
    for (CatalogPrice& price : parsed.prices)
      if (const auto known = cores.find(price.instance); known != cores.end()) price.cores = known->second;
    return parsed;
  }();
  return catalog;
}

namespace {

std::string text_of_today() {
  const std::chrono::year_month_day day{today()};
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                static_cast<unsigned>(day.day()));
  return text;
}

// Errors: CallError.
CatalogPrice given_price(const std::string& part, std::span<const CatalogPrice> known) {
  const auto equals = part.find('=');
  if (equals == std::string::npos) throw CallError("'" + part + "' must be DEVICE=USD_PER_HOUR, such as rtx-4090=0.40");
  const PredictionTarget target = find_target(embedded_devices(), known, part.substr(0, equals));
  CatalogPrice price;
  if (target.price) price = *target.price;
  price.list = kGivenPrice;
  price.provider = "with --price";
  price.usd_per_hour = parse_real(part.substr(equals + 1), {0, kMaxUsdPerHour, false, true});
  price.region = "anywhere";
  price.as_of = text_of_today();
  if (target.price) return price;
  price.instance = target.instance ? target.instance->name : target.device->id;
  if (target.device->is_gpu) {
    price.gpu_model = target.device->name;
    price.gpu_count = 1;
  } else if (const CatalogPrice* row = find_price(known, price.instance)) {
    price.vcpus = row->vcpus;
    price.cores = row->cores;
  }
  return price;
}

// Whether a price of the call stands in for this one: that of a GPU for every instance with it, that of an instance for itself.
bool is_replaced(const CatalogPrice& price, const CatalogPrice& given) {
  if (given.instance == price.instance) return true;
  const CatalogDevice* device = given.gpu_count == 1 ? device_of_price(embedded_devices(), given) : nullptr;
  return device && device->id == given.instance && device_of_price(embedded_devices(), price) == device;
}

}  // namespace

std::vector<CatalogPrice> price_list(const PriceListOptions& options) {
  std::vector<CatalogPrice> prices = embedded_prices().prices;
  if (!options.file.empty()) {
    std::vector<CatalogPrice> own =
        parse_price_file(read_text_file(options.file), options.file, embedded_devices(), prices, today());
    std::erase_if(prices, [&](const CatalogPrice& row) {
      return std::ranges::any_of(own, [&](const CatalogPrice& each) {
        return each.provider == row.provider && each.instance == row.instance && !each.is_spot;
      });
    });
    prices.insert(prices.begin(), own.begin(), own.end());
  }
  if (options.given.empty()) return prices;
  std::vector<CatalogPrice> given;
  for (const std::string& part : split_list(options.given))
    located("--price", [&] { given.push_back(given_price(part, prices)); });
  std::erase_if(prices, [&](const CatalogPrice& row) {
    return std::ranges::any_of(given, [&](const CatalogPrice& each) { return is_replaced(row, each); });
  });
  prices.insert(prices.begin(), given.begin(), given.end());
  return prices;
}

PricedMachine this_machine() {
  const CpuInfo cpu = cpu_info();
  return {cpu.threads_available, price_of_machine(embedded_prices().prices, system_vendor(), product_name()),
          usable_cores(cpu)};
}

Prices::Prices(const PriceOptions& options, const PricedMachine& machine, Day today)
    : machine_(machine), scaling_(options.scaling), today_(today) {
  if (options.price.empty()) return;
  for (const std::string& part : split_list(options.price)) {
    const auto equals = part.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == part.size())
      throw CallError("--price: '" + part +
                      "' must be DEVICE=USD_PER_HOUR, such as cpu=0.34, or DEVICE=INSTANCE, such as cpu=c7i.4xlarge");
    located("--price", [&] {
      std::string device = part.substr(0, equals);
      const DeviceId one = parse_device(device);
      if (device != name(DeviceKind::cuda)) device = to_string(one);
      const AskedPrice asked = parse_price(part.substr(equals + 1));
      // Refused before anything is measured. Each run says how many GPUs it uses.
      shared_by(asked, one.kind == DeviceKind::cuda && asked.row ? std::max(asked.row->gpu_count, 1) : 0);
      by_device_[device] = asked;
    });
  }
}

HourlyPrice Prices::shared_by(const AskedPrice& asked, int gpus) const {
  if (!asked.row) return {asked.usd_per_hour, kGivenPrice};
  const PriceShare share = share_of(*asked.row, {machine_.vcpus, gpus, machine_.cores}, scaling_);
  return shared(asked.usd_per_hour, *asked.row, share, asked.row == machine_.instance, today_);
}

std::optional<HourlyPrice> Prices::hourly(DeviceId device, int ranks) const {
  // What the machine has beyond the instance is not paid for.
  const auto used_gpus = [&](const CatalogPrice* row) {
    return std::min(gpus_of(device.kind) * ranks, row ? std::max(row->gpu_count, 1) : ranks);
  };
  for (const std::string& key : {to_string(device), std::string(name(device.kind))})
    if (const auto found = by_device_.find(key); found != by_device_.end())
      return shared_by(found->second, used_gpus(found->second.row));
  if (!machine_.instance) return std::nullopt;
  // Nobody asked for this price, so an unused part of the machine is not an error; it is paid for.
  const CatalogPrice& row = *machine_.instance;
  const int gpus = std::min(used_gpus(&row), row.gpu_count);
  const bool meaningless = scaling_ == PriceScaling::per_gpu && gpus == 0;
  const PriceScaling scaling = meaningless ? PriceScaling::whole : scaling_.value_or(PriceScaling::whole);
  return shared(row.usd_per_hour, row, share_of(row, {machine_.vcpus, gpus, machine_.cores}, scaling), true, today_);
}

std::optional<Cost> Prices::cost(DeviceId device, const Timing& timing, int ranks) const {
  const auto price = hourly(device, ranks);
  return price ? std::optional(cost_of(timing, *price)) : std::nullopt;
}

std::vector<std::string> Prices::without_case(std::span<const DeviceId> devices) const {
  std::vector<std::string> unused;
  for (const auto& priced : by_device_)
    if (std::ranges::none_of(
            devices, [&](DeviceId device) { return priced.first == to_string(device) || priced.first == name(device.kind); }))
      unused.push_back(priced.first);
  return unused;
}

namespace {

DeviceKind kind_of(const Run& run) { return runs_on_gpu(run) ? DeviceKind::cuda : DeviceKind::cpu; }

// A GPU other than the first is named by its setting, which a file may hold in any form.
DeviceId device_of(const Run& run) {
  constexpr int kManyGpus = 64;
  const auto* text = setting_as<std::string>(run.settings, "device");
  for (int index = 1; text && index < kManyGpus; ++index)
    if (*text == to_string(cuda_device(index))) return cuda_device(index);
  return {kind_of(run), 0};
}

UsedMachine used_machine(const Result& result, int gpus) {
  return {std::max(1, result.context.cpu.threads_available), gpus, usable_cores(result.context.cpu)};
}

// The new price of a run that has one; empty: unchanged.
std::optional<HourlyPrice> shared_again(const Cost& cost, const UsedMachine& used, std::optional<PriceScaling> scaling,
                                        Day day) {
  const CatalogPrice* row = cost.price_source ? described_price(embedded_prices().prices, *cost.price_source) : nullptr;
  if (!row || !in_usd(cost) || (cost.price_scaling && !scaling)) return std::nullopt;
  const double times = whole_over_share(*cost.price_source).value_or(1);
  const PriceShare share = share_of(*row, used, scaling);
  if (!share.scaling) return std::nullopt;
  const double whole = cost.usd_per_hour ? *cost.usd_per_hour * times : row->usd_per_hour;
  return shared(whole, *row, share, !is_of_other_machine(*cost.price_source), day);
}

Day day_of(const Result& result) { return parse_day(result.context.date.substr(0, 10)).value_or(today()); }

}  // namespace

std::vector<std::string> reprice(NamedResult& named, const PriceOptions& options) {
  Result& result = named.result;
  const Day day = day_of(result);
  std::vector<std::string> unused;
  located(named.path, [&] {
    std::vector<DeviceId> devices;
    const UsedMachine machine = used_machine(result, 0);
    const Prices prices(options, {machine.vcpus, nullptr, machine.cores}, day);
    for (Run& run : result.runs) {
      if (!run.timing) continue;
      devices.push_back(device_of(run));
      const int ranks = run.ranks ? run.ranks->count : 1;
      if (auto cost = prices.cost(device_of(run), *run.timing, ranks)) {
        run.cost = std::move(cost);
      } else if (run.cost) {
        const UsedMachine used = used_machine(result, gpus_of(kind_of(run)) * ranks);
        if (const auto price = shared_again(*run.cost, used, options.scaling, day)) run.cost = cost_of(*run.timing, *price);
      }
    }
    unused = prices.without_case(devices);
  });
  return unused;
}

HourlyPrice whole_price(const AskedPrice& asked) {
  if (!asked.row) return {asked.usd_per_hour, "given"};
  return shared(asked.usd_per_hour, *asked.row, {}, true, today());
}

HourlyPrice price_for(const AskedPrice& asked, const Result& result, std::optional<PriceScaling> scaling) {
  if (!asked.row) return whole_price(asked);
  const bool on_gpu =
      std::ranges::any_of(result.runs, [](const Run& run) { return run.timing && kind_of(run) == DeviceKind::cuda; });
  const PriceShare share = share_of(*asked.row, used_machine(result, on_gpu ? 1 : 0), scaling);
  return shared(asked.usd_per_hour, *asked.row, share, true, today());
}

}  // namespace epochbench
