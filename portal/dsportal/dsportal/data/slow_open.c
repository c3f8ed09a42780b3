/* Lets each opening of a file below a folder take longer, as on storage at the end of a network.
 *
 * Loaded with LD_PRELOAD. SLOW_OPEN_DIR is the folder, SLOW_OPEN_US how many microseconds.
 * Only files that are opened for reading are delayed, and each as long: readers wait side by side.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void wait_for(const char *path, int flags)
{
    const char *folder = getenv("SLOW_OPEN_DIR");
    const char *microseconds = getenv("SLOW_OPEN_US");
    if (!folder || !microseconds || !path || (flags & O_ACCMODE) != O_RDONLY)
        return;
    if (flags & (O_DIRECTORY | O_PATH) || strncmp(path, folder, strlen(folder)))
        return;
    long left_us = atol(microseconds);
    struct timespec wait = {left_us / 1000000, left_us % 1000000 * 1000};
    while (nanosleep(&wait, &wait))
        ;
}

static int mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
}

#define OPEN(name)                                                     \
    int name(const char *path, int flags, ...)                         \
    {                                                                  \
        static int (*next)(const char *, int, ...);                    \
        va_list arguments;                                             \
        va_start(arguments, flags);                                    \
        int mode = mode_of(flags, arguments);                          \
        va_end(arguments);                                             \
        if (!next)                                                     \
            next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
        wait_for(path, flags);                                         \
        return next(path, flags, mode);                                \
    }

#define FOPEN(name)                                                    \
    FILE *name(const char *path, const char *mode)                     \
    {                                                                  \
        static FILE *(*next)(const char *, const char *);              \
        if (!next)                                                     \
            next = (FILE * (*)(const char *, const char *))dlsym(RTLD_NEXT, #name); \
        wait_for(path, *mode == 'r' ? O_RDONLY : O_WRONLY);            \
        return next(path, mode);                                       \
    }

OPEN(open)
OPEN(open64)
FOPEN(fopen)
FOPEN(fopen64)
