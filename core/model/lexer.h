#pragma once

// Tokens of the text form of graphs: names, numbers, strings and single punctuation characters,
// with their positions for error messages.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::model {

struct Token {
  enum class Kind { kEnd, kName, kNumber, kString, kPunctuation };
  Kind kind = Kind::kEnd;
  std::string text;  // Strings are unescaped.
  size_t offset = 0;
};

// Reads tokens one at a time, with one token of lookahead. Borrows the text.
class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  // The next token. Fails for an unterminated string or an unexpected byte.
  absl::StatusOr<Token> Next();
  absl::StatusOr<Token> Peek();

  // Everything up to the ']' that matches a '[' just read. Consumes the ']'.
  absl::StatusOr<absl::string_view> RestOfBrackets();

  // MODEL_MALFORMED with the line and column of `offset`.
  absl::Status Error(size_t offset, absl::string_view message) const;
  size_t offset() const { return offset_; }

 private:
  void SkipBlanks();
  absl::StatusOr<Token> ReadString();

  absl::string_view text_;
  size_t offset_ = 0;
};

}  // namespace quotient::model
