<?php

declare(strict_types=1);

namespace Seckill;

/** @internal A client of one of the libraries. */
interface Connection
{
    /** These say that the server is not, or no longer, the one to ask. */
    public const DROPPING = ['READONLY', 'LOADING', 'MASTERDOWN'];

    /**
     * The replies in order, errors being ErrorReply, all over one connection, to the node that has the key.
     *
     * @param list<list<string|int>> $commands
     * @return list<mixed>
     * @throws \Throwable when a reply is not there in time, or not whole
     */
    public function send(string $key, array $commands, float $seconds): array;

    /** Ends it: what is still to come must not be taken for the answer to another call. */
    public function drop(): void;

    /** The client's prefix of keys, which it does not add in calls by name. */
    public function prefix(): string;

    public function isCluster(): bool;
}
