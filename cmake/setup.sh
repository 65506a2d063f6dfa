#!/usr/bin/env bash
# setup.sh PURPOSE... - installs what building seqpar needs and this machine lacks; does nothing, and asks no network,
# where everything is there. The one place that installs; tests/run.sh, examples/run.sh and bench/run.sh call it.
#
# PURPOSE: base (compiler, CMake, Ninja, CCCL headers; always included), tests, examples, bench, mpi, clang, cccl-newest;
# only where there is an nvcc: nccl, and sass (cuobjdump and nvdisasm; without them one test is left out, so that it is no
# error where they cannot be had)
#
# Debian's packages come from apt (as root, or through sudo); NCCL, and the CCCL headers where there is no CUDA toolkit,
# from pip into folders of their own under build/packages/. The system's Python is never touched.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
packages_dir=$root/build/packages

# --- Debian's packages ------------------------------------------------------------------------------------------------
# have_PACKAGE tells whether what the package brings is there, wherever it came from.
have_command() { command -v "$1" >/dev/null; }
have_header() { echo "#include <$1>" | g++ -E -x c++ - >/dev/null 2>&1; }
have_file() { compgen -G "$1" >/dev/null; }
have() {
  case $1 in
    g++) have_command g++ ;;
    cmake) have_command cmake && (cd "$root" && cmake --list-presets >/dev/null 2>&1) ;; # presets want 3.25
    ninja-build) have_command ninja ;;
    python3-venv) have_command python3 && python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    doctest-dev) have_header doctest/doctest.h ;;
    nlohmann-json3-dev) have_header nlohmann/json.hpp ;;
    libtbb-dev) have_header tbb/blocked_range.h ;;
    libeigen3-dev) have_header eigen3/Eigen/Core ;;
    libcli11-dev) have_header CLI/CLI.hpp ;;
    pkg-config) have_command pkg-config ;;
    libcairo2-dev) have_command pkg-config && pkg-config --exists cairo ;;
    libbenchmark-dev) have_header benchmark/benchmark.h ;;
    libopenmpi-dev) have_command mpicxx ;;
    openmpi-bin) have_command mpirun ;;
    clang-16) have_command clang++-16 ;;
    libomp-16-dev) have_file '/usr/lib/llvm-16/lib/clang/16/include/omp.h' ;;
    libclang-rt-16-dev) have_file '/usr/lib/llvm-16/lib/clang/16/lib/linux/libclang_rt.tsan-*.a' ;;
  esac
}
reason() {
  case $1 in
    g++) echo 'the C++ compiler' ;;
    cmake) echo 'configures the build (3.25 or newer)' ;;
    ninja-build) echo 'runs the build' ;;
    python3-venv) echo 'fetches wheels from PyPI into build/packages' ;;
    doctest-dev) echo 'the test framework' ;;
    nlohmann-json3-dev) echo 'reads JSON' ;;
    libtbb-dev) echo 'a parallel Thrust system that the tests run under' ;;
    libeigen3-dev) echo 'the matrices of the model in tests/parity' ;;
    libcli11-dev) echo "the examples' command line" ;;
    pkg-config) echo 'finds Cairo' ;;
    libcairo2-dev) echo "draws the examples' pictures" ;;
    libbenchmark-dev) echo 'Google Benchmark' ;;
    libopenmpi-dev) echo 'MPI, for the communicator on it' ;;
    openmpi-bin) echo 'starts MPI programs' ;;
    clang-16) echo 'the second C++ compiler' ;;
    libomp-16-dev) echo "clang's OpenMP" ;;
    libclang-rt-16-dev) echo "clang's sanitizers" ;;
  esac
}

missing() { # of the named packages, the missing ones, each once, one a line
  local package
  for package; do
    if ! have "$package"; then echo "$package"; fi
  done | awk '!seen[$0]++'
}

install_packages() {
  local wanted=("$@") lacking as_root=() package
  mapfile -t lacking < <(missing "${wanted[@]}")
  if [ ${#lacking[@]} = 0 ]; then return; fi
  echo 'Missing on this machine (the names are those of Debian packages):'
  for package in "${lacking[@]}"; do printf '  %-20s %s\n' "$package" "$(reason "$package")"; done
  if ! have_command apt-get; then
    echo 'There is no apt here. Please install them and run this again.' >&2
    exit 1
  fi
  if [ "$(id -u)" != 0 ]; then
    # Without a terminal sudo must not ask for a password.
    if have_command sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      as_root=(sudo)
    else
      echo "Installing them needs root or sudo: apt-get install --no-install-recommends ${lacking[*]}" >&2
      exit 1
    fi
  fi
  echo "Installing them with apt${as_root:+, through sudo}"
  local log=$packages_dir/apt.log
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  mkdir -p "$packages_dir"
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${lacking[@]}"; } >"$log" 2>&1; then
    tail -20 "$log" >&2
    echo "apt could not install them; all that it said is in $log" >&2
    exit 1
  fi
  mapfile -t lacking < <(missing "${wanted[@]}")
  if [ ${#lacking[@]} != 0 ]; then
    echo "apt installed them, but what it brought does not serve: ${lacking[*]} (too old, or for another compiler?)" >&2
    exit 1
  fi
}

# --- wheels -----------------------------------------------------------------------------------------------------------
toolkit_include() { # the headers beside the nvcc on PATH
  local nvcc
  nvcc=$(command -v nvcc) && echo "$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include"
}
toolkit_has_cccl() { # CCCL 3
  local include
  include=$(toolkit_include) || return 1
  grep -Eqs '^#define CCCL_VERSION [3-9][0-9]{6}' "$include/cccl/cuda/std/__cccl/version.h"
}
have_nccl() { have_header nccl.h || [ -e "$(toolkit_include)/nccl.h" ]; }

# A PyPI package of one version: build/packages/NAME is then a prefix that holds include/.
wheel() { # NAME: the package, its folder, and a file of it
  case $1 in
    cccl*) echo nvidia-cuda-cccl nvidia/cu13 include/cccl/cuda/std/mdspan ;;
    nccl) echo nvidia-nccl-cu13 nvidia/nccl include/nccl.h ;;
  esac
}
have_wheel() { # NAME VERSION
  local package folder file
  read -r package folder file < <(wheel "$1")
  [ -e "$packages_dir/$1/$file" ] && [[ $(readlink "$packages_dir/$1") == "$package-venv-$2/"* ]]
}
fetch_wheel() { # NAME VERSION
  local package folder file venv prefix
  read -r package folder file < <(wheel "$1")
  venv=$package-venv-$2
  echo "Fetching $package==$2 with pip, into build/packages/"
  mkdir -p "$packages_dir"
  rm -rf "${packages_dir:?}/$venv"
  python3 -m venv "$packages_dir/$venv"
  "$packages_dir/$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$package==$2"
  prefix=$(cd "$packages_dir" && compgen -G "$venv/lib/python3*/site-packages/$folder")
  ln -sfn "$prefix" "$packages_dir/$1"
}

# --- what reads machine code ------------------------------------------------------------------------------------------
# build/packages/sass is then a prefix that holds bin/cuobjdump and bin/nvdisasm.
sass=0
have_sass() {
  { have_command cuobjdump && have_command nvdisasm; } || [ -x "$packages_dir/sass/bin/cuobjdump" ]
}
fetch_sass() {
  local version=13.2.86 venv=sass-venv prefix
  echo "Fetching cuobjdump and nvdisasm $version with pip, into build/packages/"
  mkdir -p "$packages_dir"
  rm -rf "${packages_dir:?}/$venv"
  if python3 -m venv "$packages_dir/$venv" &&
    "$packages_dir/$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
      "nvidia-cuda-cuobjdump==$version" "nvidia-cuda-nvdisasm==$version"; then
    prefix=$(cd "$packages_dir" && compgen -G "$venv/lib/python3*/site-packages/nvidia/cu13")
    ln -sfn "$prefix" "$packages_dir/sass"
  else
    echo 'They cannot be had here: the test of the machine code is left out.'
  fi
}

# ----------------------------------------------------------------------------------------------------------------------
wanted=(g++ cmake ninja-build)
fetches=() # NAME VERSION of each
if ! toolkit_has_cccl; then fetches+=(cccl 13.0.85); fi
for purpose; do
  case $purpose in
    base) ;;
    tests) wanted+=(doctest-dev nlohmann-json3-dev libtbb-dev libeigen3-dev) ;;
    examples) wanted+=(nlohmann-json3-dev libcli11-dev pkg-config libcairo2-dev) ;;
    bench) wanted+=(libbenchmark-dev) ;;
    mpi) wanted+=(libopenmpi-dev openmpi-bin) ;;
    nccl) if have_command nvcc && ! have_nccl; then fetches+=(nccl 2.27.7); fi ;;
    clang) wanted+=(clang-16 libomp-16-dev libclang-rt-16-dev) ;;
    cccl-newest) fetches+=(cccl-newest 13.3.5.0.6) ;;
    sass) if have_command nvcc && ! have_sass; then sass=1; fi ;;
    *)
      echo "setup.sh: no such purpose: $purpose" >&2
      exit 2
      ;;
  esac
done
set -- "${fetches[@]}"
fetches=()
while [ $# != 0 ]; do
  if ! have_wheel "$1" "$2"; then fetches+=("$1" "$2"); fi
  shift 2
done
if [ ${#fetches[@]} != 0 ] || [ $sass = 1 ]; then wanted+=(python3-venv); fi

install_packages "${wanted[@]}"
set -- "${fetches[@]}"
while [ $# != 0 ]; do
  fetch_wheel "$1" "$2"
  shift 2
done
if [ $sass = 1 ]; then fetch_sass; fi
