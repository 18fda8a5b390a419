//! The strategies as in their posts, with their bugs. A strategy is one function with one call for
//! each round trip. The first comment line names the post and the row in the list of systems.

mod counter;
mod flock;
mod list;
mod locks;
mod module;
mod outbox;
mod queue;
mod rivals;
mod sql_002;
mod sql_004;
mod sql_units;
mod watch;

use crate::contender::Contender;

pub use module::count;
pub use sql_004::{TABLES, TABLES_OF_POSTGRES};

/// All contenders, in the order of the table.
pub const ALL: &[Contender] = &[
    counter::R01,
    counter::R02,
    counter::R03A,
    counter::R03B,
    watch::R04,
    watch::R05,
    watch::R06,
    watch::R07,
    watch::R08,
    watch::R09,
    watch::R10,
    watch::R10B,
    list::R12,
    list::R13,
    list::R14,
    counter::R15,
    counter::R16,
    counter::R17,
    counter::R18,
    counter::R19,
    counter::R20,
    list::R21A,
    list::R21B,
    flock::L01,
    flock::L02,
    flock::L03,
    locks::L04,
    locks::L04M,
    locks::L05,
    locks::L05P,
    locks::L06,
    locks::L07,
    locks::L08,
    locks::L09,
    locks::L10,
    locks::L11A,
    locks::L11B,
    locks::L12,
    sql_002::M01,
    sql_002::M02,
    sql_004::M03,
    sql_004::M04,
    sql_002::M05A,
    sql_002::M05B,
    sql_002::M05C,
    sql_002::M06,
    sql_002::M07,
    sql_004::M08,
    sql_004::M09,
    sql_004::M10,
    sql_004::M11,
    sql_004::M12,
    sql_004::M13,
    sql_004::M14,
    sql_004::M15,
    sql_units::M16,
    sql_units::M17,
    queue::Q01,
    queue::Q02,
    queue::Q03,
    queue::Q04,
    rivals::P01,
    rivals::P02,
    rivals::P03,
    module::S01,
    module::S02,
    outbox::S03,
    module::S04,
    module::S05A,
    module::S05B,
    outbox::S06,
    module::S07,
];

/// The rows with these ids, or whose ids begin with one of them (`R03` means R03a and R03b). All
/// rows without an argument.
///
/// # Errors
/// A message with the unknown name.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Contender>, String> {
    let means = |name: &str, id: &str| {
        let rest = id.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name));
        rest.is_some() && id[name.len()..].chars().all(|c| c.is_ascii_lowercase())
    };
    for name in names {
        if !ALL.iter().any(|one| means(name, one.id)) {
            let all: Vec<&str> = ALL.iter().map(|one| one.id).collect();
            return Err(format!("There is no row {name}. Rows are {}.", all.join(" ")));
        }
    }
    let named = |one: &&Contender| names.is_empty() || names.iter().any(|name| means(name, one.id));
    Ok(ALL.iter().filter(named).collect())
}
