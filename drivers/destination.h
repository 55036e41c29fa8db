/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * destination.h - where a stream is played to: the twin of source.h
 *
 *   destination_open() -> destination_start() -> destination_write() or destination_send() ... ->
 *   destination_finish() -> destination_close()
 *
 * A destination takes bytes from memory it is shown and knows nothing of rings or recordings. One table of hooks (struct
 * destination_ops) a driver; destination_open() finds the driver by the name's prefix:
 *
 *   null:  -  file:PATH  dev:PATH  vsib:PATH  udp:HOST:PORT  pcapfile:PATH  pcap:INTERFACE
 *
 * Details stand behind the name as in a source's: udp:10.0.0.2:46227,psn=le64,frame=8032 (",," is a literal comma).
 * Some take a stream of bytes (destination_write()), some take it in units (destination_send()): datagrams, or whole
 * packets with their link layer's header.
 *
 * Threads:  open and close by the thread that sets up; start, write, send and finish by the player's thread alone.
 *           destination_interrupt() and the counters of struct destination_stats may be used by any thread.
 *           The program ignores SIGPIPE.
 * Ordering: the counters are relaxed atomics, each exact by itself, written by the player's thread.
 * Errors:   -errno, and the sentence for the user in destination->error: what was asked, what happened, what to do.
 */
#ifndef VSIB_DRIVERS_DESTINATION_H
#define VSIB_DRIVERS_DESTINATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "drivers/device_name.h"
#include "drivers/psn.h"

#define DESTINATION_ERROR_LEN DEVICE_SENTENCES_LEN
#define DESTINATION_DETAIL_LEN DEVICE_NAME_DETAIL_LEN
#define DESTINATION_BATCH 64 /* units given to destination_send() at once, at most */

struct destination;

enum destination_takes {
	DESTINATION_BYTES,     /* a stream: destination_write() */
	DESTINATION_DATAGRAMS, /* payloads: destination_send() */
	DESTINATION_PACKETS, /* packets with their link layer's header, or datagrams, for which it makes headers: destination_send() */
};

/* One datagram or packet. */
struct destination_unit {
	unsigned char prefix[8]; /* its number, see psn_put(); goes out in front of the parts */
	size_t prefix_bytes;     /* 0, 4 or 8 */
	struct iovec parts[2];   /* the rest; lies still until destination_send() returns */
	unsigned part_count;     /* 1 or 2 */
	size_t bytes;            /* of the parts together, > 0 */
	size_t wire_bytes; /* of a packet cut when it was captured: what it was; else as bytes */
	int64_t utc_ns;    /* time stamp for a savefile */
};

struct destination_config {
	uint64_t rate_bps;  /* of the stream; 0 = not known */
	bool gives_packets; /* the units are whole packets */
	int link_type;      /* of these, DLT_... */
	bool is_force;      /* a file may be written over */
	int64_t start_utc_ns; /* the first sample is wanted out then; 0 = at once (vsib: next full second). Only a board
			       * sees to it, which is given data before; with all others it is the caller's to wait */
};

/*
 * Any thread reads, the player's thread writes (relaxed). The first two are counted by destination_write() and
 * destination_send(), the others by the drivers.
 */
struct destination_stats {
	_Atomic uint64_t sent_bytes;    /* of the stream: without numbers and headers */
	_Atomic uint64_t sent_count;    /* units, or writes */
	_Atomic uint64_t busy_count;    /* turns in which it took nothing: full, ENOBUFS */
	_Atomic uint64_t refused_count; /* ECONNREFUSED: nobody listened to an earlier one */
	_Atomic uint64_t down_count;    /* ENETDOWN, EHOSTUNREACH and their like */
	_Atomic uint64_t starved_count; /* times the device was found empty while it was running */
	_Atomic uint64_t device_ring_bytes; /* size of the device's own ring; 0 = none or unknown */
	_Atomic uint64_t device_fill_bytes; /* in it at the last turn */
	_Atomic uint64_t device_fill_min_bytes; /* the least that was seen while it was running; UINT64_MAX = not seen */
};

struct destination_ops {
	const char *prefix;  /* "udp:", "-" ... what the name begins with */
	const char *summary; /* one line for --help: "udp:HOST:PORT[,psn=..]  datagrams ..." */
	const char *keys;    /* the details it knows; others are refused before open; NULL = none */
	bool takes_path;     /* something must follow the prefix */
	/* what follows may be NULL but for write or send; close is called when state is set, also after a failed open */
	int (*open)(struct destination *destination, const struct destination_config *config);
	int (*start)(struct destination *destination);
	ssize_t (*write)(struct destination *destination, const void *data, size_t bytes,
			 int64_t deadline_ns);
	ssize_t (*send)(struct destination *destination, const struct destination_unit *units,
			size_t count);
	int (*finish)(struct destination *destination, int64_t deadline_ns);
	void (*close)(struct destination *destination);
};

struct destination {
	const struct destination_ops *ops;
	void *state;   /* the driver's own, allocated by open, freed by close */
	char *name;    /* as given on the command line */
	char *path;    /* the part between prefix and details, ",," undone; never NULL */
	char *details; /* the rest, "key=value,key=value"; never NULL */
	char error[DESTINATION_ERROR_LEN]; /* the last error as a sentence */
	char note[DESTINATION_ERROR_LEN]; /* what the user should know from the last call; '\n' between two; "" = nothing */
	struct destination_stats stats;
	enum destination_takes takes; /* set by open */
	enum psn_kind psn;            /* set by open: the number that datagrams get; PSN_NONE */
	size_t frame_bytes; /* set by open: payload of a datagram that the user wants; 0 = not said */
	size_t frame_bytes_max; /* set by open: the longest payload that needs no fragments; 0 = any, not known */
	bool is_paced_by_device; /* set by open: it takes bytes at a rate of its own (a board, a FIFO that is full) */
	dev_t device;                /* st_rdev of a character device, else 0 */
	_Atomic bool is_interrupted; /* set by destination_interrupt() */
};

/**
 * destination_open() - find the driver, take the details apart, open the file, device or socket
 * @out: also set when opening failed, so that (*out)->error can be shown; destination_close() it in every case
 *
 * Nothing goes out yet. A FIFO is opened when somebody reads it: that is waited for in destination_start().
 * Return: 0; -EINVAL unknown destination or detail; -EEXIST a file that is there; -ENOENT, -EACCES ...; -ENOMEM (*out is NULL).
 */
int destination_open(struct destination **out, const char *name,
		     const struct destination_config *config);

/** destination_open_with() - the same with a driver that isn't in the table; its prefix stands in front of @name, too */
int destination_open_with(struct destination **out, const struct destination_ops *ops,
			  const char *name, const struct destination_config *config);

/** destination_start() - what is to be done before the first byte; ends early after destination_interrupt(). Return: 0; -errno. */
int destination_start(struct destination *destination);

/**
 * destination_write() - the next bytes of the stream, of one that takes DESTINATION_BYTES
 * @deadline_ns: CLOCK_MONOTONIC; waits no longer for one that is full
 *
 * Return: bytes taken, 0 = none until the deadline, or interrupted; -EPIPE: nobody reads any more; -ENOSPC, -EIO and others.
 */
ssize_t destination_write(struct destination *destination, const void *data, size_t bytes,
			  int64_t deadline_ns);

/**
 * destination_send() - the next units, of one that takes datagrams or packets
 * @count: 1 .. DESTINATION_BATCH
 *
 * Never waits for long: what can't be sent now is to be given again.
 * Return: how many of them have gone out, the first ones; 0 = none now: try again some time later (busy_count, refused_count
 *         or down_count says why); -EMSGSIZE: the first one is too long for it; -EPIPE and others: it is over.
 */
ssize_t destination_send(struct destination *destination, const struct destination_unit *units,
			 size_t count);

/**
 * destination_finish() - no more will come: what is in the device goes out, what is in a file goes to the disk
 * @deadline_ns: waits no longer for it
 *
 * Return: 0; -ETIMEDOUT; -EIO and others: it is not safely there.
 */
int destination_finish(struct destination *destination, int64_t deadline_ns);

/** destination_close() - NULL is fine */
void destination_close(struct destination *destination);

/** destination_interrupt() - make a call that waits return soon; any thread, async-signal-safe */
void destination_interrupt(struct destination *destination);

/* ---- for drivers ---- */

static inline bool destination_is_interrupted(const struct destination *destination)
{
	/* relaxed: nothing travels with the flag, it only has to be seen soon */
	return atomic_load_explicit(&destination->is_interrupted, memory_order_relaxed);
}

struct destination_detail {
	const char *key;
	const char *value;
};

/** destination_next_detail() - as source_next_detail() */
bool destination_next_detail(const struct destination *destination, const char **cursor, char *buf,
			     size_t buf_len, struct destination_detail *detail);

/** destination_voice() - where its sentences go, for what destinations share with sources: device_detail_bytes() and its like */
struct device_voice destination_voice(struct destination *destination);

/** destination_fail() - keep the sentence, the destination's name in front. Return: -@error. */
int destination_fail(struct destination *destination, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** destination_note() - adds a sentence to destination->note, the destination's name in front */
void destination_note(struct destination *destination, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** destination_count() - so many more, in a counter of destination->stats. Thread: the player's. */
static inline void destination_count(_Atomic uint64_t *counter, uint64_t more)
{
	/* one writer: no read-modify-write is needed, and nothing travels with it */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/** destination_table() - all drivers, NULL at the end */
const struct destination_ops *const *destination_table(void);

extern const struct destination_ops destination_null, destination_stdout, destination_file; /* to_file.c */
extern const struct destination_ops destination_dev;       /* to_dev.c */
extern const struct destination_ops destination_vsib;      /* to_vsib.c */
extern const struct destination_ops destination_udp;       /* to_udp.c */
extern const struct destination_ops destination_savefile;  /* to_savefile.c */
extern const struct destination_ops destination_interface; /* to_interface.c */

#endif
