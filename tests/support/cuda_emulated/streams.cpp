// The emulated CUDA runtime: copies, streams, events and captured steps.
#include <chrono>
#include <cstring>
#include <utility>

#include "kernels/cuda/error.h"
#include "tests/support/cuda_emulated/runtime.h"
#include "tests/support/cuda_launch.h"

namespace epochbench::test {
namespace {

double passed_seconds = 0;
std::vector<cudaStream_t> taking_part;  // in a capture, beside the stream that it began with
bool captures = false, valid = true;    // whether a capture is under way, and has seen nothing that it forbids

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count() + passed_seconds;
}

// Kernels take the way of other work. Not before main, when the hook's own place may not be initialized.
void receive_launches() {
  static const LaunchHook before = set_launch_hook([](cuda::Stream stream, std::function<void()> kernel) {
    cuda::check(perform(stream, std::move(kernel)), "launching a kernel");
  });
}

}  // namespace

cudaError_t perform(cudaStream_t stream, std::function<void()> work) {
  if (const cudaError_t status = state_of(stream->card)) return status;
  if (stream->captured)
    stream->captured->work.push_back(std::move(work));
  else
    work();
  return cudaSuccess;
}

void pass_seconds(double seconds) { passed_seconds += seconds; }

cudaError_t state_outside_captures() {
  if (!captures) return state();
  valid = false;
  return cudaErrorStreamCaptureUnsupported;
}

}  // namespace epochbench::test

using namespace epochbench::test;

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return perform(stream, [=] {
    if (bytes >= kHugeBytes) return pass_seconds(kSecondsOfHugeWork);
    std::memcpy(to, from, bytes);
  });
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return perform(stream, [=] {
    if (bytes >= kHugeBytes) return pass_seconds(kSecondsOfHugeWork);
    std::memset(memory, value, bytes);
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  if (const cudaError_t status = state()) return status;
  receive_launches();
  *stream = new CUstream_st{current_card()};
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return state();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t status = state_outside_captures()) return status;
  return state_of(stream->card);
}

// What is captured runs in the order in which it was enqueued, on whichever stream.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->captured && !stream->captured) taking_part.push_back(stream);
  if (event->captured) stream->captured = event->captured;
  return state_of(stream->card);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t status = state()) return status;
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return state();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->seconds = now();
  event->captured = stream->captured;
  return state_of(stream->card);
}

cudaError_t cudaEventSynchronize(cudaEvent_t) { return state(); }

cudaError_t cudaEventQuery(cudaEvent_t) { return state(); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = static_cast<float>((end->seconds - begin->seconds) * 1e3);
  return state();
}

// Captured steps.

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  stream->captured = new CUgraph_st;
  captures = valid = true;
  return state_of(stream->card);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = std::exchange(stream->captured, nullptr);
  for (cudaStream_t each : std::exchange(taking_part, {})) each->captured = nullptr;
  captures = false;
  if (valid) return state_of(stream->card);
  delete std::exchange(*graph, nullptr);
  return cudaErrorStreamCaptureInvalidated;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = new CUgraphExec_st{graph->work};
  return state();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return state();
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t stream) { return state_of(stream->card); }

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (const cudaError_t status = state_of(stream->card)) return status;
  EmulatedCard& card = *stream->card;
  if (++executable->launches == card.lost_at_launch) {  // found out when the step is waited for
    emulated_machine().lose(card);
    return cudaSuccess;
  }
  for (const auto& work : executable->work) work();
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return state();
}
