#include "server/store/sqlite/database.h"

#include <sqlite3.h>

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::store {
namespace {

// Only another program, such as a backup tool, can make a write wait, since all writes of this
// process use one connection.
constexpr int kBusyTimeoutMs = 5000;

int Bind(sqlite3_stmt* statement, int index, const Parameter& parameter) {
  if (const auto* number = std::get_if<int64_t>(&parameter)) {
    return sqlite3_bind_int64(statement, index, *number);
  }
  if (const auto* text = std::get_if<absl::string_view>(&parameter)) {
    return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC,
                               SQLITE_UTF8);
  }
  const absl::string_view bytes = std::get<Bytes>(parameter).value;
  return sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC);
}

}  // namespace

// What the deprecated PRAGMA temp_store_directory does, too. The environment would be that of all
// children as well.
void PutTemporaryFiles(const std::string& folder) {
  sqlite3_free(sqlite3_temp_directory);
  sqlite3_temp_directory = sqlite3_mprintf("%s", folder.c_str());
}

int64_t Row::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Row::Text(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return std::string(data == nullptr ? "" : data,
                     static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, Mode mode) {
  const int flags =
      mode == Mode::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Database> database(new Database(handle));
  if (code != SQLITE_OK) return database->Failure(code);
  // SQLite opens for reading what it cannot open for writing, if only for a moment, and the process
  // would then store nothing for as long as it lives.
  if (mode == Mode::kReadWrite && sqlite3_db_readonly(handle, "main") != 0) {
    return database->Failure(SQLITE_READONLY);
  }
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

absl::Status Database::Failure(int code) const {
  return MakeError(Reason::kStorageDown,
                   absl::StrCat("database: ", sqlite3_errstr(code), " (",
                                handle_ == nullptr ? "no memory" : sqlite3_errmsg(handle_), ")"));
}

absl::Status Database::Execute(const char* script) {
  const int code = sqlite3_exec(handle_, script, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Failure(code);
}

absl::StatusOr<sqlite3_stmt*> Database::Prepared(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr) {
    const int code =
        sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return Failure(code);
  }
  return statement;
}

absl::Status Database::Run(const char* sql, std::initializer_list<Parameter> parameters,
                           absl::FunctionRef<absl::Status(const Row&)> on_row) {
  QUOTIENT_ASSIGN_OR_RETURN(sqlite3_stmt* const statement, Prepared(sql));
  const auto reset = absl::MakeCleanup([statement] {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  });
  int index = 0;
  for (const Parameter& parameter : parameters) {
    const int code = Bind(statement, ++index, parameter);
    if (code != SQLITE_OK) return Failure(code);
  }
  for (;;) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return absl::OkStatus();
    if (code != SQLITE_ROW) return Failure(code);
    QUOTIENT_RETURN_IF_ERROR(on_row(Row(statement)));
  }
}

absl::Status Database::Run(const char* sql, std::initializer_list<Parameter> parameters) {
  return Run(sql, parameters, [](const Row&) { return absl::OkStatus(); });
}

}  // namespace quotient::store
