// An executable on a CUDA device: variables, arena, staged batches on host and device, and each entry's step as one captured
// graph, or node by node without capture. The node compiler determines what a node enqueues; cuda_device.h is the interface to
// the device.
//
// There are two streams, and a third for ranks (cuda_exchange.h). The copy stream transfers a batch; the compute stream waits
// for it and runs steps, one after the other. A batch's device memory is overwritten after the last step that read it. Each
// (entry, slot) has its own graph, as a captured graph holds the addresses of its inputs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "epochbench/backend.h"
#include "src/backend/cuda/cuda_exchange.h"
#include "src/backend/cuda/cuda_handles.h"
#include "src/backend/host/compiled_entry.h"
#include "src/backend/host/exchange_order.h"

namespace epochbench {

// Device memory that belongs to nodes: read-only arrays for kernels.
class DeviceTables {
 public:
  DeviceTables(cuda::Device& device, cuda::Stream stream) : device_(device), stream_(stream) {}

  template <typename T>
  const T* upload(const std::vector<T>& values) {  // waits. Errors: OutOfMemory
    return static_cast<const T*>(upload(values.data(), values.size() * sizeof(T)));
  }

 private:
  const void* upload(const void* values, std::size_t bytes);

  cuda::Device& device_;
  cuda::Stream stream_;
  std::vector<cuda::DeviceMemory> memory_;
};

// What a node may use while it is compiled. `values`, `workspace` and `tables` stay valid as long as the work it enqueues. The
// contents of workspace, arena and variables may be overwritten until all nodes are compiled, as tuning does.
struct CudaNodeContext {
  const ValueMemory& values;
  void* workspace;
  cuda::Stream stream;
  DeviceTables& tables;
  CudaExchange* exchange = nullptr;  // null: a single rank
};

struct CudaNode {
  std::function<void(cuda::Stream)> enqueue;  // empty: nothing to do (a view). Does not allocate or wait; can be captured
  std::string implementation;                 // "cublasLt 128x256x64"
  std::string algorithm = {};                 // Executable::algorithms names it: "winograd"
  bool has_algorithms = false;                // Executable::chosen_algorithms() counts it
  // The time of a run if the algorithm was chosen without time to compare it with another, otherwise 0; empty if nothing is
  // timed.
  std::optional<double> blind_seconds = {};
  bool library_dropout = false;  // its dropout masks differ from those of kernels/shapes.h
};
struct CudaNodePlace {
  const Graph& graph;
  const Node& node;
  const CudaNodeContext& context;
};
// Compiles the nodes of all entries of a program, as they share the time for choosing algorithms; the result has their order.
using CudaCompiler = std::function<std::vector<CudaNode>(const std::vector<CudaNodePlace>& places)>;

class CudaExecutable final : public Executable {
 public:
  static constexpr int kStepsUnderWay = 63;  // before run() waits for the oldest

  // Every entry runs once before it is captured, so that modules are loaded and libraries have allocated their memory; it
  // computes on zeros, and all memory is zero again afterwards.
  // `captures`: a step is one graph; otherwise its nodes are enqueued one by one each time. `ranks`: for a program of several
  // ranks. Errors: OutOfMemory; Error of the device or of a node.
  CudaExecutable(std::shared_ptr<cuda::Device> device, const Program& program, const CudaCompiler& compile,
                 bool captures = true, const CudaRanks& ranks = {});

  using Executable::stage;
  std::span<std::byte> stage(InputSlot slot, int input, int part) override;
  void submit(InputSlot slot) override;
  void resubmit(InputSlot slot) override { submitted_ = slot; }
  void run(Entry entry) override;
  bool asynchronous() const override { return true; }
  int under_way() const override;
  void await(int steps) override;
  void drain(std::vector<StepRecord>& records) override;
  void synchronize() override;
  void write(std::string_view variable, std::span<const float> values) override;
  void read(std::string_view variable, std::span<float> values) const override;
  void write_part(std::string_view variable, std::int64_t first, std::span<const float> values) override;
  void set(std::string_view variable, float value) override;
  bool library_dropout_masks() const override;
  std::string algorithms() const override { return algorithm_of(entries_); }
  std::map<std::string, std::int64_t> chosen_algorithms() const override;
  std::optional<double> blind_seconds(Entry entry) const override;
  std::optional<std::int64_t> device_bytes() const override { return device_->bytes_in_use() - in_use_before_; }
  std::vector<NodeTime> profile(Entry entry, int passes) override;

 private:
  static constexpr std::uint64_t kRing = kStepsUnderWay + 1;  // the end of the step before the oldest one is needed

  struct CudaEntry : CompiledEntry<CudaNode> {
    std::array<cuda::Owned<cuda::GraphExec>, kInputSlots> graphs;  // by slot; empty without capture
  };
  struct Step {                                    // a place in the ring
    cuda::Owned<cuda::Event> begin, arrived, end;  // begin: the device has reached it; arrived: its batch has been transferred
    Entry entry = Entry::train;
    bool from_begin = false;  // the device was idle
    bool fresh = false;       // its batch was submitted since the previous step
  };
  struct Streams {  // waits for all before anything that they use is destroyed
    Streams(cuda::Device& device, bool exchanges);
    ~Streams();
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    cuda::Device& device;
    cuda::Owned<cuda::Stream> compute, copy, exchange;  // exchange: only if there are ranks
  };

  void compile_entries(const Program& program, const CudaCompiler& compile);
  std::vector<Entry> runnable() const;
  void clear_all();
  void enqueue_step(Entry which, InputSlot slot);
  void enqueue_scalars(const CudaEntry& entry);
  void start_step(Entry which, InputSlot slot);
  void collect();  // the records of steps that are done
  cuda::Stream compute() const { return streams_.compute.get(); }
  cuda::Stream copy() const { return streams_.copy.get(); }
  Step& ring(std::uint64_t step) { return steps_[step % kRing]; }
  const Step& ring(std::uint64_t step) const { return steps_[step % kRing]; }
  cuda::StepScalars* scalars() const { return reinterpret_cast<cuda::StepScalars*>(scalars_.data()); }
  std::uint32_t* cursor() const { return reinterpret_cast<std::uint32_t*>(cursor_.data()); }

  std::shared_ptr<cuda::Device> device_;
  bool captures_;
  std::int64_t in_use_before_;
  ProgramLayout layout_;
  cuda::DeviceMemory variables_, arena_, slots_, cursor_;  // the workspace is in arena_, after the largest entry
  cuda::PinnedMemory staged_, scalars_;
  cuda::PinnedMemory settings_;  // f32 [kRing]: what set() sends
  std::array<Step, kRing> steps_;
  std::array<std::optional<std::uint64_t>, kRing> setting_of_;  // by entry of settings_: the step that follows it
  std::array<cuda::Owned<cuda::Event>, kInputSlots> copied_;
  std::array<bool, kInputSlots> unseen_{};                        // submitted, but the compute stream has not waited for it
  std::array<std::optional<std::uint64_t>, kInputSlots> reader_;  // the last step that read the slot
  std::optional<DeviceTables> tables_;
  std::optional<CudaExchange> exchange_;  // only with several ranks; outlives the steps that captured its calls
  std::vector<Turn> exchange_order_;      // of their training steps
  CompiledEntries<CudaEntry> entries_;
  InputSlot submitted_ = 0;
  std::uint64_t launched_ = 0, collected_ = 0;  // steps
  std::uint64_t set_ = 0;                       // calls of set()
  bool idle_ = true;                            // since synchronize()
  std::vector<StepRecord> finished_;
  Streams streams_;  // destroyed first
};

}  // namespace epochbench
