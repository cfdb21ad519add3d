// Random values of types of the C++ library, and what smark shows of them: the programs of
// `tests/src/whole_values/cpp.rs` begin with `make.h` and this file.
#include <array>
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

// How many elements the value may still have.
static unsigned left;

// How many elements there are: none, one, a few, or more.
static unsigned some() {
    unsigned size = below(10) < 2 ? 0 : below(4) == 0 ? 1 : below(12) == 0 ? 40 : 2 + below(5);
    size = size < left ? size : left;
    left -= size;
    return size;
}

template <class T> struct Value;

template <class T> T make() { return Value<T>::make(); }
template <class T> void show(const T &value) { Value<T>::show(value); }

#define PLAIN(TYPE, NAME)                                                      \
    template <> struct Value<TYPE> {                                           \
        static TYPE make() { return make_##NAME(); }                           \
        static void show(TYPE value) { show_##NAME(value); }                   \
    };
PLAIN(bool, bool)
PLAIN(char, char)
PLAIN(signed char, schar)
PLAIN(unsigned char, uchar)
PLAIN(short, short)
PLAIN(unsigned short, ushort)
PLAIN(int, int)
PLAIN(unsigned, uint)
PLAIN(long, long)
PLAIN(unsigned long, ulong)
PLAIN(long long, llong)
PLAIN(__int128, int128)
PLAIN(float, float)
PLAIN(double, double)
PLAIN(char *, text)

template <> struct Value<std::string> {
    static std::string make() {
        switch (below(4)) {
        case 0: return TEXTS[below(sizeof TEXTS / sizeof *TEXTS)];
        case 1: return std::string("\0a\0", 3);
        default: {
            std::string made;
            for (unsigned size = some() * 2; size; size--) made.push_back(make_char());
            return made;
        }
        }
    }
    static void show(const std::string &value) { say_text(value.data(), value.size()); }
};

template <> struct Value<std::string_view> {
    static std::string_view make() { return *new std::string(::make<std::string>()); }
    static void show(const std::string_view &value) { say_text(value.data(), value.size()); }
};

template <class C> void show_all(const C &all) {
    const char *separator = "";
    fputc('{', said);
    for (const auto &one : all) fputs(separator, said), show(one), separator = ", ";
    fputc('}', said);
}

template <class C> void show_map(const C &all) {
    const char *separator = "";
    fputc('{', said);
    for (const auto &one : all) {
        fprintf(said, "%s[", separator), show(one.first), fputs("] = ", said), show(one.second);
        separator = ", ";
    }
    fputc('}', said);
}

#define BACK(NAME)                                                             \
    template <class T> struct Value<std::NAME<T>> {                            \
        static std::NAME<T> make() {                                           \
            std::NAME<T> made;                                                 \
            for (unsigned size = some(); size; size--) made.emplace_back(::make<T>()); \
            return made;                                                       \
        }                                                                      \
        static void show(const std::NAME<T> &value) { show_all(value); }       \
    };
BACK(vector)
BACK(list)

// Its first element is anywhere in a block, and there may be several blocks.
template <class T> struct Value<std::deque<T>> {
    static std::deque<T> make() {
        std::deque<T> made;
        unsigned size = some();
        if (below(3) == 0)
            for (unsigned more = below(700 / sizeof(T) + 2); more; more--) {
                made.emplace_back(::make<T>());
                if (below(5)) made.pop_front();
                if (made.size() > 30) made.pop_front();
            }
        for (; size; size--) below(3) ? (void)made.emplace_back(::make<T>()) : (void)made.emplace_front(::make<T>());
        return made;
    }
    static void show(const std::deque<T> &value) { show_all(value); }
};

template <class T> struct Value<std::forward_list<T>> {
    static std::forward_list<T> make() {
        std::forward_list<T> made;
        for (unsigned size = some(); size; size--) made.emplace_front(::make<T>());
        return made;
    }
    static void show(const std::forward_list<T> &value) { show_all(value); }
};

template <class T, size_t N> struct Value<std::array<T, N>> {
    template <size_t... I> static std::array<T, N> of(std::index_sequence<I...>) { return {{((void)I, ::make<T>())...}}; }
    static std::array<T, N> make() { return of(std::make_index_sequence<N>()); }
    static void show(const std::array<T, N> &value) { show_all(value); }
};

#define SET(NAME)                                                              \
    template <class T> struct Value<std::NAME<T>> {                            \
        static std::NAME<T> make() {                                           \
            std::NAME<T> made;                                                 \
            for (unsigned size = some(); size; size--) made.insert(::make<T>()); \
            return made;                                                       \
        }                                                                      \
        static void show(const std::NAME<T> &value) { show_all(value); }       \
    };
SET(set)
SET(multiset)
SET(unordered_set)
SET(unordered_multiset)

#define MAP(NAME)                                                              \
    template <class K, class T> struct Value<std::NAME<K, T>> {                \
        static std::NAME<K, T> make() {                                        \
            std::NAME<K, T> made;                                              \
            for (unsigned size = some(); size; size--) made.emplace(::make<K>(), ::make<T>()); \
            if (made.size() > 3 && below(2)) made.erase(made.begin());         \
            return made;                                                       \
        }                                                                      \
        static void show(const std::NAME<K, T> &value) { show_map(value); }    \
    };
MAP(map)
MAP(multimap)
MAP(unordered_map)
MAP(unordered_multimap)

template <class A> struct Adapted : A {
    const typename A::container_type &all() const { return this->c; }
};

#define ADAPTER(NAME)                                                          \
    template <class T> struct Value<std::NAME<T>> {                            \
        static std::NAME<T> make() {                                           \
            std::NAME<T> made;                                                 \
            for (unsigned size = some(); size; size--) made.push(::make<T>()); \
            return made;                                                       \
        }                                                                      \
        static void show(const std::NAME<T> &value) { ::show(static_cast<const Adapted<std::NAME<T>> &>(value).all()); } \
    };
ADAPTER(stack)
ADAPTER(queue)
ADAPTER(priority_queue)

template <class A, class B> struct Value<std::pair<A, B>> {
    static std::pair<A, B> make() {
        A first = ::make<A>();
        return {std::move(first), ::make<B>()};
    }
    static void show(const std::pair<A, B> &value) {
        fputs("{first = ", said), ::show(value.first), fputs(", second = ", said), ::show(value.second), fputc('}', said);
    }
};

template <class... T> struct Value<std::tuple<T...>> {
    static std::tuple<T...> make() { return std::tuple<T...>{::make<T>()...}; }
    static void show(const std::tuple<T...> &value) {
        const char *separator = "";
        fputc('{', said);
        std::apply([&](const auto &...item) { ((fputs(separator, said), ::show(item), separator = ", "), ...); }, value);
        fputc('}', said);
    }
};

template <class... T> struct Value<std::variant<T...>> {
    typedef std::variant<T...> Variant;
    template <size_t I> static Variant of(size_t index) {
        if constexpr (I + 1 < sizeof...(T))
            if (I != index) return of<I + 1>(index);
        return Variant(std::in_place_index<I>, ::make<std::variant_alternative_t<I, Variant>>());
    }
    template <size_t I> static void show_at(const Variant &value) {
        if constexpr (I + 1 < sizeof...(T))
            if (I != value.index()) return show_at<I + 1>(value);
        ::show(std::get<I>(value));
    }
    static Variant make() { return of<0>(below(sizeof...(T))); }
    static void show(const Variant &value) {
        fprintf(said, "{[%zu] = ", value.index()), show_at<0>(value), fputc('}', said);
    }
};

template <> struct Value<std::monostate> {
    static std::monostate make() { return {}; }
    static void show(const std::monostate &) { fputs("{}", said); }
};

template <class T> struct Value<std::optional<T>> {
    static std::optional<T> make() {
        if (!below(3)) return std::nullopt;
        return std::optional<T>(::make<T>());
    }
    static void show(const std::optional<T> &value) { value ? ::show(*value) : (void)fputs("nullopt", said); }
};

template <class T> void show_target(const T *target) { target ? show(*target) : (void)fputs("0x0", said); }

template <class T> struct Value<std::unique_ptr<T>> {
    static std::unique_ptr<T> make() { return std::unique_ptr<T>(below(4) ? new T(::make<T>()) : nullptr); }
    static void show(const std::unique_ptr<T> &value) { show_target(value.get()); }
};

template <class T> struct Value<std::shared_ptr<T>> {
    static std::shared_ptr<T> make() {
        if (!below(4)) return nullptr;
        return below(2) ? std::make_shared<T>(::make<T>()) : std::shared_ptr<T>(new T(::make<T>()));
    }
    static void show(const std::shared_ptr<T> &value) { show_target(value.get()); }
};

template <class T> struct Value<std::weak_ptr<T>> {
    static std::weak_ptr<T> make() { return *new std::shared_ptr<T>(::make<std::shared_ptr<T>>()); }
    static void show(const std::weak_ptr<T> &value) { show_target(value.lock().get()); }
};

template <class T> struct Value<std::reference_wrapper<T>> {
    static std::reference_wrapper<T> make() { return *new T(::make<T>()); }
    static void show(const std::reference_wrapper<T> &value) { ::show(value.get()); }
};

template <class T> struct Value<T &> {
    static T &make() { return *new T(::make<T>()); }
    static void show(const T &value) { ::show(value); }
};

static int twice(int number) { return 2 * number; }

template <> struct Value<std::function<int(int)>> {
    typedef std::function<int(int)> Function;
    static Function make() {
        long kept = make_long(), more = make_long();
        switch (below(4)) {
        case 0: return nullptr;
        case 1: return twice;
        case 2: return [](int number) { return number; };
        default: return [kept, more, other = kept](int number) { return (int)(number + kept + more + other); };
        }
    }
    static void show(const Function &value) {
        // libstdc++ has the address of the code behind the target, libc++ that of the target.
        const size_t word = sizeof value / 8 > 4 ? 4 : 3;
        value ? (void)show_address(reinterpret_cast<void *const *>(&value)[word]) : (void)fputs("nullptr", said);
    }
};
