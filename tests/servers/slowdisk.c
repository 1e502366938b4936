/*
 * slowdisk MILLISECONDS PROGRAM [ARGUMENT...]: run a program for which every fsync and fdatasync takes that much longer.
 *
 * Static binaries such as nats-server cannot be given another libc. A seccomp filter hands these two system calls to a
 * supervisor, which lets each go on after the delay; the kernel then carries it out. The program keeps the process id of
 * slowdisk, and the supervisor ends with it. Linux 5.5 or newer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { MOST = 4096 };
static struct {
    __u64 id;
    long due_ms;
} waiting[MOST];

static void fail(const char *what) {
    fprintf(stderr, "slowdisk: %s: %s\n", what, strerror(errno));
    exit(1);
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int install(void) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        fail("no_new_privs");
    /* Without the second flag a signal to the waiting thread makes it begin again, as kernels before 5.19 do. */
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (listener < 0 && errno == EINVAL)
        listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0)
        fail("seccomp");
    return listener;
}

/* All calls take the same time, so they are due in the order in which they came. */
static void supervise(int listener, long delay_ms) {
    unsigned first = 0, next = 0;
    for (;;) {
        long left = first == next ? -1 : waiting[first % MOST].due_ms - now_ms();
        struct pollfd ready = {.fd = listener, .events = next - first < MOST ? POLLIN : 0};
        if (first == next || left > 0)
            poll(&ready, 1, left);
        while (first != next && waiting[first % MOST].due_ms <= now_ms()) {
            struct seccomp_notif_resp go_on = {.id = waiting[first++ % MOST].id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
            ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on); /* fails where the thread is gone: nothing to do */
        }
        if (ready.revents & POLLIN) {
            struct seccomp_notif call;
            memset(&call, 0, sizeof call);
            if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0) {
                waiting[next % MOST].id = call.id;
                waiting[next++ % MOST].due_ms = now_ms() + delay_ms;
            }
        }
    }
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: slowdisk MILLISECONDS PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    int listener = install();
    pid_t program = getpid();
    pid_t supervisor = fork();
    if (supervisor < 0)
        fail("fork");
    if (supervisor == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != program)
            return 0;
        supervise(listener, atol(arguments[1]));
    }
    close(listener);
    execv(arguments[2], arguments + 2);
    fail(arguments[2]);
}
