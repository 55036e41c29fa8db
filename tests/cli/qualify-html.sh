#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# beside: yes
#
# A qualification's page as a browser lays it out, on a telephone (360 px) and on a large screen (1440 px): no messages,
# nothing fetched, no script; every figure is there and has a size; nothing is cut off, wider than the screen, or on top
# of other text; no letter is smaller than 11 px; dark screens have colours of their own. SCREENSHOTS=FOLDER keeps what was seen.
set -u
# shellcheck source=tests/rig.sh
. "${0%/*}/../rig.sh"
cd "$RIG" || exit 1

for browser in chromium-headless-shell chromium google-chrome; do
	command -v "$browser" >/dev/null && break
	browser=
done
[ -n "$browser" ] || rig_skip "needs a browser: chromium-headless-shell or chromium"

# browse WIDTH FILE ARGUMENT...: its words go to words
browse() {
	local width=$1 file=$2
	shift 2
	timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
		--user-data-dir="$RIG/profile" --enable-logging=stderr --window-size="$width,4000" "$@" "file://$RIG/$file" 2>words
}

# What a copy of the page is asked: one line for each thing that is wrong, and one for each figure.
cat >probe.js <<'END'
const say = [];
const box = (e) => e.getBoundingClientRect();
const shown = (r) => Math.round(r.width) + "x" + Math.round(r.height);
if (document.scripts.length !== 1) say.push("WRONG the page has a script of its own");
if (document.documentElement.scrollWidth > window.innerWidth) say.push("WRONG wider than the screen: " + document.documentElement.scrollWidth);
if (window.innerWidth !== WIDTH) say.push("WRONG the screen has " + window.innerWidth);
const rates = document.getElementById("rates");
if (rates && rates.offsetWidth > rates.parentElement.clientWidth) say.push("WRONG the table of rates is cut off");
for (const figure of document.querySelectorAll("figure[id]")) {
	const r = box(figure);
	say.push((r.width > 100 && r.height > 100 ? "FIGURE " : "WRONG no size ") + figure.id);
	if (!figure.querySelector("figcaption")) say.push("WRONG no caption " + figure.id);
	const svg = figure.querySelector("svg.chart");
	if (!svg) continue;
	const frame = box(svg), texts = [...svg.querySelectorAll("text")];
	for (const id of svg.getAttribute("aria-labelledby").split(" "))
		if (document.getElementById(id).textContent.trim() === "") say.push("WRONG no words " + id);
	texts.forEach((text, i) => {
		const r = box(text), scale = frame.width / svg.viewBox.baseVal.width;
		const size = parseFloat(getComputedStyle(text).fontSize) * scale;
		if (size < 11) say.push("WRONG letters of " + size + " px in " + figure.id);
		if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1)
			say.push("WRONG cut off in " + figure.id + ": " + text.textContent);
		for (const other of texts.slice(i + 1)) {
			const o = box(other);
			if (r.left < o.right - 1 && o.left < r.right - 1 && r.top < o.bottom - 3 && o.top < r.bottom - 3)
				say.push("WRONG on top of each other in " + figure.id + ": " + text.textContent + " / " + other.textContent);
		}
	});
}
const list = document.createElement("pre");
list.id = "probe";
list.textContent = say.join("\n");
document.body.replaceChildren(list);
END

# probe WIDTH KIND: the figures into figures
probe() {
	local page=$2-$1.html
	{
		sed -e '/Content-Security-Policy/d' -e '/^<\/body>/,$d' "$2.html"
		echo '<script>'
		sed "s/WIDTH/$1/g" probe.js
		echo '</script></body></html>'
	} >"$page"
	# as HTML; it is no XML any more
	browse "$1" "$page" --dump-dom >dom || { cat words; rig_fail "the browser can't show $page"; }
	sed -n '/<pre id="probe">/,/<\/pre>/p' dom | sed -e 's/.*<pre id="probe">//' -e 's/<\/pre>.*//' >said
	if grep WRONG said; then
		rig_fail "$2 at $1 px"
	fi
	sed -n 's/^FIGURE //p' said >figures
}

# expect_figures ID...: these and no others
expect_figures() {
	printf 'figure-%s\n' "$@" | sort >wanted
	sort figures | diff wanted - || rig_fail "figures are missing, or there are others (>)"
}

"$TOOLS/tool_made_report" cliff json base.json || rig_fail "no report to compare with"
"$TOOLS/tool_made_report" cliff html cliff.html base.json || rig_fail "no page with a former run"
for kind in device hostile interrupted overflow; do
	"$TOOLS/tool_made_report" $kind html $kind.html || rig_fail "no page of $kind"
done

if command -v xmllint >/dev/null; then
	xmllint --noout ./*.html || rig_fail "a page is not well-formed"
fi

for width in 360 1440; do
	probe $width cliff
	expect_figures ring rate survival needed blocks-1 depth-1 topology
	probe $width device
	expect_figures ring rate position survival needed blocks-1 depth-1 temperature topology
	probe $width hostile
	expect_figures ring rate survival needed blocks-{1,2,3} depth-{1,2,3} topology
	probe $width interrupted
	expect_figures blocks-1 depth-1 topology
	probe $width overflow
	expect_figures ring rate survival needed blocks-1 depth-1 topology
done

# The page itself, with the policy that forbids it to run or fetch anything.
for kind in cliff hostile; do
	browse 1440 $kind.html --dump-dom >dom || rig_fail "the browser can't show $kind.html"
	if grep -E 'CONSOLE|Uncaught|violat' words; then
		rig_fail "$kind.html has messages"
	fi
	grep -q 'id="figure-ring"' dom || rig_fail "$kind.html has no figures"
done
if grep -nE '(src|href|url)[=(]' cliff.html device.html hostile.html | grep -v xmlns; then
	rig_fail "something is fetched"
fi

# screenshot KIND WIDTH light|dark
screenshot() {
	local scheme=1
	[ "$3" = light ] || scheme=0
	browse "$2" "$1.html" --blink-settings=preferredColorScheme=$scheme --screenshot="$RIG/$1-$2-$3.png" >/dev/null ||
		rig_fail "no screenshot of $1"
	[ -s "$1-$2-$3.png" ] || rig_fail "the screenshot of $1 is empty"
}

for width in 360 1440; do
	screenshot cliff $width light
	screenshot cliff $width dark
	if cmp -s cliff-$width-light.png cliff-$width-dark.png; then
		rig_fail "a dark screen shows the same as a light one"
	fi
done
browse 1440 cliff.html --print-to-pdf="$RIG/cliff.pdf" --no-pdf-header-footer >/dev/null || rig_fail "it can't be printed"
head -c 5 cliff.pdf | grep -q '%PDF-' || rig_fail "what was printed is no PDF"
if [ -n "${SCREENSHOTS-}" ]; then
	mkdir -p "$SCREENSHOTS" && cp ./*.png cliff.pdf "$SCREENSHOTS"
fi
exit 0
