/* Another module in the server, for tests. It calls commands in ways that a client can't: from a thread that holds the
 * server's lock, and from inside notifications. Its arguments `COMMAND name` and `TYPE name` make it register that
 * name; `FLAGS flags` is as OTHER.FLAGS.
 *
 *   OTHER.CALL cmd [arg ...]              calls the command at once
 *   OTHER.THREAD cmd [arg ...]            calls it from a new thread; the client is blocked until the reply
 *   OTHER.ON event key cmd [arg ...]      calls it at every such event of the key; `*` is any
 *   OTHER.ONCE event key cmd [arg ...]    calls it at the first such event; `promoted *` is when this server
 *                                         becomes a primary
 *   OTHER.OFF                             removes all ON and ONCE, and the replies for SAID
 *   OTHER.SAID                            the replies to calls of ON and ONCE, in RESP
 *   OTHER.FLAGS flags                     flags of RedisModule_Call, by default `E!`: errors are replies, and
 *                                         the call replicates
 *
 * Notifications that such a call causes itself are ignored. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "redismodule.h"

#define HOOKS_MAX 16
#define FLAGS_MAX 16

typedef struct {
    RedisModuleString **argv;
    size_t argc;
} Words;

typedef struct {
    RedisModuleString *event, *key;
    Words words;
    int once;
} Hook;

/* Protected by the server's lock. */
static Hook hooks[HOOKS_MAX];
static size_t hook_count;
static RedisModuleString **said;
static size_t said_count;
static int in_hook;
static char flags[FLAGS_MAX + 2] = "vE!";

static Words keep(RedisModuleString **argv, int argc) {
    Words words = {RedisModule_Alloc(sizeof(*argv) * (size_t)argc), (size_t)argc};
    for (int i = 0; i < argc; i++) {
        words.argv[i] = RedisModule_CreateStringFromString(NULL, argv[i]);
    }
    return words;
}

static void release(Words words) {
    for (size_t i = 0; i < words.argc; i++) RedisModule_FreeString(NULL, words.argv[i]);
    RedisModule_Free(words.argv);
}

static RedisModuleCallReply *call(RedisModuleCtx *ctx, RedisModuleString **argv, size_t argc) {
    const char *command = RedisModule_StringPtrLen(argv[0], NULL);
    return RedisModule_Call(ctx, command, flags, argv + 1, argc - 1);
}

static void answer(RedisModuleCtx *ctx, RedisModuleCallReply *reply) {
    if (reply == NULL) {
        RedisModule_ReplyWithError(ctx, "ERR the server did not make the call");
        return;
    }
    RedisModule_ReplyWithCallReply(ctx, reply);
    RedisModule_FreeCallReply(reply);
}

static int on_call(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2) return RedisModule_WrongArity(ctx);
    answer(ctx, call(ctx, argv + 1, (size_t)argc - 1));
    return REDISMODULE_OK;
}

typedef struct {
    RedisModuleBlockedClient *client;
    Words words;
} Job;

static void *work(void *data) {
    Job *job = data;
    RedisModuleCtx *ctx = RedisModule_GetThreadSafeContext(job->client);
    RedisModule_ThreadSafeContextLock(ctx);
    answer(ctx, call(ctx, job->words.argv, job->words.argc));
    release(job->words);
    RedisModule_ThreadSafeContextUnlock(ctx);
    RedisModule_UnblockClient(job->client, NULL);
    RedisModule_FreeThreadSafeContext(ctx);
    RedisModule_Free(job);
    return NULL;
}

static int on_thread(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc < 2) return RedisModule_WrongArity(ctx);
    Job *job = RedisModule_Alloc(sizeof(*job));
    job->words = keep(argv + 1, argc - 1);
    job->client = RedisModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, job) != 0) {
        RedisModule_AbortBlock(job->client);
        release(job->words);
        RedisModule_Free(job);
        return RedisModule_ReplyWithError(ctx, "ERR no thread");
    }
    pthread_detach(thread);
    return REDISMODULE_OK;
}

static int add_hook(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int once) {
    if (argc < 4) return RedisModule_WrongArity(ctx);
    if (hook_count == HOOKS_MAX) return RedisModule_ReplyWithError(ctx, "ERR too many hooks");
    Hook *hook = &hooks[hook_count++];
    hook->event = RedisModule_CreateStringFromString(NULL, argv[1]);
    hook->key = RedisModule_CreateStringFromString(NULL, argv[2]);
    hook->words = keep(argv + 3, argc - 3);
    hook->once = once;
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

static int on_on(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return add_hook(ctx, argv, argc, 0);
}

static int on_once(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    return add_hook(ctx, argv, argc, 1);
}

static int on_off(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    if (argc != 1) return RedisModule_WrongArity(ctx);
    for (size_t i = 0; i < hook_count; i++) {
        RedisModule_FreeString(NULL, hooks[i].event);
        RedisModule_FreeString(NULL, hooks[i].key);
        release(hooks[i].words);
    }
    for (size_t i = 0; i < said_count; i++) RedisModule_FreeString(NULL, said[i]);
    RedisModule_Free(said);
    said = NULL;
    hook_count = said_count = 0;
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

static int on_said(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    if (argc != 1) return RedisModule_WrongArity(ctx);
    RedisModule_ReplyWithArray(ctx, (long)said_count);
    for (size_t i = 0; i < said_count; i++) RedisModule_ReplyWithString(ctx, said[i]);
    return REDISMODULE_OK;
}

static int set_flags(RedisModuleString *string) {
    size_t len;
    const char *given = RedisModule_StringPtrLen(string, &len);
    if (len > FLAGS_MAX) return 0;
    snprintf(flags, sizeof(flags), "v%s", given);
    return 1;
}

static int on_flags(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (argc != 2) return RedisModule_WrongArity(ctx);
    if (!set_flags(argv[1])) return RedisModule_ReplyWithError(ctx, "ERR too many flags");
    return RedisModule_ReplyWithSimpleString(ctx, "OK");
}

static void remember(RedisModuleCallReply *reply) {
    static const char none[] = "-ERR the server did not make the call\r\n";
    size_t len = sizeof(none) - 1;
    const char *text = reply ? RedisModule_CallReplyProto(reply, &len) : none;
    said = RedisModule_Realloc(said, sizeof(*said) * (said_count + 1));
    said[said_count++] = RedisModule_CreateString(NULL, text, len);
}

static int is_about(const Hook *hook, const char *event, RedisModuleString *key) {
    const char *wanted = RedisModule_StringPtrLen(hook->event, NULL);
    const char *any = RedisModule_StringPtrLen(hook->key, NULL);
    if (strcasecmp(wanted, event) != 0) return 0;
    return strcmp(any, "*") == 0 || RedisModule_StringCompare(hook->key, key) == 0;
}

static int on_event(RedisModuleCtx *ctx, int class, const char *event, RedisModuleString *key) {
    (void)class;
    if (in_hook) return REDISMODULE_OK;
    in_hook = 1;
    for (size_t i = 0; i < hook_count; i++) {
        Hook *hook = &hooks[i];
        if (hook->words.argc == 0 || !is_about(hook, event, key)) continue;
        RedisModuleCallReply *reply = call(ctx, hook->words.argv, hook->words.argc);
        remember(reply);
        if (reply) RedisModule_FreeCallReply(reply);
        if (hook->once) {
            release(hook->words);
            hook->words = (Words){NULL, 0};
        }
    }
    in_hook = 0;
    return REDISMODULE_OK;
}

static void on_role(RedisModuleCtx *ctx, RedisModuleEvent event, uint64_t role, void *data) {
    (void)event;
    (void)data;
    if (role == REDISMODULE_EVENT_REPLROLECHANGED_NOW_MASTER) on_event(ctx, 0, "promoted", NULL);
}

/* Registers a command or a data type of this name without a function. */
static int take(RedisModuleCtx *ctx, RedisModuleString *kind, RedisModuleString *called) {
    const char *name = RedisModule_StringPtrLen(called, NULL);
    if (!strcmp(RedisModule_StringPtrLen(kind, NULL), "COMMAND")) {
        return RedisModule_CreateCommand(ctx, name, on_off, "", 0, 0, 0);
    }
    RedisModuleTypeMethods none = {.version = REDISMODULE_TYPE_METHOD_VERSION};
    return RedisModule_CreateDataType(ctx, name, 1, &none) ? REDISMODULE_OK : REDISMODULE_ERR;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    if (RedisModule_Init(ctx, "other", 1, REDISMODULE_APIVER_1) == REDISMODULE_ERR) {
        return REDISMODULE_ERR;
    }
    const struct {
        const char *name;
        RedisModuleCmdFunc run;
    } commands[] = {
        {"other.call", on_call}, {"other.thread", on_thread}, {"other.on", on_on},
        {"other.once", on_once}, {"other.off", on_off},       {"other.said", on_said},
        {"other.flags", on_flags},
    };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (RedisModule_CreateCommand(ctx, commands[i].name, commands[i].run, "", 0, 0, 0) ==
            REDISMODULE_ERR) {
            return REDISMODULE_ERR;
        }
    }
    for (int i = 0; i + 1 < argc; i += 2) {
        const char *what = RedisModule_StringPtrLen(argv[i], NULL);
        if (strcmp(what, "FLAGS") == 0) {
            if (!set_flags(argv[i + 1])) return REDISMODULE_ERR;
        } else if (take(ctx, argv[i], argv[i + 1]) == REDISMODULE_ERR) {
            return REDISMODULE_ERR;
        }
    }
    int classes = REDISMODULE_NOTIFY_ALL | REDISMODULE_NOTIFY_NEW | REDISMODULE_NOTIFY_MODULE |
                  REDISMODULE_NOTIFY_KEY_MISS;
    if (RedisModule_SubscribeToKeyspaceEvents(ctx, classes, on_event) == REDISMODULE_ERR) {
        return REDISMODULE_ERR;
    }
    return RedisModule_SubscribeToServerEvent(ctx, RedisModuleEvent_ReplicationRoleChanged,
                                              on_role);
}
