#pragma once

// What a program does first that runs as a child of another one of ours (child_process.h).

namespace quotient::os {

// Ignores the signals that a terminal and a supervisor send to all processes of a group. The parent
// decides what the child still has to do; it may need answers for that.
void IgnoreRequestsToEnd();

// The same for a program that ends by SIGTERM when it chooses to: blocks them for all threads that
// there will be. To be called before there are any.
void BlockRequestsToEnd();
// Ends this process as SIGTERM does, with what handlers of it do.
[[noreturn]] void EndAsRequested();

// Kills this process when the thread that has started it ends, and so its process. A stopped
// process sees nothing else of that.
void EndWithStarter();

// From now on this process has cores only as far as others leave them (a niceness of 10).
void YieldToOthers();

// Where the machine runs out of memory, this process and its children end before others, the sooner
// the greater `score` is (1 to 1000, as in oom_score_adj). They leave no core files, in which what
// users have sent would lie about.
void EndBeforeOthers(int score);

}  // namespace quotient::os
