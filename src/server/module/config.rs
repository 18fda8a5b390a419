//! The operator's settings: `CONFIG SET seckill.<name> <number>`, a line of the configuration file,
//! or `loadmodule <file> <name> <number> ...`.

use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_longlong, c_void};

use redis_module::raw::{self, RedisModuleString};

use crate::server::data_set::timer;
use crate::server::ffi::ctx::{Ctx, ServerLock};
use crate::server::settings::{Setting, ALL};

const PREFIX: &str = "seckill.";

const NO_VALUE: &str = "loadmodule: a setting has no value; arguments are pairs of name and value";
const NOT_REGISTERED: &str = "the server refused a setting of the module";
const NOT_LOADED: &str = "a seckill line of the configuration file has a value out of range";

/// Registers every setting. Arguments of loadmodule are defaults, which the configuration file and
/// CONFIG SET override.
pub(crate) fn register(ctx: Ctx<'_>, args: &[&[u8]]) -> Result<(), String> {
    for (setting, value) in parse(args)? {
        setting.set(value);
    }
    for setting in ALL.iter() {
        register_one(ctx, setting)?;
    }
    // SAFETY: a living context is all that the call needs.
    match unsafe { api!(RedisModule_LoadConfigs)(ctx.raw()) } as isize {
        raw::REDISMODULE_OK => Ok(()),
        _ => Err(NOT_LOADED.to_owned()),
    }
}

/// Reads pairs of name and value. An error lists the allowed values and never contains the input.
fn parse(args: &[&[u8]]) -> Result<Vec<(&'static Setting, u64)>, String> {
    let mut chosen: Vec<(&'static Setting, u64)> = Vec::new();
    for pair in args.chunks(2) {
        let [name, value] = pair else {
            return Err(NO_VALUE.to_owned());
        };
        let setting = find(name).ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|setting| setting.name).collect();
            format!("loadmodule: unknown setting; there are: {}", names.join(", "))
        })?;
        if chosen.iter().any(|(earlier, _)| std::ptr::eq(*earlier, setting)) {
            return Err(format!("loadmodule: {} is given twice", setting.name));
        }
        let value = number(value).filter(|value| (setting.min..=setting.max).contains(value));
        let value = value.ok_or_else(|| {
            let Setting { name, min, max, .. } = setting;
            format!("loadmodule: {name} must be an integer from {min} to {max}")
        })?;
        chosen.push((setting, value));
    }
    Ok(chosen)
}

/// The setting of this name, with or without its prefix.
fn find(name: &[u8]) -> Option<&'static Setting> {
    let bare = match name.split_at_checked(PREFIX.len()) {
        Some((prefix, bare)) if prefix.eq_ignore_ascii_case(PREFIX.as_bytes()) => bare,
        _ => name,
    };
    ALL.iter().copied().find(|setting| setting.name.as_bytes().eq_ignore_ascii_case(bare))
}

fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

fn register_one(ctx: Ctx<'_>, setting: &'static Setting) -> Result<(), String> {
    let name = CString::new(setting.name).map_err(|_| NOT_REGISTERED)?;
    let number = |number: u64| c_longlong::try_from(number).unwrap_or(c_longlong::MAX);
    // SAFETY: the name ends in NUL and is copied, and the private data is a static that the
    // callbacks only read as such.
    let status = unsafe {
        api!(RedisModule_RegisterNumericConfig)(
            ctx.raw(),
            name.as_ptr(),
            number(setting.get()),
            raw::REDISMODULE_CONFIG_DEFAULT,
            number(setting.min),
            number(setting.max),
            Some(get),
            Some(set),
            None,
            std::ptr::from_ref(setting).cast_mut().cast(),
        )
    };
    match status as isize {
        raw::REDISMODULE_OK => Ok(()),
        _ => Err(NOT_REGISTERED.to_owned()),
    }
}

unsafe extern "C" fn get(_name: *const c_char, data: *mut c_void) -> c_longlong {
    // SAFETY: the private data that was registered is a static setting.
    let setting = unsafe { &*data.cast::<Setting>() };
    c_longlong::try_from(setting.get()).unwrap_or(c_longlong::MAX)
}

unsafe extern "C" fn set(
    _name: *const c_char,
    value: c_longlong,
    data: *mut c_void,
    _error: *mut *mut RedisModuleString,
) -> c_int {
    // SAFETY: the private data that was registered is a static setting.
    let setting = unsafe { &*data.cast::<Setting>() };
    // The server has checked the bounds, and no lower bound is negative.
    match u64::try_from(value) {
        Ok(value) => {
            setting.set(value);
            // SAFETY: the server sets its configuration under its lock.
            timer::wake(unsafe { ServerLock::held() });
            raw::REDISMODULE_OK as c_int
        }
        Err(_) => raw::REDISMODULE_ERR as c_int,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Vec<(&'static str, u64)>, String> {
        let args: Vec<&[u8]> = args.iter().map(|arg| arg.as_bytes()).collect();
        let chosen = parse(&args)?;
        Ok(chosen.into_iter().map(|(setting, value)| (setting.name, value)).collect())
    }

    #[test]
    fn arguments_are_pairs_of_known_names_and_values_within_bounds() {
        let name = "apply-warnings-per-second";
        assert_eq!(parsed(&[]), Ok(vec![]));
        assert_eq!(parsed(&[name, "5"]), Ok(vec![(name, 5)]));
        assert_eq!(parsed(&["SECKILL.Apply-Warnings-Per-Second", "0"]), Ok(vec![(name, 0)]));
        for wrong in [
            vec![name],
            vec!["nothing", "5"],
            vec!["seckill.", "5"],
            vec![name, "5", name, "5"],
            vec![name, ""],
            vec![name, "-1"],
            vec![name, "+1"],
            vec![name, "1000001"],
            vec![name, "99999999999999999999"],
            vec![name, "%s"],
        ] {
            assert!(parsed(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn defaults_are_within_bounds() {
        for setting in ALL.iter() {
            assert!((setting.min..=setting.max).contains(&setting.get()), "{}", setting.name);
        }
    }
}
