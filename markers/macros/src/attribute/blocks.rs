//! Finds the markers of an item, and writes them as ghosts in their blocks.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

use super::item::{Item, Keyword};
use super::marker::{self, Block, Ghost};
use super::tokens::{self, is_punct, punct};

/// What the tokens of a group are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Items, outside of any function.
    Items,
    /// What stands in braces. If a marker in it is a statement, it is a block. Otherwise it may be the
    /// arms of a `match` or the fields of a struct.
    Braces,
    /// An expression, a list of them, or anything else.
    Expressions,
}

/// The items, if there is a ghost in them.
pub(super) fn items(tokens: &[TokenTree]) -> Option<TokenStream> {
    Rewriting::new(tokens, Content::Items).all(Span::call_site())
}

/// The group, if there is a ghost in it.
fn group(group: &Group, content: Content) -> Option<TokenTree> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let stream = Rewriting::new(&tokens, content).all(group.span_open())?;
    Some(tokens::group(group.delimiter(), stream, group.span()))
}

/// The rewriting of one group's tokens.
struct Rewriting<'t> {
    tokens: &'t [TokenTree],
    content: Content,
    /// The index of the next token.
    at: usize,
    written: Vec<TokenTree>,
    is_changed: bool,
    /// The length of `written` at the last place where a statement or an item can start, behind its
    /// attributes.
    start: usize,
    /// How many tokens of `written` are inner attributes and the items at the start of a block. The
    /// block's variable comes behind them: lints want items first.
    leading: usize,
    /// The ghosts among the statements.
    block: Block,
}

/// Where a marker stands.
enum Position {
    Statement,
    /// At the end of its block, without a `;`.
    Value,
    /// An expression that can be a block.
    Expression,
    /// The start of a longer expression, where a block would be a statement: `simple_mark!(..) == ()`.
    Operand,
    /// Outside of any function.
    Item,
}

impl<'t> Rewriting<'t> {
    fn new(tokens: &'t [TokenTree], content: Content) -> Self {
        let written = Vec::with_capacity(tokens.len());
        Self { tokens, content, at: 0, written, is_changed: false, start: 0, leading: 0, block: Block::default() }
    }

    /// The tokens, if any of them changes. `span` is where the group starts.
    fn all(mut self, span: Span) -> Option<TokenStream> {
        while self.at < self.tokens.len() {
            let can_start = self.content != Content::Expressions && self.start == self.written.len();
            match Item::at(&self.tokens[self.at..]).filter(|_| can_start) {
                Some(item) => self.item(&item),
                None => self.token(),
            }
        }
        let rest = self.written.split_off(self.leading);
        self.written.extend(self.block.variables(span));
        self.written.extend(rest);
        self.is_changed.then(|| self.written.into_iter().collect())
    }

    fn item(&mut self, item: &Item) {
        let is_leading = self.leading == self.written.len();
        let (body, end) = (item.body.map(|body| self.at + body), self.at + item.end);
        let content = if item.keyword == Keyword::Function { Content::Braces } else { Content::Items };
        while self.at < end {
            match self.tokens.get(self.at) {
                _ if item.keyword == Keyword::Macro => self.copy(1),
                Some(TokenTree::Group(group)) if Some(self.at) == body => self.group(group, content),
                _ => self.token(),
            }
        }
        self.start = self.written.len();
        if is_leading {
            self.leading = self.start;
        }
    }

    /// One token that starts no item, or the macro call or the attribute that it starts.
    fn token(&mut self) {
        let rest = &self.tokens[self.at..];
        if is_punct(rest.first(), '#') {
            self.attribute(is_punct(rest.get(1), '!'));
        } else if marker::is_call(rest) && !is_punct(self.written.last(), '\'') {
            match marker::is_marker(rest).then(|| rest.get(2)).flatten() {
                Some(TokenTree::Group(arguments)) => self.marker(arguments),
                _ => self.copy(3),
            }
        } else if let Some(TokenTree::Group(group)) = rest.first() {
            let content = if group.delimiter() == Delimiter::Brace { Content::Braces } else { Content::Expressions };
            self.group(group, content);
        } else {
            self.copy(1);
        }
    }

    /// Copies tokens unchanged.
    fn copy(&mut self, count: usize) {
        let end = (self.at + count).min(self.tokens.len());
        self.written.extend_from_slice(&self.tokens[self.at..end]);
        self.at = end;
        let ends_statement = match self.written.last() {
            Some(TokenTree::Group(group)) => matches!(group.delimiter(), Delimiter::Brace | Delimiter::None),
            last => is_punct(last, ';'),
        };
        if ends_statement {
            self.start = self.written.len();
        }
    }

    fn attribute(&mut self, is_inner: bool) {
        let start = self.written.len();
        self.copy(if is_inner { 3 } else { 2 });
        if self.start == start {
            self.start = self.written.len();
            if is_inner && self.leading == start {
                self.leading = self.start;
            }
        }
    }

    fn group(&mut self, of: &Group, content: Content) {
        let changed = group(of, content);
        self.copy(1);
        if let (Some(changed), Some(last)) = (changed, self.written.last_mut()) {
            *last = changed;
            self.is_changed = true;
        }
    }

    fn marker(&mut self, arguments: &Group) {
        let Some(ghost) = Ghost::new(arguments) else { return self.copy(3) };
        let path = self.written.split_off(self.written.len() - marker::path(&self.written));
        let position = self.position(arguments);
        let path = [path, vec![self.tokens[self.at].clone()]].concat();
        let span = arguments.span();
        if matches!(position, Position::Statement | Position::Value) {
            self.block.add(&path, &ghost);
        }
        let call = path.into_iter().chain([self.tokens[self.at + 1].clone(), TokenTree::Group(ghost.arguments)]);
        let error = |call: TokenStream, message| syn::Error::new_spanned(call, message).to_compile_error();
        self.at += 3;
        self.is_changed = true;
        match position {
            Position::Statement | Position::Value => {
                self.written.extend(call);
                if matches!(position, Position::Value) {
                    self.written.push(punct(';', span));
                }
                self.start = self.written.len();
            }
            Position::Expression => {
                // Such a block has no code, so variables at its start would locate nothing.
                let block = call.chain([punct(';', span)]).collect();
                self.written.push(tokens::group(Delimiter::Brace, block, span));
            }
            Position::Operand => {
                let error = error(call.collect(), "a ghost is a statement: end it with `;`");
                self.written.push(tokens::group(Delimiter::Parenthesis, error, span));
            }
            Position::Item => {
                self.written.extend(error(call.collect(), "a marker is a statement: this one is in no function"));
                if is_punct(self.tokens.get(self.at), ';') {
                    self.at += 1;
                }
                self.start = self.written.len();
            }
        }
    }

    /// The position of the marker at the next token. Its path is not written yet.
    fn position(&self, arguments: &Group) -> Position {
        let next = self.tokens.get(self.at + 3);
        let continues = match next {
            None => false,
            _ if is_punct(next, ';') || is_punct(next, ',') => false,
            _ => arguments.delimiter() != Delimiter::Brace || is_punct(next, '.') || is_punct(next, '?'),
        };
        let is_arm = matches!(&*self.written, [.., equals, greater]
            if is_punct(Some(equals), '=') && is_punct(Some(greater), '>'));
        let is_start = self.content != Content::Expressions && self.start == self.written.len();
        match (is_start, self.content) {
            (true, Content::Items) => Position::Item,
            (true, _) if continues => Position::Operand,
            (true, _) if next.is_none() => Position::Value,
            (true, _) => Position::Statement,
            (false, _) if is_arm && continues => Position::Operand,
            (false, _) => Position::Expression,
        }
    }
}
