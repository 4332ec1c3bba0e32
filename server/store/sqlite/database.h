#pragma once

// A connection to SQLite with its prepared statements. No other file uses SQLite directly.
//
//   db.Run("SELECT id FROM job WHERE state = ?", {"QUEUED"}, [&](const Row& row) {
//     ids.push_back(row.Text(0));
//     return absl::OkStatus();
//   });

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace quotient::store {

// A BLOB parameter, as opposed to TEXT: STRICT tables distinguish them.
struct Bytes {
  absl::string_view value;
};

// A parameter of a statement. Its bytes are borrowed for the duration of the call.
using Parameter = std::variant<int64_t, absl::string_view, Bytes>;

// A row of a result. Valid only within the callback.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t Int(int column) const;
  std::string Text(int column) const;  // For columns of bytes, too.

 private:
  sqlite3_stmt* const statement_;
};

// Lets SQLite make its temporary files in this folder, in the whole process. No other thread may
// use SQLite meanwhile.
void PutTemporaryFiles(const std::string& folder);

// Thread-compatible. Errors are STORAGE_DOWN.
class Database {
 public:
  enum class Mode { kReadWrite, kReadOnly };

  // Opens a database. If it is missing, kReadWrite creates it.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements without parameters or results, separated by semicolons.
  absl::Status Execute(const char* script);

  // Runs one statement. `sql` must be a string literal, because the prepared statement is cached by
  // its address. An error of `on_row` ends the statement and is returned.
  absl::Status Run(const char* sql, std::initializer_list<Parameter> parameters,
                   absl::FunctionRef<absl::Status(const Row&)> on_row);
  absl::Status Run(const char* sql, std::initializer_list<Parameter> parameters);

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}
  absl::Status Failure(int code) const;
  absl::StatusOr<sqlite3_stmt*> Prepared(const char* sql);

  sqlite3* const handle_;
  std::map<const char*, sqlite3_stmt*> statements_;
};

}  // namespace quotient::store
