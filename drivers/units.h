/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * units.h - rates, sizes and times as people type and read them
 *
 * One strict parser for every option, source detail and configuration key of every program.
 * The whole text must be a number: no blank, no sign, no rest; '.' is the decimal point in
 * every locale; overflow is an error and never wraps.
 *
 * Threads: all functions are pure and may be called from anywhere.
 */
#ifndef VSIB_DRIVERS_UNITS_H
#define VSIB_DRIVERS_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNITS_NS_PER_S INT64_C(1000000000)

/**
 * units_parse_bytes() - a size: "4096", "64Ki", "1.5G", "4GiB", "16MB"
 * @text:  bare number = bytes; k M G T P E decimal, Ki Mi Gi Ti Pi Ei binary; a trailing B is allowed;
 *         K is taken for k, 1000
 * @bytes: set only on success
 *
 * A fraction is allowed when a suffix makes it a whole number of bytes ("1.5k", not "1.5").
 * Return: 0; -EINVAL when it doesn't parse; -ERANGE when it doesn't fit in 64 bits.
 */
int units_parse_bytes(const char *text, uint64_t *bytes);

/**
 * units_parse_rate() - a rate: "512", "512M", "1.6Gbps", "64MB/s", "32MiB/s", "8000bps"
 * @text: bare number = Mbit/s; k M G T decimal and Ki Mi Gi Ti binary multiples of bit/s (an
 *        optional "bps" or "bit/s" behind), or of byte/s when "B/s" stands behind
 * @bps:  bits per second, rounded to the nearest; set only on success
 *
 * Return: 0; -EINVAL when it doesn't parse or is zero; -ERANGE when it doesn't fit.
 */
int units_parse_rate(const char *text, uint64_t *bps);

/**
 * units_parse_frequency() - a clock: "32M", "32MHz", "12.5MHz", "32000000"
 * @text: bare number = Hz, multiples as for a size; must come out as whole Hz
 * @hz:   set only on success
 *
 * Return: 0; -EINVAL when it doesn't parse or is zero; -ERANGE when it doesn't fit.
 */
int units_parse_frequency(const char *text, uint64_t *hz);

/**
 * units_parse_time() - a time span: "90", "30s", "1.5s", "500ms", "10m", "8h", "1h30m", "2d"
 * @text: bare number = seconds; ns us ms s m h d, largest first when combined; a fraction only in
 *        the last part
 * @ns:   nanoseconds; set only on success
 *
 * Return: 0; -EINVAL; -ERANGE.
 */
int units_parse_time(const char *text, int64_t *ns);

/**
 * units_parse_count() - a whole number without unit, decimal or 0x hexadecimal
 *
 * Return: 0; -EINVAL; -ERANGE.
 */
int units_parse_count(const char *text, uint64_t *count);

/**
 * units_parse_utc() - a moment: "2026-11-30T08:15:00Z", with a fraction of up to 9 digits, or "@SECONDS"
 * @utc_ns: nanoseconds since 1970-01-01T00:00:00Z
 *
 * Return: 0; -EINVAL; -ERANGE.
 */
int units_parse_utc(const char *text, int64_t *utc_ns);

/** units_days_before_year() - days from 1970-01-01 to the first of January; @year: from 1 on */
int64_t units_days_before_year(int year);

/**
 * units_format_utc() - RFC 3339 with nine digits and Z: 2026-11-30T08:15:00.000000000Z
 * @buf: at least UNITS_UTC_LEN bytes
 *
 * Return: buf.
 */
#define UNITS_UTC_LEN 40
char *units_format_utc(char *buf, int64_t utc_ns);

/**
 * units_format_bytes() - "16.8 GB", "4096 B": decimal, three digits, for people
 * @buf: at least UNITS_TEXT_LEN bytes
 */
#define UNITS_TEXT_LEN 32
char *units_format_bytes(char *buf, uint64_t bytes);

/**
 * units_format_size() - "256 MiB", "4 KiB", "1000 B", "144 MB": exact, for rings and blocks
 *
 * Binary when that comes out even in four digits, else decimal when that does, else bytes.
 */
char *units_format_size(char *buf, uint64_t bytes);

/** units_format_time() - "1h30m", "12.4 s", "30 ms": for people; @buf as for units_format_bytes() */
char *units_format_time(char *buf, int64_t ns);

/** units_bytes_at() - floor(bps x ns / 8e9) bytes (128-bit inside, at most UINT64_MAX); 0 for ns < 0 */
uint64_t units_bytes_at(uint64_t bps, int64_t ns);

/** units_time_for() - ceil(bytes x 8e9 / bps) ns without overflow; INT64_MAX when bps is 0 or it doesn't fit */
int64_t units_time_for(uint64_t bytes, uint64_t bps);

/** units_monotonic_ns() - CLOCK_MONOTONIC: durations, rates and deadlines; never steps */
int64_t units_monotonic_ns(void);

/** units_realtime_ns() - CLOCK_REALTIME: only to name a moment to people and in journals */
int64_t units_realtime_ns(void);

#endif
