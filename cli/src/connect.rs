//! How a subcommand reaches its server.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use redis::{Client, Connection, ConnectionInfo, IntoConnectionInfo};

/// A server that does not answer in this time is away.
const PATIENCE: Duration = Duration::from_secs(5);

/// Never an option: what stands on a command line is for everybody on the machine to read.
const PASSWORD: &str = "SECKILL_REDIS_PASSWORD";

/// Which server, and as whom.
#[derive(Args, Clone)]
pub struct Server {
    /// The server, as redis://host:port/database or unix:///path/of/the/socket
    #[arg(long, env = "SECKILL_REDIS", hide_env_values = true, value_name = "URL")]
    #[arg(default_value = "redis://127.0.0.1:6379/")]
    redis: String,
    /// Log in as this user of the server; the URL may name one too
    #[arg(long, env = "SECKILL_REDIS_USER", value_name = "NAME")]
    redis_user: Option<String>,
    /// The file that has the password; else it is taken from SECKILL_REDIS_PASSWORD, or the URL
    #[arg(long, value_name = "FILE")]
    redis_password_file: Option<PathBuf>,
}

impl Server {
    /// What the options say, with the password if there is one.
    ///
    /// # Errors
    /// A sentence when the URL is none, or the file can't be read.
    pub fn client(&self) -> Result<Client, String> {
        let info: ConnectionInfo =
            self.redis.as_str().into_connection_info().map_err(|e| format!("--redis: {e}"))?;
        if !info.addr().is_supported() {
            return Err("--redis: this program has no TLS".into());
        }
        let mut settings = info.redis_settings().clone().set_skip_set_lib_name();
        if let Some(user) = &self.redis_user {
            settings = settings.set_username(user);
        }
        if let Some(password) = password(self.redis_password_file.as_deref(), PASSWORD)? {
            settings = settings.set_password(password);
        }
        Client::open(info.set_redis_settings(settings)).map_err(|e| format!("--redis: {e}"))
    }
}

/// A password from its file, or from the environment.
///
/// # Errors
/// A sentence when the file can't be read.
pub fn password(file: Option<&Path>, variable: &str) -> Result<Option<String>, String> {
    let Some(file) = file else { return Ok(std::env::var(variable).ok()) };
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// A connection that gives up on a server that does not answer.
///
/// # Errors
/// A sentence when there is none to be had.
pub fn connect(client: &Client) -> Result<Connection, String> {
    let opened = client.get_connection_with_timeout(PATIENCE).and_then(|connection| {
        connection.set_read_timeout(Some(PATIENCE))?;
        connection.set_write_timeout(Some(PATIENCE))?;
        Ok(connection)
    });
    opened.map_err(|e| format!("no Redis at {}: {e}", client.get_connection_info().addr()))
}
