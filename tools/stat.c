/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stat.c - pmemfs-stat: what a mount is doing
 *
 * The daemon counts all the time and hands its numbers out as JSON, in an
 * extended attribute that no file has (fuse/virtual.h). So one getxattr(2) on
 * any path of the mount is all this program does: it needs no socket, no
 * file of its own and no privilege beyond the daemon's, and works on a
 * read-only mount and on a folder that is bound into a container.
 *
 * Numbers are totals since the mount. Every line of a series but the first is
 * the difference of two samples.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define ATTRIBUTE	"system.pmemfs.stats"
#define HEAD_EVERY	20		/* lines */
#define MAX_BUCKETS	512

typedef struct json_object *jobj;

static void usage(FILE *f)
{
	fputs("usage: pmemfs-stat [--json] MOUNTPOINT [INTERVAL [COUNT]]\n"
	      "Show what a pmemfs mount has been doing. With INTERVAL, in seconds,\n"
	      "a line for each; the first is the average since the mount.\n\n"
	      "  -j, --json      the numbers as JSON, with the histograms\n"
	      "  -h, --help\n"
	      "  -V, --version\n", f);
}

/* ---- a sample --------------------------------------------------------------- */

static const char *reason(int err)
{
	switch (err) {
	case ENODATA:
	case EOPNOTSUPP:
		return "no pmemfs is mounted there";
	case EACCES:
		return "only root and the user who mounted it may look";
	case ENOTCONN:
		return "the daemon of this mount is gone";
	default:
		return strerror(err);
	}
}

/* NULL, with a line that says why. */
static jobj sample(const char *path)
{
	static char buf[65536 + 1];
	ssize_t n = getxattr(path, ATTRIBUTE, buf, sizeof(buf) - 1);
	jobj o;

	if (n < 0) {
		fprintf(stderr, "pmemfs-stat: %s: %s\n", path, reason(errno));
		return NULL;
	}
	buf[n] = '\0';
	o = json_tokener_parse(buf);
	if (!o)
		fprintf(stderr, "pmemfs-stat: %s: the daemon's answer is not JSON\n", path);
	return o;
}

static jobj member(jobj o, const char *group, const char *name)
{
	jobj g = NULL, v = NULL;

	if (o && json_object_object_get_ex(o, group, &g))
		json_object_object_get_ex(g, name, &v);
	return v;
}

static uint64_t num(jobj o, const char *group, const char *name)
{
	jobj v = member(o, group, name);

	return v ? json_object_get_uint64(v) : 0;
}

static const char *str(jobj o, const char *group, const char *name)
{
	jobj v = member(o, group, name);

	return v ? json_object_get_string(v) : "?";
}

static uint64_t sum_of(jobj o, const char *group)
{
	uint64_t sum = 0;
	jobj g = NULL;

	if (o && json_object_object_get_ex(o, group, &g)) {
		json_object_object_foreach(g, name, v) {
			(void)name;
			sum += json_object_get_uint64(v);
		}
	}
	return sum;
}

/* ---- once ------------------------------------------------------------------- */

static const char *bytes(uint64_t v, char buf[24])
{
	static const char unit[] = "BKMGTPE";
	unsigned u = 0;
	double d = (double)v;

	while (d >= 1024 && u < sizeof(unit) - 2) {
		d /= 1024;
		u++;
	}
	snprintf(buf, 24, u ? "%.1f %ciB" : "%.0f %c", d, unit[u]);
	return buf;
}

static void print_heads(jobj o)
{
	char a[24], b[24], c[24];
	uint64_t block = num(o, "space", "block_bytes");

	printf("pool       %s%s%s, %s\n", str(o, "pool", "uuid"),
	       *str(o, "pool", "label") ? " " : "", str(o, "pool", "label"),
	       bytes(num(o, "pool", "size_bytes"), a));
	printf("medium     %s\n", str(o, "pool", "medium"));
	printf("mount      dax=%s data=%s transport=%s read=%s, %llu threads%s%s\n",
	       str(o, "mount", "dax"), str(o, "mount", "data"), str(o, "mount", "transport"),
	       str(o, "mount", "read"), (unsigned long long)num(o, "mount", "threads"),
	       num(o, "pool", "read_only") ? ", read-only" : "",
	       num(o, "pool", "stopped_writing") ? ", WRITING HAS STOPPED" : "");
	printf("           up %llu s, %llu files open, %llu inodes in use, %llu in memory\n",
	       (unsigned long long)(num(o, "mount", "uptime_ns") / 1000000000),
	       (unsigned long long)num(o, "mount", "open_files"),
	       (unsigned long long)num(o, "space", "inodes"),
	       (unsigned long long)num(o, "space", "cached_inodes"));
	printf("space      %s free, %s reserved, %s in quarantine\n",
	       bytes(num(o, "space", "free_blocks") * block, a),
	       bytes(num(o, "space", "reserved_blocks") * block, b),
	       bytes(num(o, "space", "quarantined_blocks") * block, c));
	printf("           %llu of %llu groups in memory, %llu of %llu windows used\n",
	       (unsigned long long)num(o, "space", "loaded_groups"),
	       (unsigned long long)num(o, "space", "groups"),
	       (unsigned long long)num(o, "space", "used_windows"),
	       (unsigned long long)num(o, "space", "windows"));
	printf("log        %llu lanes of %s, %s used, %llu records of %s, %llu checkpoints\n",
	       (unsigned long long)num(o, "log", "lanes"), bytes(num(o, "log", "lane_bytes"), a),
	       bytes(num(o, "log", "used_bytes"), b),
	       (unsigned long long)num(o, "log", "records"),
	       bytes(num(o, "log", "record_bytes"), c),
	       (unsigned long long)num(o, "log", "checkpoints"));
}

/* "name value, name value" of a group; bytes where the name says so. */
static void print_group(jobj o, const char *group, const char *title)
{
	const char *sep = "";
	jobj g = NULL;

	if (!json_object_object_get_ex(o, group, &g))
		return;
	printf("%-10s", title);
	json_object_object_foreach(g, name, v) {
		size_t len = strlen(name);
		uint64_t n = json_object_get_uint64(v);
		char buf[24];

		if (len > 6 && !strcmp(name + len - 6, "_bytes"))
			printf("%s %.*s %s", sep, (int)len - 6, name, bytes(n, buf));
		else
			printf("%s %s %llu", sep, name, (unsigned long long)n);
		sep = ",";
	}
	printf("\n");
}

/* Only of a mount that has a device. */
static void print_dsa(jobj o)
{
	const char *sep = "; fell back:";
	jobj g = member(o, "dsa", "fell_back");
	char a[24], b[24];

	if (!g)
		return;
	printf("dsa        %s\n", str(o, "dsa", "device"));
	printf("           %llu jobs, %s by device, %s by CPU, %llu in flight (at most %llu)",
	       (unsigned long long)num(o, "dsa", "jobs"),
	       bytes(num(o, "dsa", "device_bytes"), a), bytes(num(o, "dsa", "cpu_bytes"), b),
	       (unsigned long long)num(o, "dsa", "in_flight"),
	       (unsigned long long)num(o, "dsa", "in_flight_max"));
	json_object_object_foreach(g, name, v) {
		if (!json_object_get_uint64(v))
			continue;
		printf("%s %s %llu", sep, name, (unsigned long long)json_object_get_uint64(v));
		sep = ",";
	}
	printf("\n");
}

static double us(uint64_t ns) { return (double)ns / 1000; }

static void print_operations(jobj o)
{
	jobj ops = NULL;

	printf("\n%-18s %10s %8s %10s %10s %10s %12s\n", "operation", "count", "errors",
	       "mean us", "p50 us", "p99 us", "max us");
	if (!json_object_object_get_ex(o, "operations", &ops))
		return;
	json_object_object_foreach(ops, name, v) {
		uint64_t n = num(ops, name, "count");

		(void)v;
		printf("%-18s %10llu %8llu %10.1f %10.1f %10.1f %12.1f\n", name,
		       (unsigned long long)n, (unsigned long long)num(ops, name, "errors"),
		       us(num(ops, name, "total_ns")) / (double)(n ? n : 1),
		       us(num(ops, name, "p50_ns")), us(num(ops, name, "p99_ns")),
		       us(num(ops, name, "max_ns")));
	}
}

static void print_once(jobj o)
{
	print_heads(o);
	print_group(o, "copy", "bytes");
	print_dsa(o);
	print_group(o, "medium", "medium");
	print_group(o, "waits", "waits");
	print_group(o, "errors", "errors");
	print_operations(o);
}

/* ---- a series ------------------------------------------------------------------ */

struct span {				/* what happened between two samples */
	jobj from, to;			/* from NULL: since the mount */
	double seconds;
	uint64_t ops, errors;
	uint64_t bucket[MAX_BUCKETS];
};

static uint64_t diff(const struct span *s, const char *group, const char *name)
{
	return num(s->to, group, name) - num(s->from, group, name);
}

static double rate(const struct span *s, uint64_t n)
{
	return (double)n / s->seconds;
}

static uint64_t ops_of(const struct span *s, const char *op)
{
	jobj a = NULL, b = NULL;

	if (s->from)
		json_object_object_get_ex(s->from, "operations", &a);
	json_object_object_get_ex(s->to, "operations", &b);
	return num(b, op, "count") - num(a, op, "count");
}

static void add_operations(struct span *s, jobj o, uint64_t sign)
{
	jobj ops = NULL;

	if (!o || !json_object_object_get_ex(o, "operations", &ops))
		return;
	json_object_object_foreach(ops, name, v) {
		uint64_t first = num(ops, name, "first");
		jobj h = NULL;
		size_t n = json_object_object_get_ex(v, "histogram", &h) ?
			   json_object_array_length(h) : 0;

		s->ops += sign * num(ops, name, "count");
		s->errors += sign * num(ops, name, "errors");
		for (size_t i = 0; i < n && first + i < MAX_BUCKETS; i++)
			s->bucket[first + i] += sign *
				json_object_get_uint64(json_object_array_get_idx(h, i));
	}
}

/* As the daemon does it (src/fuse/stats.c), over all operations. */
static uint64_t quantile(const struct span *s, unsigned permille)
{
	uint64_t above = s->ops * (1000 - permille) / 1000, seen = 0;
	jobj bounds = NULL;
	size_t b = MAX_BUCKETS - 1, n;

	if (!s->ops || !json_object_object_get_ex(s->to, "histogram_bounds_ns", &bounds))
		return 0;
	n = json_object_array_length(bounds);
	while (seen + s->bucket[b] <= above && b > 0)
		seen += s->bucket[b--];
	return n ? json_object_get_uint64(json_object_array_get_idx(bounds, b < n ? b : n - 1)) : 0;
}

static void print_head(void)
{
	printf("%9s %9s %9s %8s %8s %8s %8s %9s %9s %5s %4s %7s %6s\n", "ops/s", "read/s",
	       "write/s", "rMiB/s", "wMiB/s", "p50us", "p99us", "fence/s", "record/s", "log%",
	       "ckpt", "waits", "errors");
}

static void print_line(struct span *s)
{
	static const char *const in[] = {
		"nocache_bytes", "pipe_bytes", "spliced_bytes", "landed_bytes",
	};
	uint64_t log = num(s->to, "log", "lanes") * num(s->to, "log", "lane_bytes");
	uint64_t rd = diff(s, "copy", "read_mapped_bytes") + diff(s, "copy", "read_copied_bytes");
	uint64_t wr = 0;

	add_operations(s, s->to, 1);
	add_operations(s, s->from, UINT64_MAX);		/* that is, minus */
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		wr += diff(s, "copy", in[i]);
	printf("%9.0f %9.0f %9.0f %8.1f %8.1f %8.1f %8.1f %9.0f %9.0f %5.1f %4llu %7llu %6llu\n",
	       rate(s, s->ops), rate(s, ops_of(s, "READ")), rate(s, ops_of(s, "WRITE")),
	       rate(s, rd) / 1048576, rate(s, wr) / 1048576, us(quantile(s, 500)),
	       us(quantile(s, 990)), rate(s, diff(s, "medium", "fences")),
	       rate(s, diff(s, "log", "records")),
	       log ? 100.0 * (double)num(s->to, "log", "used_bytes") / (double)log : 0,
	       (unsigned long long)diff(s, "log", "checkpoints"),
	       (unsigned long long)(sum_of(s->to, "waits") - sum_of(s->from, "waits")),
	       (unsigned long long)s->errors);
	fflush(stdout);
}

/* A pool that was mounted anew counts from nothing. */
static bool same_mount(jobj a, jobj b)
{
	return a && num(a, "mount", "pid") == num(b, "mount", "pid") &&
	       num(a, "mount", "uptime_ns") <= num(b, "mount", "uptime_ns");
}

static void pause_for(double seconds)
{
	struct timespec ts = { (time_t)seconds, 0 };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static int series(const char *path, double interval, unsigned long count, bool json)
{
	jobj last = NULL, now = NULL;

	for (unsigned long i = 0; !count || i < count; i++) {
		struct span s = { .seconds = 0 };

		if (i)
			pause_for(interval);
		now = sample(path);
		if (!now)
			break;
		if (json) {
			printf("%s\n", json_object_to_json_string_ext(now, JSON_C_TO_STRING_PLAIN));
			fflush(stdout);
		} else {
			s.from = same_mount(last, now) ? last : NULL;
			s.to = now;
			s.seconds = (double)diff(&s, "mount", "uptime_ns") / 1e9;
			s.seconds = s.seconds > 1e-9 ? s.seconds : 1e-9;
			if (i % HEAD_EVERY == 0)
				print_head();
			print_line(&s);
		}
		json_object_put(last);
		last = now;
	}
	json_object_put(last);
	return now ? EXIT_OK : EXIT_FAILED;
}

static int once(const char *path, bool json)
{
	jobj o = sample(path);

	if (!o)
		return EXIT_FAILED;
	if (json)
		printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
								JSON_C_TO_STRING_SPACED));
	else
		print_once(o);
	json_object_put(o);
	return EXIT_OK;
}

/* ---- the command line ------------------------------------------------------------- */

static bool positive(const char *s, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(s, &end);
	return end != s && !*end && !errno && *out >= 0.001 && *out <= 1e6;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 },
	};
	double interval = 0, count = 0;
	bool json = false;
	int opt, left;

	while ((opt = getopt_long(argc, argv, "jhV", longs, NULL)) != -1) {
		if (opt == 'j') {
			json = true;
		} else if (opt == 'V') {
			puts("pmemfs-stat " PACKAGE_VERSION);
			return EXIT_OK;
		} else {
			usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
	}
	argv += optind;
	left = argc - optind;
	if (left < 1 || left > 3 || (left > 1 && !positive(argv[1], &interval)) ||
	    (left > 2 && (!positive(argv[2], &count) || count < 1))) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (left == 1)
		return once(argv[0], json);
	return series(argv[0], interval, (unsigned long)count, json);
}
