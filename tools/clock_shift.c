/* A wall clock that is SHIFT_S seconds ahead, for every program that this library is preloaded into.
 *
 * Only the time of day is shifted: spans and timeouts are measured by the monotonic clock, which
 * stays as it is. Debian's libfaketime 0.9.10 cannot do that: with its monotonic clock left alone,
 * Python's time.sleep fails, and with it shifted, locks wait for years. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += SHIFT_S;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact))
        return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME_COARSE, &exact))
        return -1;
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}
