//! Templates: text with `{field}` in it, and `{{` for a brace.

use loadgen::{ClientError, Field, Fields, Letters};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Field(String),
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some((literal, after)) = rest.split_once('{') {
            pieces.push(Piece::Literal(literal.to_owned()));
            if let Some(after) = after.strip_prefix('{') {
                pieces.push(Piece::Literal("{".to_owned()));
                rest = after;
                continue;
            }
            let (name, after) = after.split_once('}').ok_or_else(|| {
                format!("{text:?} is refused; allowed: {{field}}, and two opening braces for one")
            })?;
            pieces.push(Piece::Field(name.to_owned()));
            rest = after;
        }
        pieces.push(Piece::Literal(rest.to_owned()));
        Ok(Self(pieces))
    }
}

/// How a field stands in what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Json,
    /// Without the quotes of a text. Texts are of letters only, so that this is also how they stand in a path.
    Bare,
}

/// A part of what is sent: bytes, or the field of that place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Bytes(Vec<u8>),
    Field(usize, Form),
}

impl Template {
    /// Appends its parts to `parts`; `place` is where it stands in the configuration.
    pub fn compile(
        &self,
        fields: &[Field],
        form: Form,
        place: &str,
        parts: &mut Vec<Part>,
    ) -> Result<(), ClientError> {
        for piece in &self.0 {
            match piece {
                Piece::Literal(text) => push_bytes(text.as_bytes(), parts),
                Piece::Field(name) => match fields.iter().position(|field| field.name == name) {
                    Some(field) => parts.push(Part::Field(field, form)),
                    None => {
                        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                        let given = format!("{{{name}}}");
                        return Err(ClientError::refused(place, given, &names.join(", ")));
                    }
                },
            }
        }
        Ok(())
    }
}

/// Bytes that follow bytes are one part with them.
pub fn push_bytes(bytes: &[u8], parts: &mut Vec<Part>) {
    match parts.last_mut() {
        _ if bytes.is_empty() => {}
        Some(Part::Bytes(before)) => before.extend_from_slice(bytes),
        _ => parts.push(Part::Bytes(bytes.to_vec())),
    }
}

/// The fields of one operation as JSON, one behind the other.
#[derive(Default)]
pub struct Values {
    json: Vec<u8>,
    ends: Vec<usize>,
}

impl Values {
    #[inline]
    pub fn clear(&mut self) {
        self.json.clear();
        self.ends.clear();
    }

    #[inline]
    pub fn get(&self, field: usize, form: Form) -> &[u8] {
        let start = field.checked_sub(1).map_or(0, |before| self.ends[before]);
        let json = &self.json[start..self.ends[field]];
        match (form, json) {
            (Form::Bare, [b'"', bare @ .., b'"']) => bare,
            _ => json,
        }
    }
}

impl Fields for Values {
    #[inline]
    fn u32(&mut self, value: u32) {
        self.json.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.ends.push(self.json.len());
    }

    #[inline]
    fn u64(&mut self, value: u64) {
        self.json.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self.ends.push(self.json.len());
    }

    #[inline]
    fn text(&mut self, text: Letters) {
        self.json.push(b'"');
        text.write(&mut self.json);
        self.json.push(b'"');
        self.ends.push(self.json.len());
    }
}
