/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rig.c - jobs for the DSA engine, and what must come of them
 */
#include "dsa/rig.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"

#define GUARD		192u		/* bytes looked at on either side */

/* From submission until a job is given up, and closed, and done by CPU. */
#define LATEST		(DSA_TIMEOUT + SEC)

const struct way ways[NR_WAYS] = {
	{ "MOVDIR64B", false, false, false },
	{ "MOVDIR64B in batches", false, false, true },
	{ "ENQCMD", true, false, false },
	{ "ENQCMD in batches", true, false, true },
	{ "write(), dedicated", false, true, false },
	{ "write(), dedicated, in pieces", false, true, true },
	{ "write(), shared", true, true, false },
};

struct pm_mem mem;
struct pm *pm;
struct soft_sys sys;
struct dsa *dsa;
uint8_t *source;
char what[200];
bool page_tables;
uint64_t timeout;
const struct dsa_opt any_size = { .mode = DSA_ON, .min = 1 };

_Thread_local struct dsa_port *port;
_Thread_local unsigned first;
_Thread_local uint64_t dice;
_Thread_local struct doing doing[JOBS];

uint64_t roll(uint64_t sides)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (dice >> 33) % sides;
}

static void hush(enum log_level lvl, const char *line)
{
	(void)lvl;
	(void)line;
}

/* ---- the ground ------------------------------------------------------------------- */

/* The same bytes for each job, at addresses of its own. */
static void make_source(void)
{
	int fd = memfd_create("source", MFD_CLOEXEC);
	uint8_t *bytes;

	ck_assert(fd >= 0 && !ftruncate(fd, AREA));
	bytes = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	source = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert(bytes != MAP_FAILED && source != MAP_FAILED);
	for (size_t i = 0; i < AREA; i++)
		bytes[i] = (uint8_t)(i * 13 + i / 253 + i / 65536 + 1);
	munmap(bytes, AREA);
	for (unsigned i = 0; i < JOBS; i++)
		ck_assert(mmap(source + (size_t)i * AREA, AREA, PROT_READ, MAP_SHARED | MAP_FIXED,
			       fd, 0) != MAP_FAILED);
	close(fd);
}

void open_pool(const struct pm_backend *backend, void *arg)
{
	struct pm_config cfg = { .backend = backend, .backend_arg = arg, .granularity = -1 };

	log_to(hush);
	ck_assert_int_eq(pm_open(&pm, "mem", &cfg), 0);
	if (!source)
		make_source();
}

void open_way(const struct way *w, const char *script, const struct dsa_opt *opt)
{
	struct softdsa_conf conf = softdsa_usual;
	unsigned q = w->shared ? 0 : 1;
	char why[200] = "";

	if (w->small) {
		conf.wq[q].max_xfer = 16384;
		conf.wq[q].max_batch = 4;
	}
	conf.present = page_tables;
	soft_sys_init(&sys, &conf);
	sys.no_map = w->no_map;
	sys.sys.timeout = timeout;
	ck_assert_msg(!dsa_open_on(&dsa, pm, opt, &sys.sys, &sys.wq[q], 1, why, sizeof(why)),
		      "%s: %s", w->name, why);
	port = dsa_port_open(dsa, JOBS);
	ck_assert_ptr_nonnull(port);
	/* the engine's own copy goes first, and unharmed */
	ck_assert(!dsa_wants(port, 65536));
	ck_assert(softdsa_step(sys.dev));
	ck_assert(dsa_wants(port, 65536));
	ck_assert_msg(softdsa_script(sys.dev, script, what, sizeof(what)), "%s", what);
	snprintf(what, sizeof(what), "%s, \"%s\"", w->name, script);
}

void close_way(void)
{
	ck_assert_uint_eq(dsa_inflight(port), 0);
	dsa_port_close(port);
	dsa_close(dsa);
	ck_assert_msg(softdsa_queued(sys.dev) == 0, "%s: left in flight", what);
	ck_assert_msg(!softdsa_violations(sys.dev), "%s: %s", what, softdsa_first(sys.dev));
	soft_sys_end(&sys);
}

void close_pool(void)
{
	pm_close(pm);
	pm_mem_free(&mem);
}

uint64_t why(enum dsa_reason reason)
{
	struct dsa_stats st;

	dsa_stats(dsa, &st);
	return st.why[reason];
}

void script(const char *fmt, ...)
{
	char line[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	ck_assert(softdsa_script(sys.dev, line, line, sizeof(line)));
}

/* ---- jobs --------------------------------------------------------------------------- */

uint64_t some_size(uint64_t longest)
{
	static const uint32_t sizes[] = {
		0, 1, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 16384, 32768, 65535, 65536,
		65537, 131072, 1048575, 1048576, 2097152, 2097153, LONGEST - 1, LONGEST,
	};
	uint64_t n = roll(2) ? sizes[roll(ARRAY_SIZE(sizes))] : roll(200000);

	return min64(n, longest);
}

void soil(uint64_t off, uint64_t len)
{
	uint8_t *to = (uint8_t *)mem.buf + off;

	memset(to - GUARD, 0xee, len + 2 * GUARD);
}

static bool soiled(const uint8_t *p)
{
	return p[0] == 0xee && !memcmp(p, p + 1, GUARD - 1);
}

/* T1 */
static void check_bytes(const struct dsa_job *j)
{
	const uint8_t *to = pm_at(pm, j->off - GUARD, j->len + 2 * GUARD);

	to += GUARD;
	for (size_t i = 0; memcmp(to, j->src, j->len) && i < j->len; i++)
		ck_assert_msg(to[i] == j->src[i], "%s: byte %zu of %zu at %#llx", what, i, j->len,
			      (unsigned long long)j->off);
	ck_assert_msg(soiled(to - GUARD) && soiled(to + j->len), "%s: beside %zu bytes", what,
		      j->len);
}

bool begin(unsigned i, uint64_t len)
{
	struct doing *d = &doing[i];

	*d = (struct doing){
		.j = {
			.off = (uint64_t)(first + i) * AREA + 4096 + roll(2) * roll(4096),
			.len = len, .user = d,
			.src = source + (size_t)(first + i) * AREA + roll(2) * roll(4096),
		},
	};
	soil(d->j.off, len);
	d->since = sys.now;
	d->busy = !dsa_submit(port, &d->j);
	if (d->busy)
		return true;
	ck_assert_msg(timeout || sys.now - d->since < 100 * SOFT_LOOK,
		      "%s: a refusal takes time", what);
	pm_copy(pm, d->j.off, d->j.src, d->j.len);
	check_bytes(&d->j);
	return false;
}

/* T2, T3 */
static void check_job(const struct dsa_job *j)
{
	struct doing *d = j->user;

	ck_assert_msg(j == &d->j && d->busy, "%s: reaped twice", what);
	d->busy = false;
	ck_assert_msg(!j->err, "%s: error %d", what, j->err);
	ck_assert_msg(j->by_device + j->by_cpu == j->len, "%s: %zu + %zu bytes of %zu", what,
		      j->by_device, j->by_cpu, j->len);
	ck_assert_msg(!softdsa_holds(sys.dev, pm_at(pm, j->off, j->len), j->len) &&
		      !softdsa_holds(sys.dev, j->src, j->len),
		      "%s: reaped while the device has it", what);
	ck_assert_msg(timeout || sys.now - d->since < LATEST, "%s: %llu ns", what,
		      (unsigned long long)(sys.now - d->since));
	check_bytes(j);
}

bool reap_all(void)
{
	struct dsa_job *j;
	bool any = false;

	while ((j = dsa_reap(port))) {
		check_job(j);
		any = true;
	}
	return any;
}

/* Nothing happens by itself any more: time goes on, as far as the engine sleeps. */
static void wait_a_bit(void)
{
	uint64_t next = softdsa_next(sys.dev), eta = dsa_eta(port);

	ck_assert_msg(eta != UINT64_MAX, "%s: waits for nothing", what);
	ck_assert_msg(eta <= SEC, "%s: sleeps", what);
	if (next > sys.now && next - sys.now < eta)
		eta = next - sys.now;
	sys.now += max64(eta, 100);
}

void turn(unsigned steps)
{
	bool busy = false;

	while (steps-- && softdsa_step(sys.dev))
		busy = true;
	if (!reap_all() && !busy && dsa_inflight(port))
		wait_a_bit();
}

void finish(void)
{
	for (unsigned n = 0; dsa_inflight(port); n++) {
		ck_assert_msg(n < 50000, "%s: hangs", what);
		turn(1);
	}
	for (unsigned i = 0; i < JOBS; i++)
		ck_assert_msg(!doing[i].busy, "%s: a job is lost", what);
}

unsigned work(unsigned nr, unsigned depth, uint64_t longest)
{
	unsigned taken = 0, i;

	for (unsigned n = 0; n < nr;) {
		for (i = 0; i < depth && doing[i].busy; i++)
			;
		if (i < depth && (roll(4) || !dsa_inflight(port))) {
			taken += begin(i, some_size(longest));
			n++;
		} else {
			turn((unsigned)roll(4));
		}
	}
	finish();
	return taken;
}
