// The interface between the runner and a compiled program on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "epochbench/entry.h"

namespace epochbench {

enum class Op : std::uint8_t;

class DeviceError : public std::runtime_error {  // the device is not usable here: exit code 3
 public:
  using std::runtime_error::runtime_error;
};
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using InputSlot = int;
inline constexpr InputSlot kInputSlots = 4;  // one is in use, up to three are prefetched

struct StepRecord {
  Entry entry = Entry::train;
  double loss = 0;     // train: mean; evaluate: sum over the labels that are not ignored; forward: 0
  double correct = 0;  // evaluate: how many of those labels have the largest logit
  // Measured by the device's own clock. On an asynchronous device it starts at the end of the previous step, so that gaps
  // count, or at run() if the device was idle since synchronize(); otherwise it covers the step alone.
  double device_seconds = 0;
  // The part of device_seconds before the step itself, on an asynchronous device: idle until the step was enqueued, then
  // waiting for its batch to arrive.
  double idle_seconds = 0, arrival_seconds = 0;
};

struct NodeTime {
  std::string name;
  Op op;
  std::string implementation;
  double seconds = 0, flops = 0, bytes = 0;
};

class Executable {  // one set of variables, several entry points
 public:
  virtual ~Executable() = default;
  // Host memory (pinned for CUDA) for one input of one part of the slot's batch; the loader fills it. Inputs as in
  // Graph::inputs.
  virtual std::span<std::byte> stage(InputSlot slot, int input, int part) = 0;
  std::span<std::byte> stage(InputSlot slot, int input) { return stage(slot, input, 0); }  // of a batch in one part
  virtual void submit(InputSlot slot) = 0;                                                 // starts the transfer to the device
  // Like submit(), for a slot whose contents have not changed since it was last submitted: no transfer is needed.
  virtual void resubmit(InputSlot slot) { submit(slot); }
  virtual void run(Entry entry) = 0;  // enqueues one step on the batch submitted last; never waits
  // Whether steps may still be running when run() returns. If so, a step's slot must not be written until the step is done.
  virtual bool asynchronous() const { return false; }
  virtual int under_way() const { return 0; }                // steps enqueued and not yet finished
  virtual void await(int /*steps*/) {}                       // waits until at most this many are running
  virtual void drain(std::vector<StepRecord>& records) = 0;  // appends the finished steps' records, oldest first
  virtual void synchronize() = 0;                            // waits for all steps and all batch transfers
  // Values in the variable's own layout. Errors: std::invalid_argument for an unknown name or another size.
  virtual void write(std::string_view variable, std::span<const float> values) = 0;
  virtual void read(std::string_view variable, std::span<float> values) const = 0;
  // The elements from `first` on, so that writing a large variable needs no buffer of its size. Errors: as write.
  virtual void write_part(std::string_view variable, std::int64_t first, std::span<const float> values) = 0;
  // Sets a variable f32 [1] for the steps that run() enqueues from now on; steps already enqueued keep the old value. Never
  // waits for them. Errors: as write.
  virtual void set(std::string_view variable, float value) { write(variable, {&value, 1}); }
  // Whether a library draws its own dropout masks instead of those defined in kernels/shapes.h.
  virtual bool library_dropout_masks() const { return false; }
  // Increase of device memory in use since before compile(), as the driver counts it over all processes. Empty if
  // the device has no memory of its own.
  virtual std::optional<std::int64_t> device_bytes() const { return std::nullopt; }
  // Algorithms in use that need fewer multiplications than the counted FLOPs: "winograd"; "" if there are none.
  virtual std::string algorithms() const { return ""; }
  // The algorithm chosen for each kind of node, with the number of nodes: "conv2d: cudnn eng47 [fastest of 9]", 12; on a CPU
  // for each problem: "gemm m=8 n=64 k=32: oneDNN 2.6.3 [avx512 1.35 ms, oneDNN 2.6.3 1.20 ms]".
  virtual std::map<std::string, std::int64_t> chosen_algorithms() const { return {}; }
  // Seconds of a step in nodes whose algorithm was chosen without time to compare it with another, as one run of each took
  // during compile(). Empty if compile() times nothing.
  virtual std::optional<double> blind_seconds(Entry /*entry*/) const { return std::nullopt; }
  // Runs `passes` steps on the batch submitted last and times each node; never mixed with step timing. Each node's seconds are
  // the median over the passes, so their sum is comparable with the median of whole steps. The steps train as usual.
  virtual std::vector<NodeTime> profile(Entry entry, int passes) = 0;
};

}  // namespace epochbench
