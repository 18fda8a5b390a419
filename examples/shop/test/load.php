<?php

// Stands before the shop's pages for people who have logged in before, without bcrypt for each: `ab` has one
// cookie for all. The session that it makes is then read, and its token compared, by the shop's own code.
// X-Person names who it is; else it is somebody new.

$person = $_SERVER['HTTP_X_PERSON'] ?? (string) hexdec(substr($_SERVER['REQUEST_ID'], 0, 12));
session_start();
$_SESSION = ['account' => ['id' => $person, 'name' => $person, 'operator' => false], 'csrf' => 'of-ab'];
session_write_close();
$_COOKIE[session_name()] = session_id();
require $_SERVER['SHOP_PAGE'];
