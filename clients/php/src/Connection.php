<?php

declare(strict_types=1);

namespace Seckill;

/** @internal A client of one of the libraries. */
interface Connection
{
    /** Codes of a server that is not the primary, or not ready yet. */
    public const DROPPING = ['READONLY', 'LOADING', 'MASTERDOWN'];

    /**
     * Sends commands over one connection to the key's node. Returns the replies in order, errors as ErrorReply.
     *
     * @param list<list<string|int>> $commands
     * @return list<mixed>
     * @throws \Throwable if a reply is late or incomplete
     */
    public function send(string $key, array $commands, float $seconds): array;

    /** Closes the connection, so that a late reply is not read as the reply to another call. */
    public function drop(): void;

    /** The client's key prefix, which it does not add to unknown commands. */
    public function prefix(): string;

    public function isCluster(): bool;
}
