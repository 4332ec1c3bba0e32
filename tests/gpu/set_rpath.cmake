# cmake -DFILE=... -P set_rpath.cmake: the only folder in which a library looks for others is its own.
file(RPATH_SET FILE "${FILE}" NEW_RPATH "$ORIGIN")
