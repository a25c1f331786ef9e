/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_none.c - a build without DSA: there is never a queue
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "copy/dsa.h"

int dsa_open(struct dsa **d, struct pm *pm, const struct dsa_opt *opt)
{
	(void)pm;
	*d = NULL;
	if (opt->mode == DSA_OFF || (opt->mode == DSA_AUTO && !opt->wq))
		return 0;
	log_err("DSA: this pmemfs was built without it (configure --with-dsa)");
	return -EOPNOTSUPP;
}

void dsa_close(struct dsa *d)
{
	(void)d;
}

struct dsa_port *dsa_port_open(struct dsa *d, unsigned max_jobs)
{
	(void)d;
	(void)max_jobs;
	return NULL;
}

void dsa_port_close(struct dsa_port *p)
{
	(void)p;
}

void dsa_port_waiting(struct dsa_port *p, unsigned nr)
{
	(void)p;
	(void)nr;
}

bool dsa_wants(struct dsa_port *p, size_t len)
{
	(void)p;
	(void)len;
	return false;
}

int dsa_submit(struct dsa_port *p, struct dsa_job *j)
{
	(void)p;
	(void)j;
	return -EAGAIN;
}

struct dsa_job *dsa_reap(struct dsa_port *p)
{
	(void)p;
	return NULL;
}

unsigned dsa_inflight(const struct dsa_port *p)
{
	(void)p;
	return 0;
}

uint64_t dsa_eta(const struct dsa_port *p)
{
	(void)p;
	return UINT64_MAX;
}

const char *dsa_describe(struct dsa *d, char *buf, size_t size)
{
	(void)d;
	snprintf(buf, size, "not built");
	return buf;
}

void dsa_stats(const struct dsa *d, struct dsa_stats *s)
{
	(void)d;
	memset(s, 0, sizeof(*s));
}
