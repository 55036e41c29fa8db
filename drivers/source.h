/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source.h - where a stream of samples comes from
 *
 *   source_open() -> source_start() -> source_read() ... -> source_stop() -> source_close()
 *
 * A source fills the memory it is given and knows nothing of rings or disks. One table of hooks
 * (struct source_ops) a driver; source_open() finds the driver by the name's prefix:
 *
 *   sim:  file:PATH  -  dev:PATH  vsib:PATH  udp:[ADDR]:PORT  pcap:INTERFACE  pcapfile:PATH
 *
 * Details stand behind the name: vsib:/dev/vsib,mode=0,skip=1 (",," is a literal comma in a path).
 * Some have memory of their own, which the kernel fills for them: it is lent to the ring, or copied from. Those that
 * give whole packets (wants_packets) do: source_lend() instead of giving memory, source_give() and source_take()
 * instead of source_read().
 *
 * Threads:  open and close by the thread that sets up; start, read and stop by the reader thread alone.
 *           source_interrupt() and the counters of struct source_stats may be used by any thread.
 * Ordering: the counters are relaxed atomics, each exact by itself, written by the reader thread.
 * Errors:   -errno, and the sentence for the user in source->error: what was asked, what happened,
 *           what to do.
 */
#ifndef VSIB_DRIVERS_SOURCE_H
#define VSIB_DRIVERS_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "drivers/device_name.h"
#include "drivers/packet.h"

#define SOURCE_ERROR_LEN DEVICE_SENTENCES_LEN
#define SOURCE_DETAIL_LEN DEVICE_NAME_DETAIL_LEN

/* source_read() results besides a byte count; no errno of a device has these values */
#define SOURCE_END 0         /* the stream is over, nothing more will come */
#define SOURCE_NOT_YET (-11) /* -EAGAIN: no data until the deadline, or interrupted; ask again */

struct source;

/* What source_read() says besides the bytes. */
struct source_mark {
	uint64_t lost_bytes; /* bytes of the stream lost just before this data; 0 = none */
	int64_t utc_ns;      /* time of the first byte when the data tell it; 0 = not known */
	bool is_estimated; /* lost_bytes was concluded from the clock, not counted by the device */
	uint64_t lost_packets; /* lost about here, but nobody knows where exactly, nor how many bytes they had */
	uint64_t discarded_bytes; /* came just before this data, but are not of the stream: duplicates, strays, late */
};

struct source_config {
	uint64_t rate_bps; /* -r in bit/s; 0 = none: paces what we drive, is a check for devices */
	int64_t start_utc_ns; /* first sample wanted at this moment; 0 = at once (vsib: next full second) */
	bool is_as_recorded; /* at the data's own time stamps, by drivers with a detail of that name */
	uint64_t start_offset; /* reserved positions before the stream's first byte; 0 */
	bool wants_packets;    /* whole packets, in a savefile's format, not what is in them */
};

/* Of a source that gets packets. received = recorded + late + duplicate + stray + unwanted. */
struct source_packets {
	_Atomic uint64_t received_count; /* whatever became of them */
	_Atomic uint64_t lost_count; /* numbers that were left out, or drops that the kernel told */
	_Atomic uint64_t late_count; /* came when they had been given up: lost as well */
	_Atomic uint64_t duplicate_count;
	_Atomic uint64_t reordered_count; /* came late, but were put in their place */
	_Atomic uint64_t stray_count; /* of another length or sender, or with a number nobody agreed with */
	_Atomic uint64_t unwanted_count; /* not to be recorded, says the sender */
	_Atomic uint64_t restart_count;  /* times the numbers began anew */
	_Atomic uint64_t dropped_count;  /* by the kernel, for want of room in its buffer */
	_Atomic uint64_t buffer_bytes;   /* of the kernel, for each port; 0 = not known */
};

/* Packets of a capture, by what became of them. */
struct source_capture {
	_Atomic uint64_t packets[PACKET_FATE_COUNT];
	_Atomic uint64_t incomplete_count;     /* datagrams of which fragments are missing ... */
	_Atomic uint64_t incomplete_fragments; /* ... and those that came of them */
	_Atomic uint64_t overlapping_fragments;
	_Atomic int64_t first_utc_ns; /* time stamps; 0 = none, or not known */
	_Atomic int64_t last_utc_ns;
};

/* Any thread reads, the reader thread writes (relaxed). */
struct source_stats {
	_Atomic uint64_t received_bytes;  /* delivered by source_read() */
	_Atomic uint64_t lost_bytes;      /* sum of mark.lost_bytes */
	_Atomic uint64_t discarded_bytes; /* sum of mark.discarded_bytes */
	_Atomic uint64_t estimated_bytes; /* the part of lost_bytes that was concluded from the clock */
	_Atomic uint64_t device_fill_bytes;     /* fill of the device's own ring at the last turn */
	_Atomic uint64_t device_fill_max_bytes; /* highest fill of it seen in this run */
	_Atomic uint64_t device_ring_bytes; /* size of the device's own ring; 0 = none or unknown */
	_Atomic uint64_t wait_count;   /* turns in which the device had nothing yet ("usleeps") */
	_Atomic uint64_t marker_count; /* 1PPS markers seen where they belong */
	_Atomic uint64_t marker_missing_count; /* 1PPS markers absent where they belong */
	struct source_packets packets;         /* has_packets */
	struct source_capture capture;         /* has_capture */
};

struct source_ops {
	const char *prefix;  /* "sim:", "-" ... what the name begins with */
	const char *summary; /* one line for --help: "sim:[,rate=..]  the simulator ..."; NULL: another one of this prefix has it */
	const char *keys; /* the details it knows: "rate seed"; others are refused before open; NULL = none */
	bool takes_path; /* a path must follow the prefix; false: what follows are details at once */
	/* what follows may be NULL except read; close is called when state is set, also after a failed open */
	int (*open)(struct source *source, const struct source_config *config);
	int (*start)(struct source *source);
	ssize_t (*read)(struct source *source, void *buf, size_t len, int64_t deadline_ns,
			struct source_mark *mark);
	/* instead of read, all three: see source_lend() */
	int (*lend)(struct source *source, size_t block_bytes, uint32_t block_count, void **memory);
	void (*give)(struct source *source, uint32_t block);
	ssize_t (*take)(struct source *source, uint32_t *block, int64_t deadline_ns,
			struct source_mark *mark);
	/* see source_fill(); never blocks, never fails. Only a source that sets gives_vdif_fill is asked */
	void (*fill)(struct source *source, void *buf, size_t len);
	void (*stop)(struct source *source);
	void (*close)(struct source *source);
};

struct source {
	const struct source_ops *ops;
	void *state;   /* the driver's own, allocated by open, freed by close */
	char *name;    /* as given on the command line */
	char *path;    /* the part between prefix and details, ",," undone; never NULL */
	char *details; /* the rest, "key=value,key=value"; never NULL */
	char error[SOURCE_ERROR_LEN]; /* the last error as a sentence */
	char note[SOURCE_ERROR_LEN]; /* what the user should know from the last open, start, read or stop; "" = nothing */
	struct source_stats stats;
	uint64_t rate_bps; /* rate of the stream when known (given or from mode and clock); 0 = unknown */
	bool can_wait; /* true: never loses when it is read late (file, FIFO, sim without rate) */
	bool has_packets;    /* stats.packets are counted */
	bool has_capture;    /* stats.capture is counted */
	bool is_paced_by_us; /* true: -r paces it (sim, file); false: -r is only a check */
	bool checks_clock; /* true: compares bytes with the clock itself; false: whoever reads may */
	uint32_t word_bytes; /* sample word for the dead-sampler watch: 1, 2 or 4; set by open */
	size_t frame_bytes;  /* frame length when known, else 0: blocks become multiples of it */
	bool gives_vdif_fill; /* ops->fill gives VDIF frames, marked invalid, for those lost; set by open */
	dev_t device;         /* st_rdev of a character device, else 0: finds its NUMA node */
	int64_t start_utc_ns; /* set by start: moment of the first sample; 0 = when it is read; vsib may correct
				   it, with a note, when the first sample comes a second early or late */
	bool is_started; /* between start and stop; reader thread */
	_Atomic bool is_incomplete; /* set by who reads: something of the stream is missing, nobody can say how much */
	_Atomic bool is_interrupted; /* set by source_interrupt() */
};

/**
 * source_open() - find the driver, take the details apart, open the device
 * @out:    the source; also set when opening failed, so that (*out)->error can be shown;
 *          source_close() it in every case
 * @name:   source name with details
 *
 * Nothing flows yet: a board is not started, a FIFO not read. A FIFO is opened without waiting for its writer.
 * Return: 0; -EINVAL unknown source or detail; -ENOENT, -EACCES ... from the device; -ENOMEM (*out is NULL).
 */
int source_open(struct source **out, const char *name, const struct source_config *config);

/**
 * source_open_with() - the same with a driver that isn't in the table; for tests and programs with their own
 * @ops:  the driver; must outlive the source
 * @name: with @ops->prefix in front, as for source_open()
 */
int source_open_with(struct source **out, const struct source_ops *ops, const char *name,
		     const struct source_config *config);

/**
 * source_start() - let the stream flow; called when ring and disks are ready ("armed")
 *
 * For vsib it waits for the right moment and starts the board; it ends early with -EINTR after source_interrupt().
 * Thread: reader. Return: 0 or -errno.
 */
int source_start(struct source *source);

/**
 * source_read() - the next bytes of the stream
 * @buf:         memory to fill
 * @len:         its length, > 0
 * @deadline_ns: CLOCK_MONOTONIC; the call returns soon after it even when nothing came
 * @mark:        always written: what was lost before these bytes; with SOURCE_END or an error: what was
 *               lost behind the last ones; nothing with SOURCE_NOT_YET
 *
 * May return before @buf is full. EINTR, EAGAIN, short and (where the device means "not yet" by it) zero
 * reads are dealt with inside; a device that returns more than asked or an unknown error is an error.
 * After source_interrupt() it doesn't wait any more, but still hands over what is there at once.
 * Thread: reader.
 * Return: bytes (> 0); SOURCE_END; SOURCE_NOT_YET; another -errno with source->error set.
 */
ssize_t source_read(struct source *source, void *buf, size_t len, int64_t deadline_ns,
		    struct source_mark *mark);

/**
 * source_lend() - memory for a ring, before source_start(); it stays the source's until source_close()
 * @memory: set: block_bytes x block_count, page aligned, all pages there; no block is given yet
 *
 * Return: 0; -errno with source->error set.
 */
int source_lend(struct source *source, size_t block_bytes, uint32_t block_count, void **memory);

/** source_give() - a block of that memory may be filled, or filled again; any order. Thread: reader, before the start who sets up. */
void source_give(struct source *source, uint32_t block);

/**
 * source_take() - the next block that was filled: the caller's until source_give()
 * @block: its number
 *
 * As source_read() otherwise; a block of this kind is filled with a multiple of 4096 bytes, and its end is one of
 * what stands in it. After source_stop() what was there already is still handed out, then comes SOURCE_END.
 * Return: bytes in it from its begin on (> 0); SOURCE_END; SOURCE_NOT_YET; -errno.
 */
ssize_t source_take(struct source *source, uint32_t *block, int64_t deadline_ns,
		    struct source_mark *mark);

/**
 * source_fill() - VDIF frames, marked invalid, that stand for what was lost
 * @len: more than 0; all calls behind one source_read() together no more than its mark.lost_bytes
 *
 * The first call behind a source_read() that told of a loss gives the first of the lost bytes; each further one
 * goes on, in the middle of a frame, too. Who needs no fill, or not all of it, just doesn't ask. Only of a
 * source with gives_vdif_fill. Thread: reader; never blocks.
 */
void source_fill(struct source *source, void *buf, size_t len);

/** source_stop() - stop the flow (a board stops its DMA); idempotent. Thread: reader. */
void source_stop(struct source *source);

/** source_close() - stop and free; NULL is fine */
void source_close(struct source *source);

/**
 * source_capture() - what became of the packets, of a source that captures or reads what was captured
 * Any thread. Return: false: packets aren't known here.
 */
bool source_capture(const struct source *source, struct packet_counts *counts);

/**
 * source_interrupt() - make a waiting source_start() or source_read() return soon
 *
 * Any thread, also more than once, async-signal-safe. A read() that the kernel holds is ended by a signal the caller
 * sends to the reader thread; the driver then sees EINTR and this flag.
 */
void source_interrupt(struct source *source);

/* ---- for drivers ---- */

/** source_is_interrupted() - has source_interrupt() been called? */
static inline bool source_is_interrupted(const struct source *source)
{
	/* relaxed: nothing travels with the flag, it only has to be seen soon */
	return atomic_load_explicit(&source->is_interrupted, memory_order_relaxed);
}

struct source_detail {
	const char *key;
	const char *value;
};

/**
 * source_next_detail() - walks source->details, "key=value" by "key=value"
 * @cursor: starts as NULL; kept between calls
 * @buf:    holds key and value; SOURCE_DETAIL_LEN bytes are always enough
 *
 * Unknown keys never get here: source_open() has compared all with ops->keys.
 * Return: true and @detail filled; false at the end. A detail without '=' has value "".
 */
bool source_next_detail(const struct source *source, const char **cursor, char *buf, size_t buf_len,
			struct source_detail *detail);

/**
 * source_detail_bytes(), _rate(), _time(), _frequency(), _count(), _port() - the value of a detail, see units.h
 * Return: 0; -EINVAL or -ERANGE with source->error set.
 */
int source_detail_bytes(struct source *source, const struct source_detail *detail, uint64_t *bytes);
int source_detail_rate(struct source *source, const struct source_detail *detail, uint64_t *bps);
int source_detail_time(struct source *source, const struct source_detail *detail, int64_t *ns);
int source_detail_frequency(struct source *source, const struct source_detail *detail, uint64_t *hz);
int source_detail_count(struct source *source, const struct source_detail *detail, uint64_t *count,
			uint64_t max);
int source_detail_port(struct source *source, const struct source_detail *detail, uint16_t *port);

/** source_voice() - where its sentences go, for what sources share with destinations */
struct device_voice source_voice(struct source *source);

/** source_note() - adds a sentence to source->note like printf, the source's name in front; '\n' between two */
void source_note(struct source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** source_count() - so many more, in a counter of source->stats. Thread: reader. */
static inline void source_count(_Atomic uint64_t *counter, uint64_t more)
{
	/* relaxed: counters, each exact by itself; others only read them */
	if (more)
		atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/** source_tell_fill() - of the device's own ring, now. Thread: reader. */
void source_tell_fill(struct source *source, uint64_t bytes);

/** source_tell_capture() - the counters of source->stats.capture are as these */
void source_tell_capture(struct source *source, const struct packet_counts *counts);

/** source_fail() - writes source->error like printf, the source's name in front, and returns -@error */
int source_fail(struct source *source, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** source_table() - the drivers, NULL terminated, for --help */
const struct source_ops *const *source_table(void);

extern const struct source_ops source_sim;         /* sim.c */
extern const struct source_ops source_file;        /* file.c */
extern const struct source_ops source_stdin;       /* file.c */
extern const struct source_ops source_dev;         /* dev.c */
extern const struct source_ops source_vsib;        /* vsib.c */
extern const struct source_ops source_packet_ring; /* packet_ring.c */
extern const struct source_ops source_udp;         /* udp.c */
extern const struct source_ops source_pcap;        /* pcap.c */
extern const struct source_ops source_pcapfile;    /* pcapfile.c */

#endif
