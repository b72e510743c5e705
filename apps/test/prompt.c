/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The prompt: one word a line. All commands are the choices of one rte_cmdline token, "a#b#c", so that tab
 * completes them; quit and help have one each. On a pipe it is the same without a terminal's echo.
 */

#include "shell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_string.h>
#include <cmdline_rdline.h>
#include <cmdline_socket.h>

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

static void
on_quit(void *parsed, struct cmdline *cl, void *data)
{
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

int
prompt_run(void)
{
	struct cmdline *cl;

	join_choices();
	fflush(stdout);
	cl = cmdline_stdin_new(context, "plx>>");
	if (cl == NULL)
		return -ENOMEM;
	cmdline_interact(cl);
	if (!isatty(STDIN_FILENO))
		cmdline_in(cl, "\n", 1); /* a last line without its end */
	cmdline_stdin_exit(cl);
	return 0;
}
