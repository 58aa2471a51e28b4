# cmake -DIN=FILE -DOUT=FILE.inc -DNAME=array -P embed.cmake: a file as an array of bytes in C.
file(READ "${IN}" bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
get_filename_component(source "${IN}" NAME)
file(WRITE "${OUT}" "/* Made of ${source}. */\nstatic const unsigned char ${NAME}[] = {\n${bytes}};\n")
