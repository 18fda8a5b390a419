-- Each part of the shop is a separate database user with only the rights that it needs.
CREATE OR REPLACE USER login@'@FROM@' IDENTIFIED BY '@database-login@';
GRANT SELECT, INSERT (name, password) ON shop.accounts TO login@'@FROM@';
GRANT SELECT, INSERT, DELETE ON shop.tries TO login@'@FROM@';

-- The pages: no right to make an operator, or to set a payment to PAID.
CREATE OR REPLACE USER pages@'@FROM@' IDENTIFIED BY '@database-pages@';
GRANT SELECT, INSERT (sale, item, account, req, fen, until), UPDATE (taken) ON shop.payments TO pages@'@FROM@';
GRANT SELECT ON shop.orders TO pages@'@FROM@';
GRANT SELECT ON shop.sales TO pages@'@FROM@';
GRANT SELECT ON shop.units TO pages@'@FROM@';
GRANT SELECT ON shop.codes TO pages@'@FROM@';

CREATE OR REPLACE USER operator@'@FROM@' IDENTIFIED BY '@database-operator@';
GRANT SELECT (id, operator) ON shop.accounts TO operator@'@FROM@';
GRANT SELECT ON shop.payments TO operator@'@FROM@';
GRANT SELECT ON shop.orders TO operator@'@FROM@';
GRANT SELECT ON shop.sales TO operator@'@FROM@';
-- Inserts codes and assigns them, but can't read them.
GRANT SELECT (id, item, sale, unit), INSERT (item, code), UPDATE (sale, unit) ON shop.codes TO operator@'@FROM@';

CREATE OR REPLACE USER worker@'@FROM@' IDENTIFIED BY '@database-worker@';
GRANT SELECT, UPDATE (state, taken, due_at) ON shop.payments TO worker@'@FROM@';
GRANT SELECT ON shop.orders TO worker@'@FROM@';
GRANT SELECT ON shop.sales TO worker@'@FROM@';

CREATE OR REPLACE USER writer@'@FROM@' IDENTIFIED BY '@database-writer@';
GRANT SELECT, INSERT, UPDATE ON shop.sales TO writer@'@FROM@';
GRANT SELECT, INSERT, UPDATE ON shop.epochs TO writer@'@FROM@';
GRANT SELECT, INSERT, UPDATE ON shop.entries TO writer@'@FROM@';
GRANT SELECT, INSERT, UPDATE ON shop.orders TO writer@'@FROM@';
GRANT SELECT, INSERT, UPDATE, DELETE ON shop.units TO writer@'@FROM@';
GRANT SELECT ON shop.kept TO writer@'@FROM@';

CREATE OR REPLACE USER bank@'@FROM@' IDENTIFIED BY '@database-bank@';
GRANT SELECT, INSERT, UPDATE ON bank.trades TO bank@'@FROM@';
