#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) The Pollux authors
#
# What must hold of the pages and of the comments in public headers.
#
#   pages.sh SOURCE-DIR CONFIG-DIR CASE [COMPILER...] -- HEADER...
#
# CONFIG-DIR has plx_config.h; HEADERs are the public ones of this build.
# shellcheck disable=SC2016 # ``` is Markdown
set -eu
export CCACHE_DISABLE=1 # it has nothing to keep of a syntax check
src=$1 config=$2 case=$3
shift 3
compiler=
while [ "$1" != -- ]; do compiler="$compiler $1" && shift; done
shift
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$src"

fail() { echo "$case: $*"; exit 1; }
pages() { find README.md MAINTAINERS doc devtools tests -name '*.md' | sort; }

# ---- examples -------------------------------------------------------------------------------------

folders() { for header; do dirname "$header"; done | sort -u | sed 's/^/-I/'; }

compile() { # PAGE HEADER...: 0; 1, and why; 3: nothing to compile
	page=$1
	shift
	awk -f "$here/examples.awk" "$page" >"$tmp/example.c" || return $?
	sed -i "1s|.*|#line 1 \"$page\"|" "$tmp/example.c"
	# shellcheck disable=SC2046,SC2086 # lists of words
	$compiler -x c -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -I"$config" $(folders "$@") \
		$(pkg-config --cflags libdpdk) "$tmp/example.c"
}

compile_all() { # HEADER...
	nb=0
	for page in $(find doc -name '*.md' | sort); do
		case "$page $*" in
		*/verbs.md*plx_verbs.h*) ;;
		*/verbs.md*) echo "$page: this build has no verbs" && continue ;;
		esac
		status=0
		compile "$page" "$@" || status=$?
		case $status:$page in
		0:*) nb=$((nb + 1)) ;;
		3:doc/guide/README.md | 3:doc/[a-z]*.md) case $page in doc/guide/[a-z]*) fail "$page has no example" ;; esac ;;
		*) fail "an example of $page does not compile" ;;
		esac
	done
	echo "$nb pages with examples"
	[ "$nb" -gt 10 ] || fail 'the search is broken'
}

# ---- links ----------------------------------------------------------------------------------------

anchors() { # of a page, as GitHub makes them
	sed -n '/^```/,/^```$/d; s/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

links() { # PAGE...: those that lead nowhere. A dot for each that was looked at goes to $tmp/nb
	for page; do
		sed '/^```/,/^```$/d' "$page" | grep -o '](\([^) ]*\))' | sed 's/^](//; s/)$//' | while read -r link; do
			echo . >>"$tmp/nb"
			case $link in http*) continue ;; esac
			file=${link%%#*}
			case $link in "#"*) file=$page ;; *) file=$(dirname "$page")/$file ;; esac
			[ -e "$file" ] || { echo "$page: $link leads nowhere" && continue; }
			case $link in *"#"*) anchors "$file" | grep -qxF "${link#*#}" || echo "$page: $link: no such heading" ;; esac
		done
	done
}

# ---- names ----------------------------------------------------------------------------------------

names_of_tree() { # identifiers, and files; the last two are meson's and libc's
	grep -rhoE '\b[A-Za-z]+_[A-Za-z0-9_]+' --include='*.[ch]' --include='*.in' lib drivers apps config tests
	find . -path ./.git -prune -o -path './build*' -prune -o -type f -print | sed 's|.*/||; s/\.h\.in$/.h/'
	printf '%s\n' PLX_HAS_VERBS stdatomic.h
}

names_of_pages() { # PAGE...: in backquotes and not in code: functions, constants and structs of ours, and files
	sed '/^```/,/^```$/d' "$@" | grep -o '`[^`]*`' |
		grep -oE '`plx_[a-z0-9_]+`|\b((plx|loopback|soft|verbs|null|fault)_[a-z0-9_]+\(|PLX_[A-Z][A-Z0-9_]+\b|struct [a-z_]+|[a-z][A-Za-z0-9_-]*\.(c|h|sh|awk|tsv|md|map)\b)' |
		sed 's/[(`]\{0,1\}$//; s/^`//; s/^struct //' | grep -vE '^(ibv|rdma|rte)_|_$'
}

unknown_names() { # PAGE...
	names_of_tree | sort -u >"$tmp/tree"
	names_of_pages "$@" | sort -u >"$tmp/pages"
	comm -13 "$tmp/tree" "$tmp/pages"
}

# ---- doxygen --------------------------------------------------------------------------------------

copy() { mkdir -p "$tmp/src" && tar cf - README.md LICENSE doc devtools tests apps config lib drivers | tar xf - -C "$tmp/src"; }

warnings() { # FOLDER: what doxygen complains of, less what doc/Doxyfile says need not be documented
	(
		cd "$1"
		{
			cat doc/Doxyfile
			echo "OUTPUT_DIRECTORY = $tmp/html"
			echo 'WARN_IF_UNDOCUMENTED = YES'
		} | doxygen - 2>"$tmp/doxygen" || echo "doxygen: exit status $?"
		grep -v '(variable) of \(struct\|union\) .* is not documented' "$tmp/doxygen"
	) || :
	[ -e "$tmp/html/html/plx__conn_8h.html" ] || echo 'doxygen wrote nothing'
}

as_users_run_it() { # what doxygen says then
	sed "s|^OUTPUT_DIRECTORY .*|OUTPUT_DIRECTORY = $tmp/plain|" doc/Doxyfile | doxygen - 2>&1
}

names() { # FOLDER: @p of something that is not there
	(cd "$1" && find lib drivers -name 'plx_*.h' -exec awk -f "$here/params.awk" {} +) || :
}

must_say() { # TEXT, of what is on stdin
	grep -F "$1" || fail "no word of: $1"
}

# ---- errnos ---------------------------------------------------------------------------------------

errnos() { # HEADER...: what they name and doc/errors.md does not
	awk -f "$here/errnos.awk" "$@" | sort -u >"$tmp/errnos"
	awk 'NR == FNR { line[++nb] = $0; if (/^## /) section++; of[nb] = section; head[section] = head[section] $0; next }
		$2 == "EBUSY" && $1 ~ /_(destroy|close|deregister)$/ { next } # one row for all
		{
			for (i = 1; i <= nb; i++) # on its line; but submit has tables of its own
				if (line[i] ~ "`" $1 "(\\(\\))?`" && (line[i] ~ $2 || line[i] !~ /^\|/ && head[of[i]] ~ $2))
					next
			print $1 ": " $2
		}' doc/errors.md "$tmp/errnos"
}

case $case in
every_errno_is_in_the_table)
	errnos "$@" >"$tmp/bad"
	[ ! -s "$tmp/bad" ] || fail "not in doc/errors.md: $(cat "$tmp/bad")"
	echo "$(wc -l <"$tmp/errnos") errnos"
	[ "$(wc -l <"$tmp/errnos")" -gt 80 ] || fail 'the search is broken' ;;
an_errno_that_is_missing_in_the_table_is_named)
	printf '/** Do it. 0, or -ENOSPC. */\nint plx_cq_create(int a);\n\n/** -EDOM. NULL with rte_errno: EPIPE. */\nint\nplx_new(int a);\n' \
		>"$tmp/plx_planted.h"
	errnos "$tmp/plx_planted.h" >"$tmp/log"
	cat "$tmp/log"
	[ "$(tr '\n' ' ' <"$tmp/log")" = 'plx_cq_create: ENOSPC plx_new: EDOM plx_new: EPIPE ' ] || fail 'not what was planted' ;;
every_example_compiles)
	compile_all "$@" ;;
an_example_that_does_not_compile_is_named)
	for header; do case $header in */plx_op.h) op=$header ;; esac; done
	printf '# Page\n\n```c\n#include <plx_op.h>\n\nint\nf(struct plx_op *op)\n{\n\treturn plx_op_no_such(op);\n}\n```\n' >"$tmp/page.md"
	if compile "$tmp/page.md" "$@" >"$tmp/log" 2>&1; then fail 'it compiled'; fi
	must_say 'page.md:9' <"$tmp/log"
	[ -n "$op" ] ;;
every_link_leads_somewhere)
	# shellcheck disable=SC2046 # a list of words
	links $(pages) >"$tmp/bad"
	[ ! -s "$tmp/bad" ] || fail "$(cat "$tmp/bad")"
	echo "$(wc -l <"$tmp/nb") links"
	[ "$(wc -l <"$tmp/nb")" -gt 30 ] || fail 'the search is broken' ;;
a_dead_link_is_named)
	mkdir "$tmp/doc"
	printf '# Page\n\nSee [this](no/such.md), [that](#page), [and](#pages).\n' >"$tmp/doc/page.md"
	links "$tmp/doc/page.md" >"$tmp/log"
	must_say 'no/such.md leads nowhere' <"$tmp/log"
	must_say '#pages: no such heading' <"$tmp/log"
	[ "$(wc -l <"$tmp/log")" = 2 ] || fail 'it names the good one too' ;;
each_room_and_driver_has_a_page)
	for header; do basename "$(dirname "$header")"; done | grep -vx drivers | sort -u >"$tmp/rooms"
	printf '%s\n' null loopback >>"$tmp/rooms" # drivers without a header of their own
	while read -r room; do
		[ -e "doc/guide/$room.md" ] || echo "$room has no page in doc/guide"
		grep -qF "($room.md)" doc/guide/README.md || echo "doc/guide/README.md does not name $room.md"
	done <"$tmp/rooms" >"$tmp/bad"
	[ ! -s "$tmp/bad" ] || fail "$(cat "$tmp/bad")"
	echo "$(wc -l <"$tmp/rooms") pages"
	[ "$(wc -l <"$tmp/rooms")" -gt 12 ] || fail 'the search is broken' ;;
every_name_in_the_pages_exists)
	# shellcheck disable=SC2046 # a list of words
	unknown_names $(pages) >"$tmp/bad"
	[ ! -s "$tmp/bad" ] || fail "nothing in the tree is called $(cat "$tmp/bad")"
	echo "$(wc -l <"$tmp/pages") names"
	[ "$(wc -l <"$tmp/pages")" -gt 100 ] || fail 'the search is broken' ;;
a_name_that_is_gone_is_named)
	printf 'Call `plx_op_gone()`, not `plx_op_get()`; see `op_gone.h` and `lib/op/op.c`, `plx_op_*`.\n' >"$tmp/page.md"
	unknown_names "$tmp/page.md" >"$tmp/log"
	cat "$tmp/log"
	[ "$(tr '\n' ' ' <"$tmp/log")" = 'op_gone.h plx_op_gone ' ] || fail 'not what was planted' ;;
public_headers_are_documented)
	{
		warnings .
		as_users_run_it
		names .
		find config lib drivers \( -name 'plx_*.h' -o -name 'plx_*.h.in' \) -exec grep -L '^ \* @since [0-9]' {} + | sed 's/$/: no @since/'
	} >"$tmp/bad"
	[ ! -s "$tmp/bad" ] || fail "$(cat "$tmp/bad")" ;;
what_is_undocumented_or_wrong_is_named)
	copy
	cat >"$tmp/src/lib/op/plx_planted.h" <<-'END'
		/**
		 * @file
		 * Planted.
		 */
		int plx_planted_bare(int a);

		/**
		 * Do it.
		 * @param nobody is not there
		 */
		int plx_planted_param(int a);

		/** Do it with @p a and @p somebody. */
		int plx_planted_name(int a);

		/** See plx_planted_bare(), and @ref plx_planted_none. */
		int plx_planted_ref(int a);
	END
	warnings "$tmp/src" >"$tmp/log"
	must_say 'Member plx_planted_bare(int a) (function) of file plx_planted.h is not documented' <"$tmp/log"
	must_say "argument 'nobody' of command @param is not found" <"$tmp/log"
	must_say "unable to resolve reference to 'plx_planted_none'" <"$tmp/log"
	names "$tmp/src" >"$tmp/log"
	must_say '@p somebody is no parameter of what follows' <"$tmp/log"
	[ "$(wc -l <"$tmp/log")" = 1 ] || fail "it names others too: $(cat "$tmp/log")" ;;
*) fail 'no such case' ;;
esac
