/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "app_cause.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_log.h>

#define CAUSE_LEN 300

/* Errors are rare and cold, and any thread may log one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char cause[CAUSE_LEN];
static char shown[CAUSE_LEN];

/** Keep the text of one line, without the name of who said it. */
static void
remember(const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	size_t skip = colon != NULL && colon - line < 12 && colon[1] == ' ' ? (size_t)(colon - line) + 2 : 0;

	line += skip;
	len -= skip;
	while (len > 0 && line[len - 1] == '\n')
		len--;
	pthread_mutex_lock(&lock);
	if (cause[0] == '\0' && len > 0)
		snprintf(cause, sizeof(cause), "%.*s", (int)(len < CAUSE_LEN ? len : CAUSE_LEN - 1), line);
	pthread_mutex_unlock(&lock);
}

static ssize_t
watch_write(void *cookie, const char *text, size_t len)
{
	int level = rte_log_cur_msg_loglevel();

	(void)cookie;
	if (level >= (int)RTE_LOG_EMERG && level <= (int)RTE_LOG_ERR) /* -1: not from rte_log */
		remember(text, len);
	return fwrite(text, 1, len, stderr) == len ? (ssize_t)len : 0;
}

int
app_cause_watch(void)
{
	cookie_io_functions_t io = {.write = watch_write};
	FILE *stream = fopencookie(NULL, "w", io);

	if (stream == NULL)
		return -ENOMEM;
	setvbuf(stream, NULL, _IOLBF, 512); /* a line is one write, and its level is still known */
	return rte_openlog_stream(stream);
}

void
app_cause_clear(void)
{
	pthread_mutex_lock(&lock);
	cause[0] = '\0';
	pthread_mutex_unlock(&lock);
}

const char *
app_cause(const char *otherwise)
{
	pthread_mutex_lock(&lock);
	memcpy(shown, cause, sizeof(shown));
	pthread_mutex_unlock(&lock);
	return shown[0] != '\0' ? shown : otherwise;
}
