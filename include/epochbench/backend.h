// What plans and compiles programs for a device. A backend knows nothing about gradients, and the runner nothing about devices.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "epochbench/executable.h"
#include "epochbench/program.h"

namespace epochbench {

class Communicator;

struct DeviceInfo {
  std::string name;  // "AMD EPYC 9R14"
  int threads = 0;   // 0: not a CPU
  std::string isa;   // instruction set of the kernels in use: "avx512"; "" if it does not apply
  std::int64_t memory_bytes = 0;
  std::string bf16_isa = {};  // of a CPU's bf16 kernels: "avx512_bf16"; "" if it has none
  bool widens_bf16 = false;   // whether their products are those of floats
  std::string int8_isa = {};  // of its int8 kernels: "avx512_vnni"; "" if it has none
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
  // What --without can leave out of the node: "winograd", an algorithm that needs fewer multiplications than the counted FLOPs,
  // or "library-attention"; otherwise "". If compile() chooses: what it may choose.
  virtual std::string algorithm(const Graph& /*graph*/, const Node& /*node*/) const { return ""; }
  // Elements of the packed form of the node's weight (pack_weight); 0: the backend reads the weight itself.
  virtual std::int64_t packed_weight_elements(const Graph& /*graph*/, const Node& /*node*/) const { return 0; }
  virtual std::unique_ptr<Executable> compile(const Program& program) const = 0;  // outside any timed region
};

inline constexpr const char* kFastest = "fastest";  // for each product and convolution, our kernel or a library's

// Parts of a backend that can be left out, so that their effect can be measured. A backend without such a part ignores it.
struct BackendOptions {
  bool winograd = true;           // convolutions with fewer multiplications than the counted FLOPs
  bool packed_weights = true;     // CPU: a weight that no entry changes is packed once, not in every step
  std::string kernels = {};       // CPU: only those of this instruction set: "portable", "avx2"; empty: the best
  std::string libraries = {};     // CPU: kFastest, or the library that runs what it can: "onednn"; empty: our kernels alone
  bool exchange_thread = false;   // CPU: one more thread exchanges between ranks while the others compute
  bool graph_capture = true;      // CUDA: a step is one captured graph; otherwise kernels are enqueued one by one
  bool library_attention = true;  // CUDA: cuDNN's attention where it has one; otherwise products and our own softmax
  bool tuning = true;             // CUDA: algorithms without a stored choice are timed; otherwise the first that works is taken
};

// The libraries of this build that kFastest chooses from: "oneDNN 2.6.3"; empty if it has none. One that does not load has the
// reason in its place.
std::vector<std::string> cpu_libraries();

std::unique_ptr<Backend> make_reference_backend();
// Uses kernels for the best instruction set of the CPU, unless the options select others. A program for ranks cannot be
// compiled without `communicator`, which must live as long as the executable. Errors: DeviceError if the CPU or the build lacks
// the kernels or the libraries.
std::unique_ptr<Backend> make_cpu_backend(int threads, const BackendOptions& options = {},
                                          Communicator* communicator = nullptr);
// The CUDA device with this index among the visible ones; allocates nothing on it before compile(). Errors: DeviceError with
// the reason: a build without CUDA, no driver, a driver that is too old, no such device, a compute capability that is too low,
// or, with a communicator, no NCCL. `communicator`: as above; all ranks wait for each other in their first compile().
std::unique_ptr<Backend> make_cuda_backend(int index, const BackendOptions& options = {}, Communicator* communicator = nullptr);
// Plans like the CUDA backend, for a GPU with every precision, but cannot compile. Errors: DeviceError in a build without CUDA.
std::unique_ptr<Backend> make_cuda_planner();

}  // namespace epochbench
