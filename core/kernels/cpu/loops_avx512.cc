#define QUOTIENT_LOOPS kLoopsAvx512
#define QUOTIENT_ISA "avx512"
#include "core/kernels/cpu/loops_body.h"
