/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/judge_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "drivers/units.h"

/* Three digits, or all that stand before the point; no zeros at the end. */
static void print_number(char *buf, double value)
{
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	char *end;

	snprintf(buf, JUDGE_TEXT_LEN, "%.*f", decimals, fmin(value, 1e15));
	if (!strchr(buf, '.'))
		return;
	for (end = buf + strlen(buf) - 1; *end == '0'; end--)
		*end = '\0';
	if (*end == '.')
		*end = '\0';
}

static char *print(char *buf, double value, const char *unit)
{
	char number[JUDGE_TEXT_LEN];

	print_number(number, value);
	snprintf(buf, JUDGE_TEXT_LEN, "%.20s %s", number, unit);
	return buf;
}

char *text_rate(char *buf, double bps)
{
	return print(buf, bps / 1e6, "Mbit/s");
}

char *text_time(char *buf, double seconds)
{
	static const struct {
		double from_s, unit_s;
		const char *name;
	} units[] = {
		{ 2 * 86400., 86400, "d" }, { 90 * 60., 3600, "h" },
		{ 120, 60, "min" },         { 1, 1, "s" },
		{ 0, 1e-3, "ms" },
	};

	if (isinf(seconds)) {
		snprintf(buf, JUDGE_TEXT_LEN, "ever");
		return buf;
	}
	for (size_t i = 0;; i++)
		if (seconds >= units[i].from_s || units[i].from_s == 0)
			return print(buf, seconds / units[i].unit_s, units[i].name);
}

char *text_size(char *buf, double bytes)
{
	if (bytes >= 1024. * 1024 * 1024)
		return print(buf, bytes / (1024. * 1024 * 1024), "GiB");
	if (bytes >= 1024. * 1024)
		return print(buf, bytes / (1024. * 1024), "MiB");
	return print(buf, bytes / 1024, "KiB");
}

char *text_targets(char *buf, const struct trial *trial)
{
	const struct trial_disk *disks = trial->disks;

	buf[0] = '\0';
	if (trial->disk_count == 1)
		text_append(buf, TRIAL_TEXT_LEN, "%.150s", disks[0].target.path);
	else if (trial->disk_count == 2)
		text_append(buf, TRIAL_TEXT_LEN, "%.100s and %.100s", disks[0].target.path,
			    disks[1].target.path);
	else if (trial->disk_count > 2)
		text_append(buf, TRIAL_TEXT_LEN, "%.150s and %u others", disks[0].target.path,
			    trial->disk_count - 1);
	return buf;
}

void text_append(char *buf, size_t size, const char *format, ...)
{
	size_t len = strlen(buf);
	va_list args;

	va_start(args, format);
	vsnprintf(buf + len, size - len, format, args);
	va_end(args);
}

/* ---- the headline ---- */

static void append_margin(const struct evidence *evidence, struct judgement *judgement)
{
	const char *how = "ok";

	if (!(judgement->rho > 0))
		return;
	if (judgement->rho > evidence->rho_fail)
		how = "too little";
	else if (judgement->rho > evidence->rho_pass)
		how = "tight";
	text_append(judgement->headline, sizeof(judgement->headline), "rate margin %+.0f %% (%s)",
		    isfinite(judgement->rho) ? (1 / judgement->rho - 1) * 100 : -100, how);
}

/* "ring 14x the worst level seen, 8 h from a 12 min test needs 28x: good for 2.1 h" */
static void append_ring(const struct evidence *evidence, struct judgement *judgement)
{
	double above = (judgement->q95_bytes - judgement->base_bytes) /
		       predict_factor(evidence->horizon_s, evidence->tested_s);
	char has[JUDGE_TEXT_LEN], needs[JUDGE_TEXT_LEN], good[JUDGE_TEXT_LEN], size[JUDGE_TEXT_LEN],
		horizon[JUDGE_TEXT_LEN], tested[JUDGE_TEXT_LEN], test[JUDGE_TEXT_LEN];
	size_t room = sizeof(judgement->headline);

	if (!isfinite(judgement->q95_bytes))
		return;
	if (!(above > 0)) {
		text_append(judgement->headline, room, "; the ring never rose");
		return;
	}
	print(has, (evidence->ring_bytes - judgement->base_bytes) / above, "");
	print(needs, predict_factor(evidence->horizon_s, evidence->tested_s), "");
	has[strlen(has) - 1] = needs[strlen(needs) - 1] = 'x';
	text_append(judgement->headline, room,
		    "; ring %s the worst level seen, %s from a %s test needs %s: good for %s", has,
		    text_time(horizon, evidence->horizon_s), text_time(tested, evidence->tested_s),
		    needs, text_time(good, judgement->h_max_s));
	if (judgement->q95_bytes <= evidence->ring_bytes)
		return;
	text_append(judgement->headline, room, "; ");
	if (isfinite(judgement->test_needed_s))
		text_append(judgement->headline, room, "test %s or ",
			    text_time(test, ceil(judgement->test_needed_s / 60) * 60));
	text_append(judgement->headline, room, "use a ring of %s",
		    text_size(size, judgement->ring_needed_bytes));
}

/* A sentence goes on in the headline without its point, and in small letters where it is a word. */
static void append_reason(struct judgement *judgement)
{
	const struct judgement_reason *reason = &judgement->reasons[0];
	size_t len = strlen(reason->text);

	if (len && reason->text[len - 1] == '.')
		len--;
	text_append(judgement->headline, sizeof(judgement->headline), "%.*s", (int)len, reason->text);
	if (reason->advice[0])
		text_append(judgement->headline, sizeof(judgement->headline), "; %s", reason->advice);
}

static void append_other_codes(struct judgement *judgement)
{
	const char *separator = "; also: ";

	for (unsigned i = 0; i < judgement->reason_count; i++) {
		const struct judgement_reason *reason = &judgement->reasons[i];

		if (reason->weight == VERDICT_PASS || strcmp(reason->code, "RHO") == 0 ||
		    strcmp(reason->code, "SHORT_TEST") == 0 || strcmp(reason->code, "Q95") == 0)
			continue;
		text_append(judgement->headline, sizeof(judgement->headline), "%s%s", separator,
			    reason->code);
		separator = ", ";
	}
}

void text_headline(const struct evidence *evidence, struct judgement *judgement)
{
	char rate[JUDGE_TEXT_LEN], horizon[JUDGE_TEXT_LEN], tested[JUDGE_TEXT_LEN],
		third[JUDGE_TEXT_LEN], targets[TRIAL_TEXT_LEN];

	judgement->headline[0] = '\0';
	text_append(judgement->headline, sizeof(judgement->headline),
		    "%s  %s for %s on %s: ", verdict_name(judgement->result),
		    judgement->rate_bps ? text_rate(rate, (double)judgement->rate_bps) : "no rate",
		    text_time(horizon, evidence->horizon_s), text_targets(targets, evidence->trial));
	if (judgement->result == VERDICT_PASS || judgement->result == VERDICT_MARGINAL) {
		append_margin(evidence, judgement);
		append_ring(evidence, judgement);
		append_other_codes(judgement);
	} else {
		append_reason(judgement);
	}
	if (!evidence->paced)
		snprintf(judgement->evidence, sizeof(judgement->evidence),
			 "Nothing was recorded at a rate: what is said of one is a prediction.");
	else if (evidence->paced->overflow_count || evidence->paced->overflow_bytes)
		snprintf(judgement->evidence, sizeof(judgement->evidence), "%llu overflow%s in %s.",
			 (unsigned long long)evidence->paced->overflow_count,
			 evidence->paced->overflow_count == 1 ? "" : "s",
			 text_time(tested, evidence->tested_s));
	else
		snprintf(judgement->evidence, sizeof(judgement->evidence),
			 "No overflow in %s: with 95 %% confidence fewer than one in %s.",
			 text_time(tested, evidence->tested_s),
			 text_time(third, evidence->tested_s / 3));
}
