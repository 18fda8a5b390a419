//! A request id is cancelled before it was granted.

use super::*;

/// A later GRAB with this request id is granted nothing.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Fence<'a> {
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
    /// The request id, 1 to 128 bytes.
    #[serde(with = "wire::req")]
    pub req: &'a [u8],
}

impl Act for Fence<'_> {
    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        check(checker.sale().is_home(self.user))
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        sale.fences.insert(self.user, self.req, sale.balances.t);
    }
}
