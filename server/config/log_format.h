#pragma once

// Logs in JSON, one object per line, for programs that collect them: time (RFC 3339, UTC), level
// and message, and the job and the trace that the message is about, where that is known.
//
//   {"time":"2026-11-28T12:00:00.123Z","level":"info","job":"0f3c","trace":"4bf9...","message":"..."}

#include <string>

#include "absl/strings/string_view.h"

namespace quotient::config {

// What messages are about. Empty fields are left out.
struct LogSubject {
  std::string job;    // The job's id.
  std::string trace;  // The trace of whoever submitted it: 32 hexadecimal digits.
};

// While it lives, what its thread logs is about the subject. They may nest.
class LogScope {
 public:
  explicit LogScope(LogSubject subject);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  const LogSubject* const outer_;
  const LogSubject subject_;
};

// Sets what the messages of all threads are about that have no scope. For a process that serves one
// job; to be called before it has other threads.
void SetLogSubject(LogSubject subject);

// Makes Log() write JSON to standard error if `format` is "json"; else it stays with text. To be
// called before there are other threads.
void SetLogFormat(absl::string_view format);

// The trace id of a W3C traceparent header ("00-<trace>-<span>-<flags>"); empty if it is none.
std::string TraceIdOf(absl::string_view traceparent);

}  // namespace quotient::config
