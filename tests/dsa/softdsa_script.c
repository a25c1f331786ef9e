/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * softdsa_script.c - what goes wrong, and when
 *
 * A script is text, one rule a line, "#" begins a comment:
 *
 *	ACTION [KEY=VALUE...]
 *
 * Actions, and what they take:
 *	fault at=N dir=read|write [backward]	a page fault after N bytes
 *	status code=N			the operation fails with this status
 *	list-fault at=N			the batch's list faults at its Nth child
 *	full for=N			a full queue, and the N - 1 next times
 *	delay ns=N			completes so much later
 *	never				no completion record comes, ever
 *	halt [ns=N]			the device stops, all that is queued is lost;
 *					it comes back by itself after N
 *	disable				the administrator disables the queue
 *	reorder window=N		the youngest of N goes first; at once
 *	random seed=N per=N [hard]	one operation of so many meets one of
 *					these, hard: of never, halt and disable, too
 * Conditions, all of which must hold:
 *	wq=N op=noop|batch|drain|move|fill|compare|flush|0xNN
 *	min=N max=N			bytes of the operation
 *	from=N to=N			of its source or destination, addresses
 *	nth=N				the Nth that the others hold for, then
 *	every=N				every so manieth, the first one is nth, or N
 *	times=N				so often at most
 *
 * "fault" without op is for moves, "list-fault" for batches. For children of a batch
 * there are fault, status and random only. The first rule that holds decides, but
 * all of them count.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "dsa/softdsa_int.h"

/* ---- reading it ------------------------------------------------------------------ */

static const struct { const char *name; enum soft_act act; } actions[] = {
	{ "fault", ACT_FAULT }, { "status", ACT_STATUS }, { "list-fault", ACT_LIST_FAULT },
	{ "full", ACT_FULL }, { "delay", ACT_DELAY }, { "never", ACT_NEVER },
	{ "halt", ACT_HALT }, { "disable", ACT_DISABLE }, { "reorder", ACT_REORDER },
	{ "random", ACT_RANDOM },
};

static const struct { const char *name; int op; } ops[] = {
	{ "noop", DSA_OPCODE_NOOP }, { "batch", DSA_OPCODE_BATCH },
	{ "drain", DSA_OPCODE_DRAIN }, { "move", DSA_OPCODE_MEMMOVE },
	{ "fill", DSA_OPCODE_MEMFILL }, { "compare", DSA_OPCODE_COMPARE },
	{ "flush", DSA_OPCODE_CFLUSH },
};

static bool number(const char *s, uint64_t *out)
{
	char *end;

	*out = strtoull(s, &end, 0);
	return end != s && !*end;
}

static bool parse_op(struct soft_rule *r, const char *value)
{
	uint64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (!strcmp(ops[i].name, value)) {
			r->op = ops[i].op;
			return true;
		}
	if (!number(value, &n) || n > 255)
		return false;
	r->op = (int)n;
	return true;
}

static bool parse_number(struct soft_rule *r, const char *key, const char *value)
{
	uint64_t n;
	struct { const char *name; uint64_t *to; } keys[] = {
		{ "at", &r->at }, { "ns", &r->ns }, { "seed", &r->seed }, { "per", &r->per },
		{ "min", &r->min }, { "max", &r->max }, { "from", &r->from }, { "to", &r->to },
		{ "nth", &r->nth }, { "every", &r->every }, { "times", &r->times },
	};

	if (!number(value, &n))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(key, keys[i].name)) {
			*keys[i].to = n;
			return true;
		}
	if (!strcmp(key, "code") && n && n < 256)
		r->code = (unsigned)n;
	else if ((!strcmp(key, "window") || !strcmp(key, "for")) && n <= SOFT_QUEUED)
		r->window = (unsigned)n;
	else if (!strcmp(key, "wq") && n < SOFT_WQS)
		r->wq = (int)n;
	else
		return false;
	return true;
}

static bool parse_word(struct soft_rule *r, char *word)
{
	char *eq = strchr(word, '=');

	if (!eq) {
		r->backward |= !strcmp(word, "backward");
		r->hard |= !strcmp(word, "hard");
		return !strcmp(word, "backward") || !strcmp(word, "hard");
	}
	*eq++ = '\0';
	if (!strcmp(word, "op"))
		return parse_op(r, eq);
	if (!strcmp(word, "dir")) {
		r->write = !strcmp(eq, "write");
		return r->write || !strcmp(eq, "read");
	}
	return parse_number(r, word, eq);
}

static bool parse_action(struct soft_rule *r, const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].name, word))
			continue;
		*r = (struct soft_rule){ .act = actions[i].act, .wq = -1, .op = -1 };
		if (r->act == ACT_FAULT)
			r->op = DSA_OPCODE_MEMMOVE;
		if (r->act == ACT_LIST_FAULT)
			r->op = DSA_OPCODE_BATCH;
		return true;
	}
	return false;
}

/* What makes no sense without a number. */
static bool whole(struct soft_rule *r)
{
	if (r->act == ACT_RANDOM) {
		r->seed = r->seed * 2 + 1;
		return r->per;
	}
	if (r->act == ACT_STATUS)
		return r->code;
	if (r->act == ACT_REORDER)
		return r->window;
	return true;
}

static bool parse_line(struct soft_script *s, char *line)
{
	char *save, *word = strtok_r(line, " \t", &save);
	struct soft_rule *r = &s->rule[s->nr];

	if (!word || *word == '#')
		return true;
	if (s->nr == SOFT_RULES || !parse_action(r, word))
		return false;
	while ((word = strtok_r(NULL, " \t", &save)) && *word != '#')
		if (!parse_word(r, word))
			return false;
	if (!whole(r))
		return false;
	if (r->act == ACT_REORDER)
		s->window = r->window;
	else
		s->nr++;
	return true;
}

bool soft_parse(struct soft_script *s, const char *text, char *err, size_t size)
{
	char *copy = strdup(text), *save, *line;
	bool ok = copy;

	for (line = ok ? strtok_r(copy, "\n", &save) : NULL; line && ok;
	     line = strtok_r(NULL, "\n", &save)) {
		char was[80];

		snprintf(was, sizeof(was), "%s", line);
		ok = parse_line(s, line);
		if (!ok)
			snprintf(err, size, "not understood: %s", was);
	}
	free(copy);
	return ok;
}

/* ---- following it ------------------------------------------------------------------ */

static bool inside(const struct soft_rule *r, struct soft_span s)
{
	return s.len && s.at < r->to && s.at + s.len > r->from;
}

static bool holds(struct soft_rule *r, unsigned wq, const struct dsa_hw_desc *d)
{
	if (r->wq >= 0 && (unsigned)r->wq != wq)
		return false;
	if (r->op >= 0 && (unsigned)r->op != d->opcode)
		return false;
	if (d->xfer_size < r->min || (r->max && d->xfer_size > r->max))
		return false;
	if (r->to && !inside(r, soft_src(d)) && !inside(r, soft_dst(d)))
		return false;
	r->seen++;
	if (r->times && r->done >= r->times)
		return false;
	if (r->every)
		return r->nth ? r->seen >= r->nth && (r->seen - r->nth) % r->every == 0 :
		       r->seen % r->every == 0;
	return !r->nth || r->seen == r->nth;
}

static uint64_t roll(struct soft_rule *r, uint64_t sides)
{
	r->seed = r->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (r->seed >> 33) % sides;
}

static const struct soft_rule *dice_submit(struct soft_script *s, struct soft_rule *r)
{
	static const enum soft_act soft[] = { ACT_FULL, ACT_DELAY };
	static const enum soft_act hard[] = { ACT_FULL, ACT_DELAY, ACT_NEVER, ACT_HALT,
					      ACT_DISABLE };

	if (roll(r, r->per))
		return NULL;
	s->dice = (struct soft_rule){
		.act = r->hard ? hard[roll(r, ARRAY_SIZE(hard))] : soft[roll(r, 2)],
		.window = 1 + (unsigned)roll(r, 20), .ns = 1000 + roll(r, 100000),
	};
	return &s->dice;
}

static const struct soft_rule *dice_execute(struct soft_script *s, struct soft_rule *r,
					    const struct dsa_hw_desc *d)
{
	static const uint8_t code[] = { DSA_COMP_INVALID_FLAGS, DSA_COMP_HW_ERR1,
					DSA_COMP_TRANSLATION_FAIL, DSA_COMP_PFAULT_RDBA };

	if (roll(r, r->per) || !d->xfer_size)
		return NULL;
	s->dice = (struct soft_rule){
		.act = ACT_FAULT, .at = roll(r, d->xfer_size), .write = roll(r, 2),
		.backward = !roll(r, 8), .code = code[roll(r, ARRAY_SIZE(code))],
	};
	if (d->opcode == DSA_OPCODE_BATCH)
		s->dice.act = ACT_LIST_FAULT;
	if (!roll(r, 4))
		s->dice.act = ACT_STATUS;
	return &s->dice;
}

const struct soft_rule *soft_at_submit(struct soft_script *s, unsigned wq,
				       const struct dsa_hw_desc *d)
{
	const struct soft_rule *found = NULL, *one;

	for (unsigned i = 0; i < s->nr; i++) {
		struct soft_rule *r = &s->rule[i];

		if (r->act > ACT_DISABLE && r->act != ACT_RANDOM)
			continue;
		if (!holds(r, wq, d))
			continue;
		one = r->act == ACT_RANDOM ? dice_submit(s, r) : r;
		if (!one || found)
			continue;
		r->done++;
		found = one;
	}
	return found;
}

const struct soft_rule *soft_at_execute(struct soft_script *s, unsigned wq,
					const struct dsa_hw_desc *d)
{
	const struct soft_rule *found = NULL, *one;

	for (unsigned i = 0; i < s->nr; i++) {
		struct soft_rule *r = &s->rule[i];

		if (r->act <= ACT_DISABLE || r->act == ACT_REORDER || !holds(r, wq, d))
			continue;
		one = r->act == ACT_RANDOM ? dice_execute(s, r, d) : r;
		if (!one || found)
			continue;
		r->done++;
		found = one;
	}
	return found;
}
