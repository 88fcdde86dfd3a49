//! What an HTTP client takes for success, by the requests that its endpoint declares.

use std::cmp::Reverse;

use serde_json::{Map, Value};

const OK: u64 = 200;

/// Answers by how a request begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// The longest beginning first.
    answers: Vec<Answer>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    begins: Vec<u8>,
    response: Vec<u8>,
}

impl Declared {
    /// Reads `endpoint.requests`. Requests that begin alike must succeed alike: an error says which do not.
    pub fn parse(requests: &str) -> Result<Self, String> {
        let requests: Map<String, Value> =
            serde_json::from_str(requests).map_err(|error| error.to_string())?;
        let answers = requests.iter().map(|(name, request)| {
            Answer::of(request).ok_or_else(|| format!("{name}: no method, path and success"))
        });
        let mut answers: Vec<Answer> = answers.collect::<Result<_, _>>()?;
        answers.sort_by_key(|answer| Reverse(answer.begins.len()));
        for answer in &answers {
            let contradicts =
                |other: &Answer| other.begins == answer.begins && other.response != answer.response;
            if answers.iter().any(contradicts) {
                let begins = String::from_utf8_lossy(&answer.begins);
                return Err(format!("{begins}: two requests begin like this, and succeed differently"));
            }
        }
        if answers.iter().all(|answer| answer.response == answers[0].response) {
            answers.truncate(1);
        }
        Ok(Self { answers })
    }

    /// What succeeds for the request at the front of `input`; `otherwise` where none is declared.
    #[inline]
    pub fn answer<'a>(&'a self, input: &[u8], otherwise: &'a [u8]) -> &'a [u8] {
        match &self.answers[..] {
            [] => otherwise,
            [only] => &only.response,
            answers => {
                let declared = answers.iter().find(|answer| input.starts_with(&answer.begins));
                declared.map_or(otherwise, |answer| &answer.response)
            }
        }
    }
}

impl Answer {
    fn of(request: &Value) -> Option<Self> {
        let (method, path) = (request["method"].as_str()?, request["path"].as_str()?);
        // Up to the first brace: a field or, doubled, a brace that ends the comparison early.
        let literal = path.split('{').next().unwrap_or(path);
        let ended = if literal.len() == path.len() { " " } else { "" };
        let success = request["success"].as_object()?;
        let status = success.get("status").map_or(Some(OK), |status| status[0].as_u64())?;
        let text = success.get("text").and_then(Value::as_str).map(str::to_owned);
        let body = text.or_else(|| success.get("json").map(Value::to_string)).unwrap_or_default();
        // These have no body, and say no length.
        let head = if status == 204 || status == 304 {
            format!("HTTP/1.1 {status} -\r\n\r\n")
        } else {
            let length = body.len();
            format!("HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}")
        };
        Some(Self { begins: format!("{method} {literal}{ended}").into_bytes(), response: head.into_bytes() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const OTHERWISE: &[u8] = b"otherwise";

    fn answer(requests: &str, line: &str) -> String {
        let declared = Declared::parse(requests).unwrap();
        String::from_utf8(declared.answer(line.as_bytes(), OTHERWISE).to_vec()).unwrap()
    }

    #[test]
    fn the_longest_beginning_decides() {
        let requests = r#"{
            "a": {"method": "POST", "path": "/rows", "success": {"json": {"rows": 1}}},
            "b": {"method": "PUT", "path": "/rows/{id}", "success": {"status": [204]}},
            "c": {"method": "PUT", "path": "/rows/first/{id}", "success": {"status": [201, 200]}}
        }"#;
        assert!(answer(requests, "POST /rows HTTP/1.1").ends_with("Content-Length: 10\r\n\r\n{\"rows\":1}"));
        assert_eq!(answer(requests, "PUT /rows/7 HTTP/1.1"), "HTTP/1.1 204 -\r\n\r\n");
        assert!(answer(requests, "PUT /rows/first/7 HTTP/1.1").starts_with("HTTP/1.1 201 -\r\n"));
        assert_eq!(answer(requests, "GET / HTTP/1.1"), "otherwise");
        assert_eq!(answer("{}", "POST /rows HTTP/1.1"), "otherwise");
    }

    #[test]
    fn requests_that_begin_alike_must_succeed_alike() {
        let requests = |second: &str| {
            let first = r#"{"method": "POST", "path": "/call", "success": {"json": {"status": "success"}}}"#;
            format!(r#"{{"a": {first}, "b": {{"method": "POST", "path": "/call", "success": {second}}}}}"#)
        };
        let alike = requests(r#"{"json": {"status": "success"}}"#);
        assert!(answer(&alike, "POST /call HTTP/1.1").ends_with(r#"{"status":"success"}"#));
        let refused = Declared::parse(&requests("{}")).unwrap_err();
        assert!(refused.starts_with("POST /call "), "{refused}");
    }
}
