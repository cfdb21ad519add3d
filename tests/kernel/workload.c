// Makes the kernel write events of many kinds: files, memory, processes, signals, timers, locks and
// sockets. `workload FOLDER ROUNDS`; it leaves FOLDER empty. What the kernel refuses is an event too.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define SIZE (1 << 20)

// The result is an event, and changes nothing here.
static volatile long ignored;
#define DO(call) (ignored = (long)(call))

static char buffer[SIZE];

static void write_text(const char *path, const char *text) {
    int file = open(path, O_WRONLY);
    if (file >= 0) {
        DO(write(file, text, strlen(text)));
        close(file);
    }
}

static void files(void) {
    struct stat status;
    struct statx more;
    struct statfs system;
    DO(mkdir("d", 0755));
    DO(mkdirat(AT_FDCWD, "e", 0700));
    int file = open("d/file", O_RDWR | O_CREAT, 0644), other = creat("other", 0600);
    for (int i = 0; i < 4; i++)
        DO(write(file, buffer, SIZE));
    struct iovec both[2] = {{buffer, 10}, {buffer + 100, 4096}};
    DO(writev(file, both, 2)), DO(pwritev2(file, both, 2, 0, 0)), DO(preadv2(file, both, 2, 0, 0));
    DO(pwrite(file, buffer, 5000, 1 << 22)), DO(pread(file, buffer, 100, 0)), DO(lseek(file, 7, SEEK_SET));
    DO(readv(file, both, 2)), DO(read(file, buffer, SIZE)), DO(fsync(file)), DO(fdatasync(file));
    DO(sync_file_range(file, 0, 8192, SYNC_FILE_RANGE_WRITE)), DO(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
    DO(readahead(file, 0, 1 << 18)), DO(fallocate(file, 0, 0, 9 << 20)), DO(fallocate(file, 3, 8192, 65536));
    DO(fallocate(file, 0x8, 0, 4096)), DO(fallocate(file, 0x20, 0, 4096)), DO(fallocate(file, 0x10, 4096, 4096));
    DO(lseek(file, 0, SEEK_HOLE)), DO(copy_file_range(file, 0, other, 0, 5000, 0)), DO(sendfile(other, file, 0, 5000));
    DO(ftruncate(file, 12345)), DO(truncate("d/file", 100)), DO(fstat(file, &status)), DO(stat("other", &status));
    DO(lstat("other", &status)), DO(statx(AT_FDCWD, "other", 0, STATX_ALL, &more)), DO(statfs(".", &system));
    DO(fstatfs(file, &system)), DO(access("other", R_OK)), DO(faccessat(AT_FDCWD, "none", W_OK, AT_EACCESS));
    DO(link("other", "hard")), DO(symlink("other", "soft")), DO(readlink("soft", buffer, 100)), DO(rename("hard", "moved"));
    DO(syscall(SYS_renameat2, AT_FDCWD, "moved", AT_FDCWD, "soft", 2)), DO(chmod("other", 0640)), DO(fchmod(file, 0600));
    DO(chown("other", getuid(), -1)), DO(fchown(file, -1, getgid())), DO(utimes("other", NULL)), DO(umask(022));
    DO(setxattr("other", "user.a", "value", 5, 0)), DO(fsetxattr(file, "user.b", buffer, 3000, 0));
    DO(getxattr("other", "user.a", buffer, 10)), DO(listxattr("other", buffer, 100)), DO(removexattr("other", "user.a"));
    DO(mknod("fifo", S_IFIFO | 0600, 0)), DO(chdir("d")), DO(getcwd(buffer, 100)), DO(chdir("..")), DO(flock(file, LOCK_EX));
    DO(dup2(other, 200)), DO(dup3(other, 201, O_CLOEXEC)), DO(close(200)), DO(close(201)), DO(flock(file, LOCK_UN));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    DO(fcntl(file, F_SETLK, &lock)), DO(fcntl(file, F_GETLK, &lock)), lock.l_type = F_UNLCK, DO(fcntl(file, F_SETLK, &lock));
    DO(fcntl(other, F_SETLEASE, F_RDLCK)), DO(fcntl(other, F_SETLEASE, F_UNLCK)), DO(ioctl(file, 0x5401, 0));
    int direct = open("direct", O_RDWR | O_CREAT | O_DIRECT | O_SYNC, 0600);
    void *page = aligned_alloc(4096, 8192);
    memset(page, 1, 8192);
    DO(pwrite(direct, page, 8192, 0)), DO(pread(direct, page, 4096, 4096)), close(direct), free(page);
    int folder = open(".", O_RDONLY | O_DIRECTORY), watch = inotify_init1(IN_NONBLOCK);
    DO(inotify_add_watch(watch, ".", IN_ALL_EVENTS)), DO(syscall(SYS_getdents64, folder, buffer, 4096)), close(folder);
    DO(read(watch, buffer, 100)), DO(close(watch)), close(file), close(other);
    const char *all[] = {"other", "soft", "moved", "fifo", "direct", "d/file"};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        DO(unlink(all[i]));
    DO(rmdir("d")), DO(unlinkat(AT_FDCWD, "e", AT_REMOVEDIR)), DO(unlink("none"));
}

static void pipes(void) {
    int ends[2], more[2], event = eventfd(3, EFD_NONBLOCK), epoll = epoll_create1(0);
    DO(pipe(ends)), DO(pipe2(more, O_NONBLOCK));
    struct iovec one = {buffer, 100};
    DO(write(ends[1], buffer, 100)), DO(tee(ends[0], more[1], 50, 0)), DO(splice(ends[0], 0, more[1], 0, 10, 0));
    DO(vmsplice(ends[1], &one, 1, 0)), DO(fcntl(ends[0], F_SETPIPE_SZ, 1 << 17));
    struct epoll_event wanted = {.events = EPOLLIN}, got[4];
    DO(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &wanted)), DO(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted));
    DO(epoll_wait(epoll, got, 4, 1)), DO(epoll_pwait(epoll, got, 4, 1, NULL)), DO(read(event, buffer, 8));
    struct pollfd polled = {more[0], POLLIN, 0};
    struct timespec moment = {0, 100000};
    struct timeval later = {0, 100};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    DO(poll(&polled, 1, 1)), DO(ppoll(&polled, 1, &moment, NULL)), DO(select(ends[0] + 1, &set, 0, 0, &later));
    DO(pselect(ends[0] + 1, &set, 0, 0, &moment, NULL));
    close(ends[0]), close(ends[1]), close(more[0]), close(more[1]), close(event), close(epoll);
}

static void memory(void) {
    size_t size = 8 << 20;
    char *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char resident[16];
    DO(madvise(at, size, MADV_HUGEPAGE)), memset(at, 1, size), DO(mprotect(at, 8192, PROT_READ));
    DO(madvise(at + 65536, 65536, MADV_DONTNEED)), DO(madvise(at, 65536, MADV_MERGEABLE)), DO(madvise(at, 65536, MADV_COLD));
    DO(madvise(at, 65536, MADV_PAGEOUT)), DO(mincore(at, 65536, resident)), DO(mlock(at, 8192)), DO(munlock(at, 8192));
    DO(msync(at, 8192, MS_SYNC)), at = mremap(at, size, size * 2, MREMAP_MAYMOVE), DO(madvise(at, size, MADV_FREE));
    void *pages[] = {at, at + 4096};
    int nodes[2] = {0, 0}, where[2];
    DO(syscall(SYS_move_pages, 0, 2, pages, nodes, where, 0)), DO(syscall(SYS_get_mempolicy, nodes, 0, 0, 0, 0));
    DO(syscall(SYS_mbind, at, 4096, 0, 0, 0, 0)), munmap(at, size * 2);
    int memory = memfd_create("memory", MFD_ALLOW_SEALING);
    DO(ftruncate(memory, 65536)), at = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0), memset(at, 2, 65536);
    DO(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK)), munmap(at, 65536), close(memory);
    struct iovec local = {buffer, 100}, remote = {buffer + 4096, 100};
    DO(process_vm_readv(getpid(), &local, 1, &remote, 1, 0)), DO(sbrk(65536)), DO(sbrk(-65536));
    DO(syscall(SYS_membarrier, 0, 0, 0)), DO(syscall(SYS_pkey_alloc, 0, 0)), DO(syscall(SYS_userfaultfd, 0));
}

static void on_signal(int number) { ignored = number; }

static void signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t set, old;
    sigemptyset(&set), sigaddset(&set, SIGUSR2), sigaction(SIGUSR1, &action, 0), sigaction(SIGALRM, &action, 0);
    DO(kill(getpid(), SIGUSR1)), DO(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1)), DO(raise(SIGUSR1));
    sigprocmask(SIG_BLOCK, &set, &old), DO(kill(getpid(), SIGUSR2)), DO(sigpending(&old));
    struct timespec moment = {0, 100000};
    int file = signalfd(-1, &set, SFD_NONBLOCK), process = syscall(SYS_pidfd_open, getpid(), 0);
    DO(sigtimedwait(&set, 0, &moment)), DO(read(file, buffer, 128)), DO(close(file));
    DO(syscall(SYS_pidfd_send_signal, process, SIGUSR1, 0, 0)), DO(close(process));
    struct itimerval soon = {.it_value = {0, 300}}, was;
    DO(setitimer(ITIMER_REAL, &soon, &was)), DO(usleep(500)), DO(getitimer(ITIMER_REAL, &was)), DO(alarm(0));
}

static void *thread(void *unused) {
    for (int i = 0; i < 20; i++)
        sched_yield();
    return unused;
}

static void processes(const char *self) {
    pthread_t other;
    struct rusage usage;
    struct rlimit limit;
    struct sched_param parameter = {0};
    cpu_set_t cpus;
    struct timespec moment = {0, 200000};
    pthread_create(&other, 0, thread, 0), pthread_join(other, 0);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            if (i == 0)
                execl(self, self, "exit", (char *)0);
            if (i == 1)
                raise(SIGKILL);
            DO(setsid()), DO(setpgid(0, 0)), DO(nice(1)), DO(write(-1, "", 1)), _exit(3);
        }
        waitpid(child, 0, 0);
    }
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    siginfo_t information;
    DO(waitid(P_PID, child, &information, WEXITED)), DO(getrusage(RUSAGE_SELF, &usage)), DO(getrlimit(RLIMIT_CORE, &limit));
    DO(setrlimit(RLIMIT_CORE, &limit)), DO(sched_getaffinity(0, sizeof cpus, &cpus)), DO(sched_setaffinity(0, sizeof cpus, &cpus));
    DO(sched_getparam(0, &parameter)), DO(sched_getscheduler(0)), DO(sched_setscheduler(0, SCHED_BATCH, &parameter));
    DO(sched_setscheduler(0, SCHED_OTHER, &parameter)), DO(sched_rr_get_interval(0, &moment)), DO(getpriority(PRIO_PROCESS, 0));
    DO(setpriority(PRIO_PROCESS, 0, 0)), DO(prctl(PR_SET_NAME, "worker")), DO(prctl(12345, 1, 2, 3, 4));
    DO(syscall(SYS_ioprio_get, 1, 0)), DO(syscall(SYS_ioprio_set, 1, 0, 0)), DO(unshare(CLONE_FS)), DO(syscall(SYS_capget, 0, 0));
    DO(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0)), DO(syscall(SYS_getcpu, 0, 0, 0)), DO(syscall(SYS_gettid)), DO(getppid());
    write_text("/proc/self/oom_score_adj", "1"), write_text("/proc/self/comm", "workload"), moment = (struct timespec){0, 200000};
    DO(nanosleep(&moment, 0)), DO(clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, 0)), DO(syscall(SYS_time, 0));
    int word = 0, timer = timerfd_create(CLOCK_MONOTONIC, 0);
    DO(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &moment)), DO(syscall(SYS_futex, &word, FUTEX_WAKE, 1));
    struct itimerspec soon = {.it_value = {0, 100000}}, was;
    DO(timerfd_settime(timer, 0, &soon, 0)), DO(read(timer, buffer, 8)), DO(timerfd_gettime(timer, &was)), close(timer);
    timer_t own;
    struct sigevent quiet = {.sigev_notify = SIGEV_NONE};
    if (timer_create(CLOCK_REALTIME, &quiet, &own) == 0)
        DO(timer_settime(own, 0, &soon, 0)), DO(timer_gettime(own, &was)), DO(timer_getoverrun(own)), DO(timer_delete(own));
    int semaphore = semget(IPC_PRIVATE, 1, 0600), queue = msgget(IPC_PRIVATE, 0600), shared = shmget(IPC_PRIVATE, 4096, 0600);
    struct sembuf up = {0, 1, 0};
    DO(semop(semaphore, &up, 1)), DO(semctl(semaphore, 0, IPC_RMID)), *(long *)buffer = 1, DO(msgsnd(queue, buffer, 10, 0));
    DO(msgrcv(queue, buffer, 10, 0, 0)), DO(msgctl(queue, IPC_RMID, 0)), DO(shmdt(shmat(shared, 0, 0))), DO(shmctl(shared, IPC_RMID, 0));
}

static void *serve(void *listening) {
    int connection = accept((int)(long)listening, 0, 0);
    DO(recv(connection, buffer, SIZE, 0)), DO(send(connection, "answer", 6, MSG_NOSIGNAL)), DO(shutdown(connection, SHUT_RDWR));
    return close(connection), (void *)0;
}

static void stream(int family) {
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr *address = family == AF_INET6 ? (void *)&six : (void *)&four;
    socklen_t length = family == AF_INET6 ? sizeof six : sizeof four;
    int listening = socket(family, SOCK_STREAM, 0), client = socket(family, SOCK_STREAM, 0), one = 1;
    pthread_t other;
    DO(setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
    if (bind(listening, address, length) == 0 && listen(listening, 4) == 0 && getsockname(listening, address, &length) == 0) {
        pthread_create(&other, 0, serve, (void *)(long)listening);
        DO(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)), DO(connect(client, address, length));
        DO(send(client, buffer, 60000, MSG_NOSIGNAL)), DO(getpeername(client, address, &length)), DO(recv(client, buffer, 100, 0));
        DO(getsockopt(client, SOL_SOCKET, SO_ERROR, &one, &length)), close(client), pthread_join(other, 0), client = -1;
    }
    close(listening);
    // Nobody listens there any more.
    client = socket(family, SOCK_STREAM, 0), DO(connect(client, address, length)), close(client);
}

static void sockets(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof to;
    int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), pair[2];
    DO(bind(receiver, (void *)&to, length)), DO(getsockname(receiver, (void *)&to, &length));
    struct iovec one = {buffer, 1000};
    struct msghdr message = {.msg_name = &to, .msg_namelen = length, .msg_iov = &one, .msg_iovlen = 1};
    struct mmsghdr several[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    DO(sendto(sender, buffer, 100, 0, (void *)&to, length)), DO(sendmsg(sender, &message, 0)), DO(sendmmsg(sender, several, 2, 0));
    message.msg_name = 0, DO(recv(receiver, buffer, 100, 0)), DO(recvmsg(receiver, &message, 0)), close(receiver);
    DO(sendto(sender, buffer, 100, 0, (void *)&to, length)), DO(recv(sender, buffer, 100, 0)), close(sender);
    DO(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)), DO(write(pair[0], "text", 4)), DO(read(pair[1], buffer, 4)), close(pair[0]);
    DO(write(pair[1], "text", 4)), close(pair[1]), DO(socket(AF_INET, 99, 99)), DO(socket(AF_NETLINK, SOCK_RAW, 0));
    stream(AF_INET), stream(AF_INET6);
}

// System calls that change nothing with these arguments.
static void refused(void) {
    static const int numbers[] = {
        SYS_pread64, SYS_pwrite64, SYS_fchdir, SYS_fchownat, SYS_futimesat, SYS_utimensat, SYS_readlinkat, SYS_linkat,
        SYS_symlinkat, SYS_fchmodat, SYS_mknodat, SYS_openat2, SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_lgetxattr,
        SYS_fgetxattr, SYS_llistxattr, SYS_flistxattr, SYS_lremovexattr, SYS_fremovexattr, SYS_lsetxattr, SYS_inotify_rm_watch,
        SYS_fanotify_mark, SYS_accept, SYS_accept4, SYS_recvmmsg, SYS_getpgid, SYS_getsid, SYS_getresuid, SYS_getresgid,
        SYS_getgroups, SYS_sched_getattr, SYS_sched_setattr, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
        SYS_clock_getres, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_timer_gettime, SYS_mq_open, SYS_mq_unlink,
        SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr, SYS_semtimedop, SYS_io_setup, SYS_io_destroy,
        SYS_io_submit, SYS_io_getevents, SYS_io_cancel, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
        SYS_keyctl, SYS_request_key, SYS_add_key, SYS_perf_event_open, SYS_bpf, SYS_ptrace, SYS_process_vm_writev,
        SYS_process_madvise, SYS_pidfd_getfd, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_tkill, SYS_get_robust_list,
        SYS_set_mempolicy, SYS_migrate_pages, SYS_mlock2, SYS_pkey_free, SYS_pkey_mprotect, SYS_mount,
        SYS_umount2, SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_setns, SYS_chroot,
        SYS_quotactl, SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self, SYS_seccomp, SYS_uname,
        SYS_sysinfo, SYS_times, SYS_getuid, SYS_geteuid, SYS_getegid, SYS_getpgrp, SYS_gettimeofday, SYS_settimeofday,
        SYS_sysfs, SYS_ustat, SYS_lookup_dcookie, SYS_epoll_pwait2, SYS_close_range, SYS_arch_prctl, SYS_modify_ldt, SYS_creat,
        SYS_signalfd, SYS_timerfd_settime, SYS_epoll_create, SYS_rename, SYS_renameat,
        SYS_execveat, SYS_execve, SYS_capset, SYS_rt_sigpending, SYS_sigaltstack, SYS_getdents, SYS_utime, SYS_lchown,
        SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_swapon, SYS_swapoff, SYS_acct, SYS_syslog,
    };
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        DO(syscall(numbers[i], -1L, 0L, 0L, 0L, 0L, 0L));
}

int main(int count, char **arguments) {
    if (count < 3)
        return 0;
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || chdir(arguments[1]) != 0)
        return 1;
    self[length] = 0;
    signal(SIGPIPE, on_signal);
    for (long round = atol(arguments[2]); round > 0; round--)
        files(), pipes(), memory(), signals(), processes(self), sockets(), refused();
    return 0;
}
