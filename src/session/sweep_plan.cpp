#include "src/session/sweep_plan.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "epochbench/backend.h"
#include "epochbench/gpu.h"
#include "src/base/errors.h"
#include "src/base/numbers.h"
#include "src/machine/environment.h"

namespace epochbench {
namespace {

// Beyond this, a CPU takes minutes per point; --values can ask for larger ones.
constexpr std::int64_t kMaxBatch = 1024;
constexpr std::int64_t kMinWidth = 64, kMaxWidth = 4096;
constexpr std::int64_t kMaxBatches = 128;  // per epoch

// The option of a case that the axis sets; width is one of the model's.
const char* key_of(Axis axis) {
  return axis == Axis::width ? "model" : axis == Axis::samples ? "epoch_samples" : over_ranks(axis) ? "ranks" : name(axis);
}

std::string over(Axis axis) { return std::string("--over ") + (over_ranks(axis) ? "ranks" : name(axis)); }

std::vector<std::int64_t> powers_of_two(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = from; value <= to; value *= 2) values.push_back(value);
  return values;
}

std::vector<std::int64_t> thread_values(int cores) {
  std::vector<std::int64_t> values;
  for (std::int64_t power = 1; power < cores; power *= 2) {
    values.push_back(power);
    if (power > 1 && power + power / 2 < cores) values.push_back(power + power / 2);
  }
  values.push_back(cores);
  return values;
}

// Whether the case's device is present, and has the precision and the memory.
bool fits(const CaseSpec& spec) try {
  const WorkloadSpec workload = workload_spec(spec);
  const std::vector<Entry> entries = entries_of_mode(spec.mode);
  const bool on_gpu = spec.device.kind == DeviceKind::cuda;
  const auto backend = on_gpu ? make_cuda_planner() : make_backend({}, spec.threads.value_or(default_threads()));
  std::int64_t capacity = available_memory_bytes();
  if (on_gpu) {
    const std::vector<GpuInfo> gpus = list_gpus();
    const auto index = static_cast<std::size_t>(spec.device.index);
    if (index >= gpus.size()) return false;
    capacity = gpus[index].memory_bytes;
  }
  if (unsupported(workload, *backend, entries, spec.precision)) return false;
  return memory(make_program(workload, *backend, entries, spec.precision)).total() <= capacity;
} catch (const DeviceError&) {
  return false;  // this build drives no such device; the case will be skipped with the reason
}

// Sets the option that the axis varies: one case per value.
void set_values(CaseBlock& block, Axis axis, std::vector<std::string> values, const std::string& given_by) {
  if (axis == Axis::width) {
    const std::string model = block.at("model").values[0];
    for (std::string& value : values) value = model + (model.find(':') == std::string::npos ? ":" : ",") + "width=" + value;
  }
  block[key_of(axis)] = {std::move(values), given_by};
}

// The values up to the first that fits on none of the devices; the first one in any case.
std::vector<std::int64_t> up_to_what_fits(std::vector<std::int64_t> values, const CaseBlock& block, Axis axis) {
  const auto too_much = std::find_if(values.begin() + 1, values.end(), [&](std::int64_t value) {
    CaseBlock with = block;
    set_values(with, axis, {std::to_string(value)}, over(axis));
    return std::ranges::none_of(expand(with), fits);
  });
  values.erase(too_much, values.end());
  return values;
}

// The values of the axis if the call names none.
std::vector<std::int64_t> default_values(const CaseBlock& block, Axis axis, DatasetSizes& sizes) {
  const std::vector<CaseSpec> cases = expand(block);
  CaseSpec base = cases.front();
  const auto parts_of = [](const CaseSpec& spec) { return spec.accumulate * spec.ranks; };
  const std::int64_t parts = parts_of(std::ranges::max(cases, {}, parts_of));
  switch (axis) {
    case Axis::batch:
      base.batch = parts_of(base);
      if (!base.data) base.data = workload_spec(base).model.family->default_data;
      return up_to_what_fits(powers_of_two(parts, std::min(kMaxBatch * parts, dataset_size(base, sizes).train)), block, axis);
    case Axis::width:
      return up_to_what_fits(powers_of_two(kMinWidth, kMaxWidth), block, axis);
    case Axis::samples: {
      std::vector<std::int64_t> values = powers_of_two(1, kMaxBatches);
      for (std::int64_t& value : values) value *= workload_spec(base).config.batch;
      return values;
    }
    case Axis::threads:
      return thread_values(default_process_threads(base));
    case Axis::ranks:
    case Axis::ranks_weak:
      return powers_of_two(1, std::max(1, default_threads() / (base.threads.value_or(1) + base.communication_threads)));
  }
  return {};
}

void check_model(const CaseBlock& block, Axis axis) {
  const auto models = block.find("model");
  if (models == block.end()) throw CallError("sweep: --model is missing; give one, such as --model resnet20");
  if (models->second.values.size() != 1)
    throw CallError("sweep: takes one model, and there are " + std::to_string(models->second.values.size()));
  if (axis != Axis::width) return;
  const std::string& text = models->second.values[0];
  const std::string family = expand({*models}).front().model.family->name;
  // The ResNets have an option of this name, which is the image's width.
  if (family != "mlp") throw CallError("--over width: " + family + " has no width to choose; take mlp, or sweep over batch");
  if (text.find("width=") != std::string::npos)
    throw CallError("--model: the width is what --over width sweeps; give its values with --values");
}

// Over samples, whole epochs of synthetic data: an existing data set has its own size.
void take_whole_epochs(CaseBlock& block) {
  const auto data = block.find("data");
  if (data == block.end())
    block["data"] = {{"synthetic"}, "--over samples"};
  else if (data->second.values != std::vector<std::string>{"synthetic"})
    throw CallError("--data: --over samples makes data sets of many sizes, so they are synthetic; leave out --data");
  bool stops = false;
  for (const auto& [key, values] : block) {
    const CaseOption& option = *find_case_option(key);
    if (option.stops && key != "epochs")
      throw CallError(flag(option) + ": --over samples times whole epochs; leave it out, or give --epochs");
    stops = stops || option.stops;
  }
  if (!stops) block["epochs"] = {{"1"}, "--over samples"};
}

// Threads per rank, the same for all numbers of ranks, so that only that number differs.
std::string threads_of_most(CaseSpec spec, const std::vector<std::string>& ranks) {
  for (const std::string& number : ranks) spec.ranks = std::max(spec.ranks, whole<int>(1, 1 << 20)(number));
  return std::to_string(default_process_threads(spec));
}

void give_each_rank_the_batch(std::vector<CaseSpec>& cases) {
  for (CaseSpec& spec : cases) spec.batch = spec.batch.value_or(spec.model.family->default_batch) * spec.ranks;
}

std::vector<std::string> split_numbers(const std::string& text) {
  std::vector<std::string> values = split_list(text);
  std::set<std::int64_t> known;
  for (const std::string& value : values)
    if (!known.insert(parse_integer(value, 1, std::numeric_limits<std::int64_t>::max())).second)
      throw CallError("'" + value + "' is given twice");
  return values;
}

}  // namespace

std::vector<CaseSpec> sweep_cases(CaseBlock block, Axis axis, const std::string& values, DatasetSizes& sizes) {
  check_model(block, axis);
  const std::string key = key_of(axis);
  if (axis != Axis::width && block.find(key) != block.end())
    throw CallError(flag(*find_case_option(key)) + ": that is what " + over(axis) + " sweeps; give its values with --values");
  if (axis == Axis::samples) take_whole_epochs(block);
  std::vector<std::string> chosen;
  if (values.empty())
    for (const std::int64_t value : default_values(block, axis, sizes)) chosen.push_back(std::to_string(value));
  else
    chosen = located("--values", [&] { return split_numbers(values); });
  if (over_ranks(axis) && !block.contains("threads"))
    block["threads"] = {{threads_of_most(expand(block).front(), chosen)}, over(axis)};
  set_values(block, axis, std::move(chosen), values.empty() ? over(axis) : "--values");
  std::vector<CaseSpec> cases = expand(block);
  if (axis == Axis::ranks_weak) give_each_rank_the_batch(cases);
  return cases;
}

void shuffle_repetitions(std::vector<PlannedCase>& cases) {
  for (auto begin = cases.begin(); begin != cases.end();) {
    const int repetition = begin->spec.repetition;
    const auto end =
        std::find_if(begin, cases.end(), [&](const PlannedCase& other) { return other.spec.repetition != repetition; });
    // Fisher-Yates shuffle. The engine's numbers are the same everywhere; the results of std::shuffle are not.
    std::mt19937_64 engine(static_cast<std::uint64_t>(repetition));
    for (auto left = end - begin; left > 1; --left)
      std::swap(begin[left - 1], begin[static_cast<std::ptrdiff_t>(engine() % static_cast<std::uint64_t>(left))]);
    begin = end;
  }
}

}  // namespace epochbench
