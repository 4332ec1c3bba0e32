#include "core/kernels/cpu/loops.h"

namespace quotient::kernels::cpu {
namespace {

const Loops& Choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return kLoopsAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kLoopsAvx2;
#endif
  return kLoopsBaseline;
}

}  // namespace

const Loops& BestLoops() {
  static const Loops& best = Choose();
  return best;
}

}  // namespace quotient::kernels::cpu
