// cuBLASLt and cuDNN, loaded when the first plan is made: linking them would cost every CPU run 150 MB and 70 ms.
#pragma once

#include "kernels/cuda/libraries/libraries.h"

namespace epochbench::cuda {

// Their functions may be called after this. Throws Error with the library's name and a remedy. Without this call, each function
// throws it.
void load_libraries();

LibraryVersions library_versions();  // loads them; throws like load_libraries

}  // namespace epochbench::cuda
