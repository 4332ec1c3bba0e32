#include "core/model/lexer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"

namespace quotient::model {
namespace {

bool IsNameStart(char c) { return absl::ascii_isalpha(c) || c == '_' || c == '/'; }
bool IsNameByte(char c) { return IsNameStart(c) || absl::ascii_isdigit(c) || c == '.' || c == '-'; }
bool IsNumberStart(char c) { return absl::ascii_isdigit(c) || c == '-' || c == '+' || c == '.'; }
bool IsNumberByte(char c) { return IsNumberStart(c) || absl::ascii_isalpha(c); }

}  // namespace

void Lexer::SkipBlanks() {
  while (offset_ < text_.size()) {
    if (absl::ascii_isspace(text_[offset_])) {
      ++offset_;
    } else if (text_[offset_] == '#') {
      offset_ = std::min(text_.find('\n', offset_), text_.size());
    } else {
      return;
    }
  }
}

absl::StatusOr<Token> Lexer::ReadString() {
  const size_t begin = offset_++;
  size_t end = offset_;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) return Error(begin, "unterminated string");
  Token token{Token::Kind::kString, "", begin};
  if (!absl::CUnescape(text_.substr(offset_, end - offset_), &token.text)) {
    return Error(begin, "bad escape in string");
  }
  offset_ = end + 1;
  return token;
}

absl::StatusOr<Token> Lexer::Next() {
  SkipBlanks();
  if (offset_ == text_.size()) return Token{Token::Kind::kEnd, "", offset_};
  const size_t begin = offset_;
  const char c = text_[begin];
  if (c == '"') return ReadString();
  const auto read_while = [&](auto accept, Token::Kind kind) {
    while (offset_ < text_.size() && accept(text_[offset_])) ++offset_;
    return Token{kind, std::string(text_.substr(begin, offset_ - begin)), begin};
  };
  if (IsNameStart(c)) return read_while(IsNameByte, Token::Kind::kName);
  if (IsNumberStart(c)) return read_while(IsNumberByte, Token::Kind::kNumber);
  if (absl::ascii_ispunct(c)) {
    ++offset_;
    return Token{Token::Kind::kPunctuation, std::string(1, c), begin};
  }
  return Error(begin, "unexpected byte");
}

absl::StatusOr<Token> Lexer::Peek() {
  const size_t begin = offset_;
  absl::StatusOr<Token> token = Next();
  offset_ = begin;
  return token;
}

absl::StatusOr<absl::string_view> Lexer::RestOfBrackets() {
  const size_t end = text_.find(']', offset_);
  if (end == absl::string_view::npos) return Error(offset_, "missing ']'");
  const absl::string_view inside = text_.substr(offset_, end - offset_);
  offset_ = end + 1;
  return inside;
}

absl::Status Lexer::Error(size_t offset, absl::string_view message) const {
  const absl::string_view before = text_.substr(0, std::min(offset, text_.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column =
      newline == absl::string_view::npos ? before.size() + 1 : before.size() - newline;
  return MakeError(Reason::kModelMalformed,
                   absl::StrCat("line ", line, ", column ", column, ": ", message));
}

}  // namespace quotient::model
