/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/topology.h"

#include <string.h>

#include "tools/qualify/chart_axis.h"
#include "tools/qualify/markup.h"

struct tree {
	FILE *out;
	const struct trial *trial;
	const struct judgement *judgement;
};

bool topology_is_known(const struct trial *trial)
{
	for (unsigned i = 0; i < trial->disk_count; i++)
		if (trial->disks[i].environment.path_count)
			return true;
	return false;
}

/* Paths are told from the disk upwards, and the tree from above. NULL: the disk itself comes next. */
static const struct trial_node *node_at(const struct trial *trial, unsigned disk, unsigned level)
{
	const struct trial_environment *environment = &trial->disks[disk].environment;

	return level < environment->path_count ?
		       &environment->path[environment->path_count - 1 - level] :
		       NULL;
}

static bool is_same_way(const struct trial *trial, unsigned a, unsigned b, unsigned level)
{
	for (unsigned i = 0; i <= level; i++) {
		const struct trial_node *left = node_at(trial, a, i), *right = node_at(trial, b, i);

		if (!left || !right || strcmp(left->name, right->name) != 0)
			return false;
	}
	return true;
}

static void write_rates(FILE *out, const struct trial_node *node)
{
	if (node->link_bps < 0)
		return;
	markup_format(out, " · link %.0f Mbit/s", node->link_bps / 1e6);
	if (node->capable_bps > node->link_bps * 1.001) {
		fputs(" · <strong class=\"warn\">", out);
		markup_format(out, "could be %.0f Mbit/s", node->capable_bps / 1e6);
		fputs("</strong>", out);
	}
}

static void write_node(const struct tree *tree, const struct trial_node *node)
{
	bool is_shared = tree->judgement->shared_node[0] &&
			 strcmp(tree->judgement->shared_node, node->name) == 0;

	fprintf(tree->out, "<span class=\"node%s\"><b>", is_shared ? " shared" : "");
	markup_text(tree->out, node->name);
	fputs("</b> ", tree->out);
	markup_text(tree->out, node->text[0] ? node->text : node->kind);
	write_rates(tree->out, node);
	if (is_shared)
		fputs(" · <strong class=\"warn\">all disks share this</strong>", tree->out);
	fputs("</span>", tree->out);
}

static void write_disk(const struct tree *tree, unsigned disk)
{
	const struct trial_disk *d = &tree->trial->disks[disk];

	fputs("<ul><li><span class=\"node end\"><b>", tree->out);
	markup_text(tree->out, d->target.path);
	fputs("</b> ", tree->out);
	markup_text(tree->out, trial_fs_text(d));
	if (d->environment.model[0])
		markup_format(tree->out, ", %s", d->environment.model);
	fputs("</span></li></ul>\n", tree->out);
}

/* The disks that came the same way as @first so far; one level below another, at most TRIAL_PATH_MAX. */
static void write_level(struct tree *tree, unsigned first, unsigned level) /* NOLINT(misc-no-recursion) */
{
	const struct trial *trial = tree->trial;
	bool is_told[TARGET_MAX] = { false };
	bool has_list = false;

	for (unsigned i = first; i < trial->disk_count && i < TARGET_MAX; i++) {
		if (is_told[i] || !node_at(trial, i, level) ||
		    (level > 0 && !is_same_way(trial, first, i, level - 1)))
			continue;
		fputs(has_list ? "<li>" : "<ul><li>", tree->out);
		has_list = true;
		write_node(tree, node_at(trial, i, level));
		for (unsigned k = i; k < trial->disk_count && k < TARGET_MAX; k++) {
			is_told[k] = is_told[k] || is_same_way(trial, i, k, level);
			if (is_same_way(trial, i, k, level) && !node_at(trial, k, level + 1))
				write_disk(tree, k);
		}
		write_level(tree, i, level + 1);
		fputs("</li>\n", tree->out);
	}
	if (has_list)
		fputs("</ul>\n", tree->out);
}

void topology_write(FILE *out, const struct trial *trial, const struct judgement *judgement)
{
	struct tree tree = { .out = out, .trial = trial, .judgement = judgement };

	fputs("<div class=\"tree\"><span class=\"node\"><b>", out);
	markup_text(out, trial->host.name[0] ? trial->host.name : "this host");
	fputs("</b> ", out);
	markup_format(out, "%u processors, memory %.1f GiB", trial->host.cpu_count,
		      (double)trial->host.memory_bytes / (double)(UINT64_C(1) << 30));
	fputs("</span>\n<ul><li><span class=\"node end\"><b>source</b> ", out);
	markup_text(out, trial->asked.source ? trial->asked.source : "sim: (the simulator, in memory)");
	fputs("</span></li></ul>\n", out);
	write_level(&tree, 0, 0);
	fputs("</div>\n", out);
}
