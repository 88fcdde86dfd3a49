//! A request of one kind: what is declared, and what is sent.

use std::collections::BTreeMap;

use loadgen::{ClientError, Field};
use serde::Deserialize;

use crate::answer::Answer;
use crate::template::{push_bytes, Form, Part, Template, Values};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    method: String,
    path: Template,
    #[serde(default)]
    headers: BTreeMap<String, Template>,
    body: Option<Template>,
    pub success: Answer,
    #[serde(default)]
    pub refusals: BTreeMap<String, Answer>,
    /// The key of the answer that counts how often the server tried again.
    pub retries: Option<String>,
}

pub struct Request {
    /// Up to the value of Content-Length; the whole request, where it has no body.
    head: Vec<Part>,
    body: Option<Body>,
}

struct Body {
    parts: Vec<Part>,
    /// What is not a field's.
    fixed_bytes: usize,
}

impl Request {
    /// `place` is where the request stands in the configuration.
    pub fn compile(
        declared: &Declared,
        fields: &[Field],
        host: &str,
        place: &str,
    ) -> Result<Self, ClientError> {
        let mut head = Vec::new();
        push_bytes(format!("{} ", declared.method).as_bytes(), &mut head);
        declared.path.compile(fields, Form::Bare, &format!("{place}.path"), &mut head)?;
        push_bytes(format!(" HTTP/1.1\r\nHost: {host}\r\n").as_bytes(), &mut head);
        for (name, value) in &declared.headers {
            push_bytes(format!("{name}: ").as_bytes(), &mut head);
            value.compile(fields, Form::Bare, &format!("{place}.headers.{name}"), &mut head)?;
            push_bytes(b"\r\n", &mut head);
        }
        let Some(body) = &declared.body else {
            push_bytes(b"\r\n", &mut head);
            return Ok(Self { head, body: None });
        };
        if !declared.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
            push_bytes(b"Content-Type: application/json\r\n", &mut head);
        }
        push_bytes(b"Content-Length: ", &mut head);
        let mut parts = Vec::new();
        body.compile(fields, Form::Json, &format!("{place}.body"), &mut parts)?;
        let fixed = parts.iter().map(|part| if let Part::Bytes(bytes) = part { bytes.len() } else { 0 });
        Ok(Self { head, body: Some(Body { fixed_bytes: fixed.sum(), parts }) })
    }

    #[inline]
    pub fn write(&self, values: &Values, out: &mut Vec<u8>) {
        write_parts(&self.head, values, out);
        let Some(Body { parts, fixed_bytes }) = &self.body else { return };
        let of_fields: usize = parts.iter().map(|part| field(part, values).len()).sum();
        out.extend_from_slice(itoa::Buffer::new().format(fixed_bytes + of_fields).as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        write_parts(parts, values, out);
    }
}

/// The value of a part that is a field.
#[inline]
fn field<'a>(part: &Part, values: &'a Values) -> &'a [u8] {
    match part {
        Part::Field(place, form) => values.get(*place, *form),
        Part::Bytes(_) => &[],
    }
}

#[inline]
fn write_parts(parts: &[Part], values: &Values, out: &mut Vec<u8>) {
    for part in parts {
        match part {
            Part::Bytes(bytes) => out.extend_from_slice(bytes),
            Part::Field(place, form) => out.extend_from_slice(values.get(*place, *form)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use loadgen::{CounterAndMessages, CounterOrMessage, Letters, Operation, Transfer, Transfers, Workload};
    use serde_json::{json, Value};

    fn declared(request: Value) -> Declared {
        serde_json::from_value(request).unwrap()
    }

    fn written<W: Workload>(kind: usize, request: Value, operation: &W::Operation) -> String {
        let fields = W::KINDS[kind].fields;
        let compiled =
            Request::compile(&declared(request), fields, "bank:1", "endpoint.requests.it").unwrap();
        let mut values = Values::default();
        operation.write(&mut values);
        let mut out = Vec::new();
        compiled.write(&values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_request_states_the_length_of_its_body() {
        let request = json!({
            "method": "POST", "path": "/transfer", "success": {},
            "body": r#"{{"from":{from},"to":{to},"amount":{amount}}"#,
        });
        for (source, destination, amount) in
            [(1, 2, 3), (99_999, 0, 1000), (2_097_151, 2_097_150, 2_147_483_647)]
        {
            let operation = Transfer { source, destination, amount };
            let body = format!(r#"{{"from":{source},"to":{destination},"amount":{amount}}}"#);
            assert_eq!(
                written::<Transfers>(0, request.clone(), &operation),
                format!(
                    "POST /transfer HTTP/1.1\r\nHost: bank:1\r\nContent-Type: application/json\r\n\
                     Content-Length: {}\r\n\r\n{body}",
                    body.len()
                )
            );
        }
    }

    #[test]
    fn a_field_is_json_in_the_body_and_bare_elsewhere() {
        let body = Letters { start: 0, step: 1, length: 3 };
        let message = CounterOrMessage::Message { connection: 7, index: 1 << 40, body };
        let request = json!({
            "method": "PUT", "path": "/of/{connection}/{index}?said={body}", "success": {},
            "headers": {"X-Said": "<{body}>", "content-type": "text/plain"}, "body": "[{body},{{{body}]",
        });
        assert_eq!(
            written::<CounterAndMessages>(1, request, &message),
            "PUT /of/7/1099511627776?said=abc HTTP/1.1\r\nHost: bank:1\r\nX-Said: <abc>\r\n\
             content-type: text/plain\r\nContent-Length: 14\r\n\r\n[\"abc\",{\"abc\"]"
        );
    }

    #[test]
    fn a_request_without_a_body_ends_with_its_head() {
        let request =
            json!({"method": "DELETE", "path": "/counters/{counter}", "success": {"status": [204]}});
        let operation = CounterOrMessage::Increment { counter: 5, amount: 1 };
        assert_eq!(
            written::<CounterAndMessages>(0, request, &operation),
            "DELETE /counters/5 HTTP/1.1\r\nHost: bank:1\r\n\r\n"
        );
    }

    #[test]
    fn a_field_that_is_not_there_is_refused_by_name() {
        for (key, value) in
            [("path", json!("/{colour}")), ("headers", json!({"X": "{colour}"})), ("body", json!("{colour}"))]
        {
            let mut request = json!({"method": "POST", "path": "/", "success": {}});
            request[key] = value;
            let fields = Transfers::KINDS[0].fields;
            match Request::compile(&declared(request), fields, "bank", "endpoint.requests.transfer") {
                Err(ClientError::Configuration(message)) => {
                    assert!(message.starts_with(&format!("endpoint.requests.transfer.{key}")), "{message}");
                    assert!(message.ends_with("{colour} is refused; allowed: from, to, amount"), "{message}");
                }
                _ => panic!("{key} is taken"),
            }
        }
    }

    #[test]
    fn a_brace_that_is_left_open_is_no_template() {
        assert!(Template::try_from("{from".to_owned()).is_err());
        assert!(Template::try_from("}{{from".to_owned()).is_ok());
    }
}
