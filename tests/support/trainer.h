// Trains a model step by step on a backend, in any precision, without runner and loader.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/data/mixup.h"
#include "src/data/prepared_dataset.h"
#include "src/workload/workload.h"

namespace epochbench::test {

struct Training {
  std::string model;
  std::int64_t batch;
  std::string data = "synthetic";
  Precision precision = Precision::fp32;
  double dropout = -1;                      // negative: the model's own
  std::optional<double> weight_decay = {};  // empty: the model's own
  double label_smoothing = 0;
  double mixup = 0;
  bool bytes = false;  // images are staged as bytes, if the data and the backend have them
  std::int64_t accumulate = 1;
  Checkpoint checkpoint = Checkpoint::none;
  int rank = 0, ranks = 1;  // which share the batch; the backend has their communicator
  Shard shard = Shard::none;
  double bucket_mib = kDefaultBucketMib;  // likewise
  double ema = 0;
};
inline void PrintTo(const Training& training, std::ostream* out) {
  *out << training.model << " batch " << training.batch << " " << name(training.precision);
}

class Trainer {
 public:
  Trainer(const Training& training, const Backend& backend) : training_(training) {
    CaseSpec spec;
    spec.model = find_model(training.model);
    spec.batch = training.batch;
    spec.weight_decay = training.weight_decay;
    spec.label_smoothing = training.label_smoothing;
    spec.mixup = training.mixup;
    WorkloadSpec workload = workload_spec(spec);
    workload.config.dropout = training.dropout;
    workload.accumulate = training.accumulate;
    workload.checkpoint = training.checkpoint;
    workload.ranks = training.ranks;
    workload.shard = training.shard;
    workload.bucket_mib = training.bucket_mib;
    workload.optimizer.ema = training.ema;
    compile(workload, backend);
  }
  // A workload that no case describes.
  Trainer(const WorkloadSpec& workload, const std::string& data, Precision precision, const Backend& backend)
      : training_{.model = workload.model.name, .batch = workload.config.batch, .data = data, .precision = precision} {
    compile(workload, backend);
  }

  // Samples `first`, `first` + 1, …; rows from `valid` on are ignored (images only).
  void fill(InputSlot slot, std::int64_t first, std::int64_t valid = -1) {
    const std::int64_t rows = training_.batch / (program_.parts * training_.ranks);
    for (int part = 0; part < program_.parts; ++part) {
      std::vector<std::span<std::byte>> inputs;
      for (std::size_t i = 0; i < program_.entry(Entry::train)->graph.inputs.size(); ++i)
        inputs.push_back(executable_->stage(slot, static_cast<int>(i), part));
      const std::int64_t first_of_part = first + (program_.first_part + part) * rows;
      const std::span<std::byte> shares = training_.mixup > 0 ? inputs.back() : std::span<std::byte>();
      if (training_.mixup > 0) inputs.pop_back();
      for (std::int64_t row = 0; row < rows; ++row) {
        data_->fill(Split::train, first_of_part + row, 0, row, inputs);
        if (!shares.empty())
          reinterpret_cast<float*>(shares.data())[row] = mixup_share(training_.mixup, {0, 0, first_of_part + row - row % 2});
      }
      for (std::int64_t row = 0; valid >= 0 && row < rows; ++row)
        if (part * rows + row >= valid) reinterpret_cast<std::int32_t*>(inputs[1].data())[row] = -1;
    }
  }

  StepRecord step(Entry entry, std::int64_t first, std::int64_t valid = -1) {
    fill(0, first, valid);
    executable_->submit(0);
    executable_->run(entry);
    executable_->synchronize();
    std::vector<StepRecord> records;
    executable_->drain(records);
    return records.at(0);
  }

  std::vector<double> losses(int steps) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(step(Entry::train, i * training_.batch).loss);
    return losses;
  }

  Executable& executable() const { return *executable_; }
  const Program& program() const { return program_; }

  void write(const std::string& variable, float value) { executable_->write(variable, std::vector<float>{value}); }
  float read(const std::string& variable) const {
    std::vector<float> value(1);
    executable_->read(variable, value);
    return value[0];
  }

  // All variables of this role, one after the other.
  std::vector<float> state(VariableRole role) const {
    std::vector<float> all;
    for (const Variable& variable : program_.variables)
      if (variable.role == role) {
        const std::vector<float> values = whole(variable);
        all.insert(all.end(), values.begin(), values.end());
      }
    return all;
  }
  std::vector<float> whole(const Variable& variable) const {
    std::vector<float> values(static_cast<std::size_t>(variable.desc.elements()));
    executable_->read(variable.name, values);
    return values;
  }

 private:
  void compile(const WorkloadSpec& workload, const Backend& backend) {
    data_ = open_dataset(training_.data, workload.model.family->sample(workload.config), 1000, 0);
    program_ = make_program(workload, backend, {Entry::train, Entry::evaluate}, training_.precision, true,
                            training_.bytes ? data_->pixel_values() : std::vector<float>());
    program_.first_part = training_.rank * program_.parts;
    if (images_of(program_) == DType::u8) data_ = std::make_unique<ByteDataset>(std::move(data_));
    executable_ = backend.compile(program_);
    initialize(*executable_, program_, 0);
    begin_averages(*executable_, program_);
    prepare(*executable_, program_);
  }

  Training training_;
  Program program_;
  std::unique_ptr<Dataset> data_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace epochbench::test
