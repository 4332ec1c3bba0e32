#pragma once

// A read error of the disk under a mapped file is a signal (SIGBUS) in the thread that touches the
// bytes, and would end the process. In a watched range it gives zeros instead, and is remembered.
// Whoever used the bytes has to ask for that, and has computed nonsense if it happened.
//
//   const WatchedRange range(file->bytes());
//   ... read file->bytes() ...
//   if (range.failed()) return Damaged();

#include <cstddef>

#include "absl/strings/string_view.h"

namespace quotient::store {

class WatchedRange {
 public:
  // The bytes of a mapped file, from the beginning of a page on, which stays mapped as long as this
  // lives. The first one installs a handler of SIGBUS, which passes on what is not in a watched
  // range. Beyond 16384 ranges at once, further ones are not watched.
  explicit WatchedRange(absl::string_view bytes);
  ~WatchedRange();
  WatchedRange(const WatchedRange&) = delete;
  WatchedRange& operator=(const WatchedRange&) = delete;

  // Whether bytes were read that the disk could not read.
  bool failed() const;

 private:
  size_t slot_;
};

}  // namespace quotient::store
