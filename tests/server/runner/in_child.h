#pragma once

// Runs what cannot be taken back, or may be refused, in a process of its own.

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace quotient::runner {

// Returns what `body` returns, which is a few bits, in a process of its own; -1 if that did not end
// by itself.
inline int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What `body` returns if `enter` could be done before; 77 if not.
inline int InChildAfter(const std::function<bool()>& enter, const std::function<int()>& body) {
  return InChild([&] { return enter() ? body() : 77; });
}

// 1 if the call failed for want of permission.
inline int Refused(long result) {
  return result < 0 && (errno == EPERM || errno == EACCES || errno == EXDEV) ? 1 : 0;
}

}  // namespace quotient::runner
