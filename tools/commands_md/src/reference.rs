//! The page docs/reference.md in both languages: notifications, fields of INFO and settings, from
//! the module's tables.

use std::fmt::Write;

use seckill::command::table::{fields, SETTINGS};
use seckill_domain::event::EVENTS;

use crate::language::Language;

const HEAD: &str = "\
# Events, INFO and settings

Written from the module's own tables by `make docs`: change those, not this page. The Chinese is
in `tools/commands_md/src/zh.txt`. [中文](zh/reference.md)

## Events

What happens to a sale is an entry of its outbox ([outbox.md](outbox.md)) and a keyspace
notification of class `d`, sent when `notify-keyspace-events` has `d` and `K` or `E`. The last three
are transitions: they come once, when the sale gets there.

| entry of the outbox | notification | what happened |
| --- | --- | --- |
";

const HEAD_ZH: &str = "\
# 事件、INFO 和设置

由 `make docs` 从模块自己的表生成：要改就改那些表和 `tools/commands_md/src/zh.txt` 里的中文，不要改本页。
[English](../reference.md)

## 事件

活动上发生的事，是它 outbox 里的一条消息（[outbox.md](outbox.md)），也是一个 `d` 类的键空间通知；
`notify-keyspace-events` 里有 `d`，并且有 `K` 或 `E` 时才发。最后三个是状态转换：活动进入那个状态时来一次。

| outbox 的消息 | 通知 | 发生了什么 |
| --- | --- | --- |
";

const INFO_HEAD: &str = "
## INFO seckill

Counted on this node since it started; a replica counts what it is asked itself.

| field | what it says |
| --- | --- |
";

const INFO_HEAD_ZH: &str = "
## INFO seckill

本节点启动以来的计数；从节点只数发给它自己的请求。

| 字段 | 含义 |
| --- | --- |
";

const SETTINGS_HEAD: &str = "
## Settings

`CONFIG SET seckill.NAME number`, a line `seckill.NAME number` of the configuration file, or
`loadmodule libseckill.so NAME number`.

| setting | default | from | to | what it does |
| --- | --- | --- | --- | --- |
";

const SETTINGS_HEAD_ZH: &str = "
## 设置

`CONFIG SET seckill.NAME number`，配置文件里的一行 `seckill.NAME number`，或者
`loadmodule libseckill.so NAME number`。

| 设置 | 默认 | 最小 | 最大 | 作用 |
| --- | --- | --- | --- | --- |
";

/// The content of the page.
pub fn markdown(language: Language) -> String {
    let mut page = language.of(HEAD, HEAD_ZH).to_owned();
    for event in &EVENTS {
        let notification = event.notification.map(|name| format!("`{}`", name.to_string_lossy()));
        let notification = notification.unwrap_or_else(|| language.of("none", "无").to_owned());
        let about = language.sentence(event.about);
        row(&mut page, &[&format!("`{}`", event.name), &notification, &about]);
    }
    page.push_str(language.of(INFO_HEAD, INFO_HEAD_ZH));
    row(&mut page, &["`seckill_version`", language.of("the module's version", "模块的版本")]);
    for field in fields() {
        row(&mut page, &[&format!("`{}`", field.shown_name()), &language.sentence(field.about)]);
    }
    page.push_str(language.of(SETTINGS_HEAD, SETTINGS_HEAD_ZH));
    for setting in SETTINGS.iter() {
        let numbers = [setting.default, setting.min, setting.max].map(|number| number.to_string());
        let name = format!("`seckill.{}`", setting.name);
        let [default, min, max] = &numbers;
        let about = language.sentence(setting.about.trim());
        row(&mut page, &[&name, default, min, max, &about]);
    }
    page
}

fn row(page: &mut String, cells: &[&str]) {
    // Writing to a string can't fail.
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}
