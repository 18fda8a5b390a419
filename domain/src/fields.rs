//! The fields of an outbox entry and the keys of its `data`, a row each. The writers of entries,
//! the tables of docs/outbox.md in both languages and the types of the client libraries come from
//! these rows.

use crate::model::event::EventKind::{self, *};

/// A field of an entry. The fields from `user` on are optional and may have any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The event's word.
    Event,
    /// The key of the sale.
    Sale,
    /// Numbers and words, as JSON.
    Data,
    /// The user.
    User,
    /// The request id of the grant, the restock or the waiter.
    Req,
    /// The stream that the sale's terms name.
    Outbox,
    /// The split's id, if the sale is a part.
    Split,
}

/// Every field, in order.
pub const FIELDS: [Field; 7] =
    [Field::Event, Field::Sale, Field::Data, Field::User, Field::Req, Field::Outbox, Field::Split];

impl Field {
    /// The name in the stream.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Event => "event",
            Field::Sale => "sale",
            Field::Data => "data",
            Field::User => "user",
            Field::Req => "req",
            Field::Outbox => "outbox",
            Field::Split => "split",
        }
    }
}

/// Versions of the fields and keys of entries. A command with an unknown version is refused; there
/// is one version so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryVersion {
    /// All that is in [`FIELDS`] and [`DATA`].
    V1,
}

impl EntryVersion {
    /// The newest version of entries known to modules with this version of effects; 0 is this
    /// module's.
    pub fn known_to(_effects_version: u64) -> EntryVersion {
        EntryVersion::V1
    }

    pub(crate) fn number(self) -> u64 {
        match self {
            EntryVersion::V1 => 1,
        }
    }
}

/// A key of `data`.
#[derive(Debug)]
pub struct DataKey {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub kind: Kind,
    /// The first version of entries that has it.
    pub since: EntryVersion,
    /// The entries that have it.
    pub of: Of,
    /// The meaning.
    pub about: &'static str,
    /// The meaning in Chinese.
    pub about_zh: &'static str,
}

/// The value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A word.
    Word,
    /// A list of numbers.
    Numbers,
}

/// The entries that have a key. A key without a value is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// All.
    All,
    /// Keys of entries about a grant, and of these events.
    Grants(&'static [EventKind]),
    /// Keys of these events.
    Events(&'static [EventKind]),
}

/// The constant texts of a key in an entry, each with the comma before the key.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// Before a number.
    pub number: &'static str,
    /// Before a word.
    pub word: &'static str,
    /// Before the first number of a list.
    pub list: &'static str,
    /// Between a word and a number.
    pub behind_word: &'static str,
    /// Before the word that begins the object.
    pub first: &'static str,
}

macro_rules! data_keys {
    ($(
        $key:ident $name:literal $kind:ident $since:ident $of:expr, $about:literal, $zh:literal;
    )*) => {
        $(pub(crate) const $key: Key = Key {
            number: concat!(",\"", $name, "\":"),
            word: concat!(",\"", $name, "\":\""),
            list: concat!(",\"", $name, "\":["),
            behind_word: concat!("\",\"", $name, "\":"),
            first: concat!("{\"", $name, "\":\""),
        };)*

        /// Every key of `data`, in order. The keys of terms, see [`TERMS`], come after `applied`.
        ///
        /// [`TERMS`]: crate::terms::TERMS
        pub static DATA: &[DataKey] = &[$(DataKey {
            name: $name,
            kind: Kind::$kind,
            since: EntryVersion::$since,
            of: $of,
            about: $about,
            about_zh: $zh,
        },)*];
    };
}

const GRANTS: Of = Of::Grants(&[]);
const WAITERS: Of = Of::Events(&[Wait, Offer, Leave, Dropped]);
const MOVES: Of = Of::Events(&[Send, Receive]);

data_keys! {
    ID "id" Word V1 Of::All,
        "the sale itself: a sale that is made anew under the same name has another id",
        "活动本身：同名重建的活动有另一个 id";
    EPOCH "epoch" Number V1 Of::All,
        "names one run of one primary: greater after every restart and promotion",
        "任期：代表主节点的一次运行，每次重启和升为主节点之后都更大";
    REV "rev" Number V1 Of::All, "1, 2, 3 and so on, without gaps", "1、2、3……没有缺号";
    T "t" Number V1 Of::All, "time of the event, Unix ms", "事件的时刻，Unix 毫秒";
    SUPPLY "supply" Number V1 Of::All,
        "units of the sale after the event: `available`, `held` and `sold` together",
        "事件之后活动的件数：`available`、`held` 与 `sold` 之和";
    AVAILABLE "available" Number V1 Of::All, "units that can be granted", "可售的件数";
    HELD "held" Number V1 Of::All, "units in held grants", "预占的件数";
    SOLD "sold" Number V1 Of::All, "units in sold grants", "已售的件数";
    SEQ "seq" Number V1 GRANTS, "the number of the grant", "抢购记录的序号";
    QTY "qty" Number V1 GRANTS, "its units after the event", "事件之后它的件数";
    STATE "state" Word V1 GRANTS, "its state after the event", "事件之后它的状态";
    AT "at" Number V1 GRANTS, "time of the grant, Unix ms", "抢到的时刻，Unix 毫秒";
    DEADLINE "deadline" Number V1 GRANTS,
        "until when it is held, if it is, Unix ms",
        "预占到什么时候（如果是预占），Unix 毫秒";
    ROUND "round" Number V1 Of::Grants(&[Round]),
        "number of the round, in a sale with rounds",
        "第几场（有场次的活动）";
    BORN "born" Number V1 GRANTS,
        "the epoch of the grant; outside Redis a grant is (id, born, seq), because a seq that was \
         lost in a crash is given out again",
        "抢到时的 epoch；在 Redis 之外，用 (id, born, seq) 标识一条抢购记录，因为崩溃时丢掉的 seq 会再发一次";
    RETURNED "returned" Number V1 Of::Events(&[Trim, Confirm]),
        "units that [KEEP](holds.md#give-a-part-back-keep) gave back of the grant, whose `qty` is \
         what is left",
        "[KEEP](holds.md#部分退keep) 让这条记录退回了几件；`qty` 是留下的";
    DELTA "delta" Number V1 Of::Events(&[Restock]),
        "units asked for, negative when withdrawn",
        "要求变动的件数，撤回是负数";
    APPLIED "applied" Number V1 Of::Events(&[Restock]),
        "units moved, negative when withdrawn",
        "实际变动的件数，撤回是负数";
    PEER "peer" Number V1 MOVES, "number of the other [part](parts.md)", "另一个[分片](parts.md)的编号";
    MOVED "total" Number V1 MOVES,
        "units ever sent to it or received from it",
        "累计调往它或从它调入的件数";
    TICKET "ticket" Number V1 WAITERS,
        "the waiter's number on the [waiting list](waiting-list.md); an OFFER has its grant, too",
        "[候补](waiting-list.md)号；OFFER 还带抢购记录的各项";
    WAITS_FOR "qty" Number V1 Of::Events(&[Wait, Leave, Dropped]),
        "units that they wait for",
        "候补的件数";
    UNTIL "until" Number V1 WAITERS,
        "until when they wait, Unix ms, if they gave a time",
        "等到什么时候，Unix 毫秒（给了才有）";
    REASON "reason" Word V1 Of::Events(&[Leave, Dropped]),
        "why they left the list: `cancelled` or `imported`; `until`, `closed`, `limit` or \
         `denied`",
        "为什么不再候补：`cancelled`、`imported`；`until`、`closed`、`limit`、`denied`";
    UNITS "units" Numbers V1 GRANTS,
        "the numbers of its units after the event, or those it had last, in a sale with [numbered \
         units](units.md)",
        "[编号库存](units.md)的活动里：事件之后它有的号，或者最后有过的号";
}
