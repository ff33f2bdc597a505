// Runs parallel regions of one thread as plain calls.
//
// If the `if` clause of a region is false, GCC still calls its runtime, and libgomp allocates and frees a team of one thread:
// 0.3 microseconds and an allocation during a step. CMakeLists.txt makes the linker redirect the calls of everything that links
// these kernels to this file (--wrap). In a plain call, omp_get_thread_num() is 0, the team size is 1 and a barrier has no
// effect, as in a team of one.
extern "C" {

void __real_GOMP_parallel(void (*region)(void*), void* data, unsigned threads, unsigned flags);

void __wrap_GOMP_parallel(void (*region)(void*), void* data, unsigned threads, unsigned flags) {
  if (threads == 1)
    region(data);
  else
    __real_GOMP_parallel(region, data, threads, flags);
}
}
