// What a run costs: pure functions over its times and an hourly price.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/clock.h"
#include "src/result/result.h"

namespace epochbench {

// A price older than this many days is shown with its age: clouds change list prices a few times per year.
inline constexpr int kOldPriceDays = 180;

// The price of an instance's spare capacity, which may be taken back at any time; it changes from day to day.
struct SpotPrice {
  double usd_per_hour = 0;
  std::string source, as_of;
};

// What a cloud asked for an instance on a date, in USD: a row of bench/prices.json, of a price file, or of the call.
struct CatalogPrice {
  std::string provider, instance, region;  // "aws", "c7i.4xlarge", "us-east-1"
  double usd_per_hour = 0;                 // on demand, Linux, the whole instance
  int vcpus = 0;                           // 0: not known
  std::string gpu_model;                   // "" without a GPU
  int gpu_count = 0;
  std::string source, as_of;           // where the figure was found, and the day on which it was: "2026-01-19"
  std::optional<SpotPrice> spot = {};  // empty: not known
  std::string list = "catalog";        // that has the row: also "price file", kGivenPrice
  bool is_spot = false;                // usd_per_hour is that of spare capacity
  int cores = 0;                       // physical ones: a vCPU is one or, with SMT, half of one; 0: not known
};

struct PriceCatalog {
  std::string note;
  std::vector<CatalogPrice> prices;
};

// bench/prices.json, the dated catalog embedded in the binary. `source` names the text in messages. Errors: FormatError.
PriceCatalog parse_prices(std::string_view text, const std::string& source);

// By "c7i.4xlarge" or "aws/c7i.4xlarge"; nullptr if there is none.
const CatalogPrice* find_price(std::span<const CatalogPrice> catalog, std::string_view name);

// The instance that the firmware's vendor and product name identify; nullptr if none.
const CatalogPrice* price_of_machine(std::span<const CatalogPrice> catalog, std::string_view vendor, std::string_view product);

// "312 days old" for a price older than kOldPriceDays today; empty for a younger one.
std::string age_note(const std::string& as_of, Day today);

// "catalog: aws c7i.4xlarge us-east-1 2026-05-01", for a spot price ", spot", then what a reader must know: the share
// (src/analysis/cost/price_share.h),
// ", 312 days old", and for another machine ", not the machine that was measured".
std::string describe(const CatalogPrice& price, const std::string& share, bool measured_machine, Day today);

// The row that such a text names, and whether the text says that the machine is another one.
const CatalogPrice* described_price(std::span<const CatalogPrice> catalog, std::string_view source);
bool is_of_other_machine(std::string_view source);

inline constexpr const char* kGivenPrice = "user";  // source of a price that the call gives

// A price's source for people: "given with --price" for kGivenPrice, others as they are.
std::string source_text(const std::string& source);

// The source of an hourly price for people, for a share with the price of the whole: "..., hypothetical price for 16 cores, 2
// used; rented only whole, for $0.821 per hour".
std::string price_text(const std::string& source, double usd_per_hour);
std::string price_text(const Cost& cost);  // "" without a source

struct HourlyPrice {
  double usd_per_hour = 0;
  std::string source;                        // kGivenPrice, or as describe() has it
  std::optional<PriceScaling> scaling = {};  // as Cost has it
};

// usd_per_epoch from the epoch's seconds, usd_total from all the wall time; empty where a number is too large.
Cost cost_of(const Timing& timing, const HourlyPrice& price);

}  // namespace epochbench
