-- A sample shop with the names of the pages' lines. Not for a server that has a database `shop`.
CREATE DATABASE shop;
USE shop;
CREATE TABLE goods (id INT PRIMARY KEY, num INT, version INT);
INSERT INTO goods VALUES (1, 37, 1), (2, 50, 1);
CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, user VARCHAR(64), goods_id INT DEFAULT 1,
    at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
INSERT INTO orders (user)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 63) SELECT CONCAT('buyer-', i) FROM n;
CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, good_id INT);
CREATE TABLE seckill (seckill_id INT PRIMARY KEY, number INT);
INSERT INTO seckill VALUES (1, 37);
CREATE TABLE packets (id INT AUTO_INCREMENT PRIMARY KEY, user VARCHAR(64), coins INT);
INSERT INTO packets (user, coins) VALUES ('lin', 388), ('wei', 12);
CREATE TABLE users (id VARCHAR(64) PRIMARY KEY, coins INT DEFAULT 0);
INSERT INTO users VALUES ('lin', 388), ('wei', 12);
CREATE USER shop@localhost IDENTIFIED BY 'try';
GRANT ALL ON shop.* TO shop@localhost;
