// Results that others published: the document that `epochbench import` writes.
//
// Every number is from the source, or derived from it as an adjacent field says; none is measured here. Fields and units are
// those of results/published.schema.json (version 1). An empty optional is written as null: the source does not say it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fields.h"
#include "src/result/evidence.h"

namespace epochbench {

inline constexpr int kPublishedVersion = 1;

enum class PublishedSource : std::uint8_t { dawnbench, mlperf };
constexpr auto texts_of(PublishedSource) { return std::array{"dawnbench", "mlperf"}; }

enum class PublishedTask : std::uint8_t { train, inference };
constexpr auto texts_of(PublishedTask) { return std::array{"train", "inference"}; }

struct PublishedMachine {
  std::optional<std::string> description;  // as the source words it
  std::optional<std::int64_t> nodes;
  std::optional<std::string> processor, accelerator;
  std::optional<std::int64_t> processors_per_node, cores_per_processor, vcpus_per_node;
  std::optional<std::int64_t> accelerators_per_node;  // 0: the source says that there is none
};

void fields(auto& visit, Is<PublishedMachine> auto& machine) {
  VISIT(machine, description);
  visit("nodes", machine.nodes, {.minimum = 1});
  VISIT(machine, processor);
  visit("processors_per_node", machine.processors_per_node, {.minimum = 1});
  visit("cores_per_processor", machine.cores_per_processor, {.minimum = 1});
  visit("vcpus_per_node", machine.vcpus_per_node, {.minimum = 1});
  VISIT(machine, accelerator);
  visit("accelerators_per_node", machine.accelerators_per_node, {.minimum = 0});
}

// The quality that the benchmark asks for.
struct PublishedTarget {
  std::string metric;  // "top1_accuracy", a fraction
  double value = 0;
};

void fields(auto& visit, Is<PublishedTarget> auto& target) { VISIT(target, metric, value); }

struct PublishedThroughput {
  double rate = 0;
  std::string derivation;
};

void fields(auto& visit, Is<PublishedThroughput> auto& throughput) {
  visit("samples_per_second", throughput.rate, {.positive = true});
  VISIT(throughput, derivation);
}

// One of the training runs that make up a result.
struct PublishedRun {
  std::string file, status;
  double seconds = 0;                   // from run_start to run_stop
  std::optional<std::int64_t> samples;  // trained in them
};

void fields(auto& visit, Is<PublishedRun> auto& run) {
  VISIT(run, file, status);
  visit("seconds", run.seconds, {.positive = true});
  visit("samples", run.samples, {.minimum = 1});
}

struct PublishedEntry {
  std::string name;                // of the entry in its source
  std::vector<std::string> files;  // paths in the repository
  std::optional<std::string> link;
  std::string citation;
  std::string submitter, benchmark;  // "CIFAR10", "resnet"
  PublishedTask task = PublishedTask::train;
  std::optional<std::string> version;                        // of the benchmark: "v1.0"
  std::optional<std::string> division, category, result_id;  // of MLPerf
  std::optional<std::string> model, data, framework, date;
  PublishedMachine machine;
  std::optional<std::int64_t> batch;        // over all devices
  std::optional<double> epochs;             // trained; the mean of several runs
  std::optional<double> seconds_per_epoch;  // mean
  std::optional<PublishedTarget> target;
  std::optional<double> seconds_to_target;
  std::optional<double> quality;  // the last one, in the target's metric
  std::optional<PublishedThroughput> throughput;
  std::optional<double> latency_seconds;  // of one sample at a time
  std::optional<double> usd_per_hour;     // of the machine
  std::optional<double> usd_per_sample;   // of inference
  std::optional<double> scaling_factor;   // of the time to train, by MLPerf's rules
  std::vector<PublishedRun> runs;
  std::vector<std::string> notes;  // how a figure was derived, or why there is none
};

void fields(auto& visit, Is<PublishedEntry> auto& entry) {
  VISIT(entry, name, files, link, citation, submitter, benchmark, task, version, division, category, result_id, model, data,
        framework, date, machine);
  visit("batch", entry.batch, {.minimum = 1});
  visit("epochs", entry.epochs, {.positive = true});
  visit("seconds_per_epoch", entry.seconds_per_epoch, {.positive = true});
  VISIT(entry, target);
  visit("seconds_to_target", entry.seconds_to_target, {.positive = true});
  VISIT(entry, quality, throughput);
  visit("latency_seconds", entry.latency_seconds, {.positive = true});
  visit("usd_per_hour", entry.usd_per_hour, {.positive = true});
  visit("usd_per_sample", entry.usd_per_sample, {.positive = true});
  visit("scaling_factor", entry.scaling_factor, {.positive = true});
  VISIT(entry, runs, notes);
}

// Where the files came from, according to the import command.
struct PublishedOrigin {
  std::optional<std::string> repository, commit, license;  // "mlcommons/training_results_v3.0"
  std::optional<std::string> retrieved;                    // a day
};

void fields(auto& visit, Is<PublishedOrigin> auto& origin) { VISIT(origin, repository, commit, license, retrieved); }

struct PublishedDocument {
  EvidenceClass evidence = EvidenceClass::published;  // always
  PublishedSource source = PublishedSource::dawnbench;
  PublishedOrigin origin;
  std::string notice;  // must accompany every use of the figures
  std::vector<PublishedEntry> entries;
};

void fields(auto& visit, Is<PublishedDocument> auto& document) { VISIT(document, evidence, source, origin, notice, entries); }

}  // namespace epochbench
