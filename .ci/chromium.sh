#!/usr/bin/env bash
# A browser for tests/browser: Debian's Chromium, where there is none and it may be installed: in CI,
# with NESTMAP_INSTALL_CHROMIUM=1, or after a yes at a terminal.
# Never fails: without a browser these tests are skipped.
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done

skip() {
  echo "no Chromium, so the tests in tests/browser are skipped: $1"
  exit 0
}
command -v apt-get >/dev/null || skip "install Chromium or Chrome to run them"
if [ -z "${CI:-}${NESTMAP_INSTALL_CHROMIUM:-}" ]; then
  [ -t 0 ] && read -r -p "Install Debian's Chromium for the browser tests? [y/N] " answer
  [ "${answer:-}" = y ] || skip "NESTMAP_INSTALL_CHROMIUM=1 make test installs it"
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo -n) # without asking for a password
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get update && apt-get install -y --no-install-recommends chromium' >"$log" 2>&1
}
install || { sleep 10; install; } || skip "installing it failed twice: $(tail -n 3 "$log" | tr '\n' ' ')"
