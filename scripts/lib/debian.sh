# shellcheck shell=sh disable=SC2154,SC2034
#
# A bare Debian in a folder, for scripts/check_fresh, check_compilers, check_aarch64 and check_bare_image. Sourced by a POSIX
# shell that has set `program` (for messages), `repository` and `release` ("bookworm"). Sourcing it runs nothing. What is made is
# removed when the script ends, unless `keep` is yes.
#
# Needs root, debootstrap, git and the network.

fresh='' mounts='' keep=no directory='' mirror=''  # directory, mirror: empty if they are chosen here

say() { printf '%s: %s\n' "$program" "$*" >&2; }
die() {
  say "$@"
  exit 2
}

usage() {  # the head of the script
  sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
  exit 0
}

# Reads an option that all of these scripts have, and its value; `taken` is how many of the arguments these are.
debian_option() { # ARGUMENT...
  taken=1
  case $1 in
    --keep) keep=yes ;;
    --directory | --mirror)
      [ $# -ge 2 ] || die "$1 needs a value"
      if [ "$1" = --directory ]; then directory=$2; else mirror=$2; fi
      taken=2
      ;;
    -h | --help) usage ;;
    *) die "unknown option $1; $program --help lists them" ;;
  esac
}

# Ends the script unless everything it needs is there.
require_for_debian() {
  [ "$(id -u)" = 0 ] || die "needs root, for debootstrap and chroot"
  for tool in debootstrap git python3 apt-get; do
    command -v "$tool" >/dev/null 2>&1 || die "needs $tool: install it first"
  done
  git -C "$repository" rev-parse --quiet --verify HEAD >/dev/null || die "$repository is not a git repository with a commit"
  if [ -n "$(git -C "$repository" status --porcelain)" ]; then say "note: uncommitted changes are not part of the check"; fi
}

clean_up() {
  status=$?
  trap - EXIT INT TERM HUP
  for mounted in $mounts; do
    # What is still mounted must not be removed with the system: it may be a folder of this machine.
    umount "$mounted" || umount --lazy "$mounted" || keep=yes
  done
  if [ "$keep" = yes ]; then
    say "kept: $directory"
  else
    rm -rf --one-file-system "$directory"
  fi
  exit "$status"
}

# Mounts a folder of this machine inside, at the same path; MODE is ro or rw.
show_inside() { # MODE FOLDER
  mkdir -p "$fresh$2"
  mount --bind "$2" "$fresh$2"
  mounts="$fresh$2 $mounts"
  mount -o "remount,bind,$1" "$fresh$2"
}

make_directory() {
  if [ -n "$directory" ]; then
    mkdir -p "$directory"
    [ -z "$(ls -A "$directory")" ] || die "$directory is not empty"
    directory=$(readlink -f "$directory")
  else
    directory=$(mktemp -d "${TMPDIR:-/var/tmp}/epochbench-debian.XXXXXX")
  fi
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
}

# Sets `fresh`, the root of a new bare system of `release` in `directory`, which may be empty for a new folder in
# ${TMPDIR:-/var/tmp}. A script may make one of each release.
make_debian() {
  if [ -z "$fresh" ]; then make_directory; fi
  fresh=$directory/$release
  # "RELEASE COMPONENT URL" of every source that apt uses on this machine.
  # shellcheck disable=SC2016
  sources=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages')
  if [ -z "$mirror" ]; then  # that of the release, else that of another, because a mirror has several
    mirror=$(echo "$sources" | awk -v release="$release" '
      $2 == "main" && ($1 == release || (url == "" && $1 !~ /-/)) { url = $3 }
      $2 == "main" && $1 == release { exit }
      END { print url }')
    [ -n "$mirror" ] || die "this machine's apt has no source for Debian $release: name one with --mirror URL"
  fi
  say "creating a bare Debian ($release) in $fresh"
  debootstrap --variant=minbase --include=git,ca-certificates "$release" "$fresh" "$mirror" >"$directory/debootstrap.log" 2>&1 || {
    tail -n 5 "$directory/debootstrap.log" >&2
    die "debootstrap failed"
  }
  # The same network as this machine: names, mirrors, proxy.
  cp /etc/resolv.conf /etc/hosts "$fresh/etc/"
  echo "$sources" | awk -v release="$release" -v mirror="$mirror" '
    BEGIN { print "deb", mirror, release, "main" }
    $1 ~ "^" release "-" && $2 == "main" { print "deb", $3, $1, $2 }' >"$fresh/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::https?::Proxy' >"$fresh/etc/apt/apt.conf.d/90proxy" || true
  mount -t proc proc "$fresh/proc"
  mount -t devpts -o ptmxmode=666 devpts "$fresh/dev/pts"  # of its own, for tests of the terminal
  mounts="$fresh/dev/pts $fresh/proc $mounts"
  [ -z "$(ls -A "$fresh/sys")" ] || die "$fresh/sys is mounted, but the check requires a machine without it"
}

# A clone of this repository's HEAD, at this path inside.
clone_inside() { git clone --quiet --no-hardlinks "$repository" "$fresh$1"; }

inside() {
  chroot "$fresh" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
    sh -c 'cd /root && exec "$@"' inside "$@" </dev/null
}

failures=0
check() { # NAME TEST...: prints the verdict of `test TEST...`
  name=$1
  shift
  if test "$@"; then say "ok: $name"; else
    say "FAILED: $name"
    failures=$((failures + 1))
  fi
}

# Ends the script with an exit code that follows from the verdicts so far.
conclude() {
  if [ "$failures" -gt 0 ]; then
    say "$failures checks failed"
    exit 1
  fi
  say "all checks passed"
}
