# Toolchain file for aarch64 on Debian for x86-64: cmake --toolchain cmake/aarch64-linux-gnu.cmake. Libraries are those of
# Debian's architecture arm64, installed beside this machine's; scripts/check_aarch64 has the list. Tests run in qemu, whose
# environment variable QEMU_CPU names the processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
