# shellcheck shell=sh disable=SC2154,SC2034
#
# Shared by scripts/run, scripts/test and .ci/run: packages, configuration and a quiet build in build/. Sourced by a POSIX shell
# that has set `program` (for messages) and `root` (the repository). Sourcing it runs nothing; it never changes the current
# folder and writes only to stderr, so that stdout belongs to the program. A failed setup exits with 2.
#
# Environment: CXX selects the compiler (one of Debian's, such as g++-14 or clang++-19, is installed if it is missing),
# EPOCHBENCH_JOBS the number of parallel compilations; EPOCHBENCH_WERROR=ON makes warnings errors, and EPOCHBENCH_LIBRARIES=ON lets
# --kernels fastest choose between our kernels, OpenBLAS and oneDNN, both here and in later calls;
# EPOCHBENCH_KERNELS=all builds what any machine can run, for a binary that travels, instead of what this one can (native); for CUDA
# see cuda.sh.

build=$root/build
log=$build/setup.log
kernels=${EPOCHBENCH_KERNELS:-native}
compiler=${CXX:-g++}
case $compiler in
  g++-[0-9]*) compiler_packages=$compiler ;;
  clang++*) compiler_packages="clang${compiler#clang++} libomp${compiler#clang++}-dev" ;;  # OpenMP does not come with clang
  *) compiler_packages=g++ ;;
esac
build_packages="$compiler_packages cmake ninja-build nlohmann-json3-dev libcli11-dev libxxhash-dev libpcre2-dev libutf8proc-dev zlib1g-dev libjs-d3 libarchive-dev libjpeg-dev libpng-dev"
test_packages="$build_packages libgtest-dev libgmock-dev libbenchmark-dev libopenmpi-dev openmpi-bin python3 python3-jsonschema"
library_packages="libdnnl-dev libopenblas-openmp-dev"
test_options="EPOCHBENCH_TESTS=ON EPOCHBENCH_BENCHMARKS=ON"
job_kib=1572864  # memory of one compilation: 1.5 GiB covers the largest kernel file and the sanitizer builds

say() { printf '%s: %s\n' "$program" "$*" >&2; }

die() {
  say "$@"
  exit 2
}

die_with_log() {
  tail -n 40 "$log" >&2
  die "$* (full log: $log)"
}

have_header() {
  for folder in /usr/include /usr/local/include; do
    if [ -e "$folder/$1" ]; then return 0; fi
  done
  return 1
}

# Whether the tool or header of Debian package $1 is present, from that package or from elsewhere.
have() {
  case $1 in
    g++*) command -v "$compiler" ;;
    clang | clang-[0-9]*) command -v "clang++${1#clang}" ;;
    cmake | python3) command -v "$1" ;;
    ninja-build) command -v ninja || { ! command -v apt-get && command -v make; } ;;
    nlohmann-json3-dev) have_header nlohmann/json.hpp ;;
    libcli11-dev) have_header CLI/CLI.hpp ;;
    libxxhash-dev) have_header xxhash.h ;;
    libpcre2-dev) have_header pcre2.h ;;
    libutf8proc-dev) have_header utf8proc.h ;;
    zlib1g-dev) have_header zlib.h ;;
    libarchive-dev) have_header archive.h ;;
    libjpeg-dev) have_header jpeglib.h ;;
    libpng-dev) have_header png.h ;;
    libdnnl-dev) have_header oneapi/dnnl/dnnl.hpp ;;
    libjs-d3) [ -e /usr/share/javascript/d3/d3.min.js ] ;;
    chromium) command -v chromium || command -v chromium-browser || command -v google-chrome ;;
    libopenmpi-dev) command -v mpicc ;;
    openmpi-bin) command -v mpirun ;;
    libgtest-dev) have_header gtest/gtest.h ;;
    libgmock-dev) have_header gmock/gmock.h ;;
    libbenchmark-dev) have_header benchmark/benchmark.h ;;
    python3-jsonschema) python3 -c 'import jsonschema' ;;
    python3-pip) python3 -m pip --version ;;
    *) false ;;
  esac >/dev/null 2>&1 || [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

apt_get() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@" \
    >>"$log" 2>&1 </dev/null
}

# Installs the Debian packages that are missing; does not call apt if there are none.
install_packages() {
  missing=
  for package; do
    have "$package" || missing="$missing $package"
  done
  missing=${missing# }
  if [ -z "$missing" ]; then return 0; fi
  changed=yes

  as_root=
  if ! command -v apt-get >/dev/null 2>&1; then
    # Not a Debian derivative: CMake may find libraries in other places, but tools must be in PATH.
    if have g++ && have cmake && have ninja-build; then
      say "apt-get not found, continuing without these Debian packages: $missing"
      return 0
    fi
    die "cannot install packages without apt-get; install the equivalents of these Debian packages: $missing"
  elif [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 ||
      die "cannot install packages: not root, and sudo was not found; as root, run: apt-get install $missing"
    if [ -t 0 ]; then as_root=sudo; else as_root="sudo -n"; fi
    $as_root true || die "cannot install packages: sudo failed; as root, run: apt-get install $missing"
  fi

  say "installing $missing"
  # Package lists may be missing or outdated: update them and retry once.
  # shellcheck disable=SC2086
  apt_get install -y --no-install-recommends $missing || {
    apt_get update || say "apt-get update failed, retrying with the existing package lists"
    apt_get install -y --no-install-recommends $missing || {
      grep '^E: ' "$log" | tail -n 5 >&2
      die "apt-get could not install $missing: check the network and /etc/apt (Ubuntu: component universe); log: $log"
    }
  }
}

# Whether build/ is for another CPU than this one, as after the folder has moved to another machine.
is_for_another_cpu() {
  probe=$build/supported_instruction_sets
  [ "$kernels" = native ] && [ -x "$probe" ] && ! cached EPOCHBENCH_BUILT_KERNELS "$("$probe")"
}

cached() { grep -q "^$1:[A-Z]*=$2\$" "$build/CMakeCache.txt" 2>/dev/null; }

# Configures build/ as a release with the given NAME=VALUE options, unless it already is configured so.
configure() {
  if [ -e "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"  # the repository was moved or copied
  fi
  [ -e "$build/build.ninja" ] || [ -e "$build/Makefile" ] || changed=yes
  definitions=
  for option in CMAKE_BUILD_TYPE=Release EPOCHBENCH_SANITIZE= "$@"; do
    cached "${option%%=*}" "${option#*=}" || changed=yes
    definitions="$definitions -D$option"
  done
  if is_for_another_cpu; then changed=yes; fi
  if [ "$changed" = no ]; then return 0; fi

  generator=
  if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null 2>&1; then generator="-G Ninja"; fi
  scope="what this machine can run (EPOCHBENCH_KERNELS=all: any machine)"
  if [ "$kernels" = all ]; then scope="what any machine can run"; fi
  say "configuring $build for $scope$cuda_remark"
  # shellcheck disable=SC2086
  cmake -S "$root" -B "$build" $generator $definitions >>"$log" 2>&1 </dev/null ||
    die_with_log "CMake could not configure the build"
}

# Number of parallel compilations: one per core, limited by the available memory.
compile_jobs() {
  count=$(nproc 2>/dev/null || echo 1)
  kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null || true)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  case $limit in
    '' | *[!0-9]*) ;;
    *) if [ -z "$kib" ] || [ $((limit / 1024)) -lt "$kib" ]; then kib=$((limit / 1024)); fi ;;
  esac
  if [ -n "$kib" ] && [ $((kib / job_kib)) -lt "$count" ]; then count=$((kib / job_kib)); fi
  if [ "$count" -lt 1 ]; then count=1; fi
  echo "${EPOCHBENCH_JOBS:-$count}"
}

# Builds these targets, or everything.
build() {
  start=$(date +%s)
  jobs=$(compile_jobs)
  if [ "$changed" = yes ] || [ ! -e "$build/epochbench" ]; then say "building with $jobs jobs; this takes a few minutes (log: $log)"; fi
  # shellcheck disable=SC2086
  cmake --build "$build" --parallel "$jobs" ${1:+--target $1} >>"$log" 2>&1 </dev/null ||
    die_with_log "the build failed; if the compiler ran out of memory, try EPOCHBENCH_JOBS=1"
  seconds=$(($(date +%s) - start))
  if [ "$seconds" -gt 2 ]; then say "built in $seconds s"; fi
}

. "$root/scripts/lib/cuda.sh"

# set_up TARGETS OPTIONS PACKAGES: installs, configures, builds; TARGETS '' builds everything. A lock allows one call per tree.
set_up() {
  mkdir -p "$build" 2>/dev/null || true
  case $kernels in all | native) ;; *) die "EPOCHBENCH_KERNELS is $kernels; use all or native" ;; esac
  case ${EPOCHBENCH_LIBRARIES:-OFF} in ON | OFF) ;; *) die "EPOCHBENCH_LIBRARIES is $EPOCHBENCH_LIBRARIES; use ON or OFF" ;; esac
  [ -w "$build" ] || die "cannot write to $build: clone the repository into a folder that you own"
  if command -v flock >/dev/null 2>&1; then
    exec 9>"$build/.lock"
    flock -n 9 || { say "waiting for another build in $build" && flock 9; }
  fi
  : >"$log"
  changed=no
  # shellcheck disable=SC2086
  install_packages $3
  # shellcheck disable=SC2086
  if [ "${EPOCHBENCH_LIBRARIES:-OFF}" = ON ]; then install_packages $library_packages; fi
  choose_cuda
  prepare_cuda
  # shellcheck disable=SC2086
  configure $2 "EPOCHBENCH_KERNELS=$kernels" "EPOCHBENCH_CUDA=$cuda" "EPOCHBENCH_CUDA_ARCHITECTURES=$cuda_architectures" \
    ${EPOCHBENCH_WERROR:+"EPOCHBENCH_WERROR=$EPOCHBENCH_WERROR"} ${EPOCHBENCH_LIBRARIES:+"EPOCHBENCH_LIBRARIES=$EPOCHBENCH_LIBRARIES"}
  build "$1"
  explain_missing_cuda
  exec 9>&-
}
