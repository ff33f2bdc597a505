// DAWNBench: an entry is a JSON file and, of training, a table of epochs beside it.
#include <algorithm>
#include <array>
#include <set>

#include "src/base/clock.h"
#include "src/base/json.h"
#include "src/base/numbers.h"
#include "src/base/text.h"
#include "src/case/choices.h"
#include "src/published/dawnbench_epochs.h"
#include "src/published/import.h"
#include "src/published/parts.h"

namespace epochbench {
namespace {

constexpr const char* kVersion = "v1.0";
constexpr const char* kNotice =
    "DAWNBench states no license for its entries. Facts only, with their source; a verdict from them needs two entries of "
    "DAWNBench.";

// An entry does not name its task; the metrics that it reports do.
struct Task {
  const char* benchmark;
  const char* data;
  std::int64_t training_images;
  const char* metric;
  double target;
};
constexpr Task kCifar10{"CIFAR10", "CIFAR-10", 50'000, "top1_accuracy", 0.94};
constexpr Task kImageNet{"ImageNet", "ImageNet", 1'281'167, "top5_accuracy", 0.93};

// What "1 K80 / 30 GB / 8 CPU (Google Cloud)" says; parts in other terms stay in the description alone.
void describe_machine(PublishedMachine& machine, const std::string& hardware) {
  constexpr std::array kAccelerators{"K80", "M60", "P4", "P100", "V100", "T4"};
  constexpr std::string_view kNodes = " nodes with ";
  machine.description = hardware;
  bool understood = true;
  for (std::string part : split(hardware, '/')) {
    part = trimmed(part.substr(0, part.find('(')));
    if (const auto nodes = part.find(kNodes); nodes != std::string::npos) {
      machine.nodes = whole_number(part.substr(0, nodes), kMaxDevices);
      machine.processor = part.substr(nodes + kNodes.size());
      continue;
    }
    std::ranges::replace(part, '*', ' ');
    const auto tokens = split(part, ' ');
    const auto number = tokens.size() == 2 ? whole_number(tokens[0], kMaxDevices) : std::nullopt;
    if (number && *number > 0 && tokens[1] == "CPU") {
      machine.vcpus_per_node = number;
    } else if (number && *number > 0 && std::ranges::find(kAccelerators, tokens[1]) != kAccelerators.end()) {
      machine.accelerator = tokens[1];
      machine.accelerators_per_node = number;
    } else if (!number || (tokens[1] != "GB" && tokens[1] != "Cores")) {
      understood = false;
    }
  }
  if (understood && !machine.accelerator) machine.accelerators_per_node = 0;
}

void collect_image_sizes(const Json& value, bool is_size, std::set<double>& sizes) {
  if (value.is_number() && is_size) sizes.insert(value.get<double>());
  if (value.is_array())
    for (const Json& element : value) collect_image_sizes(element, is_size, sizes);
  if (value.is_object())
    for (const auto& [key, member] : value.items()) collect_image_sizes(member, key == "image_size", sizes);
}

bool changes_image_size(const Json& document) {
  std::set<double> sizes;
  collect_image_sizes(document, false, sizes);
  return sizes.size() > 1;
}

void add_throughput(PublishedEntry& entry, const DawnbenchEpochs& table, const Task& task, bool other_sizes) {
  const auto epochs = counted_epochs(table);
  if (!epochs || other_sizes) {
    entry.notes.push_back(std::string("no epoch time and no throughput: ") +
                          (epochs ? "the size of the images changes during training"
                                  : "the rows of the table are not evenly spaced from the start on"));
    return;
  }
  const double seconds = table.hours.back() * kSecondsPerHour;
  entry.epochs = *epochs;
  entry.seconds_per_epoch = rounded(seconds / *epochs);
  entry.throughput = {rounded(*epochs * static_cast<double>(task.training_images) / seconds),
                      format_count(task.training_images) + " training images of " + task.data + " x " + shortest(*epochs) +
                          " epochs / hours of the last row; the source does not say whether evaluation is in the hours"};
}

void add_training(PublishedEntry& entry, const DawnbenchEpochs& table, const Task& task, bool other_sizes) {
  const std::vector<double>& percent = &task == &kImageNet ? table.top5_percent : table.top1_percent;
  entry.quality = rounded(percent.back() / 100);
  const auto reached = std::ranges::find_if(percent, [&](double value) { return value >= task.target * 100; });
  if (reached == percent.end())
    entry.notes.emplace_back("the target was not reached");
  else if (const double hours = table.hours[static_cast<std::size_t>(reached - percent.begin())]; hours > 0)
    entry.seconds_to_target = rounded(hours * kSecondsPerHour);
  add_throughput(entry, table, task, other_sizes);
}

void add_inference(PublishedEntry& entry, const JsonFields& from, const Task& task) {
  entry.task = PublishedTask::inference;
  constexpr double kMaxMilliseconds = 1e9, kMaxUsd = 1e6;
  if (const auto milliseconds = positive_number(from, "latency", kMaxMilliseconds))
    entry.latency_seconds = rounded(*milliseconds / 1000);
  if (const auto usd = positive_number(from, "cost", kMaxUsd)) entry.usd_per_sample = rounded(*usd);
  const auto percent = positive_number(from, &task == &kImageNet ? "top5Accuracy" : "top1Accuracy", 100);
  if (percent) entry.quality = rounded(*percent / 100);
}

// "2018-04-20" of "2018-4-20", as several entries write a day; empty for another text.
std::optional<std::string> full_day(const std::string& text) {
  std::string full;
  for (const std::string& part : split(text, '-')) {
    if (!full.empty()) full += part.size() == 1 ? "-0" : "-";
    full += part;
  }
  return parse_day(full) ? std::optional(full) : std::nullopt;
}

std::string stem_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

PublishedEntry entry_of(const NamedText& file, const NamedText* epochs, const PublishedOrigin& origin) {
  const Json document = parse_json(file.text, file.path, RepeatedKeys::last_counts);
  const JsonFields from(document, file.path);
  if (!from.find("version") && !from.find("hardware"))
    throw FormatError(file.path + ": no entry of DAWNBench, which has version, author, model and hardware, but " +
                      likely_kind(document) + "; name *.json of CIFAR10 or ImageNet");
  const std::string version = from.text("version");
  if (version != kVersion)
    throw FormatError(from.path("version") + ": '" + version.substr(0, 20) + "' is not known; " + kVersion +
                      " of DAWNBench is read");
  if (from.find("f1Score")) throw FormatError(file.path + ": an entry of SQuAD; CIFAR10 and ImageNet are read");
  PublishedEntry entry;
  entry.name = stem_of(file.path);
  entry.files = {file.path};
  entry.link = link_of(origin, file.path);
  entry.version = version;
  entry.submitter = from.text("author");
  entry.model = from.text("model");
  entry.framework = from.text("framework");
  entry.date = full_day(from.text("timestamp"));
  if (!entry.date) throw FormatError(from.path("timestamp") + ": must be a day, such as 2017-10-11");
  describe_machine(entry.machine, from.text("hardware"));
  constexpr double kMaxUsdPerHour = 1e6;
  entry.usd_per_hour = positive_number(from, "costPerHour", kMaxUsdPerHour);
  if (const Json* more = from.find("misc"); more && more->is_object())
    if (const auto batch = more->find("batchSize"); batch != more->end() && batch->is_number_integer() && *batch > 0)
      entry.batch = read_value<std::int64_t>(*batch, from.path("misc.batchSize"));
  const Task* task = from.find("top5Accuracy") ? &kImageNet : &kCifar10;
  if (from.find("latency")) {
    add_inference(entry, from, *task);
  } else {
    if (!epochs)
      throw FormatError(file.path + ": training without its table of epochs; place " + stem_of(file.path) + ".tsv beside it");
    const DawnbenchEpochs table = parse_dawnbench_epochs(epochs->text, epochs->path);
    if (!table.top5_percent.empty())
      task = &kImageNet;
    else if (task == &kImageNet)
      throw FormatError(epochs->path + ":1: no column top5Accuracy, which " + file.path + " has; take both from one entry");
    entry.files.push_back(epochs->path);
    add_training(entry, table, *task, changes_image_size(document));
  }
  entry.benchmark = task->benchmark;
  entry.data = task->data;
  entry.target = {task->metric, task->target};
  entry.citation = "DAWNBench " + version + ", " + task->benchmark + " " + name(entry.task) + ": " + entry.submitter + ", " +
                   *entry.model + " on " + *entry.machine.description + ", " + *entry.date + retrieval(origin);
  return entry;
}

}  // namespace

PublishedDocument import_dawnbench(const std::vector<NamedText>& files, const PublishedOrigin& origin) {
  PublishedDocument document;
  document.source = PublishedSource::dawnbench;
  document.origin = origin;
  document.notice = kNotice;
  std::set<std::string> used;
  for (const NamedText& file : files) {
    if (!file.path.ends_with(".json")) continue;
    const std::string table = stem_of(file.path) + ".tsv";
    const auto epochs = std::ranges::find(files, table, &NamedText::path);
    document.entries.push_back(entry_of(file, epochs == files.end() ? nullptr : &*epochs, origin));
    used.insert(document.entries.back().files.begin(), document.entries.back().files.end());
  }
  for (const NamedText& file : files)
    if (!used.contains(file.path))
      throw FormatError(file.path +
                        ": belongs to no entry of training; name the entry's *.json, whose table has the same name");
  return document;
}

}  // namespace epochbench
