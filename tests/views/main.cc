// Values of types of the C++ library. Prints for each its name, its address and its text, and waits.
#include "simple_marker.h"
#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

struct Job { int id; std::string name; };
struct Empty {};
typedef const long &Number;
struct References { int &number; const std::string &text; const char &letter; Number named; Job &job; };

// What is destroyed makes `unique_ptr` larger.
struct Deleter { long tag; void operator()(int *) const {} };

struct Thrower {
    Thrower() {}
    Thrower(const Thrower &) { throw 1; }
};

// More than a block, and its first element is not the first one of a block.
static std::deque<int> queue(int first, int count) {
    std::deque<int> made;
    for (int i = 0; i < count; i++) made.push_back(i);
    for (int i = 0; i < first; i++) made.pop_front();
    return made;
}

static std::deque<std::string> pushed_in_front() {
    std::deque<std::string> made;
    for (const char *name : {"c", "b", "a"}) made.push_front(name);
    made.push_back("d");
    return made;
}

static std::variant<int, Thrower> without_value() {
    std::variant<int, Thrower> made;
    try { Thrower thrower; made = thrower; } catch (int) {}
    // An assignment of a copy keeps the value: an emplacement loses it.
    try { Thrower thrower; made.emplace<1>(thrower); } catch (int) {}
    return made;
}

template <class T> const T *kept(const char *name, const T &value, const char *text) {
    printf("%s\t%p\t%s\n", name, (const void *)&value, text);
    return &value;
}

#define CASE(name, text, type, ...) static const type name##_value __VA_ARGS__; const type &name = name##_value; const type *name##_at = kept(#name, name, text); (void)name##_at

typedef std::vector<int> numbers_type;
typedef std::map<std::string, int> tree_type;
typedef std::unordered_map<int, Job> hash_type;
typedef std::optional<int> maybe_type;
typedef std::pair<int, std::string> pair_type;
typedef std::tuple<int, std::string, Empty, double> tuple_type;
typedef std::variant<int, std::string, Job> variant_type;
typedef std::variant<int, Thrower> valueless_type;
typedef std::array<int, 3> array_type;
typedef std::map<std::string, std::pair<int, long>> nested_type;
typedef std::unordered_multimap<int, int> several_type;
typedef std::function<int(int)> function_type;
typedef std::unique_ptr<int, Deleter> deleted_type;
typedef std::tuple<int> single_type;
typedef std::vector<std::tuple<int, char>> rows_type;
typedef std::stack<int> stack_type;
typedef std::priority_queue<int, std::vector<int>, std::greater<int>> heap_type;
typedef std::multimap<int, std::string> multimap_type;
static int referred = 5;
static std::string referred_text = "there";
static long referred_long = -7;
static Job referred_job = {1, "job"};

int main() {
    CASE(text, "\"hello\"", std::string, ("hello"));
    simple_mark(views:text, "%p", &text);
    CASE(longer, "\"a text that is longer than the buffer\"", std::string, ("a text that is longer than the buffer"));
    simple_mark(views:longer, "%p", &longer);
    CASE(part, "\"part\"", std::string_view, ("part"));
    simple_mark(views:part, "%p", &part);
    CASE(numbers, "{3, -4}", numbers_type, {3, -4});
    simple_mark(views:numbers, "%p", &numbers);
    CASE(jobs, "{{id = 1, name = \"a\"}}", std::vector<Job>, {Job{1, "a"}});
    simple_mark(views:jobs, "%p", &jobs);
    CASE(tree, "{[\"a\"] = 1, [\"b\"] = 2}", tree_type, {{"b", 2}, {"a", 1}});
    simple_mark(views:tree, "%p", &tree);
    CASE(set, "{1, 5, 9}", std::set<long>, {9, 5, 1});
    simple_mark(views:set, "%p", &set);
    CASE(list, "{1.5, 2.5}", std::list<double>, {1.5, 2.5});
    simple_mark(views:list, "%p", &list);
    CASE(hash, "{[7] = {id = 7, name = \"seven\"}}", hash_type, {{7, Job{7, "seven"}}});
    simple_mark(views:hash, "%p", &hash);
    CASE(hashed, "{\"only\"}", std::unordered_set<std::string>, {"only"});
    simple_mark(views:hashed, "%p", &hashed);
    CASE(unique, "5", std::unique_ptr<int>, (new int(5)));
    simple_mark(views:unique, "%p", unique_at);
    CASE(shared, "{id = 3, name = \"x\"}", std::shared_ptr<Job>, (new Job{3, "x"}));
    simple_mark(views:shared, "%p", &shared);
    CASE(none, "0x0", std::unique_ptr<Job>, );
    simple_mark(views:none, "%p", none_at);
    CASE(maybe, "4", maybe_type, (4));
    simple_mark(views:maybe, "%p", &maybe);
    CASE(not_there, "nullopt", maybe_type, );
    simple_mark(views:not_there, "%p", &not_there);
    CASE(weak, "{id = 3, name = \"x\"}", std::weak_ptr<Job>, (shared_value));
    simple_mark(views:weak, "%p", &weak);
    CASE(pair, "{first = 1, second = \"one\"}", pair_type, {1, "one"});
    simple_mark(views:pair, "%p", &pair);
    CASE(tuple, "{1, \"two\", {}, 0.5}", tuple_type, {1, "two", {}, 0.5});
    simple_mark(views:tuple, "%p", &tuple);
    CASE(single, "{7}", single_type, (7));
    simple_mark(views:single, "%p", &single);
    CASE(rows, "{{1, 'a'}, {2, 'b'}}", rows_type, {{1, 'a'}, {2, 'b'}});
    simple_mark(views:rows, "%p", &rows);
    CASE(first, "{[0] = 8}", variant_type, (8));
    simple_mark(views:first, "%p", &first);
    CASE(second, "{[1] = \"text\"}", variant_type, ("text"));
    simple_mark(views:second, "%p", &second);
    CASE(third, "{[2] = {id = 2, name = \"b\"}}", variant_type, (Job{2, "b"}));
    simple_mark(views:third, "%p", &third);
    CASE(valueless, "valueless", valueless_type, (without_value()));
    simple_mark(views:valueless, "%p", &valueless);
    CASE(array, "{4, 5, 6}", array_type, {4, 5, 6});
    simple_mark(views:array, "%p", &array);
    CASE(forward, "{1, 2, 3}", std::forward_list<int>, {1, 2, 3});
    simple_mark(views:forward, "%p", &forward);
    CASE(no_forward, "{}", std::forward_list<int>, {});
    simple_mark(views:no_forward, "%p", &no_forward);
    CASE(blocks, "{298, 299}", std::deque<int>, (queue(298, 300)));
    simple_mark(views:blocks, "%p", &blocks);
    CASE(over_blocks, "{127, 128, 129}", std::deque<int>, (queue(127, 130)));
    simple_mark(views:over_blocks, "%p", &over_blocks);
    CASE(in_front, "{\"a\", \"b\", \"c\", \"d\"}", std::deque<std::string>, (pushed_in_front()));
    simple_mark(views:in_front, "%p", &in_front);
    CASE(no_blocks, "{}", std::deque<Job>, );
    simple_mark(views:no_blocks, "%p", &no_blocks);
    CASE(references, "{number = 5, text = \"there\", letter = 't', named = -7, job = {id = 1, name = \"job\"}}", References, {referred, referred_text, referred_text[0], referred_long, referred_job});
    simple_mark(views:references, "%p", &references);
    CASE(nested, "{[\"k\"] = {first = 1, second = 2}}", nested_type, {{"k", {1, 2}}});
    simple_mark(views:nested, "%p", &nested);
    CASE(several, "{[1] = 2}", several_type, {{1, 2}});
    simple_mark(views:several, "%p", &several);
    CASE(equal, "{[1] = \"a\", [1] = \"b\"}", multimap_type, {{1, "a"}, {1, "b"}});
    simple_mark(views:equal, "%p", &equal);
    CASE(repeated, "{3, 3}", std::multiset<int>, {3, 3});
    simple_mark(views:repeated, "%p", &repeated);
    CASE(hashed_twice, "{4, 4}", std::unordered_multiset<int>, {4, 4});
    simple_mark(views:hashed_twice, "%p", &hashed_twice);
    CASE(atomic, "9", std::atomic<int>, (9));
    simple_mark(views:atomic, "%p", &atomic);
    CASE(flag, "true", std::atomic<bool>, (true));
    simple_mark(views:flag, "%p", &flag);
    CASE(wrapped, "5", std::reference_wrapper<int>, (referred));
    simple_mark(views:wrapped, "%p", &wrapped);
    CASE(stacked, "{2, 3}", stack_type, (std::deque<int>{2, 3}));
    simple_mark(views:stacked, "%p", &stacked);
    CASE(heap, "{1, 2}", heap_type, (std::greater<int>(), std::vector<int>{2, 1}));
    simple_mark(views:heap, "%p", &heap);
    CASE(deleted, "5", deleted_type, (&referred, Deleter{3}));
    simple_mark(views:deleted, "%p", &deleted);
    CASE(no_function, "nullptr", function_type, );
    simple_mark(views:no_function, "%p", &no_function);
    static const function_type function_value = [](int number) { return number + referred; };
    const function_type &function = function_value;
    char address[32];
    // libstdc++ has the address of the code behind the target, libc++ that of the target.
    snprintf(address, sizeof address, "%p", ((void *const *)&function)[sizeof function / 8 > 4 ? 4 : 3]);
    kept("function", function, address);
    simple_mark(views:function, "%p", &function);
    puts("end");
    fflush(stdout);
    return getchar() == -2;
}
