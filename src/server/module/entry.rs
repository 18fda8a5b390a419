//! What the server calls first. The SDK's own macro would do, but it logs a warning on every server
//! that lacks callbacks of a defragmentation we don't take part in, and sends INFO to each.

/// Defines the module: its name, its version, and the function that sets it up.
macro_rules! module {
    (name: $name:literal, version: $version:literal, load: $load:path) => {
        #[global_allocator]
        static ALLOCATOR: crate::server::ffi::alloc::ServerAlloc =
            crate::server::ffi::alloc::ServerAlloc;

        /// Called by the server when it loads the file.
        ///
        /// # Safety
        /// The arguments are those that the server passes.
        #[no_mangle]
        pub unsafe extern "C" fn RedisModule_OnLoad(
            ctx: *mut redis_module::raw::RedisModuleCtx,
            argv: *mut *mut redis_module::raw::RedisModuleString,
            argc: std::os::raw::c_int,
        ) -> std::os::raw::c_int {
            // SAFETY: the context is alive while loading, and the name ends in NUL and is copied.
            let status = unsafe {
                redis_module::raw::Export_RedisModule_Init(
                    ctx,
                    concat!($name, "\0").as_ptr().cast(),
                    $version,
                    redis_module::raw::REDISMODULE_APIVER_1 as std::os::raw::c_int,
                )
            };
            if status as isize != redis_module::raw::REDISMODULE_OK {
                return status;
            }
            let args = redis_module::decode_args(ctx, argv, argc);
            $load(&redis_module::Context::new(ctx), &args) as std::os::raw::c_int
        }
    };
}

pub(crate) use module;
