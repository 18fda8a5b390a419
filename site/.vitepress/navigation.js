// The list of pages on the left, in both languages.

const MENU = [
  ['Start', '开始', [
    ['index', 'Try it', '先试一下'],
    ['start', 'Your first sale', '第一场活动'],
    ['pages', 'All pages, by what you do', '按要做的事找页面'],
    ['install', 'Install', '安装'],
    ['clients', 'From your code', '在代码里用'],
    ['java', 'From a Lua script in Java', '从 Java 里的 Lua 脚本换过来'],
    ['shop', 'A whole shop', '一个完整的小店'],
    ['faq', 'Questions', '常见问题'],
    ['glossary', 'Glossary', '术语表']
  ]],
  ['Use', '使用', [
    ['holds', 'Hold until paid', '预占，付款后确认'],
    ['outbox', 'Outbox', 'Outbox：本地消息表'],
    ['brokers', 'Kafka, RabbitMQ, RocketMQ', 'Kafka、RabbitMQ、RocketMQ'],
    ['red-packets', 'Red packets and rounds', '红包与场次'],
    ['waiting-list', 'Waiting list', '候补'],
    ['admission', 'Who may buy', '谁有资格抢'],
    ['units', 'Numbered units: seats, codes', '编号库存：座位、兑换码'],
    ['parts', 'One sale on many nodes', '库存分桶：一场活动，多个节点']
  ]],
  ['Move from your code', '迁移', [
    ['migrate', 'Which is yours', '找到你的那一种'],
    ['migrate-counter', 'A counter', '计数器'],
    ['migrate-work', 'A counter with work behind it', '计数器，后面还有业务'],
    ['migrate-watch', 'WATCH', 'WATCH'],
    ['migrate-coins', 'Coins', '金币'],
    ['migrate-list', 'A list', '列表'],
    ['migrate-lock', 'A lock', '锁'],
    ['migrate-table', 'A table', '数据库表'],
    ['migrate-lua', 'A Lua script', 'Lua 脚本'],
    ['migrate-java', 'In Java', 'Java 程序'],
    ['migrate-more', 'Behind the steps', '补充说明']
  ]],
  ['Operate', '运维', [
    ['production', 'First sale in production', '第一次上线'],
    ['loading', 'When it does not load', '加载失败怎么排查'],
    ['security', 'Users and security', '用户与安全'],
    ['watch', 'Watch a sale', '监控'],
    ['orders', 'Orders into the database', '订单入库'],
    ['backup', 'Backup and archive', '备份与归档'],
    ['durability', 'What a crash loses', '崩溃和掉电会丢什么'],
    ['failover', 'Failover', '主从切换'],
    ['sentinel', 'Sentinel', '哨兵'],
    ['mistakes', 'What an operator can do wrong', '操作失误怎么挽回'],
    ['servers', 'Which servers', '支持哪些版本'],
    ['compatibility', 'Upgrade', '升级']
  ]],
  ['Reference', '参考', [
    ['commands', 'Commands', '命令'],
    ['errors', 'Errors by code', '错误码'],
    ['reference', 'Events, metrics, settings', '事件、指标、设置']
  ]],
  ['Behind it', '原理', [
    ['architecture', 'Architecture', '架构'],
    ['performance', 'Performance', '性能'],
    ['tigerfans', 'A load that others wrote', '别人写的压测'],
    ['reliability', 'Reliability', '可靠性'],
    ['lab', 'The lab', '实验室']
  ]]
]

/** The sidebar of one language; pages are those that there are. */
export function sidebar(language, pages) {
  const text = (english, chinese) => (language === 'zh' ? chinese : english)
  const prefix = language === 'zh' ? '/zh/' : '/'
  return MENU.map(([english, chinese, items]) => ({
    text: text(english, chinese),
    items: items
      .filter(([page]) => pages.has(page))
      .map(([page, ...names]) => ({ text: text(...names), link: prefix + (page === 'index' ? '' : page) }))
  }))
}

/** Pages that nothing on the left leads to. */
export function unlisted(pages) {
  const listed = new Set(MENU.flatMap(([, , items]) => items.map(([page]) => page)))
  return [...pages].filter((page) => !listed.has(page))
}
