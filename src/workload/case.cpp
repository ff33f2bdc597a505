// One case, from its description to something that runs.
#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "epochbench/communicator.h"
#include "src/base/clock.h"
#include "src/base/numbers.h"
#include "src/data/byte_source.h"
#include "src/data/loader.h"
#include "src/data/prepared_dataset.h"
#include "src/machine/environment.h"
#include "src/workload/nominal_epoch.h"
#include "src/workload/trace.h"
#include "src/workload/weights.h"
#include "src/workload/workload.h"

namespace epochbench {
namespace {

// Samples trained in one epoch: whole batches of real data, or the nominal number if an epoch is only projected.
std::int64_t samples_per_epoch(const CaseSpec& spec, std::int64_t samples, bool synthetic) {
  const bool runs_epochs = spec.stop.epochs || spec.stop.until;
  return synthetic && !runs_epochs ? samples : samples / *spec.batch * *spec.batch;
}

std::unique_ptr<Dataset> open_data(const CaseSpec& spec, const WorkloadSpec& workload) {
  const ModelFamily& family = *workload.model.family;
  return open_dataset(*spec.data, family.sample(workload.config), spec.epoch_samples.value_or(family.nominal_epoch.samples),
                      spec.seed, workload.tokenizer.get(), workload.images);
}

// What the loader reads: the data in the program's form, at the requested decoding cost, decoded in advance if requested.
std::unique_ptr<Dataset> input_of(std::unique_ptr<Dataset> dataset, const CaseSpec& spec, const WorkloadSpec& workload,
                                  DType images, const std::shared_ptr<DecodingTimes>& times) {
  if (images == DType::u8) dataset = std::make_unique<ByteDataset>(std::move(dataset));
  if (spec.decode_cost_seconds > 0) {
    const BusyWork work(spec.decode_cost_seconds, BusyWork::measured_rounds_per_second());
    dataset = std::make_unique<CostlyDataset>(std::move(dataset), work);
  }
  if (times) dataset = std::make_unique<TimedDataset>(std::move(dataset), times);
  if (spec.cache != Cache::decoded) return dataset;
  const SampleSpec sample = workload.model.family->sample(workload.config);
  const std::int64_t needed = CachedDataset::bytes(*dataset, sample, images), available = available_memory_bytes();
  if (needed > available)
    throw OutOfMemory(spec.name + ": " + dataset->name() + " needs " + format_bytes(static_cast<double>(needed)) +
                      " when it is decoded, and " + format_bytes(static_cast<double>(available)) +
                      " are available; leave out --cache decoded");
  return std::make_unique<CachedDataset>(std::move(dataset), sample, images);
}

std::optional<DecodeSeconds> seconds_per_sample(const DecodingTimes& times) {
  if (times.samples == 0) return std::nullopt;
  const double scale = 1e-9 / static_cast<double>(times.samples);
  return DecodeSeconds{static_cast<double>(times.cpu_nanoseconds) * scale, static_cast<double>(times.wall_nanoseconds) * scale};
}

// Advice for a case that needs more memory than its device has.
std::string memory_advice(const CaseSpec& spec) {
  const bool on_gpu = spec.device.kind == DeviceKind::cuda;
  const bool divisible = spec.mode == Mode::train && spec.accumulate < *spec.batch;
  const std::string less = divisible         ? "use a larger --accumulate, --checkpoint blocks or a smaller --batch"
                           : *spec.batch > 1 ? "use a smaller --batch"
                                             : std::string("its batch is 1 already: use a smaller model or a ") +
                                                   (on_gpu ? "GPU" : "machine") + " with more memory";
  return less + (on_gpu ? ", or end what else uses the GPU (nvidia-smi lists it)" : "");
}

void check_memory(const CaseSpec& spec, std::int64_t planned, std::int64_t available) {
  if (planned > available)
    throw OutOfMemory(spec.name + " needs " + format_bytes(static_cast<double>(planned)) + ", and " +
                      format_bytes(static_cast<double>(available)) + " are available; " + memory_advice(spec));
}

// A GPU may have less free memory than the total that the plan was checked against, and libraries need some beyond the plan.
std::unique_ptr<Executable> compile(const CaseSpec& spec, const Backend& backend, const Program& program) {
  try {
    return backend.compile(program);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(std::string(error.what()) + "; " + memory_advice(spec));
  }
}

constexpr const char* kSkippedSteps = "skipped_steps";  // the variable in which loss scaling counts them

// The file of --save is written at the end; an empty one beside it tests that this is possible.
void check_writable(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error) || TemporaryFile(path.string()).error() != 0)
    throw DataError("file " + in_quotes(path.string()) + " cannot be written: name another, or make its folder (--save)");
}

// Keeps a trace and the final weights if the case asks for them. The program's variables must be initialized.
void keep_files(PreparedCase& prepared, const CaseSpec& spec, const WorkloadSpec& workload, const Program& program) {
  std::shared_ptr<TraceWriter> trace;
  Executable& executable = *prepared.executable;
  if (!spec.trace.empty()) {
    trace = std::make_shared<TraceWriter>(spec.trace, workload, program, name(spec.precision), executable);
    prepared.after_step = [trace](InputSlot slot, double loss) { trace->step(slot, loss); };
  }
  if (!spec.save.empty() || trace)
    prepared.finish = [trace, save = spec.save, variables = program.variables, &executable] {
      if (trace) trace->finish();
      if (!save.empty()) write_weights(executable, variables, save);
    };
}

// Measures the ranges of activations on the first batches of an epoch, in float, and packs the weights for them.
void calibrate(Executable& executable, const Program& program, Loader& loader, std::int64_t batch) {
  constexpr std::int64_t kBatches = 4, kSamples = 64;  // at least this many of both; resident batches once each
  const std::int64_t wanted = std::max(kBatches, (kSamples + batch - 1) / batch);
  loader.begin_training(0);
  const std::int64_t steps = std::min<std::int64_t>(loader.resident() ? kInputSlots : wanted, loader.steps_per_epoch());
  for (std::int64_t step = 0; step < steps; ++step) {
    const InputSlot slot = loader.next().slot;
    executable.submit(slot);
    executable.run(Entry::calibrate);
    executable.synchronize();
    loader.release(slot);
  }
  prepare(executable, program);
}

void check_parts(const WorkloadSpec& workload, Mode mode) {
  const std::int64_t batch = workload.config.batch, parts = workload.accumulate, ranks = workload.ranks;
  const bool divided = parts > 1, checkpoints = workload.checkpoint != Checkpoint::none;
  if (mode != Mode::train && (divided || checkpoints || ranks > 1))
    throw std::invalid_argument(std::string(ranks > 1 ? "--ranks"
                                            : divided ? "--accumulate"
                                                      : "--checkpoint") +
                                " needs training; leave out --mode " + name(mode));
  if (batch % (parts * ranks) == 0) return;
  const std::string by_ranks = "--ranks " + std::to_string(ranks), by_parts = "--accumulate " + std::to_string(parts);
  throw std::invalid_argument((ranks == 1 ? by_parts + " does"
                               : !divided ? by_ranks + " does"
                                          : by_ranks + " times " + by_parts + " does") +
                              " not divide batch " + std::to_string(batch) + "; use a --batch that is a multiple of " +
                              (ranks > 1 && divided ? std::to_string(parts * ranks) : "it"));
}

void check_mixup(const WorkloadSpec& workload, Mode mode) {
  if (workload.mixup == 0) return;
  if (mode == Mode::forward) throw std::invalid_argument("--mixup: mode forward trains nothing; leave it out");
  if (workload.model.family->sample(workload.config).text())
    throw std::invalid_argument("--mixup: " + workload.model.name + " reads texts, and only images can be mixed; leave it out");
}

// Checks that the launcher started as many ranks as the case asks for.
void check_ranks(const CaseSpec& spec, const Communicator* communicator) {
  const int started = communicator ? communicator->size() : 1;
  if (spec.ranks == started) return;
  if (communicator == nullptr)
    throw std::invalid_argument("--ranks " + std::to_string(spec.ranks) + ": one process is one rank; `run` starts several");
  throw std::invalid_argument("--ranks " + std::to_string(spec.ranks) + ": the launcher started ranks of " +
                              std::to_string(started) +
                              "; use the one of the MPI that epochbench-mpi was built with (--launcher)");
}

Program program_of(const CaseSpec& spec, const WorkloadSpec& workload, const Backend& backend,
                   const std::vector<float>& pixel_values) {
  return make_program(workload, backend, entries_of_mode(spec.mode, !spec.init.empty()), spec.precision, !spec.without.fusion,
                      pixel_values);
}

}  // namespace

void check_files(const CaseSpec& spec) {
  if (!spec.init.empty()) check_weights(WeightFiles(spec.init), model_variables(workload_spec(spec)));
  if (!spec.save.empty()) check_writable(spec.save);
  if (spec.trace.empty()) return;
  if (spec.mode != Mode::train)
    throw std::invalid_argument(std::string("--trace needs training; leave out --mode ") + name(spec.mode));
  check_trace_folder(spec.trace);
}

WorkloadSpec workload_spec(const CaseSpec& spec) {
  WorkloadSpec workload;
  workload.model = spec.model.family ? spec.model : find_model(spec.model.name);  // which says what is wrong with it
  const std::string data = spec.data.value_or(workload.model.family->default_data);
  if (!spec.tokenizer.empty()) workload.tokenizer = open_tokenizer(spec.tokenizer);
  if (data != "synthetic")
    workload.model =
        with_text_ids(workload.model, workload.tokenizer ? std::optional(workload.tokenizer->ids()) : std::nullopt);
  workload.config.options = workload.model.options;
  workload.config.batch = spec.batch.value_or(workload.model.family->default_batch);
  workload.config.dropout = spec.dropout.value_or(-1);
  workload.optimizer = workload.model.family->optimizer(workload.config);
  if (spec.learning_rate) workload.optimizer.learning_rate = *spec.learning_rate;
  if (spec.weight_decay) workload.optimizer.weight_decay = *spec.weight_decay;
  workload.optimizer.ema = spec.ema;
  workload.schedule = {spec.lr_schedule, spec.lr_warmup};
  workload.label_smoothing = spec.label_smoothing;
  workload.mixup = spec.mixup;
  workload.images = spec.images;
  workload.accumulate = spec.accumulate;
  workload.ranks = spec.ranks;
  workload.shard = spec.shard;
  workload.bucket_mib = spec.bucket_mib;
  workload.checkpoint = spec.checkpoint;
  check_parts(workload, spec.mode);
  check_mixup(workload, spec.mode);
  return workload;
}

DatasetSize dataset_size(const CaseSpec& spec, DatasetSizes& sizes) {
  const WorkloadSpec workload = workload_spec(spec);
  const ModelFamily& family = *workload.model.family;
  return sizes.of(*spec.data, family.sample(workload.config), spec.epoch_samples.value_or(family.nominal_epoch.samples),
                  workload.tokenizer.get(), workload.images);
}

Workload describe_workload(const CaseSpec& spec, const DatasetSize& size) {
  const WorkloadSpec workload = workload_spec(spec);
  const Counts counts = count(workload);
  Workload description;
  description.model = workload.model.name;
  description.mode = spec.mode;
  description.parameters = counts.parameters;
  description.fingerprint = counts.fingerprint;
  description.batch = workload.config.batch;
  description.dataset = size.name;
  description.samples_per_epoch = samples_per_epoch(spec, size.train, size.synthetic);
  description.optimizer = workload.optimizer_text();
  if (workload.tokenizer) description.tokenizer = workload.tokenizer->identity();
  description.seed = spec.seed;
  description.train_flops_per_sample = counts.train_flops_per_sample;
  description.forward_flops_per_sample = counts.forward_flops_per_sample;
  const SampleSpec sample = workload.model.family->sample(workload.config);
  if (sample.text()) description.tokens_per_sample = sample.sequence;
  description.options = workload.model.options;
  description.nominal_dataset = nominal_dataset(description);
  return description;
}

// A few steps without warm-up, such as those compared with another device's, do not measure speed, so tuning is off.
BackendOptions backend_options(const CaseSpec& spec) {
  constexpr std::int64_t kFewSteps = 10;
  return {.winograd = !spec.without.winograd,
          .packed_weights = !spec.without.packed_weights,
          .kernels = spec.kernels == Kernels::best || spec.kernels == Kernels::fastest ? "" : name(spec.kernels),
          .libraries = spec.kernels == Kernels::fastest ? kFastest : "",
          .exchange_thread = exchange_threads(spec) > 0,
          .graph_capture = !spec.without.graph_capture,
          .library_attention = !spec.without.library_attention,
          .tuning = spec.warmup != 0 || !spec.stop.steps || *spec.stop.steps > kFewSteps};
}

std::unique_ptr<Backend> make_backend(DeviceId device, int threads, const BackendOptions& options, Communicator* communicator) {
  switch (device.kind) {
    case DeviceKind::cpu:
      return make_cpu_backend(threads, options, communicator);
    case DeviceKind::reference:
      return make_reference_backend();
    case DeviceKind::cuda:
      break;
  }
  if (communicator != nullptr) device.index += communicator->local_rank();
  try {
    return make_cuda_backend(device.index, options, communicator);
  } catch (const DeviceError& error) {
    throw DeviceError("device " + to_string(device) + kNotUsable + error.what());
  }
}

Precision product_precision(const CaseSpec& spec) {
  if (spec.precision != Precision::bf16 || spec.device.kind != DeviceKind::cpu) return spec.precision;
  const DeviceInfo cpu = make_backend(spec.device, 1, backend_options(spec))->device();
  return cpu.bf16_isa.empty() || cpu.widens_bf16 ? Precision::fp32 : Precision::bf16;
}

std::int64_t planned_bytes(const CaseSpec& spec, DatasetSizes& sizes) {
  const auto backend = make_backend(spec.device, spec.threads.value_or(1), backend_options(spec));
  return spec.ranks * memory(program_of(spec, workload_spec(spec), *backend, dataset_size(spec, sizes).pixel_values)).total();
}

bool decodes(const CaseSpec& spec) {
  return *spec.data != "synthetic" && (spec.data->starts_with(kImageFiles) || spec.decode_cost_seconds > 0);
}

PreparedCase prepare_case(const CaseSpec& spec, Communicator* communicator) {
  const WorkloadSpec workload = workload_spec(spec);
  check_ranks(spec, communicator);
  const auto backend = make_backend(spec.device, spec.threads.value_or(1), backend_options(spec), communicator);
  PreparedCase prepared;
  const double opened = steady_seconds();
  prepared.dataset = open_data(spec, workload);
  prepared.data_seconds = steady_seconds() - opened;
  prepared.samples_per_epoch = samples_per_epoch(spec, prepared.dataset->samples(Split::train), prepared.dataset->synthetic());
  prepared.left_out = [&files = *prepared.dataset] { return files.left_out(); };
  const DeviceInfo device = backend->device();
  prepared.device.backend = backend_kind(spec.device.kind);
  prepared.device.name = device.name;
  if (device.threads > 0) prepared.device.threads = device.threads;
  const std::string& isa = spec.precision == Precision::bf16   ? device.bf16_isa
                           : spec.precision == Precision::int8 ? device.int8_isa
                                                               : device.isa;
  if (!isa.empty()) prepared.device.isa = isa;
  if (spec.precision == Precision::bf16 && device.widens_bf16) prepared.device.products = Precision::fp32;
  if (spec.without != Without{}) prepared.device.without = to_string(spec.without);
  prepared.entry = spec.mode == Mode::forward ? Entry::forward : Entry::train;
  const bool trained = spec.mode == Mode::train || !spec.init.empty();  // random weights have no quality
  prepared.evaluates = trained && prepared.dataset->samples(Split::test) > 0;
  const SampleSpec sample = workload.model.family->sample(workload.config);
  prepared.metric = sample.text() && sample.text_classes == 0 ? EvalMetric::loss : EvalMetric::accuracy;
  prepared.labels_per_sample = sample.labels();
  prepared.fingerprint = count(workload).fingerprint;

  std::optional<ImageFiles> files;
  if (const auto classes = prepared.dataset->classes())
    files = {*classes, prepared.dataset->samples(Split::train), prepared.dataset->samples(Split::test), sample.height,
             sample.width};

  const double begin = steady_seconds();
  Program program = program_of(spec, workload, *backend, prepared.dataset->pixel_values());
  program.seed = spec.seed;
  if (communicator != nullptr) program.first_part = communicator->rank() * program.parts;
  const double input_begin = steady_seconds();
  const std::optional<DType> images = images_of(program);
  const auto times = decodes(spec) ? std::make_shared<DecodingTimes>() : nullptr;
  prepared.dataset = input_of(std::move(prepared.dataset), spec, workload, images.value_or(DType::f32), times);
  if (times) prepared.decoding = [times] { return seconds_per_sample(*times); };
  const double input_seconds = steady_seconds() - input_begin;
  *prepared.data_seconds += input_seconds;
  const bool on_gpu = spec.device.kind == DeviceKind::cuda;  // each rank has its own
  const std::int64_t planned = memory(program).total(), together = communicator && !on_gpu ? communicator->local_size() : 1;
  prepared.planned_bytes = planned * spec.ranks;
  check_memory(spec, planned * together, on_gpu ? device.memory_bytes : available_memory_bytes());
  if (communicator != nullptr) communicator->barrier();  // so that no rank takes memory before all have checked
  prepared.resident_before_bytes = resident_bytes();
  prepared.executable = compile(spec, *backend, program);
  if (const std::string algorithms = prepared.executable->algorithms(); !algorithms.empty())
    prepared.device.algorithms = algorithms;
  prepared.device.chosen_algorithms = prepared.executable->chosen_algorithms();
  prepared.device.blind_seconds = prepared.executable->blind_seconds(prepared.entry);
  initialize(*prepared.executable, program, spec.seed);
  if (!spec.init.empty()) read_weights(*prepared.executable, program.variables, spec.init);
  begin_averages(*prepared.executable, program);
  if (spec.precision != Precision::int8) prepare(*prepared.executable, program);  // for int8, calibrate() does it
  prepared.compile_seconds = steady_seconds() - begin - input_seconds;

  const LoaderOptions options{.order = spec.order,
                              .batch = *spec.batch / spec.ranks,
                              .parts = static_cast<int>(program.parts),
                              .rank = communicator ? communicator->rank() : 0,
                              .ranks = spec.ranks,
                              .mixup = workload.mixup,
                              .seed = spec.seed,
                              .threads = spec.loader_threads,
                              .prefetch = !spec.without.prefetch};
  std::size_t inputs = program.entry(prepared.entry)->graph.inputs.size();
  if (const EntryGraph* labeled = program.entry(Entry::evaluate)) inputs = std::max(inputs, labeled->graph.inputs.size());
  auto loader = std::make_unique<Loader>(
      *prepared.dataset, options, static_cast<int>(inputs),
      [&](InputSlot slot, int input, int part) { return prepared.executable->stage(slot, input, part); });
  if (!prepared.dataset->synthetic()) {
    prepared.input = Input{spec.loader_threads, loader->prefetches(), spec.decode_cost_seconds, spec.cache};
    if (images) prepared.input->images = name(*images);
    prepared.input->files = files;
  }
  if (spec.precision == Precision::int8) {
    const double calibration_begin = steady_seconds();
    calibrate(*prepared.executable, program, *loader, *spec.batch);
    prepared.compile_seconds += steady_seconds() - calibration_begin;
  }
  if (spec.mode == Mode::train && workload.schedule.changes())
    prepared.learning_rate = [schedule = workload.schedule, rate = workload.optimizer.learning_rate,
                              steps = scheduled_steps(spec, loader->steps_per_epoch())](std::int64_t step) {
      return rate * schedule.factor(step, steps);
    };
  prepared.batches = std::move(loader);
  keep_files(prepared, spec, workload, program);
  if (std::any_of(program.variables.begin(), program.variables.end(),
                  [](const Variable& variable) { return variable.name == kSkippedSteps; }))
    prepared.skipped_steps = [&executable = *prepared.executable] {
      float count = 0;
      executable.read(kSkippedSteps, {&count, 1});
      return static_cast<std::int64_t>(count);
    };
  return prepared;
}

}  // namespace epochbench
