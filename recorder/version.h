/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * version.h - the version that programs, reports and journals name
 *
 * The build says it; this is for a compiler run by hand.
 */
#ifndef VSIB_RECORDER_VERSION_H
#define VSIB_RECORDER_VERSION_H

#ifndef VSIB_VERSION
#define VSIB_VERSION "0.1.0"
#endif

#endif
