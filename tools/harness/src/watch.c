/* Stands before a server's own calls (LD_PRELOAD): can make them slow as a disk that is busy does,
 * and notes how much of each file is certainly on the disk. Uses plain system calls and no memory
 * of its own, so that it can't get into the way of the server's allocator while that starts. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds that a call takes longer; the program that started the server writes them. */
struct delays {
    volatile uint32_t sync_ms, write_ms;
};

static struct delays none;
static struct delays *delays = &none;
static int folder = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SECKILL_WATCH");
    if (!path || (folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) return;
    int file = openat(folder, "delays", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    void *shared = mmap(NULL, sizeof(struct delays), PROT_READ, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) delays = shared;
    close(file);
}

static void wait_ms(uint32_t ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

/* How long the file was when the sync that is over began, and when that was. */
static void note(const struct stat *file, const struct timespec *since) {
    char name[24], text[48];
    snprintf(name, sizeof name, "%llu", (unsigned long long)file->st_ino);
    int record = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (record < 0) return;
    unsigned long long ms = since->tv_sec * 1000ULL + since->tv_nsec / 1000000;
    int length =
        snprintf(text, sizeof text, "%020lld %020llu\n", (long long)file->st_size, ms);
    if (pwrite(record, text, length, 0) != length) unlinkat(folder, name, 0);
    close(record);
}

static int sync_by(long call, int fd) {
    struct stat file;
    struct timespec since;
    int known = folder >= 0 && !fstat(fd, &file) && S_ISREG(file.st_mode);
    clock_gettime(CLOCK_REALTIME, &since);
    if (known && delays->sync_ms) wait_ms(delays->sync_ms);
    int done = (int)syscall(call, fd);
    if (known && !done) note(&file, &since);
    return done;
}

int fdatasync(int fd) { return sync_by(SYS_fdatasync, fd); }

int fsync(int fd) { return sync_by(SYS_fsync, fd); }

ssize_t write(int fd, const void *bytes, size_t count) {
    struct stat file;
    if (delays->write_ms && !fstat(fd, &file) && S_ISREG(file.st_mode)) wait_ms(delays->write_ms);
    return syscall(SYS_write, fd, bytes, count);
}
