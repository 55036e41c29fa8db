/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * play_report.h - a player's and a destination's figures, in words and as JSON
 *
 * Threads: pure; the figures may still be moving.
 */
#ifndef VSIB_TOOLS_REPLAY_PLAY_REPORT_H
#define VSIB_TOOLS_REPLAY_PLAY_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "tools/replay/playback.h"

/** play_report_text() - outcome, rate, schedule, spacing, underruns, what was not sent, the destination's trouble, the ring */
void play_report_text(FILE *out, const struct playback *playback);

/** play_report_player() - adds the figures of a player that has ended to an object */
void play_report_player(json_t *object, const struct player *player);

/** play_report_destination() - Return: for json_decref(); NULL: no memory. */
json_t *play_report_destination(const struct destination *destination);

/** play_report_spread() - {"edges_s":[],"counts":[]}: counts has one more: below the first edge ... from the last edge on */
json_t *play_report_spread(const struct spread *spread);

#endif
