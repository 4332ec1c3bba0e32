#pragma once

// A folder for what one process needs for a while.

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/os/environment.h"
#include "core/os/files.h"

namespace quotient::os {

// Where temporary folders are made: $TMPDIR, or else /tmp.
std::string TempPlace(const Environment& environment);

class TempFolder {
 public:
  // Makes an empty folder in `place`, whose name begins with `name` and which no other user can
  // enter. STORAGE_DOWN if that cannot be done.
  static absl::StatusOr<std::unique_ptr<TempFolder>> Create(const std::string& place,
                                                            absl::string_view name);
  // Removes the folders that Create has made with this name and whose processes were killed.
  static void RemoveAbandoned(const std::string& place, absl::string_view name);

  // Removes it and what is in it.
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  TempFolder(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const Fd lock_;  // Holds a lock (flock) on the folder, by which it is seen to be in use.
};

}  // namespace quotient::os
