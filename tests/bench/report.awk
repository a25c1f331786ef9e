# SPDX-License-Identifier: BSD-3-Clause
# report.awk - from raw.tsv to tables on stdout, results.json and results.html
#
#	awk -v json=FILE -v html=FILE -f goals.awk -f report.awk -f page.awk
#		about.tsv raw.tsv
#
# A ratio is taken within each round, between neighbours in time, and the
# median of those is what is reported. Round 0 warmed up and is left out.

function median(list,	v, n, i, j, x) {
	n = split(list, v, " ")
	if (!n)
		return ""
	for (i = 2; i <= n; i++) {
		x = v[i] + 0
		for (j = i - 1; j >= 1 && v[j] + 0 > x; j--)
			v[j + 1] = v[j]
		v[j + 1] = x
	}
	return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}

# What one measurement says of a metric, or "".
function value(metric, k) {
	if (!(k in ops) || !ops[k] || !ns[k])
		return ""
	if (metric == "speed")
		return ops[k] / ns[k] * 1e9
	if (metric == "mbs")
		return bytes[k] ? bytes[k] / ns[k] * 1e3 : ""
	if (metric == "us")
		return ns[k] / ops[k] / 1e3
	if (metric == "cpu")
		return bytes[k] && dcpu[k] ? dcpu[k] / bytes[k] * 1073741824 / 1e9 : ""
	if (metric == "cpu_us")
		return (ccpu[k] + dcpu[k]) / ops[k] / 1e3
	if (metric == "switches")
		return (ccs[k] + dcs[k]) / ops[k]
	if (metric == "daemon_switches")
		return dcs[k] / ops[k]
	if (metric == "fences")
		return fences[k] == "-" ? "" : fences[k] / ops[k]
	if (metric == "copies")
		return copied[k] == "-" || !bytes[k] ? "" : copied[k] / bytes[k]
	return ""
}

function med(metric, target, bench,	r, v, list) {
	for (r = 1; r <= last_round; r++) {
		v = value(metric, r SUBSEP target SUBSEP bench)
		if (v != "")
			list = list " " v
	}
	return median(list)
}

function ratio(metric, t, b, peer, pb,	r, v, w, list) {
	for (r = 1; r <= last_round; r++) {
		v = value(metric, r SUBSEP t SUBSEP b)
		w = value(metric, r SUBSEP peer SUBSEP pb)
		if (v != "" && w != "" && w > 0)
			list = list " " (v / w)
	}
	return median(list)
}

function default_target() {
	return seen_target["uring"] ? "uring" : "dev"
}

function num(v) {
	if (v == "")
		return "-"
	if (v >= 100)
		return sprintf("%.0f", v)
	return sprintf(v >= 10 ? "%.1f" : "%.2f", v)
}

# A bench is told by throughput or by time of one operation.
function is_bulk(b) {
	return b ~ /^(write|read|splice|fio|mmap)-/
}

function unit(b) {
	return b ~ /^real-/ ? "ms" : is_bulk(b) ? "MB/s" : "us"
}

function shown(t, b,	v) {
	if (is_bulk(b))
		return med("mbs", t, b)
	v = med("us", t, b)
	return v == "" || b !~ /^real-/ ? v : v / 1000
}

BEGIN { FS = "\t" }

FNR == NR {
	rest = substr($0, length($1) + 2)
	if ($1 in about)
		rest = about[$1] "; " rest
	about[$1] = rest
	next
}

{
	if (!($2 in seen_target)) {
		seen_target[$2] = 1
		targets[++nr_targets] = $2
	}
	if (!($3 in seen_bench)) {
		seen_bench[$3] = 1
		benches[++nr_benches] = $3
	}
	if ($1 > last_round)
		last_round = $1
	k = $1 SUBSEP $2 SUBSEP $3
	if ($4 == "failed" || $4 == "cannot") {
		failed += $4 == "failed"
		next
	}
	samples[++nr_samples] = $0
	ops[k] = $4; bytes[k] = $5; ns[k] = $6; ccpu[k] = $7; ccs[k] = $8
	dcpu[k] = $9; dcs[k] = $10; fences[k] = $11; copied[k] = $12
}

function judge(i,	s, p) {
	s = g_subject[i] == "default" ? default_target() : g_subject[i]
	p = g_peer[i] == "default" ? s : g_peer[i]
	g_who[i] = s
	g_against[i] = p
	g_got[i] = ratio(g_metric[i], s, g_bench[i], p, g_peer_bench[i])
	if (g_got[i] == "")
		g_verdict[i] = "not measured"
	else if (g_sense[i] == "min")
		g_verdict[i] = g_got[i] >= g_factor[i] ? "met" : "not met"
	else
		g_verdict[i] = g_got[i] <= g_factor[i] ? "met" : "not met"
}

function head(text,	i) {
	printf "%-22s", text
	for (i = 1; i <= nr_targets; i++)
		printf " %9s", targets[i]
	print ""
}

function cost_table(title, metric,	i, j, v, line, any) {
	for (i = 1; i <= nr_benches; i++) {
		any = 0
		line = sprintf("%-22s", benches[i])
		for (j = 1; j <= nr_targets; j++) {
			v = med(metric, targets[j], benches[i])
			any += v > 0
			line = line sprintf(" %9s", num(v))
		}
		if (any && title != "") {
			print ""
			head(title)
			title = ""
		}
		if (any)
			print line
	}
}

function tables(	i, j) {
	print "# " about["version"] ", Linux " about["kernel"] ", " about["cpu"]
	print "# " about["date"] ", medians of " last_round " rounds (" about["mode"] ")"
	if ("without" in about)
		print "# without " about["without"]
	print ""
	head("speed")
	for (i = 1; i <= nr_benches; i++) {
		printf "%-17s %4s", benches[i], unit(benches[i])
		for (j = 1; j <= nr_targets; j++)
			printf " %9s", num(shown(targets[j], benches[i]))
		print ""
	}
	cost_table("daemon CPU s per GiB", "cpu")
	cost_table("CPU us per op, both", "cpu_us")
	cost_table("switches per op", "switches")
	cost_table("of the daemon's threads", "daemon_switches")
	cost_table("fences per op", "fences")
	cost_table("bytes copied per byte", "copies")
}

function verdicts(	i, n, met) {
	printf "\n%-34s %-7s %9s   %s\n", "goal", "of", "reached", "aim"
	for (i = 1; i <= goals; i++) {
		judge(i)
		n += g_got[i] != ""
		met += g_verdict[i] == "met"
		if (g_got[i] != "")
			printf "%-34s %-7s %9s   %s %s x %-8s %s\n", g_title[i], g_who[i],
				num(g_got[i]), g_sense[i] == "min" ? ">=" : "<=",
				g_factor[i], g_against[i], g_verdict[i]
	}
	printf "%d of %d goals met, %d not measured; %d measurements failed\n", met, n,
		goals - n, failed + 0
}

function quote(s) {
	gsub(/[\\"]/, "\\\\&", s)
	gsub(/[\001-\037]/, " ", s)
	return "\"" s "\""
}

function or_null(v) {
	return v == "" || v == "-" ? "null" : v + 0
}

function json_medians(	i, j, t, b, sep) {
	printf " \"medians\": [" >json
	for (i = 1; i <= nr_benches; i++)
		for (j = 1; j <= nr_targets; j++) {
			b = benches[i]
			t = targets[j]
			printf "%s\n  {\"bench\": %s, \"target\": %s, \"ops_per_s\": %s," \
				" \"mb_per_s\": %s, \"us_per_op\": %s, \"daemon_cpu_s_per_gib\": %s," \
				" \"cpu_us_per_op\": %s," \
				" \"switches_per_op\": %s, \"daemon_switches_per_op\": %s," \
				" \"fences_per_op\": %s, \"copied_per_byte\": %s}", sep, quote(b),
				quote(t), or_null(med("speed", t, b)), or_null(med("mbs", t, b)),
				or_null(med("us", t, b)), or_null(med("cpu", t, b)),
				or_null(med("cpu_us", t, b)),
				or_null(med("switches", t, b)), or_null(med("daemon_switches", t, b)),
				or_null(med("fences", t, b)), or_null(med("copies", t, b)) >json
			sep = ","
		}
	print "\n ]," >json
}

function write_json(	i, f, k, sep, n) {
	print "{\n \"format\": 1," >json
	n = split("version date kernel cpu mode rounds ms count without", f, " ")
	for (i = 1; i <= n; i++)
		printf " \"%s\": %s,\n", f[i], quote(about[f[i]]) >json
	json_medians()
	printf " \"goals\": [" >json
	for (i = 1; i <= goals; i++) {
		printf "%s\n  {\"title\": %s, \"metric\": %s, \"target\": %s, \"peer\": %s," \
			" \"bench\": %s, \"sense\": %s, \"aim\": %s, \"reached\": %s," \
			" \"verdict\": %s}", sep, quote(g_title[i]), quote(g_metric[i]),
			quote(g_who[i]), quote(g_against[i]), quote(g_bench[i]),
			quote(g_sense[i]), g_factor[i], or_null(g_got[i]),
			quote(g_verdict[i]) >json
		sep = ","
	}
	print "\n ]," >json
	printf " \"samples\": [" >json
	sep = ""
	for (i = 1; i <= nr_samples; i++) {
		split(samples[i], f, "\t")
		printf "%s\n  {\"round\": %d, \"target\": %s, \"bench\": %s, \"ops\": %s," \
			" \"bytes\": %s, \"ns\": %s, \"client_cpu_ns\": %s," \
			" \"client_switches\": %s, \"daemon_cpu_ns\": %s," \
			" \"daemon_switches\": %s, \"fences\": %s, \"copied\": %s}", sep, f[1],
			quote(f[2]), quote(f[3]), f[4], f[5], f[6], f[7], f[8], f[9], f[10],
			or_null(f[11]), or_null(f[12]) >json
		sep = ","
	}
	print "\n ]\n}" >json
	close(json)
}

END {
	tables()
	verdicts()
	write_json()
	write_page()
}
