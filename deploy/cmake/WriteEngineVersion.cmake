# cmake -D root=FOLDER -D sources=LIST -D version=X.Y.Z -D template=FILE -D output=FILE -P ...
# Fills in the version of the project and a digest of the sources, whose names are relative to root.
# Results are cached under the engine's version. The digest makes sure that nobody has to remember
# to change it with everything that may change a result.

set(text "")
foreach(source ${sources})
  file(SHA256 ${root}/${source} source_digest)
  string(APPEND text "${source} ${source_digest}\n")
endforeach()
string(SHA256 digest "${text}")
string(SUBSTRING ${digest} 0 12 digest)
configure_file(${template} ${output} @ONLY)
