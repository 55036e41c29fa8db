/* SPDX-License-Identifier: BSD-2-Clause */
#include "recorder/config.h"

#include <confuse.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#define KEY_MAX 128

/* libconfuse reports through a function without a context of its own */
static __thread char *error_text;

static void note_error(cfg_t *cfg, const char *format, va_list ap)
{
	int used = snprintf(error_text, CONFIG_ERROR_LEN,
			    "%s line %d: ", cfg && cfg->filename ? cfg->filename : "configuration",
			    cfg ? cfg->line : 0);

	if (used > 0 && used < CONFIG_ERROR_LEN)
		vsnprintf(error_text + used, (size_t)(CONFIG_ERROR_LEN - used), format, ap);
}

static unsigned make_keys(const struct config_reader *reader, cfg_opt_t *keys)
{
	unsigned count = 0;
	bool is_list;
	const char *name;

	for (; count < KEY_MAX - 1 && (name = reader->key(count, &is_list)) != NULL; count++) {
		cfg_opt_t text = CFG_STR(name, NULL, CFGF_NODEFAULT);
		cfg_opt_t list = CFG_STR_LIST(name, NULL, CFGF_NODEFAULT);

		keys[count] = is_list ? list : text;
	}
	keys[count] = (cfg_opt_t)CFG_END();
	return count;
}

static int apply(const struct config_reader *reader, cfg_t *cfg, const cfg_opt_t *keys,
		 unsigned count, const char *path, char *error)
{
	char why[CONFIG_ERROR_LEN];

	for (unsigned i = 0; i < count; i++) {
		for (unsigned k = 0; k < cfg_size(cfg, keys[i].name); k++) {
			const char *value = cfg_getnstr(cfg, keys[i].name, k);

			if (!value || reader->set(reader->context, keys[i].name, value, why) == 0)
				continue;
			snprintf(error, CONFIG_ERROR_LEN, "%.300s: %.600s", path, why);
			return EX_CONFIG;
		}
	}
	return 0;
}

int config_load(const struct config_reader *reader, const char *path, char *error)
{
	cfg_opt_t keys[KEY_MAX];
	unsigned count = make_keys(reader, keys);
	cfg_t *cfg = cfg_init(keys, CFGF_NONE);
	int ret;

	if (!cfg) {
		snprintf(error, CONFIG_ERROR_LEN, "no memory to read %.300s", path);
		return EX_OSERR;
	}
	error_text = error;
	error[0] = '\0';
	cfg_set_error_function(cfg, note_error);
	switch (cfg_parse(cfg, path)) {
	case CFG_SUCCESS:
		ret = apply(reader, cfg, keys, count, path, error);
		break;
	case CFG_FILE_ERROR:
		ret = errno == EACCES ? EX_NOPERM : EX_NOINPUT;
		snprintf(error, CONFIG_ERROR_LEN, "configuration file %.300s: %s", path,
			 strerror(errno));
		break;
	default:
		ret = EX_CONFIG;
		if (!error[0])
			snprintf(error, CONFIG_ERROR_LEN,
				 "configuration file %.300s was not understood", path);
	}
	cfg_free(cfg);
	return ret;
}
