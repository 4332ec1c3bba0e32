#pragma once

// How many threads of the machine a server may use, for what.

namespace quotient {

// Threads that the control group lets run all of the time, if there are fewer than processors; else
// 0. A thread more would be stopped in each period, and what it measures with it.
int ThreadsInQuota();

// How many uploads may hash what came at the same time. Half of the cores are for all else.
int HashingThreads();

}  // namespace quotient
