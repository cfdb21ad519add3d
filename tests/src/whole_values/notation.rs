//! Compares a value as `smark` shows it with what a program prints of it.
//!
//! Both are read into items, so that what a limit left out (`..`) stands for whatever is there, and what
//! was shown of it is still compared.

/// How a value that was shown compares with what the program printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// It is the same.
    Same,
    /// What was shown is the same. The rest was left out.
    Cut,
    /// It is another value.
    Different,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    /// A text or a character in quotes, as bytes, and whether it goes on.
    Literal(char, Vec<u8>, bool),
    /// Items in brackets.
    Group(char, Vec<Vec<Token>>),
}

/// Compares a value that was shown with what the program printed. Both are [`normalized`].
#[must_use]
pub fn likeness(shown: &str, printed: &str) -> Likeness {
    of_items(&items(shown), &items(printed))
}

/// A value in one notation for `smark` and for `{:?}`, which differ in this:
///
/// - `smark` says that a value is behind a reference (`&5`).
/// - `{:?}` names a `Cell` (`Cell { value: 5 }`), `smark` shows what is in it.
/// - `smark` shows how often a `RefCell` is borrowed. `{:?}` shows `<borrowed>` if it is to be changed.
/// - `{:?}` ends locks with `..`.
/// - `{:?}` says of which type a `PhantomData` is.
/// - `smark` says which function is at an address (`0x1139 <work>`).
/// - They escape different characters. All texts are escaped by [`u8::escape_ascii`].
#[must_use]
pub fn normalized(text: &str) -> String {
    let mut out = String::new();
    write(&items(text), &mut out);
    out
}

fn write(all: &[Vec<Token>], out: &mut String) {
    for (index, item) in all.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        for token in item {
            match token {
                Token::Word(word) => out.push_str(word),
                Token::Literal(quote, bytes, is_cut) => {
                    out.push(*quote);
                    out.push_str(&bytes.escape_ascii().to_string());
                    out.push(*quote);
                    out.push_str(if *is_cut { ".." } else { "" });
                }
                Token::Group(open, inner) => {
                    out.push(*open);
                    write(inner, out);
                    out.push(closing(*open));
                }
            }
        }
    }
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

fn items(text: &str) -> Vec<Vec<Token>> {
    let mut letters = text.chars().peekable();
    let mut all = read(&mut letters);
    // A bracket without its beginning is no value.
    if letters.peek().is_some() {
        all.push(vec![Token::Word(letters.collect())]);
    }
    all
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Reads items up to a closing bracket.
fn read(letters: &mut Letters<'_>) -> Vec<Vec<Token>> {
    let (mut all, mut item, mut word) = (Vec::new(), Vec::new(), String::new());
    while let Some(letter) = letters.peek().copied() {
        if matches!(letter, ')' | ']' | '}') {
            break;
        }
        letters.next();
        match letter {
            '&' => {}
            ' ' if item.is_empty() && word.is_empty() => {}
            ',' => {
                end_word(&mut word, &mut item);
                all.push(ended(std::mem::take(&mut item)));
            }
            '"' | '\'' => {
                end_word(&mut word, &mut item);
                let bytes = literal(letters, letter);
                // Other dots are those of a range.
                let mut ahead = letters.clone();
                let dots = (ahead.next(), ahead.next());
                let is_cut = dots == (Some('.'), Some('.'))
                    && !matches!(ahead.peek(), Some('"' | '\'' | '(' | '[' | '{' | '&' | '='));
                if is_cut {
                    *letters = ahead;
                }
                item.push(Token::Literal(letter, bytes, is_cut));
            }
            '(' | '[' | '{' => {
                end_word(&mut word, &mut item);
                let inner = read(letters);
                letters.next();
                item.push(Token::Group(letter, inner));
            }
            letter => word.push(letter),
        }
    }
    end_word(&mut word, &mut item);
    if !item.is_empty() {
        all.push(ended(item));
    }
    all
}

fn end_word(word: &mut String, item: &mut Vec<Token>) {
    if !word.is_empty() {
        let end = without_function(word).len();
        word.truncate(end);
        item.push(Token::Word(std::mem::take(word)));
    }
}

/// The start of a word that ends with an address and the function there: `0x1139 <work>`.
fn without_function(word: &str) -> &str {
    let Some((before, _)) = word.strip_suffix('>').and_then(|word| word.split_once(" <")) else { return word };
    let digits = before.rsplit([' ', '.']).next().and_then(|last| last.strip_prefix("0x"));
    let is_address = digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    if is_address { before } else { word }
}

/// The bytes of a literal whose quote was read.
fn literal(letters: &mut Letters<'_>, quote: char) -> Vec<u8> {
    let mut bytes = Vec::new();
    let add = |letter: char, bytes: &mut Vec<u8>| bytes.extend(letter.encode_utf8(&mut [0; 4]).bytes());
    while let Some(letter) = letters.next().filter(|letter| *letter != quote) {
        match letter {
            '\\' => match letters.next().unwrap_or('\\') {
                'n' => bytes.push(b'\n'),
                't' => bytes.push(b'\t'),
                'r' => bytes.push(b'\r'),
                '0' => bytes.push(0),
                'x' => {
                    let digits: String = letters.by_ref().take(2).collect();
                    bytes.extend(u8::from_str_radix(&digits, 16));
                }
                'u' => {
                    let digits: String = letters.by_ref().skip(1).take_while(|letter| *letter != '}').collect();
                    let letter = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    letter.into_iter().for_each(|letter| add(letter, &mut bytes));
                }
                other => add(other, &mut bytes),
            },
            other => add(other, &mut bytes),
        }
    }
    bytes
}

/// The one notation of an item.
fn ended(mut item: Vec<Token>) -> Vec<Token> {
    let mut at = 0;
    while at + 1 < item.len() {
        if let (Token::Word(word), Token::Group(_, inner)) = (&item[at], &item[at + 1]) {
            let name = word.trim_end().rsplit([' ', ':', '.', '=']).next().unwrap_or_default();
            let before = word.trim_end()[..word.trim_end().len() - name.len()].to_owned();
            if let Some(simple) = simplified(name, inner) {
                let mut tokens = if before.is_empty() { Vec::new() } else { vec![Token::Word(before)] };
                tokens.extend(simple);
                item.splice(at..at + 2, tokens);
            }
        }
        at += 1;
    }
    for token in &mut item {
        if let Token::Word(word) = token {
            *word = word.replace("PhantomData<u8>", "PhantomData");
        }
    }
    if let Some(Token::Word(word)) = item.last_mut() {
        word.truncate(word.trim_end().len());
    }
    // Words that came together are one.
    let mut joined: Vec<Token> = Vec::new();
    for token in item {
        match (joined.last_mut(), token) {
            (Some(Token::Word(before)), Token::Word(word)) => before.push_str(&word),
            (_, token) => joined.push(token),
        }
    }
    joined.retain(|token| *token != Token::Word(String::new()));
    joined
}

/// What stands for the group of a name that the notations differ in.
fn simplified(name: &str, inner: &[Vec<Token>]) -> Option<Vec<Token>> {
    let member = |name: &str| {
        let of = |item: &Vec<Token>| match item.first() {
            Some(Token::Word(word)) => {
                let value =
                    word.strip_prefix(name)?.strip_prefix(": ").or(word.strip_prefix(name)?.strip_prefix(':'))?;
                let mut tokens = vec![Token::Word(value.to_owned())];
                tokens.extend(item[1..].iter().cloned());
                Some(tokens)
            }
            _ => None,
        };
        inner.iter().find_map(of)
    };
    let named = |of: Vec<Token>| Some([vec![Token::Word(format!("{name} "))], of].concat());
    let is_cut = |item: &Vec<Token>| *item == [Token::Word("..".to_owned())];
    match (name, inner) {
        ("Cell", [_]) => member("value"),
        ("RefCell", [..]) if !inner.is_empty() => {
            let is_changed =
                member("borrow").is_some_and(|borrow| matches!(&*borrow, [Token::Word(word)] if word.starts_with('-')));
            let value = if is_changed { vec![Token::Word("<borrowed>".to_owned())] } else { member("value")? };
            named(vec![Token::Group('{', vec![ended([vec![Token::Word("value: ".to_owned())], value].concat())])])
        }
        ("Mutex" | "RwLock", [rest @ .., last]) if is_cut(last) && !rest.is_empty() => {
            named(vec![Token::Group('{', rest.to_vec())])
        }
        _ => None,
    }
}

fn of_items(shown: &[Vec<Token>], printed: &[Vec<Token>]) -> Likeness {
    let (shown, is_cut) = match shown {
        [rest @ .., last]
            if *last == [Token::Word("..".to_owned())] && (rest.len() < printed.len() || printed.is_empty()) =>
        {
            (rest, true)
        }
        all => (all, false),
    };
    if shown.len() > printed.len() || shown.len() < printed.len() && !is_cut {
        return Likeness::Different;
    }
    let mut all = if is_cut { Likeness::Cut } else { Likeness::Same };
    for (shown, printed) in shown.iter().zip(printed) {
        match of_item(shown, printed) {
            Likeness::Same => {}
            Likeness::Cut => all = Likeness::Cut,
            Likeness::Different => return Likeness::Different,
        }
    }
    all
}

fn of_item(shown: &[Token], printed: &[Token]) -> Likeness {
    // An entry of a map whose key was not read: where it ends in what was printed is not known.
    if matches!(shown, [Token::Word(word), ..] if word.starts_with("..: ")) {
        return Likeness::Cut;
    }
    let mut all = Likeness::Same;
    for (index, token) in shown.iter().enumerate() {
        let is_last = index + 1 == shown.len();
        match (token, printed.get(index)) {
            (Token::Literal(quote, bytes, is_cut), Some(Token::Literal(known, whole, _))) if quote == known => {
                if *is_cut && whole.starts_with(bytes) {
                    all = Likeness::Cut;
                } else if bytes != whole {
                    return Likeness::Different;
                }
            }
            (Token::Group(open, inner), Some(Token::Group(known, whole))) if open == known => {
                match of_items(inner, whole) {
                    Likeness::Same => {}
                    Likeness::Cut => all = Likeness::Cut,
                    Likeness::Different => return Likeness::Different,
                }
            }
            (Token::Word(word), Some(Token::Word(whole))) if word == whole || is_number(word, whole) => {}
            (Token::Word(word), next) if is_last && (word.ends_with("..") || is_length(word)) => {
                // A collection behind the last level of pointers is shown as its length and address.
                let before = match word.rsplit_once('<').filter(|_| is_length(word)) {
                    Some((before, _)) => before,
                    None => word.trim_end_matches(".."),
                };
                return match next {
                    // Nothing is there in truth, as at an address without memory.
                    Some(Token::Word(whole)) if whole.starts_with(before) || whole == before.trim_end() => {
                        Likeness::Cut
                    }
                    Some(_) if before.is_empty() => Likeness::Cut,
                    _ => Likeness::Different,
                };
            }
            _ => return Likeness::Different,
        }
    }
    if shown.len() == printed.len() { all } else { Likeness::Different }
}

/// Whether a word ends with the length and the address of a collection: `<3 at 0x55d0>`.
fn is_length(word: &str) -> bool {
    word.strip_suffix('>').and_then(|word| word.rsplit_once('<')).is_some_and(|(_, inner)| inner.contains(" at 0x"))
}

/// Whether two words are the same but for the digits of the same number, one of which is no integer.
fn is_number(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (shown.split(' '), printed.split(' '));
    let number = |word: &str| word.parse::<f64>().ok().map(f64::to_bits);
    let is_same = |shown: &str, printed: &str| {
        let is_float = |word: &str| word.contains(['.', 'e', 'n']);
        (is_float(shown) || is_float(printed)) && number(shown).is_some() && number(shown) == number(printed)
    };
    shown.clone().count() == printed.clone().count()
        && shown.zip(printed).all(|(shown, printed)| shown == printed || is_same(shown, printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notations_of_one_value_are_one() {
        let one = |shown: &str, printed: &str| assert_eq!(normalized(shown), normalized(printed));
        one("D { a: &5, b: RefCell { value: 'x', borrow: 1 } }", "D { a: 5, b: RefCell { value: 'x' } }");
        one("RefCell { value: [1], borrow: -1 }", "RefCell { value: <borrowed> }");
        one("Some(5)", "Some(Cell { value: 5 })");
        one("Mutex { data: 1, poisoned: false }..=5", "Mutex { data: 1, poisoned: false, .. }..=5");
        one("1..=RwLock { data: 1 }", "1..=RwLock { data: 1, .. }");
        one("[(PhantomData, 1)]", "[(PhantomData<u8>, 1)]");
        one("{f = 0x1139 <shop::work>, p = <2 at 0x1139>}", "{f = 0x1139, p = <2 at 0x1139>}");
        one("Mutex { data: \"&\\x1b\", poisoned: false }", "Mutex { data: \"&\\u{1b}\", poisoned: false, .. }");
        assert_ne!(normalized("\"&\""), normalized("\"\""));
        assert_ne!(normalized("D { a: 5 }"), normalized("D { b: 5 }"));
    }

    #[test]
    fn what_is_left_out_may_be_anything() {
        let is =
            |shown: &str, printed: &str, expected| assert_eq!(likeness(shown, printed), expected, "{shown} {printed}");
        is("[1, 2]", "[1, 2]", Likeness::Same);
        is("[1, ..]", "[1, 2]", Likeness::Cut);
        is("[1, ..]", "[2, 2]", Likeness::Different);
        is("[1]", "[1, 2]", Likeness::Different);
        is("D { a: .., b: 1 }", "D { a: [1], b: 1 }", Likeness::Cut);
        is("D { a: .., b: 1 }", "D { a: [1], b: 2 }", Likeness::Different);
        is("\"te\"..", "\"text\"", Likeness::Cut);
        is("\"ta\"..", "\"text\"", Likeness::Different);
        is("{a = <3 at 0x55d0>}", "{a = {[1] = 2}}", Likeness::Cut);
        is("{a = <3 at 0x55d0>}", "{b = {[1] = 2}}", Likeness::Different);
        is("{a = 0x8 ..}", "{a = 0x8}", Likeness::Cut);
        is("{a = 0x8 ..}", "{a = 0x80}", Likeness::Different);
        is("Some(..)", "Some(5)", Likeness::Cut);
        is("Some(..)", "None", Likeness::Different);
        is("{a = 0.1}", "{a = 0.10000000000000001}", Likeness::Same);
        is("{a = 1.0, b = 1e16}", "{a = 1, b = 10000000000000000}", Likeness::Same);
        is("{a = 1}", "{a = 01}", Likeness::Different);
        is("{1: 2, ..: ..}", "{1: 2, 3: 4}", Likeness::Cut);
        is("{..: [1]}", "{'a': [1]}", Likeness::Cut);
        is("{\"a\"..: 2}", "{\"ab\": 2}", Likeness::Cut);
        is("{\"a\"..: 2}", "{\"ab\": 3}", Likeness::Different);
        is("[1, 2, 3]", "[1, 2, ..]", Likeness::Different);
    }
}
