/* MPI_Finalize of MPICH before 4.2 may wait for ever over UCX: a rank that has closed its connections
 * waits for the others in a barrier of the process manager, and serves no connection there. A rank that
 * closes its own later wants an answer to its last flush, which UCX's TCP never does without, and gets
 * none (pmodels/mpich#6596 took the barrier away).
 *
 * This library stands between libmpich and libucp and goes on serving: from the first connection that
 * is closed until the first worker is destroyed, a thread calls the workers' progress. A lock keeps it
 * apart from what MPICH itself does with UCX in that time. Before, a call costs one test more.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { MOST = 256 }; /* workers; MPICH has one for each of its virtual interfaces, at most 64 */

static unsigned (*progress)(void *worker);
static int (*create)(void *context, const void *params, void **worker);
static void (*destroy)(void *worker);
static void *(*disconnect)(void *endpoint);
static void (*release)(void *request);

static void *workers[MOST];
static int known;
static atomic_int serving;
static pthread_t server;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void find(void)
{
	progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
	create = dlsym(RTLD_NEXT, "ucp_worker_create");
	destroy = dlsym(RTLD_NEXT, "ucp_worker_destroy");
	disconnect = dlsym(RTLD_NEXT, "ucp_disconnect_nb");
	release = dlsym(RTLD_NEXT, "ucp_request_release");
}

static void *serve(void *nothing)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	while (atomic_load(&serving)) {
		pthread_mutex_lock(&turn);
		for (int i = 0; i < known; i++)
			progress(workers[i]);
		pthread_mutex_unlock(&turn);
		nanosleep(&pause, NULL);
	}
	return nothing;
}

/* The program's signals are for the program's own threads. */
static void start(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	atomic_store(&serving, 1);
	if (pthread_create(&server, NULL, serve, NULL) != 0)
		atomic_store(&serving, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int ucp_worker_create(void *context, const void *params, void **worker)
{
	int status = create(context, params, worker);

	if (status == 0 && known < MOST)
		workers[known++] = *worker;
	return status;
}

unsigned ucp_worker_progress(void *worker)
{
	unsigned done;

	if (!atomic_load_explicit(&serving, memory_order_relaxed))
		return progress(worker);
	pthread_mutex_lock(&turn);
	done = progress(worker);
	pthread_mutex_unlock(&turn);
	return done;
}

void *ucp_disconnect_nb(void *endpoint)
{
	void *request;

	if (!atomic_load(&serving))
		start();
	pthread_mutex_lock(&turn);
	request = disconnect(endpoint);
	pthread_mutex_unlock(&turn);
	return request;
}

void ucp_request_release(void *request)
{
	int shared = atomic_load(&serving);

	if (shared)
		pthread_mutex_lock(&turn);
	release(request);
	if (shared)
		pthread_mutex_unlock(&turn);
}

void ucp_worker_destroy(void *worker)
{
	if (atomic_exchange(&serving, 0))
		pthread_join(server, NULL);
	for (int i = 0; i < known; i++)
		if (workers[i] == worker)
			workers[i--] = workers[--known];
	destroy(worker);
}
