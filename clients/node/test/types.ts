// Compiled, not run: checks which fields each outcome has.
import { Answer, Row, Sale, Unanswered, decode, home } from '..';

export async function told(sale: Sale): Promise<string> {
  const answer: Answer = await sale.grab('alice', { req: 'order-1', qty: 2 });
  switch (answer.outcome) {
    case 'GRANTED':
      return `${answer.seq} ${answer.state} ${answer.available}`;
    case 'SOLDOUT':
      // @ts-expect-error a refusal has no number
      return `${answer.held} ${answer.seq}`;
    case 'NOTOPEN':
      return `${answer.opensInMs}`;
    case 'WAITING':
      return `${answer.ahead}`;
    case 'ALREADY':
    case 'REPLAY':
      return answer.state;
    case 'TAKEN':
      return `${answer.unit}`;
    case 'OVERLIMIT':
      return `${answer.allowance}`;
    case 'SHORT':
      return `${answer.available}`;
    case 'CLOSED':
    case 'PAUSED':
    case 'DENIED':
    case 'BUSY':
      return answer.outcome;
    default:
      // All outcomes are above; a new one does not compile until it is added.
      return answer satisfies never;
  }
}

export async function read(sale: Sale): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of sale.winners({ state: 'SOLD' })) rows.push(row);
  return rows;
}

export async function work(sale: Sale): Promise<void> {
  for await (const order of sale.orders('orders', 'shop', 'worker-1')) await order.ack();
  const many = await sale.mgrab('alice', ['sale:case'], { qty: [1, 2] });
  const seqs: number[] = many.grants.map((grant) => grant.seq);
  const ahead: number | undefined = (await sale.place('alice'))?.ahead;
  console.log(seqs, ahead, many.refusal?.outcome);
  const seats: number[] | null = (await sale.grab('alice', { units: [17, 18] })).units;
  const first: string = (await sale.units()).charAt(0);
  console.log(seats, first, (await sale.unit(17))?.user);
  // @ts-expect-error a user can't be null
  await sale.grab(null);
}

export const key = (user: Buffer): string => home('sale', 16, user).key;
export const rev = (fields: string[]): number => decode(fields).data.rev;
export const order = (error: Unanswered): string => String(error.req);
