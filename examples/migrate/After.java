// Replaces the posts' programs in Java: one method for each family. Each block between two comments
// is shown in docs/migrate-java.md.

import example.seckill.Answer;
import example.seckill.Outcome;
import example.seckill.Sale;
import example.seckill.SaleError;
import example.seckill.State;
import example.seckill.Unanswered;
import example.seckill.Units;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import javax.sql.DataSource;

public class After {
    private final Sale sale;

    public After(Sale sale) { this.sale = sale; }

    // click
    static String click(Callable<String> page) throws Exception {
        try {
            return page.call();
        } catch (Unanswered | SQLException why) {
            System.err.println(why.getMessage());
            return "正在确认，请再点一次";
        } catch (SaleError why) {
            System.err.println(why.getMessage());
            return "活动暂时不可用";
        }
    }

    // counter
    String counter(String user, String order) {
        Answer answer = sale.grab(user, order);
        boolean mine = answer.won() && answer.outcome() != Outcome.ALREADY;
        return mine ? "秒杀成功" : "秒杀失败: " + answer.outcome();
    }

    // id
    Object id() { return sale.status().get("id"); }

    // business
    String business(String user, String order, BooleanSupplier work, Runnable undo) {
        if (sale.status().get("hold_ms").equals(0L)) {
            throw new IllegalStateException("this sale has no HOLD");
        }
        Answer answer = sale.grab(user, order);
        if (answer.outcome() == Outcome.ALREADY) {
            return "您已经抢到过了";
        }
        String failed = answer.won() ? "秒杀失败" : "秒杀失败,商品库存不足。";
        // If this throws, the work may have been done: the unit stays held for the next click.
        boolean done = answer.won() && work.getAsBoolean();
        if (answer.state() == State.HELD) {
            answer = done ? sale.confirm(user, order) : sale.cancel(user, order);
        }
        if (answer.state() == State.EXPIRED || answer.state() == State.CANCELLED) {
            // The hold ended before CONFIRM, so another user may have the unit.
            undo.run();
        }
        if (answer.state() != State.SOLD) {
            return failed;
        }
        return done ? "秒杀成功" : "正在确认，请再点一次";
    }

    // watch
    String watch(String user, String order) {
        Answer answer = sale.grab(user, order);
        if (answer.outcome() == Outcome.ALREADY) {
            return "您已经抢到过了";
        }
        if (answer.won()) {
            return "抢购成功！";
        }
        return answer.outcome() == Outcome.SOLDOUT ? "已卖光！" : "手气不好，再抢购！";
    }

    // coins
    long coins(String user, String order, long count) {
        Answer answer = sale.grab(user, order, Units.upTo(count));
        boolean mine = answer.won() && answer.outcome() != Outcome.ALREADY;
        return mine ? answer.qty() : 0;
    }

    // lists
    String lists(String user, String order) {
        Answer answer = sale.grab(user, order);
        if (answer.outcome() == Outcome.ALREADY) {
            return "您已经抢到过了";
        }
        return answer.won() ? "success: " + answer.qty() : "手气不好，再抢购！";
    }

    // sql
    boolean sql(DataSource shop, String user, String order) throws SQLException {
        Answer answer = sale.grab(user, order);
        if (answer.outcome() == Outcome.ALREADY || answer.state() == null) {
            return false;
        }
        if (answer.won()) {
            row(shop, "INSERT IGNORE INTO orders (id, user) VALUES (?, ?)", order, user);
            answer = sale.confirm(user, order);
        }
        boolean mine = answer.state() == State.SOLD;
        if (!mine) {
            // The hold expired before the row was written, so another user may have the unit.
            row(shop, "DELETE FROM orders WHERE id = ? AND user = ?", order, user);
        }
        return mine;
    }

    private static void row(DataSource shop, String statement, String order, String user)
            throws SQLException {
        // Only a buyer with a granted unit takes a connection.
        try (var connection = shop.getConnection(); var row = connection.prepareStatement(statement)) {
            row.setString(1, order);
            row.setString(2, user);
            row.executeUpdate();
        }
    }
    // end
}
