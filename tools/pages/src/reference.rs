//! The page docs/reference.md in both languages: notifications, fields of INFO and settings, from
//! the module's tables.

use seckill::command::table::{fields, SETTINGS};
use seckill_domain::event::EVENTS;

use crate::language::Language;
use crate::text::{each, fill};

pub fn markdown(language: Language) -> String {
    let events = each(&EVENTS, "\n", |event| {
        let notification = event.notification.map(|name| format!("`{}`", name.to_string_lossy()));
        let notification = notification.unwrap_or_else(|| language.of("none", "无").to_owned());
        format!("| `{}` | {notification} | {} |", event.name, language.sentence(event.about))
    });
    let fields = each(fields(), "\n", |field| {
        format!("| `{}` | {} |", field.shown_name(), language.sentence(field.about))
    });
    let settings = each(SETTINGS.iter(), "\n", |it| {
        let about = language.sentence(it.about.trim());
        format!("| `seckill.{}` | {} | {} | {} | {about} |", it.name, it.default, it.min, it.max)
    });
    let page = language.of(include_str!("reference.txt"), include_str!("reference.zh.txt"));
    fill(page, &[("events", events), ("fields", fields), ("settings", settings)])
}
