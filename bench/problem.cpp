#include "bench/problem.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace epochbench::bench {
namespace {

constexpr std::int64_t kMaxSize = 1 << 28;
// Limit on the product of a line's sizes: counts of elements do not overflow, and no call takes hours.
constexpr double kMaxWork = 0x1p50;

std::int64_t parse_size(const std::string& text, const std::string& where, const std::string& word) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kMaxSize)
    throw std::runtime_error(where + ": '" + word + "' is not a size; write name=N with N from 0 to " +
                             std::to_string(kMaxSize));
  return value;
}

Problem parse(const std::string& line, const std::string& where) {
  Problem problem;
  problem.where = where;
  std::istringstream input(line);
  input >> problem.operation;
  problem.text = problem.operation;
  for (std::string word; input >> word;) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (!problem.sizes.emplace(name, parse_size(value, where, word)).second)
      throw std::runtime_error(where + ": '" + name + "' is given twice; give each size once");
    problem.text += " " + word;
  }
  double work = 1;
  for (const auto& [name, size] : problem.sizes) work *= static_cast<double>(std::max<std::int64_t>(size, 1));
  if (work > kMaxWork)
    throw std::runtime_error(where + ": '" + problem.text + "' is too large; its sizes may multiply to 2^50 at most");
  return problem;
}

}  // namespace

std::vector<Problem> read_problems(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read; name a file of problems, such as bench/shapes/resnet20.txt");
  std::vector<Problem> problems;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    problems.push_back(parse(line, path + ":" + std::to_string(number)));
  }
  if (problems.empty()) throw std::runtime_error(path + ": contains no problems");
  return problems;
}

std::int64_t size_of(const Problem& problem, const std::string& name, std::int64_t minimum, std::int64_t fallback) {
  const auto found = problem.sizes.find(name);
  if (found == problem.sizes.end() && fallback >= minimum) return fallback;
  if (found == problem.sizes.end() || found->second < minimum)
    throw std::runtime_error(problem.where + ": " + problem.operation + " needs " + name + "=N of at least " +
                             std::to_string(minimum));
  return found->second;
}

void expect_only(const Problem& problem, const std::vector<std::string>& names) {
  for (const auto& [name, value] : problem.sizes)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw std::runtime_error(problem.where + ": " + problem.operation + " has no size '" + name + "'");
}

}  // namespace epochbench::bench
