-- Each part of the shop is a user of the database of its own, and may do what it does.
CREATE OR REPLACE USER login@localhost IDENTIFIED BY '@database-login@';
GRANT SELECT, INSERT (name, password) ON shop.accounts TO login@localhost;
GRANT SELECT, INSERT, DELETE ON shop.tries TO login@localhost;

-- The pages: nobody is made an operator here, and nothing is declared PAID.
CREATE OR REPLACE USER pages@localhost IDENTIFIED BY '@database-pages@';
GRANT SELECT, INSERT (sale, item, account, req, fen, until), UPDATE (taken) ON shop.payments TO pages@localhost;
GRANT SELECT ON shop.orders TO pages@localhost;
GRANT SELECT ON shop.sales TO pages@localhost;

CREATE OR REPLACE USER operator@localhost IDENTIFIED BY '@database-operator@';
GRANT SELECT (id, operator) ON shop.accounts TO operator@localhost;
GRANT SELECT ON shop.payments TO operator@localhost;
GRANT SELECT ON shop.orders TO operator@localhost;
GRANT SELECT ON shop.sales TO operator@localhost;

CREATE OR REPLACE USER worker@localhost IDENTIFIED BY '@database-worker@';
GRANT SELECT, UPDATE (state, taken, due_at) ON shop.payments TO worker@localhost;

CREATE OR REPLACE USER writer@localhost IDENTIFIED BY '@database-writer@';
GRANT SELECT, INSERT, UPDATE ON shop.sales TO writer@localhost;
GRANT SELECT, INSERT, UPDATE ON shop.epochs TO writer@localhost;
GRANT SELECT, INSERT, UPDATE ON shop.entries TO writer@localhost;
GRANT SELECT, INSERT, UPDATE ON shop.orders TO writer@localhost;
GRANT SELECT ON shop.kept TO writer@localhost;

CREATE OR REPLACE USER bank@localhost IDENTIFIED BY '@database-bank@';
GRANT SELECT, INSERT, UPDATE ON bank.trades TO bank@localhost;
