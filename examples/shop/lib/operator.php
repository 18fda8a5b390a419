<?php

// Login of operators: they may run the sale.

declare(strict_types=1);

/** Reads the database at each request, because a session would keep a right that was taken away. */
function operator(): array
{
    $account = account() ?? go('/login.php');
    $find = 'SELECT operator FROM accounts WHERE id = ?';
    query(database(), $find, [$account['id']])->fetchColumn() || refuse(403, t('只有运营人员可以进入'));
    return $account;
}
