# shellcheck shell=sh disable=SC2154
#
# Stages of a check, for .ci/run and scripts/check_release: every one runs even after one has failed, so that one call reports
# everything. Sourced after a script has defined say().

failed=

stage() { # NAME COMMAND...
  name=$1
  shift
  start=$(date +%s)
  say "$name"
  if "$@"; then say "$name: passed in $(($(date +%s) - start)) s"; else
    say "$name: FAILED after $(($(date +%s) - start)) s"
    failed="$failed, $name"
  fi
}

# Ends the script.
conclude_stages() {
  if [ -z "$failed" ]; then exit 0; fi
  say "FAILED: ${failed#, }"
  exit 1
}
