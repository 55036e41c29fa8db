/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/markup.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FORMAT_LEN 4096

/* Return: bytes of the character at @text; 0: it is not UTF-8. */
static size_t decode(const unsigned char *text, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = text[0] < 0x80     ? 1 :
		     text[0] >> 5 == 6  ? 2 :
		     text[0] >> 4 == 14 ? 3 :
		     text[0] >> 3 == 30 ? 4 :
					  0;

	if (len < 2) {
		*code = text[0];
		return len;
	}
	*code = text[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3fu);
	}
	return *code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : len;
}

static bool is_shown(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	if ((code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef))
		return false; /* no characters, and not allowed in XML */
	return !(code >= 0x200e && code <= 0x200f) && !(code >= 0x2028 && code <= 0x202e) &&
	       !(code >= 0x2066 && code <= 0x2069);
}

static const char *escape(uint32_t code)
{
	switch (code) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static void put(FILE *out, const char *text, bool is_markup)
{
	while (*text) {
		uint32_t code;
		size_t len = decode((const unsigned char *)text, &code);
		const char *escaped = is_markup ? escape(code) : NULL;

		if (len == 0 || !is_shown(code))
			fputc('?', out);
		else if (escaped)
			fputs(escaped, out);
		else
			fwrite(text, 1, len, out);
		text += len ? len : 1;
	}
}

void markup_text(FILE *out, const char *text)
{
	put(out, text, true);
}

void markup_plain(FILE *out, const char *text)
{
	put(out, text, false);
}

void markup_format(FILE *out, const char *format, ...)
{
	char text[FORMAT_LEN];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	markup_text(out, text);
}
