/* Runs one Lua script. */
#include <stdio.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

int main(int count, char **words)
{
    lua_State *L = luaL_newstate();
    int failed;
    (void)count;
    luaL_openlibs(L);
    failed = luaL_dofile(L, words[1]);
    if (failed)
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    return failed;
}
