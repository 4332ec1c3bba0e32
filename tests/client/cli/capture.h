#pragma once

#include <stdio.h>
#include <stdlib.h>

#include <string>

namespace quotient::cli {

// What is written to a file in memory.
class Capture {
 public:
  Capture() : file_(open_memstream(&text_, &size_)) {}
  ~Capture() {
    fclose(file_);
    free(text_);
  }
  FILE* file() { return file_; }
  std::string text() {
    fflush(file_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  FILE* file_;
};

}  // namespace quotient::cli
