/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump.c - dump.pmemfs: show what a pool looks like inside
 *
 * Read-only, also for a pool that is mounted. Superblock, slots, log and bad
 * blocks are shown as they lie on the medium; everything else as it is after
 * the log was replayed into memory of our own (L14).
 *
 * Each topic builds a JSON value; the text is made from the same value, so
 * the two cannot say different things. Structures are printed from the table
 * in meta/fields.c. Believes nothing: what is damaged is called so, and the
 * number of nodes looked at is bounded by the size of the pool.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "meta/fields.h"
#include "meta/fs.h"
#include "meta/peek.h"
#include "meta/redo.h"
#include "meta/super.h"
#include "pm/pm.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct json_object *jobj;

struct dump {
	const char *path;
	struct fs *fs;			/* opened and replayed, or */
	struct fs raw;			/* only pm and geo are set */
	struct pm *pm;
	const struct geometry *geo;
	jobj out;
	struct peek peek;		/* with the two above */
	jobj rows;			/* where items go */
	bool json;
};

static void usage(FILE *f)
{
	fputs("usage: dump.pmemfs [--json] POOL [TOPIC]\n"
	      "       dump.pmemfs fields\n"
	      "Show what a pmemfs pool looks like inside. Changes nothing.\n\n"
	      "  super (default)   both copies of the superblock\n"
	      "  slots             the checkpoint slots\n"
	      "  log               the records in the log\n"
	      "  inode N           an inode, its extents and attributes\n"
	      "  path /a/b         the same, by name\n"
	      "  dir N             the names in a directory\n"
	      "  tree N            the nodes of an inode's trees\n"
	      "  free              free space by group\n"
	      "  orphans           inodes waiting to be freed\n"
	      "  badblocks         blocks that are not used any more\n"
	      "  fields            the format as tables; needs no pool\n", f);
}

/* ---- building ----------------------------------------------------------- */

static void add_num(jobj o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static void add_str(jobj o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

static void add_bytes(jobj o, const char *key, const uint8_t *p, size_t len)
{
	char text[2 * 64 + 1] = "";
	size_t i;

	for (i = 0; i < len && i < 64; i++)
		snprintf(text + 2 * i, 3, "%02x", p[i]);
	add_str(o, key, text);
}

/* Names and labels: nothing that a terminal could take for an order. */
static void add_name(jobj o, const char *key, const char *p, size_t len)
{
	char text[4 * 255 + 1];

	add_str(o, key, log_name(text, sizeof(text), p, len));
}

static void add_field(jobj o, const struct field *f, const void *base)
{
	const char *p = (const char *)base + f->off;
	char hex[24];

	switch (f->type) {
	case FIELD_LE:
		add_num(o, f->name, field_get(f, base));
		break;
	case FIELD_HEX:
		snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)field_get(f, base));
		add_str(o, f->name, hex);
		break;
	case FIELD_BYTES:
		add_bytes(o, f->name, (const uint8_t *)p, f->size);
		break;
	case FIELD_TEXT:
		add_name(o, f->name, p, strnlen(p, f->size));
		break;
	default:	/* padding, or shown by itself */
		break;
	}
}

static void add_struct(jobj o, const char *name, const void *base)
{
	const struct field_struct *s = field_find(name);
	unsigned i;

	for (i = 0; i < s->nr; i++)
		add_field(o, &s->field[i], base);
}

static jobj add_array(jobj o, const char *key)
{
	jobj a = json_object_new_array();

	json_object_object_add(o, key, a);
	return a;
}

static jobj add_row(jobj array)
{
	jobj row = json_object_new_object();

	json_object_array_add(array, row);
	return row;
}

/* Something that is not as it should be. */
static void add_damage(void *arg, uint64_t off, const char *text)
{
	struct dump *d = arg;
	jobj a, row;

	if (!json_object_object_get_ex(d->out, "damage", &a))
		a = add_array(d->out, "damage");
	row = add_row(a);
	add_num(row, "offset", off);
	add_str(row, "text", text);
}

/* ---- text out of it ------------------------------------------------------ */

#define COLUMNS	16

static const char *cell(jobj row, const char *key)
{
	jobj v;

	return json_object_object_get_ex(row, key, &v) ? json_object_get_string(v) : "-";
}

/* The columns of a table are the keys of its first row. */
static void print_table(jobj rows)
{
	size_t i, n = json_object_array_length(rows), nr = 0, c;
	const char *key[COLUMNS];
	size_t width[COLUMNS];
	jobj first = n ? json_object_array_get_idx(rows, 0) : NULL;

	if (!n)
		return;
	json_object_object_foreach(first, k, v) {
		(void)v;
		width[nr] = strlen(k);
		key[nr] = k;
		if (++nr == COLUMNS)
			break;
	}
	for (i = 0; i < n; i++)
		for (c = 0; c < nr; c++)
			width[c] = max64(width[c],
				strlen(cell(json_object_array_get_idx(rows, i), key[c])));
	for (c = 0; c < nr; c++)
		printf("%s%-*s", c ? " " : "  ", c + 1 < nr ? (int)width[c] : 0, key[c]);
	putchar('\n');
	for (i = 0; i < n; i++) {
		for (c = 0; c < nr; c++)
			printf("%s%-*s", c ? " " : "  ", c + 1 < nr ? (int)width[c] : 0,
			       cell(json_object_array_get_idx(rows, i), key[c]));
		putchar('\n');
	}
}

static void print_text(jobj o)
{
	json_object_object_foreach(o, key, v) {
		if (json_object_is_type(v, json_type_array)) {
			printf("%s: %zu\n", key, json_object_array_length(v));
			print_table(v);
		} else if (json_object_is_type(v, json_type_object)) {
			printf("%s:\n", key);
			print_text(v);	/* two levels at most, and ours */
		} else {
			printf("  %-14s %s\n", key, json_object_get_string(v));
		}
	}
}

/* ---- inodes -------------------------------------------------------------- */

static const char *type_name(unsigned type)
{
	static const char *const name[16] = {
		[0] = "free", [1] = "fifo", [2] = "chardev", [4] = "directory",
		[6] = "blockdev", [8] = "file", [10] = "symlink", [12] = "socket",
	};

	return name[type & 15] ? name[type & 15] : "?";
}

static void row_extent(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	uint64_t where = len == 8 ? load64(val) : 0;
	jobj row = add_row(((struct dump *)arg)->rows);

	add_num(row, "file_block", key);
	add_num(row, "pool_block", ext_blk(where));
	add_num(row, "blocks", ext_len(where));
	add_str(row, "flags", where & PMEMFS_EXT_UNWRITTEN ? "unwritten" :
		where & PMEMFS_EXT_SHARED ? "shared" : "");
}

static void row_dirent(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	jobj row = add_row(((struct dump *)arg)->rows);
	char hex[20];

	if (len < 8)
		return;
	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)key);
	add_num(row, "inode", load64(val) & PMEMFS_MAX_INO);
	add_str(row, "type", type_name(load64(val) >> 56 & 15));
	add_str(row, "key", hex);
	add_name(row, "name", (const char *)val + 8, len - 8);
}

static void row_xattr(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	struct pmemfs_xattr x;
	jobj row;

	(void)key;
	if (len < PMEMFS_XATTR_HEAD)
		return;
	memcpy(&x, val, PMEMFS_XATTR_HEAD);
	row = add_row(((struct dump *)arg)->rows);
	add_num(row, "size", get32(x.size));
	add_num(row, "runs", x.nr_runs);
	add_name(row, "name", (const char *)val + PMEMFS_XATTR_HEAD,
		 min64(x.name_len, len - PMEMFS_XATTR_HEAD));
}

static void add_time(jobj o, const char *key, le64 sec, le32 ns)
{
	time_t t = (time_t)get64(sec);
	char text[64] = "", full[96];
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(full, sizeof(full), "%s.%09uZ", text, get32(ns));
	add_str(o, key, full);
}

static void add_inode(struct dump *d, uint64_t ino, uint64_t off,
		      const struct pmemfs_inode *di)
{
	jobj o = json_object_new_object(), link = json_object_new_object();
	char mode[16];

	json_object_object_add(d->out, "inode", o);
	add_num(o, "number", ino);
	add_num(o, "offset", off);
	add_str(o, "checksum", get32(di->crc) == seal_crc(di, PMEMFS_INODE_SEALED, off) ?
		"good" : "wrong");
	add_str(o, "type", type_name(get32(di->mode) >> 12));
	add_struct(o, "inode", di);
	snprintf(mode, sizeof(mode), "%07o", get32(di->mode));
	add_str(o, "mode", mode);
	add_time(o, "atime", di->atime, di->atime_ns);
	add_time(o, "mtime", di->mtime, di->mtime_ns);
	add_time(o, "ctime", di->ctime, di->ctime_ns);
	add_time(o, "btime", di->btime, di->btime_ns);
	json_object_object_add(d->out, "link", link);
	add_struct(link, "link", &di->link);
}

/* Items of an inode's root, or (xattr) of its attributes, become rows. */
static void add_rows(struct dump *d, const char *key, const struct pmemfs_inode *di,
		     void (*fn)(void *, uint64_t, const uint8_t *, unsigned))
{
	d->rows = add_array(d->out, key);
	d->peek.item = fn;
	if (fn == row_xattr)
		peek_tree(&d->peek, get64(di->xattr), PMEMFS_TREE_XATTR);
	else
		peek_root(&d->peek, di);
}

static const struct pmemfs_inode *need_inode(struct dump *d, uint64_t ino, uint64_t *off)
{
	const struct pmemfs_inode *di = peek_inode(&d->peek, ino, off);

	if (!di)
		log_err("there is no inode %llu", (unsigned long long)ino);
	return di;
}

static int show_inode(struct dump *d, uint64_t ino)
{
	const struct pmemfs_inode *di;
	uint64_t off;

	di = need_inode(d, ino, &off);
	if (!di)
		return -ENOENT;
	add_inode(d, ino, off, di);
	if (di->root_kind == PMEMFS_ROOT_BYTES)
		add_name(d->out, "target", di->root.bytes, min64(get64(di->size), 64));
	else if (!S_ISDIR(get32(di->mode)))
		add_rows(d, "extents", di, row_extent);
	if (get64(di->xattr))
		add_rows(d, "xattrs", di, row_xattr);
	return 0;
}

static int show_dir(struct dump *d, uint64_t ino)
{
	const struct pmemfs_inode *di;
	uint64_t off;

	di = need_inode(d, ino, &off);
	if (!di)
		return -ENOENT;
	if (!S_ISDIR(get32(di->mode))) {
		log_err("inode %llu is no directory", (unsigned long long)ino);
		return -ENOTDIR;
	}
	add_num(d->out, "parent", get64(di->parent));
	add_rows(d, "names", di, row_dirent);
	return 0;
}

static void row_node(void *arg, const struct pmemfs_node *n, uint64_t blk)
{
	jobj row = add_row(((struct dump *)arg)->rows);

	add_num(row, "block", blk);
	add_num(row, "level", n->level);
	add_num(row, "tree", n->tree);
	add_num(row, "items", get16(n->nr));
	add_num(row, "heap", get16(n->heap));
	add_num(row, "dead", get16(n->dead));
	add_num(row, "owner", get64(n->owner));
	add_num(row, "first_key", get16(n->nr) ?
		load64((const uint8_t *)n + get16(n->slot[0].off)) : 0);
}

static int show_tree(struct dump *d, uint64_t ino)
{
	const struct pmemfs_inode *di;
	uint64_t off;

	di = need_inode(d, ino, &off);
	if (!di)
		return -ENOENT;
	d->rows = add_array(d->out, "nodes");
	d->peek.node = row_node;
	peek_root(&d->peek, di);
	if (get64(di->xattr))
		peek_tree(&d->peek, get64(di->xattr), PMEMFS_TREE_XATTR);
	return 0;
}

/* ---- names ---------------------------------------------------------------- */

struct find { const char *name; size_t len; uint64_t ino; };

static void find_name(void *arg, uint64_t key, const uint8_t *val, unsigned len)
{
	struct find *f = arg;

	(void)key;
	if (len == f->len + 8 && !memcmp(val + 8, f->name, f->len))
		f->ino = load64(val) & PMEMFS_MAX_INO;
}

static int show_path(struct dump *d, const char *path)
{
	struct find f = { .name = path };
	struct peek p = { .pm = d->pm, .geo = d->geo, .item = find_name, .arg = &f };
	const struct pmemfs_inode *di;
	uint64_t ino = PMEMFS_ROOT_INO, off;

	while (*(path += strspn(path, "/"))) {
		f.name = path;
		f.len = strcspn(path, "/");
		f.ino = 0;
		path += f.len;
		di = peek_inode(&p, ino, &off);
		if (di && S_ISDIR(get32(di->mode)))
			peek_root(&p, di);
		if (!f.ino) {
			log_err("%.*s: not found", (int)f.len, f.name);
			return -ENOENT;
		}
		ino = f.ino;
	}
	return show_inode(d, ino);
}

/* ---- the rest of the pool -------------------------------------------------- */

static void add_super(struct dump *d, const char *name, uint64_t blk)
{
	const struct pmemfs_super *sb = pm_at(d->pm, blk_off(blk), sizeof(*sb));
	jobj o = json_object_new_object();
	const char *bad;
	bool foreign;

	bad = super_check(sb, pm_size(d->pm), &foreign);
	json_object_object_add(d->out, name, o);
	add_num(o, "block", blk);
	add_str(o, "state", bad ? bad : "good");
	if (!foreign)
		add_struct(o, "super", sb);
}

static int show_super(struct dump *d, uint64_t arg)
{
	(void)arg;
	add_super(d, "primary", PMEMFS_BLK_SUPER);
	add_super(d, "replica", (d->geo->nr_blocks ? d->geo->nr_blocks :
				 off_blk(pm_size(d->pm))) - 1);
	return 0;
}

static int show_slots(struct dump *d, uint64_t arg)
{
	const struct pmemfs_slot *s;
	uint64_t off, i;
	jobj o;

	(void)arg;
	for (i = 0; i < 2; i++) {
		off = blk_off(PMEMFS_BLK_SLOT0 + i);
		s = pm_at(d->pm, off, sizeof(*s));
		o = json_object_new_object();
		json_object_object_add(d->out, i ? "slot1" : "slot0", o);
		add_str(o, "state", get32(s->magic) != PMEMFS_SLOT_MAGIC ? "no slot" :
			get32(s->crc) != seal_crc(s, sizeof(*s), off) ?
			"wrong checksum" : "good");
		add_str(o, "means", get32(s->flags) & PMEMFS_SLOT_ERROR ? "damage was met" :
			get32(s->flags) & PMEMFS_SLOT_CLEAN ? "unmounted" : "mounted or killed");
		add_struct(o, "slot", s);
		/* whoever knows it can forge a log record */
		json_object_object_del(o, "epoch");
	}
	return 0;
}

static const char *op_name(unsigned op)
{
	static const char *const name[PMEMFS_OP_NR] = {
		"other", "create", "mkdir", "symlink", "mknod", "link", "unlink", "rmdir",
		"rename", "setattr", "truncate", "write", "fallocate", "setxattr",
		"removexattr", "evict", "atime", "tmpfile", "repair",
	};

	return op < PMEMFS_OP_NR ? name[op] : "?";
}

struct log_arg { jobj rows; uint64_t watermark; };

static int row_record(void *arg, const struct pmemfs_record *rec, uint32_t lane, uint64_t off)
{
	struct log_arg *a = arg;
	jobj row = add_row(a->rows);

	add_num(row, "lane", lane);
	add_num(row, "offset", off);
	add_num(row, "seq", get64(rec->seq));
	add_str(row, "op", op_name(get16(rec->op)));
	add_num(row, "len", get32(rec->len));
	add_num(row, "forms", get16(rec->nr_forms));
	add_num(row, "floor", get64(rec->floor));
	json_object_object_add(row, "blocks",
			       json_object_new_int64((int64_t)get64(rec->dblocks)));
	json_object_object_add(row, "inodes",
			       json_object_new_int64((int32_t)get32(rec->dinodes)));
	add_str(row, "state", get64(rec->seq) > a->watermark ? "to replay" : "in place");
	return 0;
}

static int show_log(struct dump *d, uint64_t arg)
{
	struct redo_start st;
	struct log_arg a;
	bool other_ok;
	uint32_t i;
	int err;

	(void)arg;
	err = slot_read(&d->raw, &st, &other_ok);
	if (err) {
		log_err("both checkpoint slots are bad: the log cannot be read");
		return err;
	}
	a.watermark = st.watermark;
	add_num(d->out, "watermark", st.watermark);
	a.rows = add_array(d->out, "records");
	for (i = 0; i < 2 * d->geo->nr_lanes; i++)
		redo_scan_half(&d->raw, st.epoch, i / 2, i % 2, row_record, &a);
	return 0;
}

/* Clear bits of a bitmap block and the longest run of them. */
static uint32_t count_free(const uint8_t *map, uint32_t *longest)
{
	uint32_t i, nr = 0, run = 0;

	*longest = 0;
	for (i = 0; i < PMEMFS_GROUP_BLOCKS; i++) {
		if (map[i / 8] >> i % 8 & 1) {
			run = 0;
			continue;
		}
		nr++;
		if (++run > *longest)
			*longest = run;
	}
	return nr;
}

static int show_free(struct dump *d, uint64_t arg)
{
	uint32_t g, nr, longest, whole = 0;
	const struct pmemfs_group *desc;
	uint64_t total = 0;
	jobj rows = json_object_new_array(), row;

	(void)arg;
	for (g = 0; g < d->geo->nr_groups; g++) {
		nr = count_free(pm_at(d->pm, blk_off(d->geo->bitmap_blk + g),
				      PMEMFS_BLOCK_SIZE), &longest);
		total += nr;
		whole += nr == PMEMFS_GROUP_BLOCKS;
		if (nr == PMEMFS_GROUP_BLOCKS)
			continue;
		desc = pm_at(d->pm, blk_off(d->geo->groups_blk) + g * sizeof(*desc),
			     sizeof(*desc));
		row = add_row(rows);
		add_num(row, "group", g);
		add_num(row, "free", nr);
		add_num(row, "descriptor", get32(desc->free));
		add_num(row, "longest_run", longest);
	}
	add_num(d->out, "blocks", d->geo->nr_blocks);
	add_num(d->out, "free", total);
	add_num(d->out, "reserve", d->geo->reserve);
	add_num(d->out, "root_reserve", d->geo->root_reserve);
	add_num(d->out, "empty_groups", whole);
	json_object_object_add(d->out, "groups", rows);
	return 0;
}

static int show_orphans(struct dump *d, uint64_t arg)
{
	const struct pmemfs_system *s = pm_at(d->pm, blk_off(PMEMFS_BLK_SYSTEM), sizeof(*s));
	jobj rows = add_array(d->out, "orphans"), row;
	uint64_t ino, off, left = d->geo->nr_blocks;
	const struct pmemfs_inode *di;
	unsigned i;

	(void)arg;
	for (i = 0; i < PMEMFS_SHARDS; i++) {
		for (ino = get64(s->orphans[i].first); ino; ino = get64(di->link.next)) {
			di = left-- ? peek_inode(&d->peek, ino, &off) : NULL;
			if (!di) {
				add_damage(d, blk_off(PMEMFS_BLK_SYSTEM),
					   "orphan list leads nowhere, or in a circle");
				break;
			}
			row = add_row(rows);
			add_num(row, "list", i);
			add_num(row, "inode", ino);
			add_str(row, "type", type_name(get32(di->mode) >> 12));
			add_num(row, "links", get32(di->nlink));
			add_num(row, "size", get64(di->size));
			add_num(row, "blocks", get64(di->blocks));
		}
	}
	return 0;
}

static int show_badblocks(struct dump *d, uint64_t arg)
{
	uint64_t blk = PMEMFS_BLK_BADBLOCKS, off, left = d->geo->nr_blocks;
	jobj rows = add_array(d->out, "runs"), row;
	const struct pmemfs_badblocks *b;
	unsigned i;

	(void)arg;
	for (; blk && left; blk = get64(b->next), left--) {
		off = blk_off(blk);
		if (blk >= d->geo->nr_blocks)
			break;
		b = pm_at(d->pm, off, sizeof(*b));
		if (get32(b->magic) != PMEMFS_BAD_MAGIC || get32(b->nr) > PMEMFS_BAD_MAX ||
		    get32(b->crc) != seal_crc(b, sizeof(*b), off)) {
			add_damage(d, off, "list of bad blocks");
			break;
		}
		for (i = 0; i < get32(b->nr); i++) {
			row = add_row(rows);
			add_num(row, "block", get64(b->run[i].blk));
			add_num(row, "blocks", get64(b->run[i].len));
		}
	}
	return 0;
}

static int show_fields(void)
{
	const struct field_struct *s;
	const struct field *f;

	for (s = field_structs; s < field_structs + nr_field_structs; s++) {
		printf("%s %u\nOFFSET SIZE FIELD\n", s->name, s->size);
		for (f = s->field; f < s->field + s->nr; f++)
			printf("%u %u %s\n", f->off, f->size, f->name);
		putchar('\n');
	}
	return EXIT_OK;
}

/* ---- opening --------------------------------------------------------------- */

/* Say so when somebody works on it: what we see may be in the middle of it. */
static void look_for_users(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		log_warn("%s is in use: what is shown may change while it is read", path);
	close(fd);
}

/* The medium as it is. */
static int open_raw(struct dump *d, bool need_super)
{
	struct pm_config cfg = { .flags = PM_RDONLY | PM_NOLOCK, .granularity = -1 };
	const char *bad;
	int err, which;

	err = pm_open(&d->pm, d->path, &cfg);
	if (err)
		return err;
	d->raw.pm = d->pm;
	d->geo = &d->raw.geo;
	err = super_read(d->pm, &d->raw.geo, &which, &bad);
	return need_super ? err : 0;
}

static int open_replayed(struct dump *d)
{
	struct fs_options opt = {
		.ro = true, .nolock = true, .no_background = true, .salvage = true,
		.errors = FS_ERRORS_CONTINUE, .atime = FS_NOATIME, .granularity = -1,
	};

	if (fs_open(&d->fs, d->path, &opt)) {
		log_warn("%s: shown without its log", d->path);
		return open_raw(d, true);
	}
	d->pm = d->fs->pm;
	d->geo = &d->fs->geo;
	return 0;
}

/* ---- topics ----------------------------------------------------------------- */

enum arg_kind { ARG_NONE, ARG_NUMBER, ARG_PATH };

static const struct topic {
	const char *name;
	enum arg_kind arg;
	bool raw, need_super;
	int (*show)(struct dump *d, uint64_t n);
} topics[] = {
	{ "super", ARG_NONE, true, false, show_super },
	{ "slots", ARG_NONE, true, false, show_slots },
	{ "log", ARG_NONE, true, true, show_log },
	{ "badblocks", ARG_NONE, true, true, show_badblocks },
	{ "inode", ARG_NUMBER, false, true, show_inode },
	{ "dir", ARG_NUMBER, false, true, show_dir },
	{ "tree", ARG_NUMBER, false, true, show_tree },
	{ "path", ARG_PATH, false, true, NULL },
	{ "free", ARG_NONE, false, true, show_free },
	{ "orphans", ARG_NONE, false, true, show_orphans },
};

static const struct topic *find_topic(const char *name)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(topics); i++)
		if (!strcmp(topics[i].name, name))
			return &topics[i];
	return NULL;
}

static int run(struct dump *d, const struct topic *t, const char *arg)
{
	uint64_t n = arg && t->arg == ARG_NUMBER ? strtoull(arg, NULL, 0) : 0;
	int err;

	look_for_users(d->path);
	err = t->raw ? open_raw(d, t->need_super) : open_replayed(d);
	if (!err) {
		d->peek = (struct peek){ .pm = d->pm, .geo = d->geo,
					 .damage = add_damage, .arg = d };
		d->out = json_object_new_object();
		err = t->arg == ARG_PATH ? show_path(d, arg) : t->show(d, n);
		if (!err && d->json)
			puts(json_object_to_json_string_ext(d->out, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
		else if (!err)
			print_text(d->out);
		json_object_put(d->out);
	}
	if (d->fs)
		fs_close(d->fs);
	else
		pm_close(d->pm);
	return err ? EXIT_FAILED : EXIT_OK;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'J' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	struct dump d = { .path = NULL };
	const struct topic *t;
	int opt, left;

	log_init("dump.pmemfs");
	while ((opt = getopt_long(argc, argv, "hV", longs, NULL)) != -1) {
		if (opt == 'J') {
			d.json = true;
		} else if (opt == 'V') {
			puts("dump.pmemfs " PACKAGE_VERSION);
			return EXIT_OK;
		} else {
			usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
	}
	argv += optind;
	left = argc - optind;
	if (left == 1 && !strcmp(argv[0], "fields"))
		return show_fields();
	t = left > 0 ? find_topic(left > 1 ? argv[1] : "super") : NULL;
	if (!t || left > 3 || (left == 3) != (t->arg != ARG_NONE)) {
		usage(stderr);
		return EXIT_USAGE;
	}
	d.path = argv[0];
	pm_fault_install();
	return run(&d, t, left == 3 ? argv[2] : NULL);
}
