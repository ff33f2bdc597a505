// The made-up GPUs of tests/support/cuda_emulated: a machine as a file describes it, for whole commands of epochbench without a
// GPU. The program runs our kernels on the CPU below an emulated CUDA runtime; everything above the runtime is the product's.
// It measures nothing: every card's name begins with "emulated", and so does what results say of its libraries.
//
// EPOCHBENCH_EMULATED_GPUS names a JSON file; without it there is no driver.
//   driver   newest CUDA that the driver supports, 13000 for 13.0; 0: no driver
//   no_nccl  why there is none; without it there is one
//   cards    in the order of their indices:
//     name, capability (90), memory_bytes, uuid (32 hexadecimal digits)
//     held_bytes        memory that other processes use
//     instances         uuids of its instances (MIG), which processes see in place of the card
//     lost_at_launch    the card disappears during this launch of a graph of a process, counted from 1 for each graph, so that
//                       after the fourth it is a step's and none of a trial of algorithms: from then on every call returns
//                       `error`, and no later process sees the card while the file FILE.lost.INDEX exists
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

namespace epochbench::test {

struct EmulatedCard {
  int index = 0;  // in the file
  std::string name, uuid;
  int capability = 90;
  std::int64_t memory_bytes = std::int64_t{16} << 30, held_bytes = 0;
  std::vector<std::string> instances;
  std::optional<std::int64_t> lost_at_launch;
  cudaError_t error = cudaErrorUnknown;

  std::int64_t allocated_bytes = 0;  // of this process
  bool lost = false;
};

struct EmulatedMachine {
  int driver = 0;
  std::optional<std::string> no_nccl;
  std::vector<EmulatedCard> visible;  // as CUDA_VISIBLE_DEVICES selects them, when the process asks for the first time
  std::string file;

  void lose(EmulatedCard& card) const;  // for this process and later ones
};

// The machine of this process, read at the first call. A file that cannot be read ends the process.
EmulatedMachine& emulated_machine();

}  // namespace epochbench::test
