/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h - lines for people
 *
 * One sink: stderr ("pmemfs: ...") until log_to_syslog(). Never call it with
 * file contents; names are escaped by log_name(). Thread-safe.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_LVL_ERR, LOG_LVL_WARN, LOG_LVL_INFO, LOG_LVL_DEBUG };

void log_init(const char *program);	/* prefix of every line */
void log_set_level(enum log_level max);	/* default LOG_LVL_INFO */
void log_to_syslog(void);
/* Send lines to fn instead (tests). NULL: back to stderr. */
void log_to(void (*fn)(enum log_level, const char *line));

void log_line(enum log_level lvl, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
#define log_err(...)	log_line(LOG_LVL_ERR, __VA_ARGS__)
#define log_warn(...)	log_line(LOG_LVL_WARN, __VA_ARGS__)
#define log_info(...)	log_line(LOG_LVL_INFO, __VA_ARGS__)
#define log_debug(...)	log_line(LOG_LVL_DEBUG, __VA_ARGS__)

/* name[0..len) with anything unprintable as \xNN, cut to fit; returns out. */
char *log_name(char *out, size_t size, const char *name, size_t len);

#endif
