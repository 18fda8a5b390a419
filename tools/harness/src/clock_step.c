/* Preloaded into a server: moves its wall clock by the microseconds in the file CLOCK_STEP_FILE, an eight-byte
 * integer that a test may change at any time. The monotonic clock stays unchanged, as when somebody sets the clock of
 * a machine. This code allocates nothing, because the server's allocator reads the time before it is ready. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t step(void) {
    static volatile int64_t *mapped;
    if (mapped == NULL) {
        const char *path = getenv("CLOCK_STEP_FILE");
        int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file < 0) return 0;
        void *at = mmap(NULL, sizeof(*mapped), PROT_READ, MAP_SHARED, file, 0);
        close(file);
        if (at == MAP_FAILED) return 0;
        mapped = at;
    }
    return *mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t us = now->tv_sec * 1000000LL + now->tv_nsec / 1000 + step();
        now->tv_sec = us / 1000000;
        now->tv_nsec = us % 1000000 * 1000;
    }
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    (void)zone;
    int status = clock_gettime(CLOCK_REALTIME, &time);
    if (status == 0) *now = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    return status;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
