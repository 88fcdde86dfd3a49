//! What an answer must look like to mean that an operation was done, or refused by a name.

use std::borrow::Cow;

use loadgen::{ClientError, Decoded, Outcome};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::request::Declared;

const SHOWN_BODY_BYTES: usize = 300;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    #[serde(default = "ok")]
    status: Vec<u16>,
    /// The whole body; None: any.
    text: Option<String>,
    /// Keys that the body has at its top level, with these values; None: any body.
    json: Option<Map<String, Value>>,
}

fn ok() -> Vec<u16> {
    vec![200]
}

impl Answer {
    /// `parsed` is the body, where it is a JSON object.
    fn fits(&self, status: u16, body: &[u8], parsed: Option<&Map<String, Value>>) -> bool {
        let holds = |wanted: &Map<String, Value>| {
            parsed.is_some_and(|parsed| wanted.iter().all(|(key, value)| parsed.get(key) == Some(value)))
        };
        self.status.contains(&status)
            && self.text.as_ref().is_none_or(|text| text.as_bytes() == body)
            && self.json.as_ref().is_none_or(holds)
    }
}

/// Judges the answers to requests of one kind.
pub struct Judge {
    success: Answer,
    /// By the place of the name in the workload's refusals.
    refusals: Vec<(usize, Answer)>,
    retries: Option<String>,
    /// The last status and body that said success at the first attempt: most answers repeat them, so comparing
    /// replaces parsing.
    last_success: Option<(u16, Vec<u8>)>,
}

impl Judge {
    /// `place` is where the request stands in the configuration; `names` are the workload's refusals.
    pub fn new(declared: &Declared, names: &[&str], place: &str) -> Result<Self, ClientError> {
        let mut refusals = Vec::new();
        for (name, answer) in &declared.refusals {
            let Some(Outcome::Refused(number)) = Outcome::refused(name.as_bytes(), names) else {
                let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(ClientError::refused(&format!("{place}.refusals"), name, &allowed));
            };
            refusals.push((number, answer.clone()));
        }
        Ok(Self {
            success: declared.success.clone(),
            refusals,
            retries: declared.retries.clone(),
            last_success: None,
        })
    }

    #[inline]
    pub fn reply(&mut self, status: u16, body: &[u8], consumed: usize) -> Decoded<'static> {
        match &self.last_success {
            Some((last_status, last_body)) if status == *last_status && body == last_body => {
                Decoded::Reply { consumed, outcome: Outcome::Acknowledged }
            }
            _ => self.read(status, body, consumed),
        }
    }

    fn read(&mut self, status: u16, body: &[u8], consumed: usize) -> Decoded<'static> {
        let parsed = serde_json::from_slice::<Map<String, Value>>(body).ok();
        let told = self.retries.as_ref().and_then(|key| parsed.as_ref()?.get(key));
        let retries = told.map_or(Some(0), |told| told.as_u64().and_then(|told| u16::try_from(told).ok()));
        let Some(retries) = retries else {
            return Decoded::Reply { consumed, outcome: error(status, body) };
        };
        let refusal = self.refusals.iter().find(|(_, answer)| answer.fits(status, body, parsed.as_ref()));
        let outcome = match refusal {
            Some((number, _)) => Outcome::Refused(*number),
            None if self.success.fits(status, body, parsed.as_ref()) => Outcome::Acknowledged,
            None => error(status, body),
        };
        if retries > 0 {
            return Decoded::ReplyAfterRetries { consumed, outcome, retries };
        }
        if outcome == Outcome::Acknowledged {
            self.last_success = Some((status, body.to_vec()));
        }
        Decoded::Reply { consumed, outcome }
    }
}

fn error(status: u16, body: &[u8]) -> Outcome<'static> {
    Outcome::Error(Cow::Owned(describe(status, body)))
}

pub fn describe(status: u16, body: &[u8]) -> String {
    let shown = &body[..body.len().min(SHOWN_BODY_BYTES)];
    format!("HTTP {status}: {}", String::from_utf8_lossy(shown))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    const NAMES: &[&str] = &["closed", "insufficient"];

    fn judge(request: Value) -> Result<Judge, ClientError> {
        let mut declared = json!({"method": "POST", "path": "/"});
        declared.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
        Judge::new(&serde_json::from_value(declared).unwrap(), NAMES, "endpoint.requests.it")
    }

    fn of_a_bank() -> Judge {
        judge(json!({
            "success": {"json": {"ok": true}},
            "refusals": {"insufficient": {"json": {"error": "insufficient"}}, "closed": {"status": [409]}},
            "retries": "retries",
        }))
        .unwrap()
    }

    fn outcome(judge: &mut Judge, status: u16, body: &str) -> (Outcome<'static>, u16) {
        match judge.reply(status, body.as_bytes(), 5) {
            Decoded::Reply { consumed: 5, outcome } => (outcome, 0),
            Decoded::ReplyAfterRetries { consumed: 5, outcome, retries } => (outcome, retries),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn status_and_keys_decide() {
        let judge = &mut of_a_bank();
        // The same answer again is compared and not parsed.
        for _ in 0..2 {
            for body in [r#"{"ok":true}"#, r#"{ "more" : 1, "ok" : true }"#] {
                assert_eq!(outcome(judge, 200, body), (Outcome::Acknowledged, 0), "{body}");
            }
            for (status, body) in [
                (200, r#"{"ok":false}"#),
                (200, r#"{"ok":1}"#),
                (200, r#"{"is":{"ok":true}}"#),
                (200, r#"{"ok":false,"error":"no such account"}"#),
                (200, "true"),
                (200, ""),
                (201, r#"{"ok":true}"#),
                (500, r#"{"ok":true}"#),
                (500, r#"{"ok":false,"error":"insufficient"}"#),
            ] {
                let said = outcome(judge, status, body).0;
                assert_eq!(said, Outcome::Error(Cow::Owned(format!("HTTP {status}: {body}"))));
            }
        }
    }

    #[test]
    fn a_refusal_that_fits_goes_before_success() {
        let judge = &mut of_a_bank();
        assert_eq!(outcome(judge, 200, r#"{"error":"insufficient"}"#).0, Outcome::Refused(1));
        assert_eq!(outcome(judge, 200, r#"{"ok":true,"error":"insufficient"}"#).0, Outcome::Refused(1));
        assert_eq!(outcome(judge, 409, "closed on Sundays").0, Outcome::Refused(0));
    }

    #[test]
    fn without_json_any_body_fits() {
        let judge = &mut self::judge(json!({"success": {"status": [200, 204]}})).unwrap();
        for (status, body) in [(200, "done"), (204, ""), (200, "{}")] {
            assert_eq!(outcome(judge, status, body).0, Outcome::Acknowledged);
        }
        assert!(matches!(outcome(judge, 404, "").0, Outcome::Error(_)));
    }

    #[test]
    fn a_text_is_the_whole_body() {
        let refusal = json!({"success": {}, "refusals": {"closed": {"status": [530], "text": "closed"}}});
        let judge = &mut self::judge(refusal).unwrap();
        assert_eq!(outcome(judge, 530, "closed").0, Outcome::Refused(0));
        assert!(matches!(outcome(judge, 530, "closed on Sundays").0, Outcome::Error(_)));
        assert!(matches!(outcome(judge, 500, "closed").0, Outcome::Error(_)));
    }

    #[test]
    fn retries_of_the_server_come_with_any_outcome() {
        let judge = &mut of_a_bank();
        assert_eq!(outcome(judge, 200, r#"{"ok":true,"retries":3}"#), (Outcome::Acknowledged, 3));
        assert_eq!(outcome(judge, 200, r#"{"ok":true,"retries":3}"#), (Outcome::Acknowledged, 3));
        assert_eq!(outcome(judge, 200, r#"{"ok":true,"retries":0}"#), (Outcome::Acknowledged, 0));
        assert_eq!(outcome(judge, 200, r#"{"error":"insufficient","retries":2}"#), (Outcome::Refused(1), 2));
        assert_eq!(outcome(judge, 500, r#"{"retries":1}"#).1, 1);
        for told in ["-1", "65536", "\"3\"", "0.5"] {
            let body = format!(r#"{{"ok":true,"retries":{told}}}"#);
            assert!(matches!(outcome(judge, 200, &body).0, Outcome::Error(_)), "{body}");
        }
    }

    #[test]
    fn a_refusal_that_the_workload_does_not_have_is_refused() {
        let declared = json!({"success": {}, "refusals": {"asleep": {"status": [503]}}});
        match judge(declared) {
            Err(ClientError::Configuration(message)) => {
                assert_eq!(
                    message,
                    "endpoint.requests.it.refusals: asleep is refused; allowed: closed, insufficient"
                );
            }
            _ => panic!("asleep is taken"),
        }
    }
}
