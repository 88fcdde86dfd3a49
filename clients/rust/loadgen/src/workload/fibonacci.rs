//! A number of Fibonacci that the server computes, and what it is.

use serde::Deserialize;

use super::{Field, FieldType, Fields, KindFacts, OneKind, Operation, Workload};
use crate::config::WorkloadConfig;
use crate::error::ClientError;

/// The greatest whose value a double holds.
const N_MAX: u32 = 78;

#[derive(Deserialize)]
struct Parameters {
    #[serde(default = "thirtieth")]
    n: u32,
}

fn thirtieth() -> u32 {
    30
}

#[derive(Debug)]
pub struct Fibonacci {
    compute: Compute,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compute {
    pub n: u32,
    pub value: u64,
}

impl Operation for Compute {
    type Kind = OneKind;

    #[inline(always)]
    fn kind(&self) -> OneKind {
        OneKind
    }

    #[inline(always)]
    fn write(&self, fields: &mut impl Fields) {
        fields.u32(self.n);
        fields.u64(self.value);
    }
}

impl Workload for Fibonacci {
    const NAME: &'static str = "fibonacci";
    const KINDS: &'static [KindFacts] = &[KindFacts {
        name: "compute",
        fields: &[Field { name: "n", holds: FieldType::U32 }, Field { name: "value", holds: FieldType::U64 }],
    }];
    const REFUSALS: &'static [&'static str] = &[];
    type Operation = Compute;

    fn load(config: &WorkloadConfig) -> Result<Self, ClientError> {
        let Parameters { n } = config.parameters()?;
        if n > N_MAX {
            return Err(ClientError::refused("workload.parameters.n", n, &format!("at most {N_MAX}")));
        }
        let (value, _) = (0..n).fold((0, 1), |(low, high), _| (high, low + high));
        Ok(Self { compute: Compute { n, value } })
    }

    #[inline(always)]
    fn draw(&self, _connection: u32, _index: u64) -> Compute {
        self.compute
    }
}
