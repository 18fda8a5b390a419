<?php

// Stands in for a login where try.php tries a page: the user, and the order of their session.

declare(strict_types=1);

session_save_path(getenv('TRY_FOLDER'));
session_id(bin2hex(getenv('TRY_USER')));
ini_set('session.use_cookies', '0');
session_start();
$_SESSION['user'] = getenv('TRY_USER');
// The coins' page has an order for each round. A sale of another name gets an order of the page's own.
$_SESSION['order:sale:try'] = $_SESSION['order:sale:try:0'] = getenv('TRY_ORDER');
session_write_close();
