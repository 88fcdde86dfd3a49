use std::fmt;

/// Why a client ends without a report; the variant decides the exit code.
#[derive(Debug)]
pub enum ClientError {
    /// The configuration is refused: exit code 2.
    Configuration(String),
    /// The endpoint cannot be used: exit code 3.
    Endpoint(String),
    /// The client lost what it needs to be believed: exit code 4.
    Integrity(String),
}

impl ClientError {
    /// A value of the configuration that is refused by its name.
    pub fn refused(name: &str, given: impl fmt::Display, allowed: &str) -> Self {
        Self::Configuration(format!("{name}: {given} is refused; allowed: {allowed}"))
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Configuration(_) => 2,
            Self::Endpoint(_) => 3,
            Self::Integrity(_) => 4,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration(message) | Self::Endpoint(message) | Self::Integrity(message) => {
                formatter.write_str(message)
            }
        }
    }
}

impl std::error::Error for ClientError {}
