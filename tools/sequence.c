/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/sequence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* @text is behind the '%'. Return: what follows the conversion; NULL when it isn't one of ours. */
static const char *parse_conversion(struct sequence *sequence, const char *text)
{
	bool is_zero_padded = *text == '0';
	unsigned width = 0;

	for (; is_digit(*text); text++) {
		width = width * 10 + (unsigned)(*text - '0');
		if (width > SEQUENCE_DIGITS_MAX)
			return NULL;
	}
	if (width > 1 && !is_zero_padded)
		return NULL;
	while (*text == 'l')
		text++;
	if (*text != 'd' && *text != 'i' && *text != 'u')
		return NULL;
	sequence->min_digits = width ? width : 1;
	sequence->max_digits = SEQUENCE_DIGITS_MAX;
	sequence->has_number = true;
	return text + 1;
}

int sequence_parse(struct sequence *sequence, const char *text)
{
	char *out = sequence->prefix;
	size_t len = 0;

	memset(sequence, 0, sizeof(*sequence));
	if (strchr(text, '/'))
		return -EINVAL;
	while (*text) {
		if (text[0] == '%' && text[1] != '%') {
			text = sequence->has_number ? NULL : parse_conversion(sequence, text + 1);
			if (!text)
				return -EINVAL;
			out = sequence->suffix;
			len = 0;
			continue;
		}
		if (len + 1 >= SEQUENCE_TEXT_LEN)
			return -EINVAL;
		text += text[0] == '%';
		out[len++] = *text++;
	}
	return 0;
}

int sequence_make(struct sequence *sequence, const char *name, unsigned min_digits, unsigned max_digits)
{
	memset(sequence, 0, sizeof(*sequence));
	if (strlen(name) + 2 > SEQUENCE_TEXT_LEN)
		return -EINVAL;
	snprintf(sequence->prefix, sizeof(sequence->prefix), "%s.", name);
	sequence->min_digits = min_digits;
	sequence->max_digits = max_digits;
	sequence->has_number = true;
	return 0;
}

bool sequence_match(const struct sequence *sequence, const char *file, uint64_t *number)
{
	size_t prefix_len = strlen(sequence->prefix), suffix_len = strlen(sequence->suffix);
	size_t len = strlen(file), digits;
	uint64_t value = 0;

	if (len < prefix_len + suffix_len || strncmp(file, sequence->prefix, prefix_len) != 0 ||
	    strcmp(file + len - suffix_len, sequence->suffix) != 0)
		return false;
	/* by its length: what follows the number may begin with digits, too */
	digits = len - prefix_len - suffix_len;
	if (digits < sequence->min_digits || digits > sequence->max_digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (!is_digit(file[prefix_len + i]))
			return false;
		value = value * 10 + (uint64_t)(file[prefix_len + i] - '0');
	}
	*number = value;
	return true;
}

char *sequence_name(const struct sequence *sequence, uint64_t number, char *buf)
{
	if (sequence->has_number)
		snprintf(buf, SEQUENCE_NAME_LEN, "%s%0*" PRIu64 "%s", sequence->prefix,
			 (int)sequence->min_digits, number, sequence->suffix);
	else
		snprintf(buf, SEQUENCE_NAME_LEN, "%s", sequence->prefix);
	return buf;
}
