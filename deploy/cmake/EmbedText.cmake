# cmake -D input=FILE -D output=FILE.cc -D namespace=NAME -D variable=NAME -P EmbedText.cmake
# Writes a C++ file with the text of a file as `extern const char VARIABLE[]`. The text must not
# contain )text".

file(READ ${input} text)
file(WRITE ${output} "namespace ${namespace} {
extern const char ${variable}[];
const char ${variable}[] = R\"text(${text})text\";
}  // namespace ${namespace}
")
