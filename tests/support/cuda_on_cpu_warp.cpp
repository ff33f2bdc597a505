// Warp operations: each lane stores its operand, and the last lane of the mask to arrive computes the results of all.
#include <bit>
#include <cstdio>

#include "tests/support/cuda_on_cpu_block.h"

namespace epochbench::test {

namespace {

const char* name_of(WarpOp op) {
  switch (op) {
    case WarpOp::sync:
      return "__syncwarp";
    case WarpOp::ballot:
      return "a vote";
    case WarpOp::shuffle:
      return "__shfl_sync";
    case WarpOp::shuffle_up:
      return "__shfl_up_sync";
    case WarpOp::shuffle_down:
      return "__shfl_down_sync";
    case WarpOp::shuffle_xor:
      return "__shfl_xor_sync";
  }
  return "";
}

}  // namespace

std::string Multiprocessor::describe_wait(const Thread& thread) const {
  char mask[16];
  std::snprintf(mask, sizeof mask, "0x%08x", thread.mask);
  return std::string(name_of(thread.op)) + " of width " + std::to_string(thread.width) + " and mask " + mask + " at " +
         test::describe(thread.place);
}

std::uint64_t Multiprocessor::warp(WarpOp op, unsigned mask, std::uint64_t value, unsigned argument, int width, Place place) {
  Thread& thread = *current_;
  const int first = turn_ * kLanes;
  const unsigned own = 1u << (index_of(thread) - first);
  Warp& warp = warps_[turn_];
  thread.op = op;
  thread.mask = mask;
  thread.deposit = value;
  thread.argument = argument;
  thread.width = width;
  thread.place.assign(place);
  if ((mask & own) == 0) abort_kernel(describe(thread) + " is not in the mask of " + describe_wait(thread));
  if ((mask & warp.done) != 0)
    abort_kernel(describe(thread) + " waits for lanes that have returned or never were in " + describe_wait(thread));
  if (width < 1 || width > kLanes || (width & (width - 1)) != 0)
    abort_kernel(describe(thread) + " asks for an impossible width in " + describe_wait(thread));
  const bool orders_memory = op == WarpOp::sync;  // shuffles and votes do not
  if (orders_memory) warp.arrival.release();
  warp.waiting |= own;
  if ((warp.waiting & mask) == mask)
    complete_warp(first, mask);
  else
    suspend();
  if (orders_memory) warp.departure.acquire();
  return thread.result;
}

// What a shuffle gives the lane. Where its source lies outside the segment of `width` lanes it keeps its own value.
inline std::uint64_t Multiprocessor::shuffled(int first, int lane) const {
  const Thread& thread = threads_[first + lane];
  const auto own = static_cast<unsigned>(lane), width = static_cast<unsigned>(thread.width), segment = own & ~(width - 1);
  unsigned source = own;
  if (thread.op == WarpOp::shuffle) {
    source = segment | (thread.argument & (width - 1));
  } else if (thread.op == WarpOp::shuffle_up) {
    if (own - segment >= thread.argument) source = own - thread.argument;
  } else if (thread.op == WarpOp::shuffle_down) {
    if (thread.argument < segment + width - own) source = own + thread.argument;
  } else if ((own ^ thread.argument) < segment + width) {  // with xor, a segment may also read earlier ones
    source = own ^ thread.argument;
  }
  if ((thread.mask >> source & 1) == 0)
    abort_kernel(describe(thread) + " reads lane " + std::to_string(source) + ", which is not in the mask, in " +
                 describe_wait(thread));
  return threads_[first + static_cast<int>(source)].deposit;
}

void Multiprocessor::complete_warp(int first, unsigned mask) {
  const Thread& last = *current_;
  Warp& warp = warps_[first / kLanes];
  std::uint64_t votes = 0;
  for (unsigned left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Thread& thread = threads_[first + lane];
    if (thread.op != last.op || thread.mask != mask || thread.width != last.width || thread.place != last.place)
      abort_kernel("lanes disagree: " + describe(last) + " is in " + describe_wait(last) + ", " + describe(thread) + " in " +
                   describe_wait(thread));
    if (thread.deposit != 0) votes |= std::uint64_t{1} << lane;
  }
  for (unsigned left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    threads_[first + lane].result = last.op == WarpOp::ballot ? votes : last.op == WarpOp::sync ? 0 : shuffled(first, lane);
  }
  warp.waiting &= ~mask;
  if (last.op == WarpOp::sync) {
    warp.arrival.acquire();
    warp.departure.release();
  }
}

}  // namespace epochbench::test
