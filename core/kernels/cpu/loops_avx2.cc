#define QUOTIENT_LOOPS kLoopsAvx2
#define QUOTIENT_ISA "avx2"
#include "core/kernels/cpu/loops_body.h"
