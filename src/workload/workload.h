// From a case's description to a program: model, optimizer, passes, initial weights. The one place that knows the order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "epochbench/backend.h"
#include "epochbench/dataset.h"
#include "epochbench/model.h"
#include "epochbench/precision.h"
#include "epochbench/program.h"
#include "src/case/case_spec.h"
#include "src/data/dataset_sizes.h"
#include "src/data/tokenizer.h"
#include "src/result/result.h"
#include "src/workload/prepared_case.h"
#include "src/workload/schedule.h"

namespace epochbench {

// A model with everything that identifies the workload.
struct WorkloadSpec {
  Model model;
  ModelConfig config;
  OptimizerSpec optimizer;
  LearningRateSchedule schedule = {};
  std::int64_t accumulate = 1;                               // equal parts of a rank's batch
  std::int64_t ranks = 1;                                    // which share the batch equally
  Shard shard = Shard::none;                                 // with several ranks
  double bucket_mib = kDefaultBucketMib;                     // likewise
  Checkpoint checkpoint = Checkpoint::none;                  // of a training step
  double mixup = 0;                                          // parameter of the shares of mixed training images; 0: none
  double label_smoothing = 0;                                // of the training loss; evaluation has none
  ImageOptions images = {};                                  // of image files
  std::shared_ptr<const Tokenizer> tokenizer = nullptr;      // of the text; null: its bytes
  std::int64_t parts() const { return accumulate * ranks; }  // of the whole batch
  std::string optimizer_text() const { return optimizer.to_string() + schedule.to_string(); }
};
// Errors: std::invalid_argument, one line, for an unknown model or option, or a batch that --accumulate does not divide;
// DataError for the tokenizer.
WorkloadSpec workload_spec(const CaseSpec& spec);

struct Counts {
  std::int64_t parameters = 0;
  double forward_flops_per_sample = 0, train_flops_per_sample = 0;
  std::string fingerprint;
};
Counts count(const WorkloadSpec& workload);

// The size of a finished case's data set. Errors: as workload_spec; DataError for the data set.
DatasetSize dataset_size(const CaseSpec& spec, DatasetSizes& sizes);

// What is known about a case before anything runs; `size` is that of its data set. Errors: as workload_spec.
Workload describe_workload(const CaseSpec& spec, const DatasetSize& size);

// Whether decoding the samples of a finished case costs time: image files, or --decode-cost; synthetic data is in memory.
bool decodes(const CaseSpec& spec);

// Finds what is wrong with --init, --save and --trace before anything runs.
// Errors: DataError for a file or folder, std::invalid_argument for a trace without training.
void check_files(const CaseSpec& spec);

// The entries that a mode needs: train and evaluate, or forward; with `trained` weights (--init) also evaluate.
std::vector<Entry> entries_of_mode(Mode mode, bool trained = false);

// Runs these entries through all passes, for this backend; without fusion, composites stay separate nodes. With the
// `pixel_values` of a data set, images are staged as bytes if the backend can decode them; images_of() says which.
// Errors: GraphError, also for a node that the backend cannot run.
Program make_program(const WorkloadSpec& workload, const Backend& backend, const std::vector<Entry>& entries,
                     Precision precision = Precision::fp32, bool fusion = true, const std::vector<float>& pixel_values = {});
// The element type of the images that the program stages, f32 or u8; empty if it stages none.
std::optional<DType> images_of(const Program& program);

// Why this backend cannot run these entries in this precision; empty if it can.
std::optional<std::string> unsupported(const WorkloadSpec& workload, const Backend& backend, const std::vector<Entry>& entries,
                                       Precision precision);

// What a case leaves out, or which kernels it asks for, although its backend, model or data do not have it; empty if they have
// it all. Leaving it out then changes something, or may if Backend::algorithm() is settled only in compile(). `backend` is the
// one that would run the case with everything.
std::optional<std::string> nothing_to_leave_out(const CaseSpec& spec, const Backend& backend);

// The model's parameters and statistics.
std::vector<Variable> model_variables(const WorkloadSpec& workload);

// Memory of a finished case's program on its device, over all its ranks. Errors: DeviceError, GraphError, and DataError for the
// data set.
std::int64_t planned_bytes(const CaseSpec& spec, DatasetSizes& sizes);

// Initial values of all variables, the same for every backend: one Philox stream per variable name, key = seed.
// Those that Entry::prepare makes are left to it.
void initialize(Executable& executable, const Program& program, std::uint64_t seed);
// Sets averages of parameters (OptimizerSpec::ema) to the parameters; call it after weights are initialized or read.
void begin_averages(Executable& executable, const Program& program);
// Runs Entry::prepare, if the program has it: after weights change from outside, and before the entries that read what it
// computes from them.
void prepare(Executable& executable, const Program& program);

// `threads`: of the CPU; the reference backend has one, and no options. With ranks on GPUs, the i-th rank of a machine has the
// i-th GPU from `device` on. Errors: DeviceError with the reason why a device is not usable here.
inline constexpr const char* kNotUsable = " is not usable: ";  // between the device and the cause
std::unique_ptr<Backend> make_backend(DeviceId device, int threads, const BackendOptions& options = {},
                                      Communicator* communicator = nullptr);
BackendOptions backend_options(const CaseSpec& spec);
// The precision that its products multiply in. Errors: as make_backend().
Precision product_precision(const CaseSpec& spec);

// Builds, checks that it fits into memory (OutOfMemory with both numbers), compiles, initializes, starts the loader. With
// ranks, each calls it with its communicator, which must live as long. Errors: also std::invalid_argument for another number of
// ranks.
PreparedCase prepare_case(const CaseSpec& spec, Communicator* communicator = nullptr);

}  // namespace epochbench
