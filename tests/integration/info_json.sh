#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# plx-info --json says what plx-info says: the object is turned back into text (info.jq) and held against it.
#
#   info_json.sh PLX-INFO [OPTION...]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# jq has doubles: of longer numbers only the first digits are compared.
cut_numbers() { sed -E 's/([0-9]{15})[0-9]+/\1/'; }

"$@" 2>"$tmp/err" | cut_numbers >"$tmp/text" || { cat "$tmp/err"; exit 1; }
"$@" --json 2>"$tmp/err" >"$tmp/json" || { cat "$tmp/err"; exit 1; }
[[ $(jq -s 'length' "$tmp/json") = 1 ]] # one object and nothing else
jq -r -f "$here/info.jq" "$tmp/json" | cut_numbers >"$tmp/again"
[[ $(wc -l <"$tmp/text") -gt 15 ]]
diff "$tmp/text" "$tmp/again"
jq -r '"version \(.version), \(.devices | map(.name) | join(" "))"' "$tmp/json"
