// Arms each probe alone and counts how often its arguments are evaluated in all files: the recorder
// of this file is called once for each. Exits with 0 if every copy has the switch of its probe.
#include "shared.h"

#include "../../c/armed.h"

#define RECORDER
#include "../../c/recorder.h"

static int everything() {
    const auto lambda = [](double value) {
        simple_probe(copies:lambda, "%f", value);
        return value > 1 ? 1 : 0;
    };
    Counter counter(1);
    return from_c(1) + from_cxx(2) + counter.next() + Templated<int>::same(3) + lambda(1.5) + lambda(0.5);
}

int main() {
    const struct {
        const char *name;
        int passed;
    } expected[] = {
        {"copies:constructor", 2}, {"copies:destructor", 2}, {"copies:dropped", 0}, {"copies:first", 1},
        {"copies:inline", 5},      {"copies:lambda", 2},     {"copies:second", 1},  {"copies:template", 3},
        {"copies:unrolled", 4},    {"copies:virtual", 2},
    };
    const int value = everything();
    if (records != 0)
        return 1;
    int found = 0;
    for (descriptor *probe = __start___simple_probe; probe < __stop___simple_probe; probe++) {
        for (const auto &each : expected) {
            if (strcmp(probe->strings, each.name) != 0)
                continue;
            found++;
            records = 0;
            *const_cast<volatile uint16_t *>(&probe->id) = 1;
            if (everything() != value || records != each.passed)
                return 2;
            *const_cast<volatile uint16_t *>(&probe->id) = 0;
        }
    }
    // The linker may have dropped one.
    return probes() == found && (found == 10 || found == 9) ? 0 : 3;
}
