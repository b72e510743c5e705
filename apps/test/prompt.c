/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The prompt: one word a line. All commands are the choices of one rte_cmdline token, "a#b#c", so that tab
 * completes them; quit and help have one each. On a pipe each line is run as it comes, and one that is no command is counted:
 * whoever wrote it does not see what is answered.
 */

#include "shell.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_string.h>
#include <cmdline_rdline.h>
#include <cmdline_socket.h>

#define PROMPT "plx>>"

struct word {
	cmdline_fixed_string_t text;
};

static void
on_command(void *parsed, struct cmdline *cl, void *data)
{
	const struct command *cmd = command_find(((struct word *)parsed)->text);

	(void)cl;
	(void)data;
	cmd->run(cmd);
	fflush(stdout); /* the prompt follows, by write() */
}

static bool done; /* on a pipe */

static void
on_quit(void *parsed, struct cmdline *cl, void *data)
{
	done = true;
	(void)parsed;
	(void)data;
	cmdline_quit(cl);
}

static void
on_help(void *parsed, struct cmdline *cl, void *data)
{
	const struct command *all;
	unsigned int n = commands(&all);

	(void)parsed;
	(void)data;
	for (unsigned int i = 0; i < n; i++)
		cmdline_printf(cl, "%-28s %s\n", all[i].name, all[i].help);
	cmdline_printf(cl, "%-28s %s\n", "quit", "end; the exit status says whether a test failed");
}

static char choices[COMMANDS_MAX * COMMAND_NAME_LEN]; /* "a#b#c" */
static cmdline_parse_token_string_t command_token = TOKEN_STRING_INITIALIZER(struct word, text, choices);
static cmdline_parse_token_string_t quit_token = TOKEN_STRING_INITIALIZER(struct word, text, "quit");
static cmdline_parse_token_string_t help_token = TOKEN_STRING_INITIALIZER(struct word, text, "help");

static cmdline_parse_inst_t command_inst = {
	.f = on_command,
	.help_str = "run it",
	.tokens = {(cmdline_parse_token_hdr_t *)&command_token, NULL},
};
static cmdline_parse_inst_t quit_inst = {
	.f = on_quit,
	.help_str = "end",
	.tokens = {(cmdline_parse_token_hdr_t *)&quit_token, NULL},
};
static cmdline_parse_inst_t help_inst = {
	.f = on_help,
	.help_str = "list the commands",
	.tokens = {(cmdline_parse_token_hdr_t *)&help_token, NULL},
};
static cmdline_parse_ctx_t context[] = {&command_inst, &quit_inst, &help_inst, NULL};

static void
join_choices(void)
{
	const struct command *all;
	unsigned int n = commands(&all);
	size_t len = 0;

	for (unsigned int i = 0; i < n; i++)
		len += (size_t)snprintf(choices + len, sizeof(choices) - len, "%s%s", i > 0 ? "#" : "", all[i].name);
}

/** Run @p line, which has no end yet. Whether it is a command. */
static bool
line_run(struct cmdline *cl, const char *line)
{
	char text[COMMAND_NAME_LEN + 2]; /* what is longer is none */

	printf("%s%s\n", PROMPT, line);
	fflush(stdout);
	snprintf(text, sizeof(text) - 1, "%s", line);
	strcat(text, "\n");
	if (cmdline_parse(cl, text) >= 0)
		return true;
	printf("Command not found: %s\n", line);
	return false;
}

static unsigned int
pipe_run(struct cmdline *cl)
{
	unsigned int nb_bad = 0;
	char *line = NULL;
	size_t size = 0;

	done = false;
	while (!done && getline(&line, &size, stdin) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		nb_bad += !line_run(cl, line);
	}
	free(line);
	return nb_bad;
}

int
prompt_run(void)
{
	struct cmdline *cl;
	int nb_bad = 0;

	join_choices();
	fflush(stdout);
	cl = cmdline_stdin_new(context, PROMPT);
	if (cl == NULL)
		return -ENOMEM;
	if (isatty(STDIN_FILENO))
		cmdline_interact(cl);
	else
		nb_bad = (int)pipe_run(cl);
	cmdline_stdin_exit(cl);
	return nb_bad;
}
