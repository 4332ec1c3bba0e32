#define QUOTIENT_LOOPS kLoopsBaseline
#define QUOTIENT_ISA "baseline"
#include "core/kernels/cpu/loops_body.h"
