/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/account.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int account_init(struct account *account)
{
	memset(account, 0, sizeof(*account));
	account->gaps = calloc(ACCOUNT_GAP_MAX, sizeof(account->gaps[0]));
	if (!account->gaps)
		return -ENOMEM;
	pthread_mutex_init(&account->lock, NULL);
	return 0;
}

void account_free(struct account *account)
{
	if (!account->gaps)
		return;
	free(account->gaps);
	account->gaps = NULL;
	pthread_mutex_destroy(&account->lock);
}

void account_gap(struct account *account, const struct gap *gap)
{
	struct gap *last = NULL;

	if (gap->bytes == 0)
		return;
	pthread_mutex_lock(&account->lock);
	assert(account->gaps);
	account->gap_bytes[gap->cause] += gap->bytes;
	if (account->gap_kept_count > 0)
		last = &account->gaps[account->gap_kept_count - 1];
	if (last && account->gap_count == account->gap_kept_count && last->cause == gap->cause &&
	    last->is_estimated == gap->is_estimated && last->is_filled == gap->is_filled &&
	    last->stream_offset + last->bytes == gap->stream_offset) {
		last->bytes += gap->bytes;
	} else {
		account->gap_count++;
		if (account->gap_kept_count < ACCOUNT_GAP_MAX)
			account->gaps[account->gap_kept_count++] = *gap;
	}
	pthread_mutex_unlock(&account->lock);
}

uint64_t account_stream_bytes(const struct account *account)
{
	return account_get(&account->received_bytes) + account_get(&account->source_lost_bytes);
}

const char *account_cause_name(enum gap_cause cause)
{
	static const char *const names[GAP_CAUSE_COUNT] = { "overflow", "source", "disk", "aborted",
							    "discarded" };

	return names[cause];
}

bool account_check(const struct account *account, const struct account_sum *sum, char *error, size_t len)
{
	uint64_t received = account_get(&account->received_bytes);
	uint64_t filled = account_get(&account->filled_bytes);
	uint64_t overflow = account_get(&account->overflow_bytes);
	uint64_t discarded = account_get(&account->discarded_bytes);

	if (received + filled ==
	    sum->written_bytes + overflow + sum->disk_bytes + discarded + sum->aborted_bytes)
		return true;
	snprintf(error, len,
		 "the account doesn't close: received %" PRIu64 " + filled %" PRIu64
		 ", but written %" PRIu64 " + overflow %" PRIu64 " + disk %" PRIu64
		 " + discarded %" PRIu64 " + aborted %" PRIu64 "; this is a fault of the recorder",
		 received, filled, sum->written_bytes, overflow, sum->disk_bytes, discarded,
		 sum->aborted_bytes);
	return false;
}
