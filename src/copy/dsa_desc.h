/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dsa_desc.h - what Intel DSA reads and writes: descriptors, completion records
 *
 * Names and values are those of the architecture specification; where a fact was
 * taken from is said beside it:
 *   [uapi]  the kernel's <linux/idxd.h>: layouts, flags, opcodes, status codes
 *   [regs]  the kernel's drivers/dma/idxd/registers.h: capability registers
 *   [cdev]  the kernel's drivers/dma/idxd/cdev.c: the character device of a queue
 *   [abi]   the kernel's Documentation/ABI/stable/sysfs-driver-dma-idxd
 * The device is little-endian and exists beside x86 CPUs only, so integers here
 * are the CPU's own.
 */
#ifndef COPY_DSA_DESC_H
#define COPY_DSA_DESC_H

#include <stddef.h>
#include <stdint.h>

/* ---- the descriptor: 64 bytes, written to the portal in one piece [uapi] ---- */

struct dsa_desc {
	uint32_t pasid;		/* bits 0-19 PASID, 31 privileged; the device or the
				   kernel puts it in, we leave 0 */
	uint32_t op_flags;	/* bits 0-23 flags, 24-31 opcode: DSA_OP_FLAGS() */
	uint64_t record;	/* address of the completion record */
	uint64_t src;		/* BATCH: of the list of descriptors */
	uint64_t dst;
	uint32_t size;		/* bytes; BATCH: number of descriptors */
	uint16_t int_handle;
	uint16_t reserved;
	uint8_t  op_specific[24];	/* 0 for all we use */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct dsa_desc) == 64, "[uapi] struct dsa_hw_desc");
_Static_assert(offsetof(struct dsa_desc, op_flags) == 4, "[uapi] flags, opcode");
_Static_assert(offsetof(struct dsa_desc, record) == 8, "[uapi] completion_addr");
_Static_assert(offsetof(struct dsa_desc, src) == 16, "[uapi] src_addr, desc_list_addr");
_Static_assert(offsetof(struct dsa_desc, dst) == 24, "[uapi] dst_addr");
_Static_assert(offsetof(struct dsa_desc, size) == 32, "[uapi] xfer_size, desc_count");
_Static_assert(offsetof(struct dsa_desc, int_handle) == 36, "[uapi] int_handle");
_Static_assert(offsetof(struct dsa_desc, op_specific) == 40, "[uapi] op_specific");

#define DSA_OP_FLAGS(op, flags)	((uint32_t)(op) << 24 | (flags))
#define DSA_OPCODE(op_flags)	((op_flags) >> 24)
#define DSA_FLAGS(op_flags)	((op_flags) & 0xffffffu)

/* [uapi] IDXD_OP_FLAG_* */
#define DSA_FLAG_FENCE		0x0001u	/* in a batch: after what stands before it */
#define DSA_FLAG_BOF		0x0002u	/* block on fault */
#define DSA_FLAG_CRAV		0x0004u	/* the address of the record is valid */
#define DSA_FLAG_RCR		0x0008u	/* write the record on success, too */
#define DSA_FLAG_RCI		0x0010u	/* interrupt */
#define DSA_FLAG_CRSTS		0x0020u
#define DSA_FLAG_CR		0x0080u	/* check the result */
#define DSA_FLAG_CC		0x0100u	/* cache control; 0: write to memory, not to the cache */
#define DSA_FLAG_STORD		0x2000u	/* strict ordering */
#define DSA_FLAG_DRDBK		0x4000u	/* read the destination back before the record */
#define DSA_FLAG_DSTS		0x8000u

enum dsa_op {			/* [uapi] enum dsa_opcode; also the bit in op_cap */
	DSA_OP_NOOP = 0x00, DSA_OP_BATCH = 0x01, DSA_OP_DRAIN = 0x02, DSA_OP_MEMMOVE = 0x03,
	DSA_OP_MEMFILL = 0x04, DSA_OP_COMPARE = 0x05, DSA_OP_CRCGEN = 0x10,
	DSA_OP_CFLUSH = 0x20,
};

/* ---- the completion record: 32 bytes, 32-byte aligned [uapi] --------------- */

struct dsa_record {
	uint8_t  status;	/* 0 until the device is done; it stores this last */
	uint8_t  result;	/* MEMMOVE: 1: copied from the end on */
	uint16_t reserved;
	uint32_t completed;	/* bytes, when stopped by a fault; BATCH: descriptors */
	uint64_t fault_addr;
	uint8_t  op_specific[16];
} __attribute__((aligned(32)));

_Static_assert(sizeof(struct dsa_record) == 32, "[uapi] struct dsa_completion_record");
_Static_assert(offsetof(struct dsa_record, result) == 1, "[uapi] result");
_Static_assert(offsetof(struct dsa_record, completed) == 4, "[uapi] bytes_completed");
_Static_assert(offsetof(struct dsa_record, fault_addr) == 8, "[uapi] fault_addr");

/*
 * [uapi] DSA_COMP_STATUS_MASK, _WRITE. The codes need six bits, so a seventh that is set
 * makes a code that is not known, which is an error, and not a success.
 */
#define DSA_STATUS(status)	((status) & 0x7fu)
#define DSA_STATUS_WRITE	0x80u	/* what faulted was a write */

enum dsa_status {		/* [uapi] enum dsa_completion_status */
	DSA_ST_NONE = 0x00, DSA_ST_SUCCESS = 0x01, DSA_ST_PRED_FALSE = 0x02,
	DSA_ST_FAULT = 0x03,		/* page fault, BOF 0: `completed` says how far */
	DSA_ST_FAULT_RESPONSE = 0x04, DSA_ST_BATCH_FAIL = 0x05, DSA_ST_BATCH_FAULT = 0x06,
	DSA_ST_BAD_OPCODE = 0x10, DSA_ST_BAD_FLAGS = 0x11, DSA_ST_RESERVED = 0x12,
	DSA_ST_BAD_SIZE = 0x13, DSA_ST_BAD_COUNT = 0x14, DSA_ST_OVERLAP = 0x16,
	DSA_ST_LIST_ALIGN = 0x18, DSA_ST_INT_HANDLE = 0x19, DSA_ST_RECORD_ADDR = 0x1a,
	DSA_ST_RECORD_ALIGN = 0x1b, DSA_ST_ADDR_ALIGN = 0x1c, DSA_ST_PRIVILEGE = 0x1d,
	DSA_ST_READBACK_FAULT = 0x1f, DSA_ST_HW_ERROR = 0x20, DSA_ST_READBACK_TIMEOUT = 0x21,
	DSA_ST_TRANSLATION = 0x22,
};

/* ---- limits and capabilities -------------------------------------------------- */

#define DSA_PORTAL_SIZE	4096u	/* [cdev] one page is mapped: the limited portal */
#define DSA_PORTAL_SLOT	64u	/* any of its 64 places takes a descriptor */
#define DSA_BATCH_MIN	2u	/* fewer: DSA_ST_BAD_COUNT */
#define DSA_TRANSFER_MAX (1ull << 31)	/* [regs] what the size field is used for at most */

/* [regs] union gen_cap_reg, as the sysfs attribute gen_cap [abi] */
#define DSA_GENCAP_BOF		(1ull << 0)
#define DSA_GENCAP_CC_MEM	(1ull << 2)
#define DSA_GENCAP_READBACK	(1ull << 8)

#endif
