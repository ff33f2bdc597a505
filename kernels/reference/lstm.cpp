// Long short-term memory, one sequence after another. The state is kept in double.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/kernels.h"

namespace epochbench::reference {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// sums [units] = row [m] times weight [m, units].
void multiply(std::vector<double>& sums, const std::vector<double>& row, const float* weight) {
  const std::size_t units = sums.size();
  std::fill(sums.begin(), sums.end(), 0);
  for (std::size_t r = 0; r < row.size(); ++r)
    for (std::size_t u = 0; u < units; ++u) sums[u] += row[r] * weight[r * units + u];
}

}  // namespace

void lstm(float* gates, float* cells, float* h, float* previous, const float* x, const float* weight, const LstmShape& shape) {
  const auto units = static_cast<std::size_t>(shape.units);
  std::vector<double> state(units), cell(units), sums(4 * units);
  for (std::int64_t row = 0; row < shape.batch * shape.sequence; ++row) {
    if (row % shape.sequence == 0)
      for (auto* values : {&state, &cell}) std::fill(values->begin(), values->end(), 0);
    const std::size_t at = static_cast<std::size_t>(row) * units;
    for (std::size_t u = 0; u < units && previous != nullptr; ++u) previous[at + u] = static_cast<float>(state[u]);
    for (std::size_t r = 0; r < 4 * units; ++r) {
      sums[r] = x[4 * at + r];
      for (std::size_t u = 0; u < units; ++u) sums[r] += state[u] * weight[r * units + u];
    }
    for (std::size_t u = 0; u < units; ++u) {
      const double of[] = {sigmoid(sums[u]), sigmoid(sums[units + u]), std::tanh(sums[2 * units + u]),
                           sigmoid(sums[3 * units + u])};
      cell[u] = of[1] * cell[u] + of[0] * of[2];
      state[u] = of[3] * std::tanh(cell[u]);
      for (std::size_t gate = 0; gate < 4 && gates != nullptr; ++gate)
        gates[4 * at + gate * units + u] = static_cast<float>(of[gate]);
      if (cells != nullptr) cells[at + u] = static_cast<float>(cell[u]);
      h[at + u] = static_cast<float>(state[u]);
    }
  }
}

void lstm_grad(float* dx, const float* dh, const float* weight, const float* gates, const float* cells,
               const LstmShape& shape) {
  const auto units = static_cast<std::size_t>(shape.units);
  std::vector<double> dstate(units), dcell(units), dgates(4 * units);  // of the next position
  for (std::int64_t row = shape.batch * shape.sequence - 1; row >= 0; --row) {
    if (row % shape.sequence == shape.sequence - 1)
      for (auto* values : {&dcell, &dgates}) std::fill(values->begin(), values->end(), 0);
    multiply(dstate, dgates, weight);
    const std::size_t at = static_cast<std::size_t>(row) * units;
    for (std::size_t u = 0; u < units; ++u) {
      const float* of = gates + 4 * at + u;
      const double i = of[0], f = of[units], g = of[2 * units], o = of[3 * units];
      const double before = row % shape.sequence == 0 ? 0 : cells[at - units + u], squashed = std::tanh(double{cells[at + u]});
      const double upstream = dh[at + u] + dstate[u], through = dcell[u] + upstream * o * (1 - squashed * squashed);
      dcell[u] = through * f;
      dgates[u] = through * g * i * (1 - i);
      dgates[units + u] = through * before * f * (1 - f);
      dgates[2 * units + u] = through * i * (1 - g * g);
      dgates[3 * units + u] = upstream * squashed * o * (1 - o);
    }
    for (std::size_t r = 0; r < 4 * units; ++r) dx[4 * at + r] = static_cast<float>(dgates[r]);
  }
}

}  // namespace epochbench::reference
