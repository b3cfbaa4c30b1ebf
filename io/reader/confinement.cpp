// Resource limits for memory, Landlock for files, seccomp for other system calls.
#include "io/reader/confinement.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "recon/domain/option_words.hpp"
#include "recon/error.hpp"

namespace fhd::io::reader {
namespace {

constexpr bool limits_addresses = FHD_HAS_SANITIZER == 0;

// --- Memory

/// Returns how many bytes of addresses are in use.
std::uint64_t address_bytes() {
  std::uint64_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages))
    throw Error("reading in a process of its own: memory", "its size in /proc/self/statm", "none",
                flag_words("trust-input") + " reads without limits");
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void refuse(const char* what, const char* expected, int error) {
  throw Error(std::string("reading in a process of its own: ") + what, expected, std::strerror(error),
              flag_words("trust-input") + " reads files that you trust without one");
}

void limit(decltype(RLIMIT_AS) resource, std::uint64_t most, const char* name) {
  rlimit old{};
  getrlimit(resource, &old);
  const auto value = std::min<rlim_t>(most, old.rlim_max);
  const rlimit wanted{value, value};
  if (setrlimit(resource, &wanted) != 0) refuse(name, "a limit", errno);
}

void limit_memory(const Confinement& confinement) {
  // Threads share one heap: a heap of their own would reserve 64 MiB of addresses each.
  mallopt(M_ARENA_MAX, 1);
  constexpr std::uint64_t stack = std::uint64_t{9} << 20;
  if constexpr (limits_addresses)
    limit(
        RLIMIT_AS,
        address_bytes() + confinement.memory_bytes + static_cast<std::uint64_t>(confinement.threads) * stack,
        "memory");
  limit(RLIMIT_CORE, 0, "core files");
  // If memory runs out all the same, the kernel ends this process first.
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  // A copy of a scan is no larger than what reading it may take.
  limit(RLIMIT_FSIZE, confinement.memory_bytes, "written files");
}

// --- Files

int landlock_version() {
  return static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

/// Returns all rights that this version can forbid.
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

// --- System calls

constexpr auto allowed_calls =
    "access brk clock_getres clock_gettime clock_nanosleep close dup dup2 dup3 exit exit_group "
    "faccessat faccessat2 fadvise64 fallocate fdatasync flock fstat fstatfs fsync ftruncate futex "
    "getcpu getcwd getdents getdents64 getegid geteuid getgid getpid getrandom getrusage gettid "
    "gettimeofday getuid lseek lstat madvise mremap munmap nanosleep newfstatat poll ppoll pread64 "
    "preadv pwrite64 read readahead readlink readlinkat readv recvfrom recvmsg restart_syscall rseq "
    "rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield sendto set_robust_list "
    "sigaltstack stat statfs statx sysinfo time uname write writev";

/// Commands of fcntl that are allowed. F_SETOWN is not: the kernel would send signals to the owner of a descriptor.
constexpr std::uint64_t fcntl_commands[] = {
    F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,     F_SETFD,     F_GETFL,      F_SETFL,     F_GETLK,
    F_SETLK, F_SETLKW,        F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GET_SEALS, F_ADD_SEALS};

/// Returns whether the kernel filters calls: then a null pointer is a bad address to it, and else a bad request.
bool has_seccomp() { return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT; }

/// Has all other calls fail with EPERM, as if the caller had no right to them.
void close_other_calls(bool writes) {
  if (!has_seccomp()) return;
  const auto refuse_filter = [](int error) { refuse("system calls", "a filter (seccomp)", -error); };
  const std::unique_ptr<void, void (*)(void*)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  if (!filter) refuse_filter(-ENOMEM);
  // A call that this kind of machine does not have needs no rule.
  const auto add = [&](std::uint32_t action, const char* name, std::vector<scmp_arg_cmp> conditions = {}) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call < 0) return;
    const int error = seccomp_rule_add_array(filter.get(), action, call,
                                             static_cast<unsigned>(conditions.size()), conditions.data());
    if (error != 0) refuse_filter(error);
  };
  const auto masked = [](unsigned argument, std::uint64_t mask, std::uint64_t value) {
    return std::vector<scmp_arg_cmp>{{argument, SCMP_CMP_MASKED_EQ, mask, value}};
  };
  constexpr std::uint64_t all = 0xffffffff;
  std::istringstream calls(allowed_calls);
  for (std::string call; calls >> call;) add(SCMP_ACT_ALLOW, call.c_str());
  for (const char* call : {"mmap", "mprotect"}) add(SCMP_ACT_ALLOW, call, masked(2, PROT_EXEC, 0));
  // Landlock says which files may be opened.
  add(SCMP_ACT_ALLOW, "openat",
      writes ? std::vector<scmp_arg_cmp>() : masked(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
  for (const auto command : fcntl_commands) add(SCMP_ACT_ALLOW, "fcntl", masked(1, all, command));
  add(SCMP_ACT_ALLOW, "tgkill", masked(0, all, static_cast<std::uint64_t>(getpid())));  // abort
  add(SCMP_ACT_ALLOW, "clone", masked(0, CLONE_THREAD, CLONE_THREAD));
  add(SCMP_ACT_ERRNO(ENOSYS), "clone3");  // a filter cannot see its flags; glibc calls clone then
  add(SCMP_ACT_ALLOW, "prctl", masked(0, all, PR_SET_NAME));
  add(SCMP_ACT_ALLOW, "prlimit64", masked(2, ~std::uint64_t{0}, 0));  // to ask
  if (const int error = seccomp_load(filter.get()); error != 0) refuse_filter(error);
}

}  // namespace

void confine(const Confinement& confinement) {
  // glibc keeps these answers; later it can no longer ask.
  static_cast<void>(sysconf(_SC_PHYS_PAGES));
  static_cast<void>(sysconf(_SC_NPROCESSORS_ONLN));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) refuse("rights", "none that grow", errno);
  limit_memory(confinement);  // reads /proc, which is out of reach afterwards
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

}  // namespace fhd::io::reader
