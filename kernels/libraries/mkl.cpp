// Intel MKL, from the package mkl: products in fp32 only; it has no convolution, and its bf16 product writes fp32. It runs on
// this program's own OpenMP (its "GNU" threading layer). Its functions are declared here, so that its headers need not be
// installed.
#include <stdexcept>

#include "kernels/libraries/cblas.h"

extern "C" {
epochbench::CblasSgemm<std::int64_t> cblas_sgemm_64;
int MKL_Set_Threading_Layer(int layer);
void MKL_Set_Dynamic(int dynamic);
void MKL_Set_Num_Threads(int threads);
int MKL_Get_Max_Threads();
void MKL_Get_Version_String(char* text, int length);
}

namespace epochbench {
namespace {

constexpr int kGnuThreading = 3;  // MKL_THREADING_GNU

class Mkl final : public CblasLibrary<std::int64_t> {
 public:
  explicit Mkl(int threads) : CblasLibrary(cblas_sgemm_64) {
    if (MKL_Set_Threading_Layer(kGnuThreading) != kGnuThreading)
      throw std::runtime_error("MKL does not run on this program's OpenMP: unset MKL_THREADING_LAYER");
    MKL_Set_Dynamic(0);
    MKL_Set_Num_Threads(threads);
    if (const int got = MKL_Get_Max_Threads(); got != threads)
      throw std::runtime_error("MKL uses " + std::to_string(got) + " threads of the " + std::to_string(threads) + " wanted");
  }
  std::string version() const override {
    char text[256] = "";
    MKL_Get_Version_String(text, sizeof text - 1);
    std::string result = text;
    return result.substr(0, result.find_last_not_of(' ') + 1);
  }
};

}  // namespace
}  // namespace epochbench

extern "C" epochbench::Library* epochbench_library(const std::string& variant, int threads) {
  if (!variant.empty()) throw std::runtime_error("mkl has no variant '" + variant + "'");
  return new epochbench::Mkl(threads);
}
