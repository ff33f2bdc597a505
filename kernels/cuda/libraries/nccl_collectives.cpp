// NCCL, loaded when ranks first need it. In a build without nccl.h, no_collectives.cpp takes this file's place.
#include <algorithm>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "kernels/cuda/error.h"
#include "kernels/cuda/libraries/collectives.h"
#include "kernels/cuda/libraries/loaded_library.h"

namespace epochbench::cuda {
namespace {

const Library& nccl() {
  static const Library library("NCCL", "libnccl.so." EPOCHBENCH_TEXT(NCCL_MAJOR));
  return library;
}

void require(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  const char* details = ncclGetLastError(nullptr);
  throw Error(std::string("NCCL: ") + what + ": " + ncclGetErrorString(status) +
              (details && *details ? std::string(", ") + details : ""));
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(const ncclUniqueId& id, int rank, int ranks) : rank_(static_cast<std::size_t>(rank)) {
    require(ncclCommInitRank(&communicator_, ranks, id, rank), "connecting the GPUs of the ranks");
  }
  ~NcclCollectives() override { ncclCommDestroy(communicator_); }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  void all_reduce(float* values, std::size_t n, Stream stream) override {
    require(ncclAllReduce(values, values, n, ncclFloat, ncclSum, communicator_, stream), "a sum over the ranks");
  }
  void reduce_scatter(float* values, std::size_t each, Stream stream) override {
    require(ncclReduceScatter(values, values + rank_ * each, each, ncclFloat, ncclSum, communicator_, stream),
            "sums of the ranks' shares");
  }
  void all_gather(float* values, std::size_t each, Stream stream) override {
    require(ncclAllGather(values + rank_ * each, values, each, ncclFloat, communicator_, stream),
            "gathering the ranks' shares");
  }
  void reduce(float* values, std::size_t n, int root, Stream stream) override {
    require(ncclReduce(values, values, n, ncclFloat, ncclSum, root, communicator_, stream), "a sum for one rank");
  }
  void broadcast(float* values, std::size_t n, int root, Stream stream) override {
    require(ncclBroadcast(values, values, n, ncclFloat, root, communicator_, stream), "sending to all ranks");
  }
  void begin_group() override { require(ncclGroupStart(), "beginning a group of calls"); }
  void end_group() override { require(ncclGroupEnd(), "a group of calls"); }

 private:
  const std::size_t rank_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace

std::optional<std::string> collectives_obstacle() {
  try {
    nccl().require();
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

CollectivesId make_collectives_id() {
  nccl().require();
  ncclUniqueId made;
  require(ncclGetUniqueId(&made), "making an id of the ranks");
  CollectivesId id;
  static_assert(sizeof made.internal == sizeof id);
  std::copy(std::begin(made.internal), std::end(made.internal), id.begin());
  return id;
}

std::shared_ptr<Collectives> make_collectives(const CollectivesId& id, int rank, int ranks, int device) {
  nccl().require();
  check(cudaSetDevice(device), "using the device of a rank");
  ncclUniqueId known;
  std::copy(id.begin(), id.end(), std::begin(known.internal));
  return std::make_shared<NcclCollectives>(known, rank, ranks);
}

}  // namespace epochbench::cuda

EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id), (id))
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclCommInitRank, (ncclComm_t * communicator, int ranks, ncclUniqueId id, int rank),
                  (communicator, ranks, id, rank))
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclCommDestroy, (ncclComm_t communicator), (communicator))
EPOCHBENCH_LOADED(nccl, const char*, ncclGetErrorString, (ncclResult_t status), (status))
EPOCHBENCH_LOADED(nccl, const char*, ncclGetLastError, (ncclComm_t communicator), (communicator))
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclGroupStart, (), ())
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclGroupEnd, (), ())
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclAllReduce,
                  (const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t communicator,
                   cudaStream_t stream),
                  (from, to, count, type, op, communicator, stream))
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclReduceScatter,
                  (const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t communicator,
                   cudaStream_t stream),
                  (from, to, count, type, op, communicator, stream))
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclAllGather,
                  (const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t communicator,
                   cudaStream_t stream),
                  (from, to, count, type, communicator, stream))
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclReduce,
                  (const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                   ncclComm_t communicator, cudaStream_t stream),
                  (from, to, count, type, op, root, communicator, stream))
EPOCHBENCH_LOADED(nccl, ncclResult_t, ncclBroadcast,
                  (const void* from, void* to, std::size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                   cudaStream_t stream),
                  (from, to, count, type, root, communicator, stream))
