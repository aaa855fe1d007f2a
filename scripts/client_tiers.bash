# Sets up what the tiers of clients in other languages need. To be sourced by scripts/test, after
# scripts/setup.bash. Each function fails with the reason in $reason; all it makes is in .tools.
# shellcheck shell=bash

java_clients=$tools/java-clients

java_suffices() {
  local version
  version=$(java -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p') && [ "${version:-0}" -ge 17 ]
}

# need_java COMMAND...: a Java of 17 or newer, and the commands, from Debian where they are not there.
need_java() {
  local command missing=()
  java_suffices >/dev/null 2>&1 || missing+=(default-jre-headless)
  for command in "$@"; do
    command -v "$command" >/dev/null && continue
    case $command in
      javac) missing+=(default-jdk-headless) ;;
      mvn) missing+=(maven) ;;
    esac
  done
  [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}" || true
  java_suffices >/dev/null 2>&1 || { reason="needs a JRE of 17 or newer (Debian: default-jre-headless)"; return 1; }
  for command in "$@"; do
    command -v "$command" >/dev/null && continue
    reason="needs $command (Debian: ${missing[*]})"
    return 1
  done
}

# is_current STAMP FILE...: whether STAMP was written for these contents.
is_current() {
  local stamp=$1
  shift
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(sha256sum "$@" | sha256sum)" ]
}

write_stamp() {
  local stamp=$1
  shift
  sha256sum "$@" | sha256sum >"$stamp"
}

set_up_java() {
  local pom=tests/clients/java/pom.xml
  need_java javac mvn || return
  is_current "$java_clients/stamp" "$pom" && return
  say "getting the Java clients"
  rm -rf "$java_clients"
  if ! mvn --batch-mode --no-transfer-progress -Dstyle.color=never --quiet --file "$pom" \
    dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$java_clients/libs" >&2; then
    reason="the jars of the Java clients cannot be had"
    return 1
  fi
  write_stamp "$java_clients/stamp" "$pom"
}
