#pragma once
// FHD_HAS_SANITIZER says that this is a build with a sanitizer of addresses or threads (GCC or clang), which reserves
// terabytes of addresses and reports on standard error.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FHD_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FHD_HAS_SANITIZER 1
#endif
#endif
#ifndef FHD_HAS_SANITIZER
#define FHD_HAS_SANITIZER 0
#endif
