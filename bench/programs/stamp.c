/* stamp FILE: write the monotonic clock, in nanoseconds, a line for each SIGUSR1. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  sigset_t set;
  int number, fd = open(argv[argc - 1], O_WRONLY | O_CREAT | O_APPEND, 0644);
  char line[32];
  struct timespec now;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  if (fd < 0 || write(fd, "ready\n", 6) != 6) return 1;
  while (sigwait(&set, &number) == 0) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    int length = snprintf(line, sizeof line, "%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
    if (write(fd, line, length) != length) return 1;
  }
  return 1;
}
