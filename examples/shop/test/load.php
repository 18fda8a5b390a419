<?php

// Logs requests in before the shop's pages run, without bcrypt, because `ab` has one cookie for all requests. The
// shop's own code then reads the session and compares its token. X-Person names the account; without it a new one
// is made.

$person = $_SERVER['HTTP_X_PERSON'] ?? (string) hexdec(substr($_SERVER['REQUEST_ID'], 0, 12));
session_start();
$_SESSION = ['account' => ['id' => $person, 'name' => $person, 'operator' => false], 'csrf' => 'of-ab'];
session_write_close();
$_COOKIE[session_name()] = session_id();
require $_SERVER['SHOP_PAGE'];
