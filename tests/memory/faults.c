/* A disk that fails, for tests: loaded with LD_PRELOAD, it counts the operations on files below one folder.

   At one of them it can fail with EIO, run full, or begin to lie: fsync then says that all is well and writes nothing
   down. At another one the process ends. What every honest fsync would have left on the disk is kept in a second folder: the bytes of a
   file as data.INODE, the names in a folder as names.INODE. The rest is what a power cut may take. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTHING, FAIL, FAIL_ON, FULL, LIE };

static char watched[4096], kept[4096];
static int count, nth, kind, last, lying, full, inside;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Operations from now on: at the `at`-th one happens `what`. */
void fault_set(const char *folder, const char *shadow, int at, int what) {
    snprintf(watched, sizeof watched, "%s", folder);
    snprintf(kept, sizeof kept, "%s", shadow);
    count = lying = full = 0;
    nth = at;
    kind = what;
}

/* The process ends at the `at`-th operation, whatever happens before. */
void fault_cut(int at) { last = at; }

int fault_count(void) { return count; }

static int below(const char *path) {
    size_t n = strlen(watched);
    return n && !inside && !strncmp(path, watched, n) && (path[n] == '/' || !path[n]);
}

static int ours(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return below(path);
}

/* Count an operation; return whether it fails, with errno set. */
static int fails(void) {
    ++count;
    if (count == last) _exit(77);
    if (kind == LIE && count >= nth) lying = 1;
    if (kind == FULL && count >= nth) full = 1;
    if ((kind == FAIL && count == nth) || (kind == FAIL_ON && count >= nth)) {
        errno = EIO;
        return 1;
    }
    return 0;
}

static void keep_data(int fd, struct stat *st) {
    char name[8192], block[65536], self[64];
    snprintf(name, sizeof name, "%s/data.%lu", kept, (unsigned long)st->st_ino);
    int to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    int from = open(self, O_RDONLY);
    ssize_t n;
    while (from >= 0 && to >= 0 && (n = read(from, block, sizeof block)) > 0)
        if (REAL(write)(to, block, n) != n) abort();
    close(from);
    close(to);
    /* A second name for the file, so that no other file gets its number. */
    snprintf(name, sizeof name, "%s/file.%lu", kept, (unsigned long)st->st_ino);
    REAL(linkat)(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static void keep_names(int fd, struct stat *st) {
    char name[8192], self[64];
    snprintf(name, sizeof name, "%s/names.%lu", kept, (unsigned long)st->st_ino);
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    FILE *to = fopen(name, "w");
    DIR *folder = opendir(self);
    struct dirent *one;
    while (to && folder && (one = readdir(folder)))
        if (strcmp(one->d_name, ".") && strcmp(one->d_name, ".."))
            fprintf(to, "%lu %s\n", (unsigned long)one->d_ino, one->d_name);
    if (folder) closedir(folder);
    if (to) fclose(to);
}

ssize_t write(int fd, const void *data, size_t size) {
    if (ours(fd)) {
        int was = full;
        if (fails()) return -1;
        if (full && (was || size < 2)) {
            errno = ENOSPC;
            return -1;
        }
        if (full) size /= 2;
    }
    return REAL(write)(fd, data, size);
}

int fsync(int fd) {
    if (ours(fd)) {
        if (fails()) return -1;
        if (lying) return 0;
        struct stat st;
        inside = 1;
        if (!fstat(fd, &st)) (S_ISDIR(st.st_mode) ? keep_names : keep_data)(fd, &st);
        inside = 0;
        return 0;
    }
    return REAL(fsync)(fd);
}

#define ON_FD(name, type)                                        \
    int name(int fd, type value) {                               \
        if (ours(fd) && fails()) return -1;                      \
        return REAL(name)(fd, value);                            \
    }
#define ON_PATH(name, type)                                      \
    int name(const char *path, type value) {                     \
        if (below(path) && fails()) return -1;                   \
        return REAL(name)(path, value);                          \
    }
ON_FD(ftruncate, off_t)
ON_FD(ftruncate64, off64_t)
ON_PATH(truncate, off_t)
ON_PATH(truncate64, off64_t)
ON_PATH(rename, const char *)
ON_PATH(link, const char *)

int linkat(int a, const char *path, int b, const char *to, int flags) {
    if (below(path) && fails()) return -1;
    return REAL(linkat)(a, path, b, to, flags);
}
