#pragma once
// Functions compiled for several instruction sets, of which the processor at hand takes the best.

#define FHD_FOR_PROCESSORS __attribute__((target_clones("avx512f", "avx2", "default")))
