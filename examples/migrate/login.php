<?php

// Replaces the login when try.php runs a page: sets the user and the order of the session.

declare(strict_types=1);

session_save_path(getenv('TRY_FOLDER'));
session_id(bin2hex(getenv('TRY_USER')));
ini_set('session.use_cookies', '0');
session_start();
$_SESSION['user'] = getenv('TRY_USER');
// The page for coins has an order for each round. With another sale name the page makes its own order.
$_SESSION['order:sale:try'] = $_SESSION['order:sale:try:0'] = getenv('TRY_ORDER');
session_write_close();
