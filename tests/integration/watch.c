/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) The Pollux authors
 */
#include "watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_malloc.h>

#define MAX_LCORES 8

/** Shared by tracer and traced. */
struct window {
	bool open;   /**< atomic */
	uint32_t nb_taken;  /**< atomic: places in lcores[] */
	uint32_t nb_lcores; /**< atomic: of those, filled in */
	pid_t lcores[MAX_LCORES];
	bool traced; /**< written before the tests run */
	uint64_t nb[WATCH_KINDS]; /**< atomic */
	char first[WATCH_KINDS][48];
};

static struct window unshared, *window = &unshared;

bool
watch_traced(void)
{
	return window->traced;
}

static __thread bool watched;

void
watch_this_lcore(void)
{
	unsigned int i;

	if (watched)
		return;
	watched = true;
	i = __atomic_fetch_add(&window->nb_taken, 1, __ATOMIC_SEQ_CST);

	if (i >= MAX_LCORES)
		abort();
	window->lcores[i] = (pid_t)syscall(SYS_gettid);
	__atomic_fetch_add(&window->nb_lcores, 1, __ATOMIC_SEQ_CST); /* the window opens when all have told */
}

void
watch_end(void)
{
	__atomic_store_n(&window->open, false, __ATOMIC_SEQ_CST);
}

void
watch_get(struct watch_count *count)
{
	memcpy(count->nb, window->nb, sizeof(count->nb));
	memcpy(count->first, window->first, sizeof(count->first));
}

static bool
counted(enum watch_kind kind)
{
	return __atomic_load_n(&window->open, __ATOMIC_SEQ_CST) &&
	       __atomic_fetch_add(&window->nb[kind], 1, __ATOMIC_SEQ_CST) == 0;
}

/* ---- allocations and locks ------------------------------------------------------------------ */

static void
note(enum watch_kind kind, const char *what)
{
	if (watched && counted(kind))
		snprintf(window->first[kind], sizeof(window->first[kind]), "%s() on lcore %d", what,
			(int)rte_lcore_id());
}

/* The C library's own allocator under its second name: to look it up could allocate. */
void *__libc_malloc(size_t len);
void *__libc_calloc(size_t nb, size_t len);
void *__libc_realloc(void *p, size_t len);
void *__libc_memalign(size_t align, size_t len);
void __libc_free(void *p);

void *
malloc(size_t len)
{
	note(WATCH_ALLOC, "malloc");
	return __libc_malloc(len);
}

void *
calloc(size_t nb, size_t len)
{
	note(WATCH_ALLOC, "calloc");
	return __libc_calloc(nb, len);
}

void *
realloc(void *p, size_t len)
{
	note(WATCH_ALLOC, "realloc");
	return __libc_realloc(p, len);
}

void *
aligned_alloc(size_t align, size_t len)
{
	note(WATCH_ALLOC, "aligned_alloc");
	return __libc_memalign(align, len);
}

int
posix_memalign(void **p, size_t align, size_t len)
{
	note(WATCH_ALLOC, "posix_memalign");
	*p = __libc_memalign(align, len);
	return *p != NULL ? 0 : ENOMEM;
}

void *
memalign(size_t align, size_t len)
{
	note(WATCH_ALLOC, "memalign");
	return __libc_memalign(align, len);
}

/* It takes the heap's lock, as what allocates does. */
void
free(void *p)
{
	note(WATCH_ALLOC, "free");
	__libc_free(p);
}

/** A function of the same name and type that counts and goes on to the next library's. */
#define INTERPOSE(kind, type, name, params, args) \
	type name params                          \
	{                                         \
		static type(*next) params;        \
                                                  \
		if (next == NULL)                 \
			next = (type(*) params)dlsym(RTLD_NEXT, #name); \
		note(kind, #name);                \
		return next args;                 \
	}

INTERPOSE(WATCH_ALLOC, void *, rte_malloc, (const char *type, size_t len, unsigned int align), (type, len, align))
INTERPOSE(WATCH_ALLOC, void *, rte_zmalloc, (const char *type, size_t len, unsigned int align), (type, len, align))
INTERPOSE(WATCH_ALLOC, void *, rte_malloc_socket, (const char *type, size_t len, unsigned int align, int socket),
	(type, len, align, socket))
INTERPOSE(WATCH_ALLOC, void *, rte_zmalloc_socket, (const char *type, size_t len, unsigned int align, int socket),
	(type, len, align, socket))
INTERPOSE(WATCH_ALLOC, void *, rte_calloc, (const char *type, size_t nb, size_t len, unsigned int align),
	(type, nb, len, align))
INTERPOSE(WATCH_ALLOC, void *, rte_calloc_socket,
	(const char *type, size_t nb, size_t len, unsigned int align, int socket), (type, nb, len, align, socket))

INTERPOSE(WATCH_ALLOC, void *, rte_realloc, (void *p, size_t len, unsigned int align), (p, len, align))
INTERPOSE(WATCH_ALLOC, void, rte_free, (void *p), (p))

INTERPOSE(WATCH_LOCK, int, pthread_mutex_timedlock, (pthread_mutex_t *l, const struct timespec *t), (l, t))
INTERPOSE(WATCH_LOCK, int, sem_wait, (sem_t *s), (s))
INTERPOSE(WATCH_LOCK, int, sem_trywait, (sem_t *s), (s))
INTERPOSE(WATCH_LOCK, int, sem_post, (sem_t *s), (s))
INTERPOSE(WATCH_LOCK, int, pthread_mutex_lock, (pthread_mutex_t *l), (l))
INTERPOSE(WATCH_LOCK, int, pthread_mutex_trylock, (pthread_mutex_t *l), (l))
INTERPOSE(WATCH_LOCK, int, pthread_spin_lock, (pthread_spinlock_t *l), (l))
INTERPOSE(WATCH_LOCK, int, pthread_spin_trylock, (pthread_spinlock_t *l), (l))
INTERPOSE(WATCH_LOCK, int, pthread_rwlock_rdlock, (pthread_rwlock_t *l), (l))
INTERPOSE(WATCH_LOCK, int, pthread_rwlock_wrlock, (pthread_rwlock_t *l), (l))

/* ---- system calls ---------------------------------------------------------------------------- */

#define TO_TRACER  SIGUSR2		/* "open the window"; never delivered */
#define AT_SYSCALL (SIGTRAP | 0x80)	/* PTRACE_O_TRACESYSGOOD */
#define MAX_THREADS 64

/** The traced threads. While the window is closed they run freely; to open it each is stopped once. */
struct tracer {
	unsigned int nb;
	pid_t tids[MAX_THREADS];
	bool stopping[MAX_THREADS]; /**< has been asked to stop, and did not yet */
	unsigned int nb_stopping;
	pid_t opener; /**< waits for the others to stop, the window to be open; 0: nobody */
};

static bool
tracer_watches(pid_t tid)
{
	for (uint32_t i = 0; i < __atomic_load_n(&window->nb_lcores, __ATOMIC_SEQ_CST); i++)
		if (window->lcores[i] == tid)
			return true;
	return false;
}

/** A thread stopped at a system call: count it on its way in. */
static void
tracer_count(pid_t tid)
{
	struct __ptrace_syscall_info info;

	if (!__atomic_load_n(&window->open, __ATOMIC_SEQ_CST) || !tracer_watches(tid) ||
		ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0 ||
		info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (counted(WATCH_SYSCALL))
		snprintf(window->first[WATCH_SYSCALL], sizeof(window->first[WATCH_SYSCALL]),
			"system call %llu of thread %d", (unsigned long long)info.entry.nr, (int)tid);
}

/** The place of @p tid; a new one for a thread not seen before. */
static unsigned int
tracer_slot(struct tracer *t, pid_t tid)
{
	unsigned int i = 0;

	while (i < t->nb && t->tids[i] != tid)
		i++;
	if (i == t->nb && t->nb < MAX_THREADS) {
		t->tids[t->nb++] = tid;
		t->stopping[i] = false;
	}
	return i;
}

/** @p tid has stopped, or ended. */
static void
tracer_stopped(struct tracer *t, pid_t tid)
{
	unsigned int i = tracer_slot(t, tid);

	if (t->stopping[i])
		t->nb_stopping--;
	t->stopping[i] = false;
}

static void
tracer_ended(struct tracer *t, pid_t tid)
{
	unsigned int i = tracer_slot(t, tid);

	tracer_stopped(t, tid);
	t->tids[i] = t->tids[--t->nb];
	t->stopping[i] = t->stopping[t->nb];
}

/** From here on a thread that goes on stops at each system call. */
static void
tracer_begin_open(struct tracer *t, pid_t opener)
{
	t->opener = opener;
	for (unsigned int i = 0; i < t->nb; i++)
		if (t->tids[i] != opener && ptrace(PTRACE_INTERRUPT, t->tids[i], 0, 0) == 0) {
			t->stopping[i] = true;
			t->nb_stopping++;
		}
}

static void
tracer_resume(const struct tracer *t, pid_t tid, int sig)
{
	bool stop_again = t->opener != 0 || __atomic_load_n(&window->open, __ATOMIC_SEQ_CST);

	ptrace(stop_again ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0, sig);
}

static void
tracer_end_open(struct tracer *t)
{
	pid_t opener = t->opener;

	__atomic_store_n(&window->open, true, __ATOMIC_SEQ_CST);
	t->opener = 0;
	tracer_resume(t, opener, 0);
}

static void
tracer_step(struct tracer *t, pid_t tid, int status)
{
	int sig = WSTOPSIG(status);
	bool of_ptrace = status >> 16 != 0; /* a new thread, or one that was asked to stop */

	tracer_stopped(t, tid); /* any stop takes the place of one that was asked for, ptrace(2) */
	if (!of_ptrace && sig == AT_SYSCALL) {
		tracer_count(tid);
	} else if (!of_ptrace && sig == TO_TRACER) {
		tracer_begin_open(t, tid);
		return;
	}
	tracer_resume(t, tid, of_ptrace || sig == AT_SYSCALL ? 0 : sig);
}

/** Let the child and its threads run until it ends. Returns its exit status. */
static int
trace(pid_t child)
{
	struct tracer t = {.nb = 1, .tids = {child}};
	int status;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			tracer_step(&t, tid, status);
		} else if (tid == child) {
			if (WIFSIGNALED(status))
				fprintf(stderr, "watch: the tests ended by signal %d\n", WTERMSIG(status));
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		} else {
			tracer_ended(&t, tid);
		}
		if (t.opener != 0 && t.nb_stopping == 0)
			tracer_end_open(&t);
	}
	return 1;
}

void
watch_begin(void)
{
	memset(window->nb, 0, sizeof(window->nb));
	if (window->traced)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), TO_TRACER); /* comes back with the window open */
	else
		__atomic_store_n(&window->open, true, __ATOMIC_SEQ_CST);
}

static int
run_child(int (*tests)(void), const int go[2])
{
	char ok;

	close(go[1]);
	while (read(go[0], &ok, 1) < 0 && errno == EINTR)
		;
	close(go[0]);
	return tests();
}

int
watch_run(int (*tests)(void))
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int go[2];
	pid_t child;

	window = mmap(NULL, sizeof(*window), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (window == MAP_FAILED || pipe(go) != 0)
		return 1;
	fflush(NULL);
	child = fork();
	if (child < 0)
		return 1;
	if (child == 0)
		exit(run_child(tests, go));
	close(go[0]);
	/* The child waits in read() until it is known whether it is traced. */
	window->traced = ptrace(PTRACE_SEIZE, child, 0, options) == 0;
	close(go[1]);
	return trace(child);
}
