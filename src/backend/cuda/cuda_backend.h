// The CUDA backend over any device and libraries: the real ones (cuda_backend_main.cpp), or fakes for tests.
#pragma once

#include <functional>
#include <memory>

#include "epochbench/backend.h"
#include "kernels/cuda/libraries/libraries.h"
#include "src/backend/cuda/cuda_choices.h"
#include "src/backend/cuda/cuda_device.h"
#include "src/backend/cuda/cuda_exchange.h"

namespace epochbench {

// Called at the first compile(), as libraries take device memory.
using LibrariesMaker = std::function<std::shared_ptr<cuda::Libraries>()>;
using RanksMaker = std::function<CudaRanks()>;  // likewise; all ranks call it and wait for each other

// `device`: null for a backend that only plans, as make_cuda_planner() returns. `choices`: how algorithms are chosen;
// by default without timing them. `make_ranks`: for programs of several ranks, which cannot be compiled without it.
std::unique_ptr<Backend> make_cuda_backend(std::shared_ptr<cuda::Device> device, LibrariesMaker make_libraries,
                                           const BackendOptions& options = {}, ChoiceOptions choices = {},
                                           RanksMaker make_ranks = nullptr);

// For a real device: algorithms are timed, and choices are stored for later processes of this version of the program.
ChoiceOptions stored_choices();

}  // namespace epochbench
