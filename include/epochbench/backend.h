// The interface between the runner and a device. A backend knows nothing about gradients, and the runner nothing about devices.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epochbench/program.h"

namespace epochbench {

class Communicator;

struct DeviceInfo {
  std::string backend;  // "cpu", "cuda", "reference"
  std::string name;     // "AMD EPYC 9R14"
  int threads = 0;      // 0: not a CPU
  std::string isa;      // instruction set of the kernels in use: "avx512"; "" if it does not apply
  std::int64_t memory_bytes = 0;
  std::string bf16_isa = {};  // of a CPU's bf16 kernels: "avx512_bf16"; "" if it has none
  std::string int8_isa = {};  // of its int8 kernels: "avx512_vnni"
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
  // The algorithm chosen for each kind of node, with the number of nodes: "conv2d: cudnn eng47 [fastest of 9]", 12.
  virtual std::map<std::string, std::int64_t> chosen_algorithms() const { return {}; }
  // Runs `passes` steps on the batch submitted last and times each node; never mixed with step timing. Each node's seconds are
  // the median over the passes, so their sum is comparable with the median of whole steps. The steps train as usual.
  virtual std::vector<NodeTime> profile(Entry entry, int passes) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceInfo device() const = 0;
  virtual std::optional<std::string> unsupported(const Graph& graph, const Node& node) const = 0;  // the reason
  virtual std::size_t workspace_bytes(const Graph& graph, const Node& node) const = 0;
  // Memory of an intermediate value: at least its elements, more if the backend aligns its rows.
  virtual std::size_t value_bytes(const Graph& graph, ValueId value) const { return graph.desc(value).bytes(); }
  // How many kernels a step starts for the node; a library plan counts as one, and a view starts none.
  virtual int launches(const Graph& /*graph*/, const Node& node) const { return node.op == Op::reshape ? 0 : 1; }
  // The node's algorithm if it needs fewer multiplications than the counted FLOPs: "winograd"; otherwise "". If a library
  // chooses during compile(): the algorithm that it may choose.
  virtual std::string algorithm(const Graph& /*graph*/, const Node& /*node*/) const { return ""; }
  // Elements of the packed form of the node's weight (pack_weight); 0: the backend reads the weight itself.
  virtual std::int64_t packed_weight_elements(const Graph& /*graph*/, const Node& /*node*/) const { return 0; }
  virtual std::unique_ptr<Executable> compile(const Program& program) const = 0;  // outside any timed region
};

// Parts of a backend that can be left out, so that their effect can be measured. A backend without such a part ignores it.
struct BackendOptions {
  bool winograd = true;           // convolutions with fewer multiplications than the counted FLOPs
  bool packed_weights = true;     // CPU: a weight that no entry changes is packed once, not in every step
  bool portable_kernels = false;  // CPU: kernels that run on every processor of the architecture, in fp32 only
  bool exchange_thread = false;   // CPU: one more thread exchanges between ranks while the others compute
  bool graph_capture = true;      // CUDA: a step is one captured graph; otherwise kernels are enqueued one by one
  bool tuning = true;             // CUDA: algorithms without a stored choice are timed; otherwise the first that works is taken
};

std::unique_ptr<Backend> make_reference_backend();
// Uses kernels for the best instruction set of the CPU, unless the options select others. A program for ranks cannot be
// compiled without `communicator`, which must live as long as the executable.
std::unique_ptr<Backend> make_cpu_backend(int threads, const BackendOptions& options = {},
                                          Communicator* communicator = nullptr);
// The CUDA device with this index among the visible ones; allocates nothing on it before compile(). Errors: DeviceError with
// the reason: a build without CUDA, no driver, a driver that is too old, no such device, a compute capability that is too low,
// or, with a communicator, no NCCL. `communicator`: as above; all ranks wait for each other in their first compile().
std::unique_ptr<Backend> make_cuda_backend(int index, const BackendOptions& options = {}, Communicator* communicator = nullptr);
// Plans like the CUDA backend, for a GPU with every precision, but cannot compile. Errors: DeviceError in a build without CUDA.
std::unique_ptr<Backend> make_cuda_planner();

}  // namespace epochbench
