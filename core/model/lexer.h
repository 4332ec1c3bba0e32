#pragma once

// Tokens of the graph text form: names, numbers, strings and single punctuation characters, with
// their places for error messages.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::model {

struct Token {
  enum class Kind { kEnd, kName, kNumber, kString, kPunctuation };
  Kind kind = Kind::kEnd;
  std::string text;  // strings unescaped
  size_t offset = 0;
};

// Reads tokens one at a time, with one token of lookahead. Borrows the text.
class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  // The next token; an unterminated string or a stray byte is an error.
  absl::StatusOr<Token> Next();
  absl::StatusOr<Token> Peek();

  // Everything up to the matching ']' of a '[' that was just read, the ']' consumed.
  absl::StatusOr<absl::string_view> RestOfBrackets();

  // MODEL_MALFORMED with line and column of `offset`.
  absl::Status Error(size_t offset, absl::string_view message) const;
  size_t offset() const { return offset_; }

 private:
  void SkipBlanks();
  absl::StatusOr<Token> ReadString();

  absl::string_view text_;
  size_t offset_ = 0;
};

}  // namespace quotient::model
