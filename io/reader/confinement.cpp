// rlimits for memory, Landlock for files, seccomp for everything else that a process may ask of the kernel.
#include "io/reader/confinement.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "io/reader/sanitizer.hpp"
#include "recon/error.hpp"

namespace fhd::io::guard {
namespace {

constexpr bool limits_addresses = FHD_HAS_SANITIZER == 0;

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
constexpr bool knows_architecture = true;
#elif defined(__aarch64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
constexpr bool knows_architecture = true;
#else
constexpr std::uint32_t architecture = 0;
constexpr bool knows_architecture = false;
#endif

// --- Memory

/// Of addresses in use.
std::uint64_t address_bytes() {
  std::uint64_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages))
    throw Error("reading in a process of its own: memory", "its size in /proc/self/statm", "none",
                "--trust-input reads without limits");
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void refuse(const char* what, const char* expected, int error) {
  throw Error(std::string("reading in a process of its own: ") + what, expected, std::strerror(error),
              "--trust-input reads files that you trust without one");
}

void limit(decltype(RLIMIT_AS) resource, std::uint64_t most, const char* name) {
  rlimit old{};
  getrlimit(resource, &old);
  const auto value = std::min<rlim_t>(most, old.rlim_max);
  const rlimit wanted{value, value};
  if (setrlimit(resource, &wanted) != 0) refuse(name, "a limit", errno);
}

void limit_memory(const Confinement& confinement) {
  // One heap for all threads: each of its own reserves 64 MiB of addresses.
  mallopt(M_ARENA_MAX, 1);
  constexpr std::uint64_t stack = std::uint64_t{9} << 20;
  if constexpr (limits_addresses)
    limit(
        RLIMIT_AS,
        address_bytes() + confinement.memory_bytes + static_cast<std::uint64_t>(confinement.threads) * stack,
        "memory");
  limit(RLIMIT_CORE, 0, "core files");
  // Where memory runs out all the same, this process goes first.
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  // A copy of a scan is no larger than what reading it may take.
  limit(RLIMIT_FSIZE, confinement.memory_bytes, "written files");
}

// --- Files

int landlock_version() {
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

/// All that this version can forbid.
std::uint64_t landlock_rights(int version) {
  constexpr std::uint64_t refer = 1ULL << 13, truncate = 1ULL << 14, device_control = 1ULL << 15;
  std::uint64_t rights = (1ULL << 13) - 1;
  if (version >= 2) rights |= refer;
  if (version >= 3) rights |= truncate;
  if (version >= 5) rights |= device_control;
  return rights;
}

void allow_beneath(int rules, const std::string& path, int open_flags, std::uint64_t rights) {
  const int file = ::open(path.c_str(), open_flags | O_CLOEXEC, 0666);
  if (file < 0) return;  // the reader will say so
  struct stat what {};
  fstat(file, &what);
  constexpr std::uint64_t of_files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                     LANDLOCK_ACCESS_FS_READ_FILE | (1ULL << 14);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(what.st_mode) ? rights : rights & of_files;
  rule.parent_fd = file;
  syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  ::close(file);
}

void close_other_files(const Confinement& confinement) {
  constexpr auto other_files = "other files";
  const int version = landlock_version();
  if (version < 1) return;
  const auto all = landlock_rights(version);
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = all;
  const int rules = static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (rules < 0) refuse(other_files, "rules of the kernel (Landlock)", errno);
  constexpr std::uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
                          writing =
                              LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | (1ULL << 14);
  for (const auto& path : confinement.inputs) allow_beneath(rules, path, O_PATH, reading & all);
  for (const auto& path : confinement.outputs)
    allow_beneath(rules, path, O_RDWR | O_CREAT | O_NOFOLLOW, writing & all);
  const bool holds = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  const int error = errno;
  ::close(rules);
  if (!holds) refuse(other_files, "rules of the kernel (Landlock)", error);
}

// --- Calls of the kernel

constexpr int allowed_calls[] = {
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_futex,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_close,
    SYS_readv,
    SYS_preadv,
    SYS_writev,
    SYS_pwrite64,
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_flock,
    SYS_dup,
    SYS_dup3,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_fstatfs,
    SYS_statfs,
    SYS_getdents64,
    SYS_getcwd,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_ppoll,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sendto,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getrandom,
    SYS_getrusage,
    SYS_gettimeofday,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_sysinfo,
    SYS_uname,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
    SYS_getcpu,
    SYS_fadvise64,
    SYS_readahead,
#if defined(__x86_64__)
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_poll,
    SYS_dup2,
    SYS_getdents,
    SYS_time,
#endif
};

/// A program for the kernel's own machine, which looks at every call.
class CallFilter {
 public:
  CallFilter() {
    load(offsetof(seccomp_data, arch));
    unless_equal(architecture, refusal(EPERM));
    load(offsetof(seccomp_data, nr));
  }
  void allow(int call) { unless_differs(static_cast<std::uint32_t>(call), SECCOMP_RET_ALLOW); }
  void refuse(int call, int error) { unless_differs(static_cast<std::uint32_t>(call), refusal(error)); }
  /// Where (argument & mask) == value.
  void allow_where(int call, int argument, std::uint32_t mask, std::uint32_t value) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 5));
    load(low_half_of(argument));
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, refusal(EPERM)));
  }
  /// Where the argument is one of these.
  void allow_one_of(int call, int argument, std::initializer_list<std::uint32_t> values) {
    const auto behind = static_cast<std::uint8_t>(2 * values.size() + 2);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, behind));
    load(low_half_of(argument));
    for (const auto value : values) unless_differs(value, SECCOMP_RET_ALLOW);
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, refusal(EPERM)));
  }
  /// Everything else is refused, as if the caller had no right to it. Whether the kernel took it.
  bool install() {
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, refusal(EPERM)));
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  static std::uint32_t refusal(int error) {
    return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
  }
  static std::size_t low_half_of(int argument) {  // both machines are little-endian
    return offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(argument);
  }
  void load(std::size_t offset) {
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void unless_equal(std::uint32_t value, std::uint32_t answer) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, answer));
  }
  void unless_differs(std::uint32_t value, std::uint32_t answer) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, answer));
  }
  std::vector<sock_filter> code_;
};

bool has_seccomp() {
  // A null pointer is a bad address to a kernel that knows filters, and a bad request to others.
  return knows_architecture && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT;
}

void close_other_calls(bool writes) {
  if (!has_seccomp()) return;
  CallFilter filter;
  for (const int call : allowed_calls) filter.allow(call);
  // Memory with code in it is none of a reader's.
  filter.allow_where(SYS_mmap, 2, PROT_EXEC, 0);
  filter.allow_where(SYS_mprotect, 2, PROT_EXEC, 0);
  // Which files: Landlock, where there is one.
  filter.allow_where(SYS_openat, 2, writes ? 0 : O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
  // No owner of a descriptor, to whom the kernel would send a signal.
  filter.allow_one_of(SYS_fcntl, 1,
                      {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK,
                       F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GET_SEALS, F_ADD_SEALS});
  filter.allow_where(SYS_tgkill, 0, ~0u, static_cast<std::uint32_t>(getpid()));  // abort
  filter.allow_where(SYS_clone, 0, CLONE_THREAD, CLONE_THREAD);
  filter.refuse(SYS_clone3, ENOSYS);  // its flags are out of sight: glibc asks for clone then
  filter.allow_where(SYS_prctl, 0, ~0u, PR_SET_NAME);
  filter.allow_where(SYS_prlimit64, 2, ~0u, 0);  // to ask
  if (!filter.install()) refuse("calls of the kernel", "a filter (seccomp)", errno);
}

}  // namespace

void confine(const Confinement& confinement) {
  // Asked of the system before it can no longer be asked.
  static_cast<void>(sysconf(_SC_PHYS_PAGES));
  static_cast<void>(sysconf(_SC_NPROCESSORS_ONLN));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) refuse("rights", "none that grow", errno);
  limit_memory(confinement);  // asks in /proc, which is out of reach afterwards
  close_other_files(confinement);
  close_other_calls(!confinement.outputs.empty());
}

std::string text_of_confinement() {
  std::string text = limits_addresses ? "memory and time are limited"
                                      : "time is limited, memory is not (this is a build with a sanitizer)";
  text += landlock_version() >= 1
              ? "; other files are out of reach (Landlock)"
              : "; this kernel has no Landlock: other files may be read, and by 'fhd convert' written";
  text += has_seccomp() ? "; other calls of the kernel are refused (seccomp)"
                        : "; this kernel lets nobody filter calls (seccomp)";
  return text;
}

}  // namespace fhd::io::guard
