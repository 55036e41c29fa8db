/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qualify_json.h - a qualification as JSON, schema vsib-qualify/1
 *
 * Bytes, seconds, bits a second, shares of 1. What is not known, or is without limit, is null: there is no other way
 * to say it in JSON. ring and disks are the objects of vsib-report/1, of the paced run, with more in them.
 * Threads: one caller.
 */
#ifndef VSIB_TOOLS_QUALIFY_QUALIFY_JSON_H
#define VSIB_TOOLS_QUALIFY_QUALIFY_JSON_H

#include <jansson.h>

#include "tools/qualify/judge.h"

#define QUALIFY_SCHEMA "vsib-qualify/1"

/** qualify_json() - for json_file_write(). Return: for json_decref(); NULL: no memory. */
json_t *qualify_json(const struct trial *trial, const struct judgement *judgement);

/** qualify_written_bytes() - so much was written to a disk for the trial, all phases together */
uint64_t qualify_written_bytes(const struct trial *trial, unsigned disk);

#endif
