# What jaq does with each record: strings, numbers, paths, regular expressions, recursion, formats.
def fib: if . < 2 then . else (. - 1 | fib) + (. - 2 | fib) end;
def words: split(" ") | map(select(. != ""));
{
  id,
  words: (.text | words | sort | group_by(.) | map({ (.[0]): length }) | add),
  longest: (.text | words | max_by(length)),
  sum: (.of.numbers | add),
  sorted: (.of.numbers | sort | reverse | unique),
  quotient: (.id as $n | .of.numbers | map(select(. != 0) | $n / . | floor)),
  remainder: (.id % 7 + .id % 3),
  scaled: [.of.numbers[] | . * 2.5 - 1 | round],
  paths: [paths(type == "number")] | length,
  changed: (.of.is |= not | .of.numbers[1:3] = [1, 2] | del(.text) | to_entries | from_entries | keys),
  fib: (.id % 9 | fib),
  matches: [.text | match("[aeiou][a-z]+"; "g") | .offset + .length],
  replaced: (.text | gsub("(?<c>[rs])"; "<" + .c + ">") | ascii_upcase | explode | map(. + 1) | implode),
  encoded: (.text | @base64 | .[2:9]),
  text: (.of | tojson | fromjson | .numbers | @csv),
  fold: (reduce .of.numbers[] as $n (0; . + $n | if . > 1e6 then . / 2 else . end)),
  range: [limit(3; range(.id; .id + 10; 2))],
  found: (.text | indices("a")),
  date: (.id * 86400 | todate | .[0:10]),
  none: (.of.none // "none"),
  error: (try (.text + 1) catch "no"),
  first: first(.of.numbers[] | select(. > 50), 0),
  flat: ([[.of.numbers, [.id]], []] | flatten | length),
  trimmed: (.text | ltrimstr("the ") | rtrimstr("x") | test("slot$")),
  joined: (.of.numbers | map(tostring) | join("-") | length),
  minimum: (.of.numbers | min),
  alternative: ((.missing // .id) | -.),
  walked: (.of | walk(if type == "array" then length else . end))
}
