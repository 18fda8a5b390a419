<?php

// --lang zh: Chinese output of the programs of this folder, which print English lines. A line that matches a pattern
// below is replaced by the pattern's Chinese text. Other lines (commands, replies, names) stay unchanged. A * in a
// pattern matches any text, which $1, $2 and so on insert.

declare(strict_types=1);

final class Chinese
{
    private const LINES = [
        // carry.php
        'moved: *' => '已搬：$1',
        'moved before, and left as it is: *' => '以前已经搬过，这次什么都没动：$1',
        'moved before, and changed by this run as told above: *' => '以前已经搬过，这次改动了上面说的部分：$1',
        'taken back: *' => '已退回：$1',
        'who comes from now on: *' => '从现在起来的人：$1',
        'a sale with rounds is begun fresh between two rounds, not carried over' =>
            '按场次重复的活动不能搬：在两场之间重新开始',
        '* (is the module loaded there?)' => '$1（那台 Redis 装了模块吗？）',
        '* was taken back: take another --sale, or DEL it' => '$1 已经退回：换一个 --sale，或者 DEL 它',
        'a sale is at * already: take another --sale, or --add yes if both sell side by side' =>
            '$1 已经有一个活动：换一个 --sale；新旧两边同时卖的，用 --add yes',
        'there is no key *: if nobody has won yet, say --empty yes' => '没有键 $1：还没有人抢到的话，加 --empty yes',
        'there is no key *' => '没有键 $1',
        '* is no hash, set, sorted set or list of users: who has won is not known' =>
            '$1 不是用户的哈希、集合、有序集合或列表：看不出谁抢到了',
        '* is there, of another move: rename or delete it' => '$1 已经存在，是另一次搬迁留下的：改名或删掉',
        'refused: user *, order *, *: *' => '被拒绝：用户 $1，订单 $2，$3 件：$4',
        '* of * buyers were refused: the sale stays paused; mend them, run it again' =>
            '$2 个买家里有 $1 个被拒绝：活动保持暂停；改好之后再跑一遍',
        'AUDIT found differences: *' => 'AUDIT 对账不一致：$1',
        'the sale has sold, and not all is carried over: run it again without --back first' =>
            '活动已经卖出，但还没有全部搬完：先不带 --back 再跑一遍',
        'it is back already' => '已经退回过了',
        'nothing was carried over to *: the old side is as it was' => '没有搬到 $1 的东西：旧的一边和原来一样',
        '* units are held: waiting until they are paid or come back' => '还有 $1 件在预占：等付款或者释放',
        'the old server: *' => '旧的 Redis：$1',
        'can\'t write *' => '写不了 $1',
        '--amounts or --codes, not both' => '--amounts 和 --codes 只能用一个',
        // buyers.php
        'can\'t read *' => '读不了 $1',
        'row *: *' => '第 $1 行：$2',
        '* rows are not user,order,quantity,ms, or are there twice; nothing was done' =>
            '有 $1 行不是 用户,订单,件数,毫秒，或者重复了；什么都没做',
        // coins.php
        '--counts-up-to is a number of packets, --budget a number of coins' =>
            '--counts-up-to 是红包个数，--budget 是金币数',
        'coins are not sold side by side: move them in one go' => '金币不能新旧两边同时发：一次搬完',
        // counter.php
        'say --counts down (it is what is left) or --counts-up-to TOTAL (it is what is sold)' =>
            '说明计数方向：--counts down（数的是剩余）或 --counts-up-to TOTAL（数的是已卖）',
        // late.php
        'SECKILL.PAUSE * first: nobody may buy meanwhile' => '先 SECKILL.PAUSE $1：这期间不能有人买',
        'entered: * late rows, * in all' => '已补录：$1 行，共 $2 件',
        'late: * has * (order *), and not in the sale' => '迟到：$1 有 $2 件（订单 $3），活动里没有',
        'late: * rows, * in all, were not entered. If the old page wrote them, take it off, SECKILL.PAUSE *, and run '
            . 'this again with --enter-late yes' =>
            '迟到：$1 行，共 $2 件，没有补录。如果是旧页面写的：下线旧页面，SECKILL.PAUSE $3，带 --enter-late yes 再跑一遍',
        '* of --buyers or --winners are not in the sale, the first is *: nothing was done. If they were not there when '
            . 'it was moved: --back yes, then another --sale' =>
            '--buyers 或 --winners 里有 $1 个活动里没有，第一个是 $2：什么都没做。如果搬的时候还没有他们：先 --back yes，再换一个 --sale',
        'nothing was taken back: say --enter-late yes, or no if it is none' =>
            '没有退回：加 --enter-late yes；如果不是旧页面卖的，加 --enter-late no',
        'late: the old program wrote * since, * became *: take its page off' =>
            '迟到：旧程序在搬迁之后改了 $1，从 $2 变成 $3：把旧页面下线',
        '* is * again: the old page says that it is over' => '$1 又设回 $2：旧页面会说已结束',
        'late: * were sold by the old program since, and * taken out of the sale' =>
            '迟到：旧程序在搬迁之后又卖了 $1 件，已从活动里扣掉 $2 件',
        'oversold: there was no unit for * of them' => '超卖：其中 $1 件没有库存可扣',
        // lists.php
        'nothing was taken back: say --enter-late yes, and what is left comes behind what is in * now, or no, and that '
            . 'is deleted' =>
            '没有退回：加 --enter-late yes，剩下的接在 $1 现有的后面；加 --enter-late no，现有的会删掉',
        '* is no hash' => '$1 不是哈希',
        '* is no list' => '$1 不是列表',
        'the old page popped meanwhile, and has its list again: take it off, DEL the sale, run this again' =>
            '旧页面还在弹出，列表已经还给它：下线旧页面，DEL 这个活动，再跑一遍',
        // locks.php
        'the lock is the stock itself: carry it with counter.php' => '锁就是库存那个键：用 counter.php 搬',
        // lua.php
        'nothing was taken back: say --enter-late yes, and what is left is added to *, or no, and it is overwritten' =>
            '没有退回：加 --enter-late yes，剩下的加到 $1 上；加 --enter-late no，它会被覆盖',
        // notes.php
        'the notes: *' => '搬迁记录：$1',
        '* was carried over from *: take another --sale' => '$1 是从 $2 搬来的：换一个 --sale',
        '* was moved *, this line is *: nothing was done. To move it otherwise: that line with --back yes, then this '
            . 'one with another --sale' =>
            '$1 上次搬的时候是 $2，这一行是 $3：什么都没做。要换一种搬法：上次那一行加 --back yes，然后这一行换一个 --sale',
        // options.php
        'there is no option --*; see --help' => '没有选项 --$1；见 --help',
        'no option takes *: is a quote missing?' => '$1 不属于任何选项：少了引号？',
        '* is missing; see --help' => '缺少 $1；见 --help',
        '* is there twice' => '$1 写了两次',
        'an address is *' => '地址的写法：$1',
        // sql.php, sql_notes.php
        '--notes is table or new' => '--notes 是 table 或 new',
        '--where must find exactly one row' => '--where 必须正好找到一行',
        'This user may make no table seckill_carried: say --notes new, and none is needed' =>
            '这个数据库用户不能建表 seckill_carried：加 --notes new 就不用建表',
        'a run was stopped while it wrote the column: that has 0, * were left, and --orders has other rows than then, so '
            . 'the old page has sold. Take it off, write what is left into the column, and say DEL *:carried to the new server' =>
            '上次在写库存列的时候中断：列里是 0，当时剩 $1 件，--orders 的行也变了，说明旧页面又卖了。下线旧页面，把剩余写回这一列，'
            . '在新的 Redis 上 DEL $2:carried',
        'it was going back: send the line with --back yes again' => '正在退回：把带 --back yes 的那一行再跑一遍',
        // stock.php
        '* holds no number' => '$1 里不是数字',
        'below zero by *: the sale has no units left. A program that looks before it takes has oversold by so many; one '
            . 'that takes first has not, and may have units left: count your orders' =>
            '负 $1：活动没有剩余。先看后扣的程序超卖了这么多；先扣后看的没有超卖，可能还有剩余：去数订单',
        'oversold: * more were told that they had won than there were' => '超卖：多告诉了 $1 个人抢到',
        '--total needs --sold, the orders that you counted, or --buyers with all of them (--winners has users, not '
            . 'orders); --sold needs --total' =>
            '--total 要配 --sold（你数出来的订单数），或者配列出全部订单的 --buyers（--winners 里是用户，不是订单）；--sold 要配 --total',
        '--sold is *, but --buyers or --winners have * units: nothing was done' =>
            '--sold 是 $1，但 --buyers 或 --winners 共 $2 件：什么都没做',
        '--buyers or --winners, not both' => '--buyers 和 --winners 只能用一个',
        'there is no row in *: if nobody has bought yet, say --empty yes' =>
            '$1 里一行也没有：还没有人买的话，加 --empty yes',
        'the sale has more units than the counter counts: are they coins, and the counter\'s packets?' =>
            '活动的件数比计数器的总数多：活动里是金币、计数器数的是红包？',
        'nothing was taken back' => '没有退回',
        'a sale of amounts (DRAW, LIMIT 0 GRABS n) has no counter; see "coins"' =>
            '按金额发的活动（DRAW，LIMIT 0 GRABS n）没有计数器；见“金币”',
        'count the orders that came since the move, and say --late with their number (0 if none)' =>
            '数一数搬迁之后来了几单，用 --late 告诉它（没有就是 0）',
        // unsold.php
        '--rows is a query for two columns, user and order number' => '--rows 是查两列的语句：用户和订单号',
        'no unit: * with order * is *, and the row deleted' => '没有货：$1，订单 $2 是 $3，这一行已删除',
        'no unit: * with order * is *' => '没有货：$1，订单 $2 是 $3',
        '* rows without a unit; * rows of orders that * does not know' => '没有货的行：$1；$3 里没有的订单的行：$2',
        // watch.php
        '--enter-late yes sets it again, and enters who has won' => '--enter-late yes 会把它设回去，并补录抢到的人',
        '--total is how many prizes there were' => '--total 是一共有多少件',
        '* says * more than * has: so many had the same random id as another winner. Say * to take them off the total, '
            . 'or --same-id 0 if nobody was told so. Nothing was done' =>
            '$1 比 $3 多 $2：有这么多人抽到了和别人相同的随机 id。加 $4 从总数里扣掉；如果没有告诉过任何人抢到，加 --same-id 0。什么都没做',
        // break.php
        '* is told: nothing' => '$1 什么也没有看到',
        '* is told: *' => '$1 看到：$2',
        'user * is told: *' => '用户 $1 看到：$2',
        '* A dies' => '$1 A 的进程崩溃',
        '* waits' => '$1 等待',
        'there were *, and * of 2 were told "yours"' => '库存 $1 件，2 人里有 $2 人返回“抢到”',
        'right with 2 buyers, wherever one of them stops' => '2 个买家，不管哪一个停在哪一步，都是对的',
        'it has sent nothing, so nothing is known: it said *' => '它什么命令也没有发，所以得不出结论：它输出的是 $1',
        'it has *: break.php runs a single file that connects by itself, with phpredis or mysqli' =>
            '里面有 $1：break.php 只跑自己连接的单个文件，用 phpredis 或 mysqli',
        'it connects in a way that is not understood: break.php runs a single file that connects by itself, with '
            . 'phpredis or mysqli' => '看不懂它怎么连接：break.php 只跑自己连接的单个文件，用 phpredis 或 mysqli',
        'it connects to nothing: break.php runs a single file that connects by itself, with phpredis or mysqli' =>
            '它什么也没有连：break.php 只跑自己连接的单个文件，用 phpredis 或 mysqli',
        // try.php
        '* sells from another sale than sale:try' => '$1 卖的不是 sale:try',
        '*, the server with the module: *' => '$1（装了模块的 Redis）：$2',
    ];

    /** Words inside the texts that $1, $2 and so on insert. */
    private const WORDS = [
        'state ' => '状态 state ', ', supply ' => '，总数 supply ', ', available ' => '，剩余 available ',
        ', held ' => '，预占 held ', ', sold ' => '，已售 sold ', ', deficit ' => '，欠货 deficit ',
        ', refused while paused ' => '，暂停期间拒绝 ', 'without --' => '不带 --', 'with --' => '带 --',
    ];

    /** Translates the output from now on if --lang zh is given; refuses other languages. */
    public static function ifAsked(): void
    {
        $words = $_SERVER['argv'];
        $at = array_search('--lang', $words, true);
        $said = array_values(preg_grep('/^--lang=/', $words))[0] ?? '--lang=en';
        $said = $at === false ? $said : '--lang=' . ($words[$at + 1] ?? '');
        if (!in_array($said, ['--lang=zh', '--lang=en'], true)) {
            fwrite(STDERR, "--lang is zh or en\n");
            exit(1);
        }
        if ($said === '--lang=zh') {
            ob_start(fn (string $text) => self::text($text));
            stream_filter_register('seckill.zh', ChineseFilter::class);
            stream_filter_append(STDERR, 'seckill.zh');
        }
    }

    /** @return list<string> the program's arguments without --lang */
    public static function withoutLanguage(array $words): array
    {
        $at = array_search('--lang', $words, true);
        $at === false || array_splice($words, $at, 2);
        return array_values(preg_grep('/^--lang=/', $words, PREG_GREP_INVERT));
    }

    public static function text(string $text): string
    {
        return implode("\n", array_map(self::line(...), explode("\n", $text)));
    }

    private static function line(string $line): string
    {
        foreach (self::LINES as $english => $chinese) {
            $pattern = str_replace('\*', '(.+?)', preg_quote($english, '/'));
            if (preg_match("/^$pattern$/sDu", $line, $parts) === 1) {
                $told = preg_replace_callback('/\$(\d)/', fn ($place) => $parts[(int) $place[1]], $chinese);
                $hasWords = str_starts_with($parts[1] ?? '', 'state ') || str_contains($english, 'was moved *');
                return $hasWords ? strtr($told, self::WORDS) : $told;
            }
        }
        return $line;
    }
}

final class ChineseFilter extends php_user_filter
{
    public function filter($in, $out, &$consumed, bool $closing): int
    {
        while ($bucket = stream_bucket_make_writeable($in)) {
            $consumed += $bucket->datalen;
            $bucket->data = Chinese::text($bucket->data);
            stream_bucket_append($out, $bucket);
        }
        return PSFS_PASS_ON;
    }
}

Chinese::ifAsked();
