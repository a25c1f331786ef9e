/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.c - lines for people, one sink
 *
 * A line is built on the stack and leaves in one write, so lines of two
 * threads never mix. The sink is one of stderr, syslog, a function; changing
 * it while others log is safe, a line goes to the one or the other.
 *
 * Refuses control characters: whatever a format brings in, a line stays one
 * line, and a terminal is never told what to do by a file name.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#define LINE_MAX_BYTES	1024

typedef void (*log_fn)(enum log_level, const char *line);

static void to_stderr(enum log_level lvl, const char *line);
static void to_syslog(enum log_level lvl, const char *line);

static char log_prog[32] = "pmemfs";
static _Atomic int log_max = LOG_LVL_INFO;
static _Atomic(log_fn) log_sink = to_stderr;

void log_init(const char *program)
{
	snprintf(log_prog, sizeof(log_prog), "%s", program);
}

void log_set_level(enum log_level max)
{
	atomic_store_explicit(&log_max, (int)max, memory_order_relaxed);
}

void log_to_syslog(void)
{
	openlog(log_prog, LOG_PID, LOG_DAEMON);
	atomic_store(&log_sink, to_syslog);
}

void log_to(void (*fn)(enum log_level, const char *line))
{
	atomic_store(&log_sink, fn ? fn : to_stderr);
}

static void to_stderr(enum log_level lvl, const char *line)
{
	static const char *const tag[] = {
		[LOG_LVL_ERR] = "", [LOG_LVL_WARN] = "warning: ",
		[LOG_LVL_INFO] = "", [LOG_LVL_DEBUG] = "debug: ",
	};
	char buf[LINE_MAX_BYTES + 64];
	int n = snprintf(buf, sizeof(buf), "%s: %s%s\n", log_prog, tag[lvl], line);
	ssize_t put;

	if (n < 0)
		return;
	if ((size_t)n >= sizeof(buf)) {
		n = (int)sizeof(buf) - 1;
		buf[n - 1] = '\n';
	}
	do
		put = write(STDERR_FILENO, buf, (size_t)n);
	while (put < 0 && errno == EINTR);
}

static void to_syslog(enum log_level lvl, const char *line)
{
	static const int prio[] = {
		[LOG_LVL_ERR] = LOG_ERR, [LOG_LVL_WARN] = LOG_WARNING,
		[LOG_LVL_INFO] = LOG_INFO, [LOG_LVL_DEBUG] = LOG_DEBUG,
	};

	syslog(prio[lvl], "%s", line);
}

void log_line(enum log_level lvl, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	int saved = errno;
	va_list ap;

	if ((int)lvl > atomic_load_explicit(&log_max, memory_order_relaxed))
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	atomic_load(&log_sink)(lvl, line);
	errno = saved;
}

char *log_name(char *out, size_t size, const char *name, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];
		bool plain = c >= 0x20 && c < 0x7f && c != '\\';

		if (at + (plain ? 1 : 4) >= size)
			break;
		if (plain) {
			out[at++] = (char)c;
			continue;
		}
		out[at++] = '\\';
		out[at++] = 'x';
		out[at++] = hex[c >> 4];
		out[at++] = hex[c & 15];
	}
	if (size)
		out[at] = '\0';
	return out;
}
