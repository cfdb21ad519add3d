//! Values with names: what is known of a hit, by the semantic conventions of OpenTelemetry, and its arguments.

use serde_json::Value as Json;
use simple_markers_resolver::text::from_bytes;
use simple_markers_tracer::Hit;
use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::plan::PlannedArgument;
use simple_markers_tracer::text::json_why;
use simple_markers_tracer::value::{Missing, Value};

use super::message::{AnyValue, AnyValueKind, AnyValueList, Attribute, AttributeList};

pub(super) const SERVICE_NAME: &str = "service.name";

/// How deep values are nested at most; what is deeper is JSON in a text. Readers of protocol buffers refuse more than 100
/// messages in each other, and a value takes up to three.
const DEEPEST: usize = 24;

/// A value with a name.
pub(super) fn attribute(key: impl Into<String>, value: impl Into<AnyValueKind>) -> Attribute {
    Attribute { key: key.into(), value: Some(AnyValue { value: Some(value.into()) }) }
}

impl From<&str> for AnyValueKind {
    fn from(text: &str) -> Self {
        Self::StringValue(text.to_owned())
    }
}

impl From<String> for AnyValueKind {
    fn from(text: String) -> Self {
        Self::StringValue(text)
    }
}

impl From<u32> for AnyValueKind {
    fn from(number: u32) -> Self {
        Self::IntValue(number.into())
    }
}

/// An integer; a text if it has more than 64 bits with a sign.
impl From<i128> for AnyValueKind {
    fn from(number: i128) -> Self {
        i64::try_from(number).map_or_else(|_| Self::StringValue(number.to_string()), Self::IntValue)
    }
}

/// Attributes, each name once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HitAttributes(pub(super) Vec<Attribute>);

impl HitAttributes {
    /// What is known of a hit, and the values of its arguments.
    pub(super) fn of(hit: &Hit<'_>, functions: &dyn FunctionNames) -> Self {
        let mut all = Self(of_thread(hit));
        all.0.extend(of_place(hit));
        all.add_arguments("", hit, functions);
        all
    }

    /// Adds the arguments of the hit that ends an interval. One that the other hit has too, with another value, is called
    /// `end.NAME`. What is known of the thread is that of the begin.
    pub(super) fn add_end(&mut self, hit: &Hit<'_>, functions: &dyn FunctionNames) {
        self.add_arguments("end.", hit, functions);
    }

    fn add_arguments(&mut self, prefix: &str, hit: &Hit<'_>, functions: &dyn FunctionNames) {
        for (argument, value) in hit.arguments() {
            let PlannedArgument { text, names, shown, .. } = argument;
            let json = |value: &Value<'_>| shown.as_ref().and_then(|shown| shown.json(value, hit, functions));
            let of = |value: &Value<'_>| json(value).map_or_else(|| of_value(value), |json| of_json(&json, 0));
            let name = |value: &Value<'_>| names.as_ref().and_then(|names| value.name(names)).map(AnyValueKind::from);
            match &value {
                Ok(value) => {
                    self.add(prefix, text, of(value));
                    name(value).into_iter().for_each(|name| self.add(prefix, &format!("{text}.name"), name));
                }
                Err(missing) => {
                    self.add(prefix, &format!("{text}.why"), AnyValueKind::from(json_why(missing)));
                    if let Missing::Doubtful(Some(maybe)) = missing {
                        self.add(prefix, &format!("{text}.maybe"), of(maybe));
                    }
                }
            }
        }
    }

    /// Adds a value, unless it is there. If the name has another value, it gets the prefix or a number.
    fn add(&mut self, prefix: &str, name: &str, value: impl Into<AnyValue>) {
        let value = Some(value.into());
        let candidates = [name.to_owned(), format!("{prefix}{name}")];
        for key in candidates.into_iter().chain((2..=9).map(|number| format!("{prefix}{name}.{number}"))) {
            match self.0.iter().find(|it| it.key == key) {
                Some(same) if same.value == value => return,
                Some(_) => {}
                None => return self.0.push(Attribute { key, value }),
            }
        }
    }
}

impl From<AnyValueKind> for AnyValue {
    fn from(value: AnyValueKind) -> Self {
        Self { value: Some(value) }
    }
}

impl From<String> for AnyValue {
    fn from(text: String) -> Self {
        AnyValueKind::StringValue(text).into()
    }
}

/// The process, the thread and the CPU.
fn of_thread(hit: &Hit<'_>) -> Vec<Attribute> {
    let mut all = vec![
        attribute("process.pid", hit.process),
        attribute("thread.id", hit.thread),
        attribute("thread.name", hit.thread_name().into_owned()),
        attribute("cpu.logical_number", hit.cpu),
    ];
    if let Some(Ok(Some(task))) = hit.task() {
        all.push(attribute("smark.task", i128::from(task.get())));
    }
    all
}

/// The place in the program.
fn of_place(hit: &Hit<'_>) -> Vec<Attribute> {
    let mut all = vec![attribute("smark.module", &*hit.image.module)];
    if let Some(function) = &hit.site.function {
        all.push(attribute("code.function.name", &**function));
    }
    if !hit.marker.file.is_empty() {
        all.extend([attribute("code.file.path", &*hit.marker.file), attribute("code.line.number", hit.marker.line)]);
    }
    all
}

/// A value that is no whole one.
fn of_value(value: &Value<'_>) -> AnyValue {
    let kind = match (value.integer(), value.float(), value) {
        (Some(number), ..) => number.into(),
        (None, Some(number), _) => AnyValueKind::DoubleValue(number),
        (.., Value::Text { bytes, .. }) => from_bytes(bytes).into(),
        (.., Value::Array { .. }) => {
            AnyValueKind::ArrayValue(AnyValueList { values: value.numbers().map(|number| of_value(&number)).collect() })
        }
        _ => return AnyValue::default(),
    };
    kind.into()
}

/// The JSON of a whole value (`docs/json.md`).
fn of_json(json: &Json, depth: usize) -> AnyValue {
    let kind = match json {
        Json::Null => return AnyValue::default(),
        Json::Bool(is_true) => AnyValueKind::BoolValue(*is_true),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => AnyValueKind::IntValue(number),
            (_, Some(number), _) => i128::from(number).into(),
            (.., float) => AnyValueKind::DoubleValue(float.unwrap_or(f64::NAN)),
        },
        Json::String(text) => text.as_str().into(),
        nested if depth >= DEEPEST => nested.to_string().into(),
        Json::Array(values) => {
            AnyValueKind::ArrayValue(AnyValueList { values: values.iter().map(|it| of_json(it, depth + 1)).collect() })
        }
        Json::Object(members) => {
            let member =
                |(key, value): (&String, &Json)| Attribute { key: key.clone(), value: Some(of_json(value, depth + 1)) };
            AnyValueKind::KvlistValue(AttributeList { values: members.iter().map(member).collect() })
        }
    };
    kind.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_has_one_value() {
        let mut all = HitAttributes(vec![attribute("id", 1u32)]);
        let number = |number: i128| AnyValueKind::from(number);
        all.add("end.", "id", number(1));
        assert_eq!(all.0.len(), 1);
        all.add("end.", "id", number(2));
        all.add("end.", "id", number(3));
        all.add("end.", "size", number(i128::from(u64::MAX)));
        let expected = [
            attribute("id", 1u32),
            attribute("end.id", 2u32),
            attribute("end.id.2", 3u32),
            attribute("size", "18446744073709551615"),
        ];
        assert_eq!(all.0, expected);
    }

    #[test]
    fn what_is_nested_too_deep_is_a_text() {
        let mut json = json!([1, null]);
        (0..DEEPEST).for_each(|_| json = json!({ "a": json }));
        let mut value = of_json(&json, 0);
        for _ in 0..DEEPEST {
            let Some(AnyValueKind::KvlistValue(mut list)) = value.value else { panic!("{value:?}") };
            value = list.values.pop().unwrap().value.unwrap();
        }
        assert_eq!(value, AnyValue::from("[1,null]".to_owned()));
        let values = vec![AnyValueKind::IntValue(1).into(), AnyValue::default()];
        assert_eq!(of_json(&json!([1, null]), 0), AnyValueKind::ArrayValue(AnyValueList { values }).into());
    }
}
