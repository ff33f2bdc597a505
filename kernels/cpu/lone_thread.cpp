// Parallel regions of one thread as plain calls.
//
// For a region whose `if` clause says no, GCC calls its runtime all the same, and libgomp then allocates and frees a team of
// one: 0.3 microseconds and an allocation in the middle of a step. CMakeLists.txt has the linker send the calls of everything
// that links these kernels here (--wrap). In a plain call, omp_get_thread_num() is 0, the team's size is 1 and a barrier is
// passed, as in a team of one.
extern "C" {

void __real_GOMP_parallel(void (*region)(void*), void* data, unsigned threads, unsigned flags);

void __wrap_GOMP_parallel(void (*region)(void*), void* data, unsigned threads, unsigned flags) {
  if (threads == 1)
    region(data);
  else
    __real_GOMP_parallel(region, data, threads, flags);
}
}
