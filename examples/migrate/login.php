<?php

// Replaces the login when try.php runs a page: sets the user and the order of the session.

declare(strict_types=1);

session_save_path(getenv('TRY_FOLDER'));
session_id(bin2hex(getenv('TRY_USER')));
ini_set('session.use_cookies', '0');
session_start();
$_SESSION['user'] = getenv('TRY_USER');
// The page for coins has an order for each round. In another sale the page makes its own order.
$place = 'order:sale:try:' . getenv('TRY_ID');
$_SESSION[$place] = $_SESSION["$place:0"] = getenv('TRY_ORDER');
session_write_close();
