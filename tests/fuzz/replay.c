/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * Inputs that are kept as files, through one decoder, without libFuzzer:
 *
 *      replay_NAME FOLDER...      every file of each; a folder without any is an error
 *
 * The last file named on stdout is the one that ended the program.
 */

#include "fuzz.h"

#include <dirent.h>
#include <string.h>

#define INPUT_MAX (1 << 20)

static void
die(const char *what, const char *path)
{
	fprintf(stderr, "replay: %s %s\n", what, path);
	exit(1);
}

/** The input alone in memory of its own size: one byte more is out of bounds. */
static void
replay_file(const char *path)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(path, "re");
	uint8_t *exact;
	size_t len;

	if (file == NULL)
		die("cannot open", path);
	len = fread(bytes, 1, sizeof(bytes), file);
	if (ferror(file) || len == sizeof(bytes))
		die("cannot read, or too long:", path);
	fclose(file);
	printf("%s, %zu bytes\n", path, len);
	fflush(stdout);
	exact = malloc(len > 0 ? len : 1);
	if (exact == NULL)
		die("no memory for", path);
	memcpy(exact, bytes, len);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
}

static void
replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int nb = 0;
	struct dirent *entry;
	char name[4096];

	if (dir == NULL)
		die("cannot open", path);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		replay_file(name);
		nb++;
	}
	closedir(dir);
	if (nb == 0)
		die("no file in", path);
}

int
main(int argc, char **argv)
{
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		replay_folder(argv[i]);
	return argc > 1 ? 0 : 1;
}
