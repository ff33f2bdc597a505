// What the runner sees of a device. A backend knows no autodiff; the runner knows no device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epochbench/program.h"

namespace epochbench {

struct DeviceInfo {
  std::string backend;  // "cpu", "cuda", "reference"
  std::string name;     // "AMD EPYC 9R14"
  int threads = 0;      // 0: not a CPU
  std::string isa;      // of the kernels in use: "avx512"; "" where it does not apply
  std::int64_t memory_bytes = 0;
  std::string bf16_isa = {};  // of a CPU's kernels in bf16: "avx512_bf16"; "" where it has none
};

class DeviceError : public std::runtime_error {  // the device is not usable here: exit code 3
 public:
  using std::runtime_error::runtime_error;
};
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using InputSlot = int;
inline constexpr InputSlot kInputSlots = 4;  // one computes, up to three are prefetched

struct StepRecord {
  Entry entry = Entry::train;
  double loss = 0;     // train: mean; evaluate: sum over the labels that are not ignored; forward: 0
  double correct = 0;  // evaluate: how many of them the largest logit meets
  // By the device's own clock. Where the device is asynchronous, from the end of the step before, so that gaps count, or
  // from run() where the device had been idle since synchronize(); else of the step alone.
  double device_seconds = 0;
  // Of device_seconds of an asynchronous device, what came before the step itself: it had nothing to do until the step was
  // asked for, and then waited for its batch to arrive.
  double idle_seconds = 0, arrival_seconds = 0;
};

struct NodeTime {
  std::string name;
  Op op;
  std::string implementation;
  double seconds = 0, flops = 0, bytes = 0;
};

class Executable {  // one variable store, several entry points
 public:
  virtual ~Executable() = default;
  // Host memory (pinned for CUDA) of one input of the slot's batch; the loader fills it. Inputs as in Graph::inputs.
  virtual std::span<std::byte> stage(InputSlot slot, int input) = 0;
  virtual void submit(InputSlot slot) = 0;  // starts its way to the device
  // As submit, for a slot whose contents are those that it was last submitted with: nothing needs to travel.
  virtual void resubmit(InputSlot slot) { submit(slot); }
  virtual void run(Entry entry) = 0;  // enqueues one step on the batch submitted last; never waits
  // Whether steps may still be under way when run() returns; then the slot of a step is not to be written until it is done.
  virtual bool asynchronous() const { return false; }
  virtual int under_way() const { return 0; }                // steps
  virtual void await(int /*steps*/) {}                       // waits until at most this many are under way
  virtual void drain(std::vector<StepRecord>& records) = 0;  // appends the finished steps' records, oldest first
  virtual void synchronize() = 0;
  // Values in the variable's own layout. Errors: std::invalid_argument for an unknown name or another size.
  virtual void write(std::string_view variable, std::span<const float> values) = 0;
  virtual void read(std::string_view variable, std::span<float> values) const = 0;
  // The elements from `first` on, so that a large variable needs no copy of its size. Errors: as write.
  virtual void write_part(std::string_view variable, std::int64_t first, std::span<const float> values) = 0;
  // Whether a library draws dropout masks of its own in place of those that kernels/shapes.h defines.
  virtual bool library_dropout_masks() const { return false; }
  // Memory of the device, beside the host's, that is in use beyond what was before compile(), by the driver's count: of all
  // processes there. Empty where the device has none of its own.
  virtual std::optional<std::int64_t> device_bytes() const { return std::nullopt; }
  // Algorithms that multiply less than the FLOPs that are counted, of any node: "winograd"; "" where there are none.
  virtual std::string algorithms() const { return ""; }
  // So many steps on the batch submitted last, node by node, never mixed with step timing; the seconds of a node are the
  // median of its passes, so that their sum is comparable with the median of whole steps. Trains on.
  virtual std::vector<NodeTime> profile(Entry entry, int passes) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceInfo device() const = 0;
  virtual std::optional<std::string> unsupported(const Graph& graph, const Node& node) const = 0;  // the reason
  virtual std::size_t workspace_bytes(const Graph& graph, const Node& node) const = 0;
  // The algorithm by which it runs a node, where that multiplies less than the FLOPs that are counted: "winograd"; else "".
  // Where a library chooses as the program is compiled: by which it may run it.
  virtual std::string algorithm(const Graph& /*graph*/, const Node& /*node*/) const { return ""; }
  virtual std::unique_ptr<Executable> compile(const Program& program) const = 0;  // outside any timed region
};

// What a backend can do without, so that what it is worth can be measured. A backend that has nothing of the kind ignores it.
struct BackendOptions {
  bool winograd = true;           // convolutions that multiply less than the FLOPs that are counted
  bool portable_kernels = false;  // the CPU's: those that are compiled for every processor of its kind, in fp32 alone
  bool graph_capture = true;      // CUDA's: a step is one captured graph; else its kernels are enqueued one by one
};

std::unique_ptr<Backend> make_reference_backend();
// Kernels of the best instruction set that the CPU has, unless the options ask for others.
std::unique_ptr<Backend> make_cpu_backend(int threads, const BackendOptions& options = {});
// The CUDA device of this index among the visible ones; takes nothing of it before compile(). Errors: DeviceError with the
// reason: this build has no CUDA backend, no driver, too old a driver, no such device, too low a compute capability.
std::unique_ptr<Backend> make_cuda_backend(int index, const BackendOptions& options = {});
// What plans as it does, for a GPU that has every precision, and cannot compile. Errors: DeviceError in a build without CUDA.
std::unique_ptr<Backend> make_cuda_planner();

}  // namespace epochbench
