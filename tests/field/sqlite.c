/*
 * Runs the statements of a file in a new database: sqlite INPUT RESULTS. The database is a file next to
 * RESULTS, which is removed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

static int row(void *to, int count, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < count; i++)
        fprintf(to, "%s%s", i ? "|" : "", values[i] ? values[i] : "NULL");
    fputc('\n', to);
    return 0;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    FILE *input = fopen(arguments[1], "r"), *results = fopen(arguments[2], "w");
    if (!input || !results)
        return 2;
    char *path = malloc(strlen(arguments[2]) + 4), *text = calloc(1, 1 << 20), *error = 0;
    sprintf(path, "%s.db", arguments[2]);
    remove(path);
    sqlite3 *db;
    if (fread(text, 1, (1 << 20) - 1, input) == 0 || sqlite3_open(path, &db))
        return 2;
    if (sqlite3_exec(db, text, row, results, &error)) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    sqlite3_close(db);
    remove(path);
    fclose(results);
    return 0;
}
