# shellcheck shell=sh disable=SC2154,SC2034
#
# The CUDA part of scripts/lib/setup.sh, which sources it. Where there is an NVIDIA GPU, or EPOCHBENCH_KERNELS=all, and a CUDA
# toolkit, it fetches cudnn_frontend and cuDNN from the Python index unless their headers are present, and with MPI (mpicc) NCCL,
# through which ranks on GPUs exchange; each may also be a package of this Python, as with PyTorch. It warns if the build cannot use
# this machine's GPU, and fails only if CUDA was asked for: without CUDA the build supports only the CPU, without NCCL no ranks on
# GPUs.
#
# Environment: CUDA_HOME, the toolkit's folder; without it PATH and /usr/local/cuda are searched. EPOCHBENCH_CUDA=OFF disables
# CUDA; ON requires it, downloads a toolkit if none is found, and builds for all GPUs where there is none.
# EPOCHBENCH_CUDA_ARCHITECTURES builds for these GPUs, as CMake names them, instead of those that are there. EPOCHBENCH_PACKAGES, a
# folder with include/ and lib/ that is used in place of build/packages.

packages=${EPOCHBENCH_PACKAGES:-$build/packages}
fetched_toolkit=$packages/nvidia/cu13
# nvcc comes last: if it is there, the download was complete.
toolkit_packages="nvidia-cuda-crt nvidia-nvvm nvidia-cuda-cccl nvidia-cuda-runtime nvidia-cuda-nvrtc nvidia-cublas nvidia-cuda-nvcc"

find_nvcc() {
  if [ -n "${CUDA_HOME:-}" ]; then
    set -- "$CUDA_HOME/bin"
  else
    set -- "$(dirname "$(command -v nvcc)")" /usr/local/cuda/bin "$fetched_toolkit/bin"
  fi
  for folder; do
    if [ -x "$folder/nvcc" ]; then
      echo "$folder/nvcc"
      return 0
    fi
  done
  return 1
}

# The architectures of this machine's NVIDIA GPUs as CMake names them, "80-real;90-real"; "unknown" if the driver does not say;
# nothing without a GPU.
gpu_architectures() {
  listed=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) && listed=${listed:-unknown}
  case $listed in
    [0-9]*.[0-9]*) echo "$listed" | awk -F '[. ]' '!seen[$1 $2]++ { printf "%s%s%s-real", separator, $1, $2; separator = ";" }' ;;
    *) if [ -n "$listed" ] || has_nvidia_device; then echo unknown; fi ;;
  esac
}

# The device files that a driver creates, and the vendors of PCI devices, as in src/backend/host/nvidia_device.h.
has_nvidia_device() {
  for file in /dev/nvidia*; do
    if [ -e "$file" ]; then return 0; fi
  done
  grep -qs 0x10de /sys/bus/pci/devices/*/vendor
}

# What the build has for GPUs: sets cuda (AUTO, ON, OFF), cuda_architectures (empty: all), and cuda_remark, what to say about it.
choose_cuda() {
  cuda=${EPOCHBENCH_CUDA:-AUTO} cuda_architectures=${EPOCHBENCH_CUDA_ARCHITECTURES:-} cuda_remark=
  if [ "$cuda" = OFF ]; then return 0; fi
  if [ -n "$cuda_architectures" ]; then
    if find_nvcc >/dev/null; then cuda_remark="; CUDA code for $cuda_architectures"; fi
    return 0
  fi
  if [ "$kernels" = all ]; then return 0; fi
  cuda_architectures=$(gpu_architectures)
  if [ "$cuda_architectures" = unknown ]; then
    cuda_architectures=
  elif [ -z "$cuda_architectures" ] && [ "$cuda" = AUTO ]; then
    cuda=OFF
    if find_nvcc >/dev/null; then cuda_remark="; no GPU, so no CUDA code (EPOCHBENCH_CUDA=ON: all GPUs)"; fi
  fi
}

# Folders with headers in the packages of this Python, such as those that come with PyTorch.
python_cuda_includes() {
  python3 -c "import importlib.util, pathlib
found = importlib.util.find_spec('nvidia')
for place in found.submodule_search_locations if found else []:
    print(*sorted(pathlib.Path(place).glob('*/include')), sep='\n')" 2>/dev/null || true
}

have_cuda_header() { # NAME TOOLKIT
  for folder in "$2/include" "$packages/include" "$packages/nvidia/cudnn/include" \
    "$packages/nvidia/nccl/include" \
    /usr/include /usr/local/include "/usr/include/$(uname -m)-linux-gnu"; do
    if [ -e "$folder/$1" ]; then return 0; fi
  done
  for folder in $(python_cuda_includes); do
    if [ -e "$folder/$1" ]; then return 0; fi
  done
  return 1
}

# Downloads and unpacks a package of cuda-packages.txt, for x86_64 unless a processor is given.
fetch_package() { # NAME [PROCESSOR]
  say "fetching $1 from the Python index"
  rm -rf "$packages/download"
  mkdir -p "$packages/download"
  grep "^$1==" "$root/scripts/lib/cuda-packages.txt" >"$packages/download/requirements.txt"
  python3 -m pip download --quiet --disable-pip-version-check --retries 1 --no-deps --require-hashes --only-binary=:all: \
    --python-version 3.11 --implementation cp --platform "manylinux_2_28_${2:-x86_64}" --platform "manylinux_2_27_${2:-x86_64}" \
    --platform "manylinux_2_18_${2:-x86_64}" --platform "manylinux_2_17_${2:-x86_64}" --platform "manylinux_2_12_${2:-x86_64}" \
    --dest "$packages/download" --requirement "$packages/download/requirements.txt" >>"$log" 2>&1 </dev/null || return 1
  for wheel in "$packages"/download/*.whl; do
    python3 -m zipfile -e "$wheel" "$packages" >>"$log" 2>&1 </dev/null || return 1
  done
  rm -rf "$packages/download"
  # A wheel unpacks to files without permissions, and its nvcc and CMake do not find its libraries without these links.
  for folder in "$fetched_toolkit/bin" "$fetched_toolkit/nvvm/bin"; do
    if [ -d "$folder" ]; then chmod -R +x "$folder"; fi
  done
  if [ -e "$fetched_toolkit/lib/libcudart.so.13" ]; then
    ln -sfn lib "$fetched_toolkit/lib64"
    ln -sf libcudart.so.13 "$fetched_toolkit/lib/libcudart.so"
  fi
  changed=yes
}

prepare_cuda() {
  if [ "$cuda" = OFF ] || [ ! -d "$root/kernels/cuda" ]; then return 0; fi
  wanted=
  if nvcc=$(find_nvcc); then
    # The toolkit may have been installed after the first build.
    if grep -q '^EPOCHBENCH_NVCC:[A-Z]*=.*NOTFOUND$' "$build/CMakeCache.txt" 2>/dev/null; then changed=yes; fi
    toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    major=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
  elif [ "$cuda" = ON ] && [ -z "${CUDA_HOME:-}" ]; then
    say "no CUDA toolkit found; downloading CUDA 13.0 and cuDNN (about 1 GB)"
    toolkit=$fetched_toolkit major=13 wanted=$toolkit_packages
  else
    return 0
  fi
  if ! have_cuda_header cudnn_frontend.h "$toolkit"; then wanted="$wanted nvidia-cudnn-frontend"; fi
  if ! have_cuda_header cudnn.h "$toolkit"; then wanted="$wanted nvidia-cudnn-cu$major"; fi
  if command -v mpicc >/dev/null 2>&1 && ! have_cuda_header nccl.h "$toolkit"; then wanted="$wanted nvidia-nccl-cu$major"; fi
  if [ -z "$wanted" ]; then return 0; fi

  if ! python3 -m pip --version >/dev/null 2>&1 && ! (install_packages python3 python3-pip); then
    leave_cuda_out "Python with pip was not found, cannot fetch" "$wanted"
    return 0
  fi
  for package in $wanted; do
    case $package in
      nvidia-cudnn-frontend) fetch_package "$package" ;;
      nvidia-nccl-*) fetch_package "$package" "$(uname -m)" ||
        say "WARNING: no ranks on GPUs: could not fetch $package from the Python index; log: $log" ;;
      *) fetch_package "$package" "$(uname -m)" ;;
    esac || {
      grep -i '^error' "$log" | tail -n 1 >&2
      leave_cuda_out "could not fetch" "$package"
      return 0
    }
  done
}

leave_cuda_out() { # REASON PACKAGES
  if [ "$cuda" = ON ]; then die "EPOCHBENCH_CUDA is ON, but $1 $2 from the Python index; log: $log"; fi
  say "WARNING: CPU-only build: $1 $2 from the Python index; log: $log"
  say "WARNING: to measure the GPU, install its headers in $toolkit/include, then run this again"
}

# Warns if the build cannot use this machine's NVIDIA GPU, and why.
explain_missing_cuda() {
  if [ "$cuda" = OFF ] || { ! command -v nvidia-smi >/dev/null 2>&1 && [ ! -e /proc/driver/nvidia ]; }; then return 0; fi
  if [ ! -d "$root/kernels/cuda" ]; then
    say "WARNING: this version of epochbench has no CUDA backend; the NVIDIA GPU of this machine is not measured"
  elif ! find_nvcc >/dev/null; then
    say "WARNING: CPU-only build: this machine has an NVIDIA driver, but no CUDA toolkit (nvcc)"
    say "WARNING: to measure the GPU, install the CUDA toolkit (12.4 or later) and run this again; or set EPOCHBENCH_CUDA=ON, and"
    say "WARNING: CUDA 13.0 is fetched from the Python index (1 GB; needs a driver of version 580 or later)"
  elif reason=$(sed -n 's/^EPOCHBENCH_CUDA_MISSING:[A-Z]*=//p' "$build/CMakeCache.txt" 2>/dev/null) && [ -n "$reason" ]; then
    say "WARNING: CPU-only build: this machine has an NVIDIA driver, but $reason"
  fi
}
