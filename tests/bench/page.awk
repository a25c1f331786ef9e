# SPDX-License-Identifier: BSD-3-Clause
# page.awk - the charts: one page, nothing loaded from elsewhere
#
# First the goals, each a bar against the line that it should reach; then a
# card for each bench with a bar for each filesystem, longer is better.

function text(s) {
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	return s
}

function styles() {
	print "<style>" >html
	print ":root{--bg:#fff;--fg:#1b1f24;--dim:#6a737d;--line:#d8dee4;--us:#0969da;" \
	      "--peer:#a5b1bd;--ok:#1a7f37;--bad:#c4520a}" >html
	print "@media(prefers-color-scheme:dark){:root{--bg:#14181d;--fg:#e6edf3;" \
	      "--dim:#8b949e;--line:#30363d;--us:#4c9aff;--peer:#56616d;--ok:#3fb950;" \
	      "--bad:#f0883e}}" >html
	print "body{background:var(--bg);color:var(--fg);font:14px/1.45 system-ui,sans-serif;" \
	      "max-width:1180px;margin:2em auto;padding:0 1em}" >html
	print "h1{font-size:22px}h2{font-size:17px;margin-top:2em}p{color:var(--dim)}" >html
	print "svg text{fill:var(--fg);font:12px system-ui,sans-serif}" \
	      "svg .dim{fill:var(--dim)}.cards{display:grid;gap:1em;" \
	      "grid-template-columns:repeat(auto-fill,minmax(340px,1fr))}" >html
	print ".card{border:1px solid var(--line);border-radius:6px;padding:.6em .8em}" \
	      ".card h3{font-size:13px;margin:0 0 .3em}" >html
	print "table{border-collapse:collapse}td,th{padding:.15em .7em;text-align:right;" \
	      "border-bottom:1px solid var(--line)}td:first-child,th:first-child" \
	      "{text-align:left}" >html
	print "</style>" >html
}

# Place on the scale of the goals: a quarter of the aim to four times it.
function scale(x) {
	x = log(x) / log(4)
	return 560 + 160 * (x < -1 ? -1 : x > 1 ? 1 : x)
}

function goal_bar(i, y,	rel, x, color) {
	rel = g_got[i] > 0 ? g_got[i] / g_factor[i] : 100
	if (g_sense[i] == "max")
		rel = g_got[i] > 0 ? 1 / rel : 100
	x = scale(rel)
	color = g_verdict[i] == "met" ? "--ok" : "--bad"
	printf "<text x='0' y='%d'>%s</text><text class='dim' x='240' y='%d'>%s %s %s" \
		"</text>", y + 13, text(g_title[i]), y + 13, g_who[i], \
		g_metric[i] == "speed" ? "against" : "beside", g_against[i] >html
	printf "<rect x='400' y='%d' width='%.0f' height='13' rx='2' fill='var(%s)'/>",
		y + 3, x - 400, color >html
	printf "<text x='740' y='%d'>%s x</text><text class='dim' x='810' y='%d'>aim %s %s" \
		"</text><text x='910' y='%d' style='fill:var(%s)'>%s</text>\n", y + 13,
		num(g_got[i]), y + 13, g_sense[i] == "min" ? "at least" : "at most",
		g_factor[i], y + 13, color, g_verdict[i] >html
}

function goal_chart(	i, n, y) {
	for (i = 1; i <= goals; i++)
		n += g_got[i] != ""
	if (!n)
		return
	print "<h2>What was aimed at</h2><p>A bar that reaches the line meets its aim. " \
	      "Logarithmic: the line is 1, the ends a quarter and four times.</p>" >html
	printf "<svg viewBox='0 0 980 %d' width='100%%'>\n", n * 20 + 8 >html
	for (i = 1; i <= goals; i++)
		if (g_got[i] != "") {
			goal_bar(i, y)
			y += 20
		}
	printf "<line x1='560' x2='560' y1='0' y2='%d' stroke='var(--fg)'/></svg>\n", y >html
}

function card(b,	j, v, max, y, ours) {
	for (j = 1; j <= nr_targets; j++) {
		v = med("speed", targets[j], b)
		if (v > max)
			max = v
	}
	if (!max)
		return
	printf "<div class='card'><h3>%s, %s</h3><svg viewBox='0 0 340 %d' width='100%%'>\n",
		text(b), unit(b), nr_targets * 17 + 2 >html
	for (j = 1; j <= nr_targets; j++) {
		v = med("speed", targets[j], b)
		ours = targets[j] !~ /^(tmpfs|ext4|ll)/
		printf "<text x='0' y='%d'>%s</text>", y + 12, targets[j] >html
		printf "<rect x='70' y='%d' width='%.1f' height='12' rx='2' fill='var(%s)'/>",
			y + 2, v == "" ? 0 : 1 + 205 * v / max, ours ? "--us" : "--peer" >html
		printf "<text class='dim' x='340' text-anchor='end' y='%d'>%s</text>\n", y + 12,
			num(shown(targets[j], b)) >html
		y += 17
	}
	print "</svg></div>" >html
}

function cost_html(title, metric,	i, j, v, row, any, out) {
	for (i = 1; i <= nr_benches; i++) {
		any = 0
		row = "<tr><td>" text(benches[i]) "</td>"
		for (j = 1; j <= nr_targets; j++) {
			v = med(metric, targets[j], benches[i])
			any += v > 0
			row = row "<td>" num(v) "</td>"
		}
		if (any)
			out = out row "</tr>\n"
	}
	if (out == "")
		return
	printf "<h2>%s</h2><table><tr><th></th>", title >html
	for (j = 1; j <= nr_targets; j++)
		printf "<th>%s</th>", targets[j] >html
	printf "</tr>\n%s</table>\n", out >html
}

function write_page(	i) {
	print "<!doctype html><html lang='en'><meta charset='utf-8'>" \
	      "<meta name='viewport' content='width=device-width'>" \
	      "<title>pmemfs beside its peers</title>" >html
	styles()
	print "<h1>pmemfs beside its peers</h1>" >html
	printf "<p>%s, Linux %s, %s; %s, medians of %d rounds.%s</p>\n", text(about["version"]),
		text(about["kernel"]), text(about["cpu"]), text(about["date"]), last_round,
		("without" in about) ? " Without " text(about["without"]) "." : "" >html
	goal_chart()
	print "<h2>Speed</h2><p>Longer is better. pmemfs is blue: dev and uring are its " \
	      "transports with dax=always, splice is dev with -o splice, never and inode " \
	      "are dax modes, flushed copies through the cache and flushes. " \
	      "ll is passthrough_ll over tmpfs with cache=never.</p>" >html
	print "<div class='cards'>" >html
	for (i = 1; i <= nr_benches; i++)
		card(benches[i])
	print "</div>" >html
	cost_html("Daemon CPU seconds per GiB", "cpu")
	cost_html("CPU microseconds per operation, client and daemon", "cpu_us")
	cost_html("Context switches per operation, client and daemon", "switches")
	cost_html("Fences per operation", "fences")
	cost_html("Bytes copied by the daemon per byte", "copies")
	print "</html>" >html
	close(html)
}
