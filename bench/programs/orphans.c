/* orphans COUNT: make so many orphans, end them all at once, and print the seconds until none is
   left, as a zombie neither. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec + at.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  int count = atoi(argv[argc - 1]), ends[2];
  struct timespec pause = {0, 200000};
  pid_t *pids = mmap(NULL, count * sizeof *pids, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (pids == MAP_FAILED || pipe(ends)) return 1;
  for (int i = 0; i < count; i++) {
    pid_t parent = fork();
    if (parent < 0) return 1;
    if (parent == 0) {
      pid_t orphan = fork();
      if (orphan == 0) {
        char none;
        close(ends[1]);
        _exit(read(ends[0], &none, 1) != 0);
      }
      pids[i] = orphan;
      _exit(orphan < 0);
    }
    int status;
    if (waitpid(parent, &status, 0) < 0 || status) return 1;
  }
  double begun = now();
  close(ends[1]);
  for (int i = 0; i < count; i++)
    while (kill(pids[i], 0) == 0) nanosleep(&pause, NULL);
  printf("%.6f\n", now() - begun);
  return 0;
}
