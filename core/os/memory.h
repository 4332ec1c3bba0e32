#pragma once

// How much memory there is to plan with, and how much is taken.

#include <cstdint>

namespace quotient::os {

// Bytes of the machine, or of the control group that the process runs in if that has less. Linux
// hands out more than it has and ends who then uses it: what would take most of this must not even
// be tried. It is divided by the number of jobs that run at once. Thread-safe; asked once.
int64_t MemoryBytes();
// Makes MemoryBytes a part of so many equal ones, because so many jobs plan with it at once. To be
// called before anybody does.
void DivideMemory(int parts);
// The share of it that a job may plan with. The rest is for other processes and for what no plan
// foresees.
inline constexpr double kShareToUse = 0.75;

// Bytes of memory that this process takes now. 0 if the system does not tell. Thread-safe.
int64_t ResidentBytes();

// Gives memory that was freed back to the system, of which the allocator keeps much. Thread-safe.
void ReturnFreedMemory();

}  // namespace quotient::os
