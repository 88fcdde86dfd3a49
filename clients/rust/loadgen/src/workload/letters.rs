/// A text of the letters a to z that two random numbers give. It takes no memory until it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Letters {
    pub start: u32,
    pub step: u32,
    /// How many letters, each a byte.
    pub length: u32,
}

impl Letters {
    #[inline]
    pub fn bytes(&self) -> usize {
        self.length as usize
    }

    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut at = self.start;
        out.extend((0..self.length).map(|_| {
            let letter = b'a' + (at % 26) as u8;
            at = at.wrapping_add(self.step);
            letter
        }));
    }
}
