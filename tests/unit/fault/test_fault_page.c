/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */

/**
 * @file
 * The page of the script language: each row of its example tables does what it says, and each rule has a row.
 */

#include "plx_test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "fault_script.h"
#include "plx_fault.h"

#define CQES_HEAD  "| script | polls give |"
#define POSTS_HEAD "| script | the post says | the device has | polls give |"
#define NB_CELLS   4

static char *page;

static int
page_read(void **state)
{
	FILE *file = fopen(FAULT_PAGE, "r");

	page = calloc(1, 1 << 20);
	if (file == NULL || page == NULL)
		return -1;
	(void)!fread(page, 1, (1 << 20) - 1, file);
	fclose(file);
	return 0;
}

static int
page_free(void **state)
{
	free(page);
	return 0;
}

/* Cut @p line, a row of a table, into its cells, without backquotes and the spaces around them. Returns how many. */
static unsigned int
row_cut(char *line, const char **cells)
{
	unsigned int n = 0;

	for (char *save, *cell = strtok_r(line, "|", &save); cell != NULL && n < NB_CELLS; cell = strtok_r(NULL, "|", &save)) {
		size_t len;

		cell += strspn(cell, " `");
		len = strlen(cell);
		while (len > 0 && strchr(" `", cell[len - 1]) != NULL)
			cell[--len] = '\0';
		cells[n++] = cell;
	}
	return n;
}

/* Call @p run on each row behind the line @p head. Returns how many there were. */
static unsigned int
each_row(const char *head, void (*run)(const char **cells))
{
	char *at = strstr(page, head), *save, *copy, *line;
	unsigned int nb = 0;

	assert_non_null(at);
	copy = strdup(at);
	strtok_r(copy, "\n", &save); /* the head, */
	strtok_r(NULL, "\n", &save); /* and the line below it */
	while ((line = strtok_r(NULL, "\n", &save)) != NULL && line[0] == '|') {
		const char *cells[NB_CELLS] = {NULL, "", "", ""};

		row_cut(line, cells);
		run(cells);
		nb++;
	}
	free(copy);
	return nb;
}

static void
note(char *text, const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, 256 - len, format, args);
	va_end(args);
}

/* Poll @p cq and compare with @p want: "1 2! / / 3" is two CQEs, the second an error, an empty poll, and one CQE. */
static void
expect_polls(const char *script, struct plx_cq *cq, unsigned int n, const char *want)
{
	char got[256] = "";

	for (unsigned int turn = 0; turn < n; turn++) {
		struct plx_wc wcs[8];
		int nb = plx_cq_poll(cq, wcs, 8);

		note(got, turn == 0 ? "" : " /");
		for (int i = 0; i < nb; i++)
			note(got, " %u%s", (unsigned int)wcs[i].wr_id, wcs[i].status == PLX_ST_SUCCESS ? "" : "!");
	}
	while (strlen(got) >= 2 && strcmp(got + strlen(got) - 2, " /") == 0) /* empty ones at the end */
		got[strlen(got) - 2] = '\0';
	if (strcmp(got + (got[0] == ' '), want) != 0)
		fail_msg("%s: polls give \"%s\", the page says \"%s\"", script, got, want);
}

static struct plx_device *
wrap(struct fake_device *fake, const char *script)
{
	struct plx_device *dev = plx_fault_wrap(&fake->base, script);

	if (dev == NULL)
		fail_msg("%s: %s", script, plx_fault_error());
	return dev;
}

static void
cqes_row(const char **cells)
{
	struct fake_device *fake = fake_open();
	struct plx_device *dev = wrap(fake, cells[0]);
	struct plx_cq *cq = plx_cq_create(dev, 8);

	fake_complete_from(fake->cqs[0], 1, 5);
	expect_polls(cells[0], cq, 12, cells[1]);
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_device_close(dev), 0);
}

static void
example_of_cqes_does_what_it_says(void **state)
{
	assert_true(each_row(CQES_HEAD, cqes_row) >= 15);
	assert_int_equal(fake_nb_objects, 0);
}

/* What a post said: how many, and then the errno as it came, in words. */
static void
post_note(char *text, uint16_t posted, int err)
{
	static const struct {
		int err;
		const char *name;
	} names[] = {{EIO, "EIO"}, {ENOMEM, "ENOMEM"}, {EINVAL, "EINVAL"}, {EAGAIN, "EAGAIN"}};

	note(text, "%u", posted);
	if (err == -1)
		note(text, " -1");
	for (unsigned int i = 0; i < NB_OF(names); i++)
		if (abs(err) == names[i].err)
			note(text, " %s%s", err < 0 ? "-" : "", names[i].name);
}

static void
posts_row(const char **cells)
{
	struct fake_device *fake = fake_open();
	struct plx_device *dev = wrap(fake, cells[0]);
	struct plx_pd *pd = plx_pd_create(dev);
	struct plx_cq *cq = plx_cq_create(dev, 8);
	struct plx_qp_conf conf = {.send_cq = cq, .recv_cq = cq, .cap = {.send_depth = 8}};
	struct plx_qp *qp = plx_qp_create(pd, &conf);
	struct plx_wr wrs[5];
	const struct plx_wr *chain[5];
	char says[256] = "", has[256] = "";
	uint16_t posted;
	int err = 0;

	for (unsigned int i = 0; i < 5; i++) {
		wrs[i] = (struct plx_wr){.wr_id = i + 1};
		chain[i] = &wrs[i];
	}
	posted = plx_qp_post_send(qp, chain, 5, &err);
	post_note(says, posted, posted < 5 ? err : 0);
	for (unsigned int i = 0; i < fake->qps[0]->nb_wrs; i++)
		note(has, "%s%u", i == 0 ? "" : " ", (unsigned int)fake->qps[0]->wr_ids[i]);
	if (strcmp(says, cells[1]) != 0 || strcmp(has, cells[2]) != 0)
		fail_msg("%s: \"%s\", \"%s\"; the page says \"%s\", \"%s\"", cells[0], says, has, cells[1], cells[2]);
	expect_polls(cells[0], cq, 9, cells[3]);
	assert_int_equal(plx_qp_destroy(qp), 0);
	assert_int_equal(plx_cq_destroy(cq), 0);
	assert_int_equal(plx_pd_destroy(pd), 0);
	assert_int_equal(plx_device_close(dev), 0);
}

static void
example_of_posts_does_what_it_says(void **state)
{
	assert_true(each_row(POSTS_HEAD, posts_row) >= 8);
	assert_int_equal(fake_nb_objects, 0);
}

/* The message for a rule that there is not lists those that there are. */
static void
each_rule_has_a_row(void **state)
{
	struct fault_script script;
	char error[FAULT_ERROR_LEN], row[64], *word, *save;
	unsigned int nb = 0;

	assert_int_equal(fault_script_parse("?", 1, &script, error), -EINVAL);
	for (word = strtok_r(strstr(error, "expected ") + 9, ", ", &save); strcmp(word, "found") != 0;
		word = strtok_r(NULL, ", ", &save), nb++) {
		if (strcmp(word, "or") == 0)
			continue;
		snprintf(row, sizeof(row), "\n| `%s", word);
		if (strstr(page, row) == NULL)
			fail_msg("no row for %s", word);
	}
	assert_true(nb >= 15);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(example_of_cqes_does_what_it_says),
	cmocka_unit_test(example_of_posts_does_what_it_says),
	cmocka_unit_test(each_rule_has_a_row),
};

PLX_TEST_SUITE(fault, fault_page, tests, .setup = page_read, .teardown = page_free);
