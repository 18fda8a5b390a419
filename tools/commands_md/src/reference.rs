//! The page docs/reference.md: notifications, fields of INFO and settings, from the module's
//! tables.

use std::fmt::Write;

use seckill::command::table::{fields, SETTINGS};
use seckill_domain::event::EVENTS;

const HEAD: &str = "\
# Events, INFO and settings

Written from the module's own tables by `make docs`: change those, not this page.

## Events

What happens to a sale is an entry of its outbox ([outbox.md](outbox.md)) and a keyspace
notification of class `d`, sent when `notify-keyspace-events` has `d` and `K` or `E`. The last three
are transitions: they come once, when the sale gets there.

| entry of the outbox | notification | what happened |
| --- | --- | --- |
";

const INFO_HEAD: &str = "
## INFO seckill

Counted on this node since it started; a replica counts what it is asked itself.

| field | what it says |
| --- | --- |
| `seckill_version` | the module's version |
";

const SETTINGS_HEAD: &str = "
## Settings

`CONFIG SET seckill.NAME number`, a line `seckill.NAME number` of the configuration file, or
`loadmodule libseckill.so NAME number`.

| setting | default | from | to | what it does |
| --- | --- | --- | --- | --- |
";

/// The page.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for event in &EVENTS {
        let notification = event.notification.map(|name| format!("`{}`", name.to_string_lossy()));
        let notification = notification.unwrap_or_else(|| "none".to_owned());
        row(&mut page, &[&format!("`{}`", event.name), &notification, event.about]);
    }
    page.push_str(INFO_HEAD);
    for field in fields() {
        row(&mut page, &[&format!("`{}`", field.shown_name()), field.about]);
    }
    page.push_str(SETTINGS_HEAD);
    for setting in SETTINGS.iter() {
        let numbers = [setting.default, setting.min, setting.max].map(|number| number.to_string());
        let name = format!("`seckill.{}`", setting.name);
        let [default, min, max] = &numbers;
        row(&mut page, &[&name, default, min, max, setting.about.trim()]);
    }
    page
}

fn row(page: &mut String, cells: &[&str]) {
    // Writing to a string does not fail.
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}
