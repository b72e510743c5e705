/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#ifndef FAULT_PARTS_H
#define FAULT_PARTS_H

/**
 * @file
 * What can stand behind the first word of a rule. A part takes its words and fills its members of the rule;
 * one that may be missing takes none then. 0, or -EINVAL: something else stood there (fault_expected()).
 */

#include "fault_script.h"
#include "fault_words.h"

typedef int (*fault_part_fn)(struct fault_parser *p, struct fault_rule *rule);

int fault_part_object(struct fault_parser *p, struct fault_rule *rule);	      /* cqe, ok, err, send, recv */
int fault_part_object_maybe(struct fault_parser *p, struct fault_rule *rule);
int fault_part_success_maybe(struct fault_parser *p, struct fault_rule *rule); /* send, recv */
int fault_part_which(struct fault_parser *p, struct fault_rule *rule);
int fault_part_which_maybe(struct fault_parser *p, struct fault_rule *rule);
int fault_part_turns(struct fault_parser *p, struct fault_rule *rule);	      /* T */
int fault_part_turns_range(struct fault_parser *p, struct fault_rule *rule);  /* T or T..U */
int fault_part_age(struct fault_parser *p, struct fault_rule *rule);
int fault_part_status(struct fault_parser *p, struct fault_rule *rule);
int fault_part_fatal_maybe(struct fault_parser *p, struct fault_rule *rule);
int fault_part_garbage_maybe(struct fault_parser *p, struct fault_rule *rule);
int fault_part_queue(struct fault_parser *p, struct fault_rule *rule);	      /* post_send, post_recv, post_srq_recv */
int fault_part_qp_queue(struct fault_parser *p, struct fault_rule *rule);     /* post_send, post_recv */
int fault_part_send(struct fault_parser *p, struct fault_rule *rule);	      /* post_send */
int fault_part_down(struct fault_parser *p, struct fault_rule *rule);	      /* down */
int fault_part_target(struct fault_parser *p, struct fault_rule *rule);	      /* a queue or a control verb */
int fault_part_verb(struct fault_parser *p, struct fault_rule *rule);
int fault_part_errno(struct fault_parser *p, struct fault_rule *rule);
int fault_part_style_maybe(struct fault_parser *p, struct fault_rule *rule);
int fault_part_fate(struct fault_parser *p, struct fault_rule *rule);	      /* flush, swallow or an errno */
int fault_part_delay(struct fault_parser *p, struct fault_rule *rule);
int fault_part_event(struct fault_parser *p, struct fault_rule *rule);
int fault_part_event_fate(struct fault_parser *p, struct fault_rule *rule);   /* drop, twice, late N */
int fault_part_qpn(struct fault_parser *p, struct fault_rule *rule);

#endif
