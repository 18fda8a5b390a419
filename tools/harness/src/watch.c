/* Preloaded into a server (LD_PRELOAD): wraps its disk calls. It can delay calls as a busy disk does, make some fail as
 * a broken disk does, and records how much of each file is synced. It uses system calls and no memory, because the
 * server's allocator may not be ready. */
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

/* Delays of calls in milliseconds, and the numbers of calls that fail or write only a part. The program that started
 * the server writes them. */
struct orders {
    volatile uint32_t sync_ms, write_ms, syncs_fail, writes_fail, writes_short;
};

static struct orders none;
static struct orders *orders = &none;
static int folder = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SECKILL_WATCH");
    if (!path || (folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) return;
    int file = openat(folder, "orders", O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    int may = PROT_READ | PROT_WRITE;
    void *shared = mmap(NULL, sizeof(struct orders), may, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) orders = shared;
    close(file);
}

/* Whether this call must fail. Calls of all processes are counted together. */
static int takes(volatile uint32_t *left) {
    uint32_t now = *left;
    while (now && !__atomic_compare_exchange_n(left, &now, now - 1, 0, __ATOMIC_SEQ_CST,
                                               __ATOMIC_SEQ_CST)) {}
    return now > 0;
}

static void wait_ms(uint32_t ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

/* The length of the file when the last completed sync began, and the time of that. */
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
    if (known && orders->sync_ms) wait_ms(orders->sync_ms);
    if (known && takes(&orders->syncs_fail)) {
        errno = EIO;
        return -1;
    }
    int done = (int)syscall(call, fd);
    if (known && !done) note(&file, &since);
    return done;
}

int fdatasync(int fd) { return sync_by(SYS_fdatasync, fd); }

int fsync(int fd) { return sync_by(SYS_fsync, fd); }

ssize_t write(int fd, const void *bytes, size_t count) {
    struct stat file;
    int asked = orders->write_ms || orders->writes_fail || orders->writes_short;
    if (asked && !fstat(fd, &file) && S_ISREG(file.st_mode)) {
        if (orders->write_ms) wait_ms(orders->write_ms);
        if (count > 1 && takes(&orders->writes_short)) {
            count /= 2;
        } else if (takes(&orders->writes_fail)) {
            errno = EIO;
            return -1;
        }
    }
    return syscall(SYS_write, fd, bytes, count);
}
