#include "src/machine/energy_meter.h"

#include "src/base/numbers.h"

namespace epochbench {

void CounterSum::begin(double now, double reading_joules) {
  last_seconds_ = now;
  last_joules_ = reading_joules;
}

void CounterSum::advance(double now, double reading_joules) {
  const double elapsed = now - last_seconds_, before = last_joules_;
  begin(now, reading_joules);
  if (drawn_.obstacle) return;
  const double most = kMostWatts * (elapsed + kRenewalSeconds);
  if (range_joules_ && most >= *range_joules_)
    return fail("the counter was not read for " + short_number(elapsed) + " s and may have wrapped around more than once");
  double joules = reading_joules - before;
  if (joules < 0 && range_joules_) joules += *range_joules_;
  if (joules < 0 || joules > most)
    return fail("the counter was reset: it went from " + short_number(before) + " J to " + short_number(reading_joules) +
                " J within " + short_number(elapsed) + " s");
  drawn_.joules += joules;
}

void CounterSum::fail(const std::string& obstacle) {
  if (!drawn_.obstacle) drawn_.obstacle = obstacle;
}

void PowerSum::begin(double now, double watts) {
  last_seconds_ = now;
  last_watts_ = watts;
}

void PowerSum::advance(double now, double watts) {
  const double elapsed = now - last_seconds_, mean = (watts + last_watts_) / 2;
  begin(now, watts);
  if (drawn_.obstacle) return;
  if (elapsed > kLongestPowerGapSeconds) return fail("the power was not read for " + short_number(elapsed) + " s");
  drawn_.joules += mean * elapsed;
}

void PowerSum::fail(const std::string& obstacle) {
  if (!drawn_.obstacle) drawn_.obstacle = obstacle;
}

}  // namespace epochbench
