#include "src/analysis/predict/price_file.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/base/text.h"

namespace epochbench {
namespace {

constexpr std::size_t kMaxField = 100, kMaxRows = 10000;
constexpr double kMaxUsdPerHour = 1e6;
constexpr int kMaxGpus = 64;
struct Column {
  enum : std::size_t { provider, instance, usd_per_hour, date, kind, region, count };
};

std::string shown(std::string_view text) { return "'" + visible(text.substr(0, 40)) + "'"; }

// The GPUs of "2x rtx-4090" or "rtx-4090", or a CPU instance. Errors: CallError.
void set_machine(CatalogPrice& price, const DeviceCatalog& devices, std::span<const CatalogPrice> known) {
  if (const CatalogPrice* row = find_price(known, price.instance)) {
    std::tie(price.vcpus, price.gpu_model, price.gpu_count) = std::tie(row->vcpus, row->gpu_model, row->gpu_count);
    return;
  }
  std::string device = price.instance;
  int count = 1;
  if (const auto times = device.find('x');
      times != std::string::npos && times > 0 && device.find_first_not_of("0123456789") == times) {
    count = static_cast<int>(parse_integer(device.substr(0, times), 1, kMaxGpus));
    device = std::string(trimmed(std::string_view(device).substr(times + 1)));
  }
  const PredictionTarget target = find_target(devices, {}, device);
  if (!target.device->is_gpu) {
    price.instance = target.instance->name;
    return;
  }
  price.gpu_model = target.device->name;
  price.gpu_count = count;
}

// Errors: CallError.
CatalogPrice read_row(const std::vector<std::string>& fields, const DeviceCatalog& devices, std::span<const CatalogPrice> known,
                      Day today) {
  if (fields.size() != Column::count)
    throw CallError("has " + counted(fields.size(), "column", "columns") + ", not " + std::to_string(Column::count) + ": " +
                    kPriceColumns);
  for (const std::string& field : fields)
    if (field.empty() || field.size() > kMaxField)
      throw CallError("a column is empty or longer than " + std::to_string(kMaxField) + " characters");
  CatalogPrice price;
  price.list = "price file";
  price.provider = visible(fields[Column::provider]);
  price.instance = visible(fields[Column::instance]);
  price.region = visible(fields[Column::region]);
  price.as_of = fields[Column::date];
  located("usd_per_hour", [&] {
    price.usd_per_hour = parse_real(fields[Column::usd_per_hour], {0, kMaxUsdPerHour, false, true});
  });
  const std::optional<Day> day = parse_day(price.as_of);
  if (!day) throw CallError("date: " + shown(price.as_of) + " must be a day, such as 2026-11-30");
  if (*day > today) throw CallError("date: " + price.as_of + " is later than today");
  located("kind", [&] { price.is_spot = parse_word(fields[Column::kind], {"on-demand", "spot"}) == "spot"; });
  located("instance", [&] { set_machine(price, devices, known); });
  return price;
}

}  // namespace

std::vector<CatalogPrice> parse_price_file(std::string_view text, const std::string& source, const DeviceCatalog& devices,
                                           std::span<const CatalogPrice> known, Day today) {
  std::vector<CatalogPrice> prices;
  std::set<std::tuple<std::string, std::string, std::string, bool>> seen;
  bool has_columns = false;
  std::size_t number = 0;
  for (const std::string& line : split(without_byte_order_mark(text), '\n')) {
    const std::string_view content = trimmed(line);
    ++number;
    if (content.empty() || content.front() == '#') continue;
    const auto refuse = [&](const std::string& why) -> void {
      throw FormatError(source + ":" + std::to_string(number) + ": " + why);
    };
    if (!has_columns) {
      std::string with_commas(content);
      std::ranges::replace(with_commas, ';', ',');
      if (with_commas != content && with_commas == kPriceColumns)
        refuse(
            "has semicolons between its columns; put commas there, and points into numbers, as a spreadsheet in English does");
      if (content != kPriceColumns)
        refuse("the first line is " + shown(content) + ", and must be " + kPriceColumns + "; prices are in USD");
      has_columns = true;
      continue;
    }
    std::vector<std::string> fields = split(content);
    for (std::string& field : fields) field = std::string(trimmed(field));
    try {
      prices.push_back(read_row(fields, devices, known, today));
    } catch (const CallError& error) {
      refuse(error.what());
    }
    const CatalogPrice& price = prices.back();
    if (!seen.insert({price.provider, price.instance, price.region, price.is_spot}).second)
      refuse("this provider, instance, region and kind stand above already");
    if (prices.size() > kMaxRows) refuse("has more than " + format_count(kMaxRows) + " prices");
  }
  if (prices.empty()) throw FormatError(source + ": has no price; below a line " + kPriceColumns + " each line is one");
  return prices;
}

}  // namespace epochbench
