// Values of types of libstdc++. Prints for each its name, its address and its text, and waits.
#include "simple_marker.h"
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

struct Job { int id; std::string name; };

template <class T> const T *kept(const char *name, const T &value, const char *text) {
    printf("%s\t%p\t%s\n", name, (const void *)&value, text);
    return &value;
}

#define CASE(name, text, type, ...) static const type name##_value __VA_ARGS__; const type &name = name##_value; const type *name##_at = kept(#name, name, text); (void)name##_at

typedef std::vector<int> numbers_type;
typedef std::map<std::string, int> tree_type;
typedef std::unordered_map<int, Job> hash_type;
typedef std::optional<int> maybe_type;

int main() {
    CASE(text, "\"hello\"", std::string, ("hello"));
    simple_mark(views:text, "%p", text);
    CASE(longer, "\"a text that is longer than the buffer\"", std::string, ("a text that is longer than the buffer"));
    simple_mark(views:longer, "%p", longer);
    CASE(part, "\"part\"", std::string_view, ("part"));
    simple_mark(views:part, "%p", part);
    CASE(numbers, "{3, -4}", numbers_type, {3, -4});
    simple_mark(views:numbers, "%p", numbers);
    CASE(jobs, "{{id = 1, name = \"a\"}}", std::vector<Job>, {Job{1, "a"}});
    simple_mark(views:jobs, "%p", jobs);
    CASE(tree, "{[\"a\"] = 1, [\"b\"] = 2}", tree_type, {{"b", 2}, {"a", 1}});
    simple_mark(views:tree, "%p", tree);
    CASE(set, "{1, 5, 9}", std::set<long>, {9, 5, 1});
    simple_mark(views:set, "%p", set);
    CASE(list, "{1.5, 2.5}", std::list<double>, {1.5, 2.5});
    simple_mark(views:list, "%p", list);
    CASE(hash, "{[7] = {id = 7, name = \"seven\"}}", hash_type, {{7, Job{7, "seven"}}});
    simple_mark(views:hash, "%p", hash);
    CASE(hashed, "{\"only\"}", std::unordered_set<std::string>, {"only"});
    simple_mark(views:hashed, "%p", hashed);
    CASE(unique, "5", std::unique_ptr<int>, (new int(5)));
    simple_mark(views:unique, "%p", unique_at);
    CASE(shared, "{id = 3, name = \"x\"}", std::shared_ptr<Job>, (new Job{3, "x"}));
    simple_mark(views:shared, "%p", shared);
    CASE(none, "0x0", std::unique_ptr<Job>, );
    simple_mark(views:none, "%p", none_at);
    CASE(maybe, "4", maybe_type, (4));
    simple_mark(views:maybe, "%p", maybe);
    CASE(not_there, "nullopt", maybe_type, );
    simple_mark(views:not_there, "%p", not_there);
    CASE(weak, "{id = 3, name = \"x\"}", std::weak_ptr<Job>, (shared_value));
    simple_mark(views:weak, "%p", weak);
    puts("end");
    fflush(stdout);
    return getchar() == -2;
}
