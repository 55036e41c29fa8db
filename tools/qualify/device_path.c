/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/qualify/device_path.h"

#include <stdlib.h>
#include <string.h>

#include "tools/qualify/block_device.h"
#include "tools/qualify/device_node.h"

#define LEVELS_MAX 8 /* of devices upon devices */

struct path {
	struct trial_node *nodes;
	unsigned count;
};

static unsigned look(const struct sysfs *sysfs, const char *directory, struct trial_node *nodes,
		     unsigned level);

const struct trial_node *device_path_narrowest(const struct trial_node *nodes, unsigned count)
{
	const struct trial_node *narrowest = NULL;

	for (unsigned i = 0; i < count; i++)
		if (nodes[i].link_bps > 0 && (!narrowest || nodes[i].link_bps < narrowest->link_bps))
			narrowest = &nodes[i];
	return narrowest;
}

double device_path_capable(const struct trial_node *nodes, unsigned count)
{
	const struct trial_node *narrowest = device_path_narrowest(nodes, count);
	double capable;

	if (!narrowest || narrowest->capable_bps < 0)
		return -1;
	capable = narrowest->capable_bps;
	for (unsigned i = 0; i < count; i++) {
		double node = nodes[i].capable_bps > 0 ? nodes[i].capable_bps : nodes[i].link_bps;

		if (node > 0 && node < capable)
			capable = node;
	}
	return capable;
}

const struct trial_node *device_path_shared(const struct trial_node *a, unsigned a_count,
					    const struct trial_node *b, unsigned b_count)
{
	for (unsigned i = 0; i < a_count; i++)
		for (unsigned k = 0; k < b_count; k++)
			if (strcmp(a[i].name, b[k].name) == 0 && strcmp(a[i].kind, b[k].kind) == 0)
				return &a[i];
	return NULL;
}

/* A native NVMe multipath disk hangs in the air; its subsystem knows the controllers. */
static int visit_controller(void *context, const char *name)
{
	char *found = context;

	if (strncmp(name, "nvme", 4) != 0 || name[strspn(name + 4, "0123456789") + 4])
		return 0;
	snprintf(found, 64, "%s", name);
	return 1;
}

static bool find_controller(const struct sysfs *sysfs, char *directory)
{
	char name[64], path[SYSFS_PATH_LEN + 72];

	if (!strstr(directory, "/nvme-subsystem/") ||
	    sysfs_scan(sysfs, directory, visit_controller, name) != 1)
		return false;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return sysfs_resolve(sysfs, path, directory) == 0;
}

bool device_path_up(const struct sysfs *sysfs, char *directory)
{
	if (!sysfs_up(directory))
		return false;
	find_controller(sysfs, directory);
	return true;
}

static unsigned climb(const struct sysfs *sysfs, const char *directory, struct trial_node *nodes,
		      unsigned max)
{
	char path[SYSFS_PATH_LEN];
	unsigned count = 0;

	snprintf(path, sizeof(path), "%s", directory);
	while (count < max && device_path_up(sysfs, path))
		count += device_node_look(sysfs, path, &nodes[count]);
	return count;
}

/* How many members' links a level has at work on different data. */
static double members_at_work(const struct sysfs *sysfs, const char *directory, unsigned members)
{
	char level[32];

	if (!sysfs_line(sysfs, directory, "md/level", level, sizeof(level)))
		return 1;
	if (strcmp(level, "raid0") == 0)
		return members;
	if (strcmp(level, "raid10") == 0)
		return members / 2.0;
	if (strcmp(level, "raid4") == 0 || strcmp(level, "raid5") == 0)
		return members - 1.0;
	return strcmp(level, "raid6") == 0 ? members - 2.0 : 1;
}

/* The first nodes of @member that lie below @shared, narrowed into @link_bps and @capable_bps. */
static void narrow(const struct path *member, const struct trial_node *shared, double *link_bps,
		   double *capable_bps)
{
	const struct trial_node *at =
		shared ? device_path_shared(member->nodes, member->count, shared, 1) : NULL;
	unsigned count = at ? (unsigned)(at - member->nodes) : member->count;
	const struct trial_node *narrowest = device_path_narrowest(member->nodes, count);
	double capable = device_path_capable(member->nodes, count);

	if (narrowest && (*link_bps < 0 || narrowest->link_bps < *link_bps))
		*link_bps = narrowest->link_bps;
	if (capable > 0 && (*capable_bps < 0 || capable < *capable_bps))
		*capable_bps = capable;
}

/* The lowest node of the first member that all others have as well. */
static const struct trial_node *common(const struct path *members, unsigned count)
{
	const struct trial_node *shared = members[0].nodes;
	unsigned left = members[0].count;

	for (unsigned i = 1; i < count && shared; i++) {
		shared = device_path_shared(shared, left, members[i].nodes, members[i].count);
		left = shared ? members[0].count - (unsigned)(shared - members[0].nodes) : 0;
	}
	return shared;
}

static unsigned join(const struct sysfs *sysfs, const char *directory, const struct path *members,
		     unsigned count, struct trial_node *nodes)
{
	const struct trial_node *shared = common(members, count);
	double link_bps = -1, capable_bps = -1, at_work = members_at_work(sysfs, directory, count);
	unsigned rest = shared ? members[0].count - (unsigned)(shared - members[0].nodes) : 0;

	for (unsigned i = 0; i < count; i++)
		narrow(&members[i], shared, &link_bps, &capable_bps);
	if (link_bps > 0 && at_work > 0)
		nodes[0].link_bps = link_bps * at_work;
	if (capable_bps > 0 && at_work > 0)
		nodes[0].capable_bps = capable_bps * at_work;
	if (rest > TRIAL_PATH_MAX - 1)
		rest = TRIAL_PATH_MAX - 1;
	if (shared)
		memcpy(nodes + 1, shared, rest * sizeof(nodes[0]));
	return 1 + rest;
}

static unsigned look_through(const struct sysfs *sysfs, const char *directory,
			     const struct block_list *lower, struct trial_node *nodes, unsigned level)
{
	struct trial_node *room = calloc((size_t)lower->count * TRIAL_PATH_MAX, sizeof(*room));
	struct path members[BLOCK_LIST_MAX];
	unsigned count = 1;

	if (!room)
		return count;
	for (unsigned i = 0; i < lower->count; i++) {
		members[i].nodes = room + (size_t)i * TRIAL_PATH_MAX;
		members[i].count = look(sysfs, lower->directories[i], members[i].nodes, level + 1);
	}
	if (lower->count > 1) {
		count = join(sysfs, directory, members, lower->count, nodes);
	} else {
		for (unsigned i = 0; i < members[0].count && count < TRIAL_PATH_MAX; i++)
			nodes[count++] = members[0].nodes[i];
	}
	free(room);
	return count;
}

static unsigned look(const struct sysfs *sysfs, const char *directory, struct trial_node *nodes,
		     unsigned level)
{
	struct block_list lower;
	unsigned count = device_node_look(sysfs, directory, &nodes[0]) ? 1 : 0;

	lower.count = 0;
	if (level < LEVELS_MAX && device_node_is_at(sysfs, directory, "block"))
		block_lower(sysfs, directory, &lower);
	if (lower.count)
		return look_through(sysfs, directory, &lower, nodes, level);
	return count + climb(sysfs, directory, nodes + count, TRIAL_PATH_MAX - count);
}

unsigned device_path_look(const struct sysfs *sysfs, const char *directory, struct trial_node *nodes)
{
	return look(sysfs, directory, nodes, 0);
}
