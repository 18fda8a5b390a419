// What takes the place of the posts' programs in Java: one method for each family. Each block between
// two comments is shown in docs/migrate.md.

import java.sql.Connection;
import java.sql.SQLException;
import java.util.function.BooleanSupplier;
import seckill.Sale;

public class After {
    private final Sale sale;

    public After(Sale sale) { this.sale = sale; }

    // counter
    String counter(String user, String order) {
        Sale.Answer answer = sale.grab(user, order, 1);
        return answer.won() ? "秒杀成功" : "秒杀失败: " + answer.outcome();
    }

    // business
    String business(String user, String order, BooleanSupplier work) {
        if (!sale.grab(user, order, 1).won()) {
            return "秒杀失败,商品库存不足。";
        }
        if (work.getAsBoolean()) {
            boolean paid = sale.confirm(user, order, false).state() == Sale.State.SOLD;
            return paid ? "秒杀成功" : "秒杀失败";
        }
        sale.cancel(user, order);
        return "秒杀失败";
    }

    // watch
    String watch(String user, String order) {
        Sale.Answer answer = sale.grab(user, order, 1);
        if (answer.won()) {
            return "抢购成功！";
        }
        return answer.outcome() == Sale.Outcome.SOLDOUT ? "已卖光！" : "手气不好，再抢购！";
    }

    // coins
    long coins(String user, String order, long count) {
        Sale.Answer answer = sale.grabUpTo(user, order, count);
        return answer.won() ? answer.numbers().get("qty") : 0;
    }

    // lists
    String lists(String user, String order) {
        Sale.Answer answer = sale.grab(user, order, 1);
        return answer.won() ? "success: " + answer.numbers().get("qty") : "手气不好，再抢购！";
    }

    // sql
    boolean sql(Connection shop, String user, String order) throws SQLException {
        if (!sale.grab(user, order, 1).won()) {
            return false;
        }
        String insert = "INSERT IGNORE INTO orders (id, user) VALUES (?, ?)";
        try (var row = shop.prepareStatement(insert)) {
            row.setString(1, order);
            row.setString(2, user);
            row.executeUpdate();
        }
        return sale.confirm(user, order, false).state() == Sale.State.SOLD;
    }
    // end
}
