/*
 * skewrun PID SECONDS: make a running process see a wall clock that is SECONDS (may be negative or a fraction) ahead.
 *
 * Static binaries such as nats-server cannot be given another libc, but they read the clock through the vDSO that the
 * kernel maps into each process. This replaces the vDSO's clock_gettime, in that one process, by code that makes the
 * system call and adds the shift when CLOCK_REALTIME was asked for. Monotonic clocks stay as they are.
 * Running it again sets another shift, 0 the true time. x86-64 Linux, needs the right to trace the process.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static const unsigned char patch[] = {
    0xb8, 0xe4, 0, 0, 0,                      /*     mov eax, 228          clock_gettime(edi, rsi)              */
    0x0f, 0x05,                               /*     syscall                                                    */
    0x85, 0xff,                               /*     test edi, edi         only CLOCK_REALTIME, which is 0      */
    0x75, 0x2c,                               /*     jnz done                                                   */
    0x48, 0x8b, 0x0d, 0x26, 0, 0, 0,          /*     mov rcx, [nanoseconds]                                     */
    0x48, 0x03, 0x4e, 0x08,                   /*     add rcx, [rsi+8]                                           */
    0x48, 0x81, 0xf9, 0x00, 0xca, 0x9a, 0x3b, /*     cmp rcx, 1000000000                                        */
    0x7c, 0x0a,                               /*     jl whole                                                   */
    0x48, 0x81, 0xe9, 0x00, 0xca, 0x9a, 0x3b, /*     sub rcx, 1000000000                                        */
    0x48, 0xff, 0x06,                         /*     inc qword [rsi]                                            */
    0x48, 0x89, 0x4e, 0x08,                   /* whole: mov [rsi+8], rcx                                        */
    0x48, 0x8b, 0x0d, 0x0c, 0, 0, 0,          /*     mov rcx, [seconds]                                         */
    0x48, 0x01, 0x0e,                         /*     add [rsi], rcx                                             */
    0xc3,                                     /* done: ret                                                      */
};
enum { NANOSECONDS_AT = sizeof patch, SECONDS_AT = NANOSECONDS_AT + 8, PATCH_SIZE = SECONDS_AT + 8 };
_Static_assert(NANOSECONDS_AT == 56, "the displacements above count on it");

static void fail(const char *what) {
    fprintf(stderr, "skewrun: %s: %s\n", what, errno ? strerror(errno) : "not found");
    exit(1);
}

/* Address of the vDSO's clock_gettime in the traced process. */
static unsigned long clock_gettime_in(pid_t pid) {
    char path[32], line[512];
    unsigned long start = 0, end = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    if (!maps)
        fail(path);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "[vdso]"))
            sscanf(line, "%lx-%lx", &start, &end);
    fclose(maps);
    if (!start)
        fail("vDSO");

    unsigned char *image = malloc(end - start);
    for (unsigned long at = 0; at < end - start; at += sizeof(long)) {
        errno = 0;
        long word = ptrace(PTRACE_PEEKDATA, pid, start + at, 0);
        if (errno)
            fail("reading the vDSO");
        memcpy(image + at, &word, sizeof word);
    }
    const Elf64_Ehdr *elf = (void *)image;
    const Elf64_Phdr *segment = (void *)(image + elf->e_phoff);
    const Elf64_Dyn *dynamic = NULL;
    unsigned long base = 0;
    for (int i = 0; i < elf->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD)
            base = segment[i].p_vaddr - segment[i].p_offset;
        if (segment[i].p_type == PT_DYNAMIC)
            dynamic = (void *)(image + segment[i].p_offset);
    }
    const Elf64_Sym *symbols = NULL;
    const char *names = NULL;
    for (; dynamic && dynamic->d_tag; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = (void *)(image + dynamic->d_un.d_ptr - base);
        if (dynamic->d_tag == DT_STRTAB)
            names = (char *)(image + dynamic->d_un.d_ptr - base);
    }
    /* The string table follows the symbols in every vDSO so far; it need not, hence the sanity check of the name. */
    for (const Elf64_Sym *symbol = symbols; symbols && names && (char *)(symbol + 1) <= names; symbol++)
        if (!strcmp(names + symbol->st_name, "__vdso_clock_gettime"))
            return start + symbol->st_value - base;
    errno = 0;
    fail("clock_gettime in the vDSO");
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: skewrun PID SECONDS\n");
        return 2;
    }
    pid_t pid = atoi(argv[1]);
    double shift = atof(argv[2]);
    long seconds = (long)floor(shift), nanoseconds = (long)((shift - floor(shift)) * 1e9);

    /* Not PTRACE_ATTACH: its SIGSTOP can outlive the tracer, when another stop comes first, and the process stands still. */
    if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0))
        fail("attaching");
    waitpid(pid, NULL, __WALL);
    unsigned long target = clock_gettime_in(pid);
    unsigned char code[PATCH_SIZE];
    memcpy(code, patch, sizeof patch);
    memcpy(code + NANOSECONDS_AT, &nanoseconds, sizeof nanoseconds);
    memcpy(code + SECONDS_AT, &seconds, sizeof seconds);
    for (size_t at = 0; at < sizeof code; at += sizeof(long)) {
        long word;
        memcpy(&word, code + at, sizeof word);
        if (ptrace(PTRACE_POKEDATA, pid, target + at, word))
            fail("writing the vDSO");
    }
    ptrace(PTRACE_DETACH, pid, 0, 0);
    return 0;
}
